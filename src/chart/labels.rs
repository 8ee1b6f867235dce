//! Names beside dots, placed so that they overlap neither one another nor what is drawn. A name for which no place is free is
//! left out: the cursor of the chart reads it.

use super::mark::Anchor;

/// Width of a letter, as a narrow page enlarges it.
const LETTER: f64 = 8.4;
/// Height of a line likewise.
const LINE: f64 = 16.0;
/// Space between the middle of a dot and its name.
const BESIDE: f64 = 8.0;
/// Half of a dot, with the space around it.
const DOT: f64 = 6.0;
/// From the base line of a text to the middle of its letters.
const RISE: f64 = 4.0;

/// A part of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    /// From left to right.
    pub(crate) across: (f64, f64),
    /// From top to bottom.
    pub(crate) down: (f64, f64),
}

impl Area {
    /// The part that a line from one place to another takes, if it is level or upright.
    pub(crate) fn of_line(from: (f64, f64), to: (f64, f64)) -> Self {
        let ends = |one: f64, other: f64| (one.min(other) - 2.0, one.max(other) + 2.0);
        Self {
            across: ends(from.0, to.0),
            down: ends(from.1, to.1),
        }
    }

    fn of_dot((x, y): (f64, f64)) -> Self {
        Self {
            across: (x - DOT, x + DOT),
            down: (y - DOT, y + DOT),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: (f64, f64), other: (f64, f64)| one.0 < other.1 && other.0 < one.1;
        meet(self.across, other.across) && meet(self.down, other.down)
    }

    fn contains(&self, other: &Self) -> bool {
        let holds = |one: (f64, f64), other: (f64, f64)| one.0 <= other.0 && other.1 <= one.1;
        holds(self.across, other.across) && holds(self.down, other.down)
    }
}

/// The place of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Label {
    /// Where the text is.
    pub(crate) at: (f64, f64),
    /// On which side of the place.
    pub(crate) anchor: Anchor,
}

/// Places for the names of dots, in their order, inside a part of the drawing and outside what is taken.
pub(crate) fn beside(
    dots: &[((f64, f64), &str)],
    taken: &[Area],
    within: Area,
) -> Vec<Option<Label>> {
    let mut taken = taken.to_vec();
    taken.extend(dots.iter().map(|(dot, _)| Area::of_dot(*dot)));
    let place = |(dot, name): &((f64, f64), &str)| {
        let is_free =
            |area: &Area| within.contains(area) && !taken.iter().any(|other| other.overlaps(area));
        let (label, area) = around(*dot, name)
            .into_iter()
            .find(|(_, area)| is_free(area))?;
        taken.push(area);
        Some(label)
    };
    dots.iter().map(place).collect()
}

/// The places around a dot: right and left, above and below, then farther above and below.
fn around((x, y): (f64, f64), name: &str) -> Vec<(Label, Area)> {
    #[expect(clippy::cast_precision_loss, reason = "a name has few letters")]
    let width = LETTER * name.chars().count() as f64;
    let place = |anchor: Anchor, distance: f64| {
        let middle = y + distance;
        let (start, across) = match anchor {
            Anchor::Start => (x + BESIDE, (x + BESIDE, x + BESIDE + width)),
            Anchor::Middle => (x, (x - width / 2.0, x + width / 2.0)),
            Anchor::End => (x - BESIDE, (x - BESIDE - width, x - BESIDE)),
        };
        let label = Label {
            at: (start, middle + RISE),
            anchor,
        };
        let down = (middle - LINE / 2.0, middle + LINE / 2.0);
        (label, Area { across, down })
    };
    let near = [0.0, -LINE, LINE];
    let sides = near.into_iter().flat_map(|distance| {
        let middle = (distance != 0.0).then_some(Anchor::Middle);
        let sides = [Some(Anchor::Start), Some(Anchor::End), middle];
        sides
            .into_iter()
            .flatten()
            .map(move |side| (side, distance))
    });
    sides
        .map(|(side, distance)| place(side, distance))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Area = Area {
        across: (0.0, 400.0),
        down: (0.0, 200.0),
    };

    #[test]
    fn names_of_dots_in_one_place_keep_apart_and_the_last_ones_are_left_out() {
        let dots = [((200.0, 100.0), "a name"); 12];
        let placed: Vec<Label> = beside(&dots, &[], WITHIN).into_iter().flatten().collect();
        assert!(placed.len() > 3 && placed.len() < 12, "{placed:?}");
        for (number, one) in placed.iter().enumerate() {
            assert!(placed[..number].iter().all(|other| other != one));
        }
    }

    #[test]
    fn a_name_keeps_out_of_lines_and_inside_the_drawing() {
        let line = Area::of_line((0.0, 100.0), (400.0, 100.0));
        let placed = beside(&[((390.0, 100.0), "name")], &[line], WITHIN);
        let label = placed[0].unwrap();
        assert_eq!(label.anchor, Anchor::End);
        assert!((label.at.1 - 100.0).abs() > LINE / 2.0, "{label:?}");
        assert_eq!(beside(&[((10.0, 10.0), "name")], &[WITHIN], WITHIN), [None]);
    }
}

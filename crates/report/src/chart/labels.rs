//! Names beside dots, placed so that they overlap neither one another nor what is drawn. A name for which no place is free is
//! left out: the cursor of the chart reads it.

use super::mark::Anchor;
use unroof_base::units::count_f64;

/// Width of a letter, as a narrow page enlarges it.
const LETTER: f64 = 8.4;
/// Height of a line likewise.
const LINE: f64 = 16.0;
/// Space between the middle of a dot and its name.
const BESIDE: f64 = 8.0;
/// Half of a dot, with the space around it.
const DOT: f64 = 6.0;
/// Letters of a name that is cut.
const LONGEST: usize = 12;
/// From the base line of a text to the middle of its letters.
const RISE: f64 = 4.0;

/// A part of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left and right end.
    pub across: (f64, f64),
    /// Upper and lower end.
    pub down: (f64, f64),
}

impl Area {
    /// The part that a line from one place to another takes, if it is level or upright.
    #[must_use]
    pub fn of_line(from: (f64, f64), to: (f64, f64)) -> Self {
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

/// A name in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Place of the text.
    pub at: (f64, f64),
    /// Side of the place on which it is.
    pub anchor: Anchor,
    /// The name, or its beginning.
    pub words: String,
}

/// Places for the names of dots, in their order, inside a part of the drawing and outside what is taken. A long name for which
/// there is no place is cut.
#[must_use]
pub fn beside(dots: &[((f64, f64), &str)], taken: &[Area], within: Area) -> Vec<Option<Label>> {
    let mut taken = taken.to_vec();
    taken.extend(dots.iter().map(|(dot, _)| Area::of_dot(*dot)));
    let place = |(dot, name): &((f64, f64), &str)| {
        let is_free =
            |area: &Area| within.contains(area) && !taken.iter().any(|other| other.overlaps(area));
        let names = [Some((*name).to_owned()), cut(name, LONGEST)]
            .into_iter()
            .flatten();
        let (label, area) = names
            .flat_map(|name| around(*dot, &name))
            .find(|(_, area)| is_free(area))?;
        taken.push(area);
        Some(label)
    };
    dots.iter().map(place).collect()
}

/// The beginning of a name that has more letters; none where it has not.
#[must_use]
pub fn cut(name: &str, longest: usize) -> Option<String> {
    let start: String = name.chars().take(longest).collect();
    (name.chars().count() > longest + 2).then(|| format!("{start}…"))
}

/// The places around a dot: right and left, above and below.
fn around((x, y): (f64, f64), name: &str) -> Vec<(Label, Area)> {
    let width = LETTER * count_f64(name.chars().count());
    let place = |(anchor, distance): (Anchor, f64)| {
        let middle = y + distance;
        let (start, across) = match anchor {
            Anchor::Start => (x + BESIDE, (x + BESIDE, x + BESIDE + width)),
            Anchor::Middle => (x, (x - width / 2.0, x + width / 2.0)),
            Anchor::End => (x - BESIDE, (x - BESIDE - width, x - BESIDE)),
        };
        let label = Label {
            at: (start, middle + RISE),
            anchor,
            words: name.to_owned(),
        };
        let down = (middle - LINE / 2.0, middle + LINE / 2.0);
        (label, Area { across, down })
    };
    let sides = [
        (Anchor::Start, 0.0),
        (Anchor::End, 0.0),
        (Anchor::Start, -LINE),
        (Anchor::End, -LINE),
        (Anchor::Middle, -LINE),
        (Anchor::Start, LINE),
        (Anchor::End, LINE),
        (Anchor::Middle, LINE),
    ];
    sides.into_iter().map(place).collect()
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
        let label = placed[0].clone().unwrap();
        assert_eq!(label.anchor, Anchor::End);
        assert!((label.at.1 - 100.0).abs() > LINE / 2.0, "{label:?}");
        assert_eq!(beside(&[((10.0, 10.0), "name")], &[WITHIN], WITHIN), [None]);
    }

    #[test]
    fn a_long_name_is_cut_where_the_whole_has_no_place() {
        let narrow = Area {
            across: (0.0, 150.0),
            ..WITHIN
        };
        let placed = beside(
            &[((10.0, 100.0), "a-very-long-name-of-a-model")],
            &[],
            narrow,
        );
        assert_eq!(placed[0].clone().unwrap().words, "a-very-long-…");
    }
}

//! Decoding on the roofline: arithmetic per byte read against the arithmetic reached, a dot per draw, under the roof of the
//! accelerator that is likely.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::chart::axis::short;
use crate::chart::frame::{self, Frame, Plane};
use crate::chart::mark::{Anchor, dot, labelled, line, rule, text};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::percent;
use unroof_base::units::{compact, count_f64};
use unroof_infer::estimate::serving::RooflinePoint;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 220.0);

/// Chart of draws, each by its own machine; `None` if no draw has a machine.
#[must_use]
pub fn roofline(draws: &[RooflinePoint]) -> Option<Chart> {
    let mut counts = BTreeMap::new();
    for draw in draws {
        counts.entry(machine(draw)).or_insert((0, draw)).0 += 1;
    }
    let (count, likely) = counts.into_values().max_by_key(|(count, _)| *count)?;
    let table = Table::of(
        draws,
        &[
            ("flop_per_byte", |draw| draw.flop_per_byte.into()),
            ("flop_per_second_and_chip", |draw| {
                draw.flop_per_second.into()
            }),
            ("accelerator", |draw| name(draw).into()),
        ],
    );
    let chart = words(draws, likely, count).chart(FRAME.size(), drawing(draws, likely), table);
    Some(chart)
}

fn name(draw: &RooflinePoint) -> &'static str {
    draw.accelerator.unwrap_or("a machine of other figures")
}

/// The machine of a draw: its name and the arithmetic of its format.
fn machine(draw: &RooflinePoint) -> (&'static str, u64) {
    (name(draw), draw.peak_flop_per_second.to_bits())
}

/// The arithmetic per byte at which both take as long.
fn ridge(draw: &RooflinePoint) -> f64 {
    draw.peak_flop_per_second / draw.bytes_per_second
}

fn words(draws: &[RooflinePoint], likely: &RooflinePoint, count: usize) -> Words {
    let share = |count: usize| count_f64(count) / count_f64(draws.len());
    let waiting = draws.iter().filter(|draw| draw.flop_per_byte < ridge(draw));
    let memory_bound = share(waiting.count());
    let (limit, waits) = if memory_bound >= 0.5 {
        ("memory", memory_bound)
    } else {
        ("arithmetic", 1.0 - memory_bound)
    };
    Words {
        title: format!(
            "At peak figures, decoding waits for {limit} in {} of the draws",
            percent(waits)
        ),
        description: format!(
            "A dot per draw of the estimate, by its own machine. Blue dots and the roof are of {}, the most frequent one with {} of \
             the draws: a sheet says little about the accelerator.",
            name(likely),
            percent(share(count)),
        ),
    }
}

fn drawing(draws: &[RooflinePoint], likely: &RooflinePoint) -> Markup {
    let (peak, bandwidth, ridge) = (
        likely.peak_flop_per_second,
        likely.bytes_per_second,
        ridge(likely),
    );
    let across = draws.iter().map(|draw| draw.flop_per_byte);
    let up = draws.iter().map(|draw| draw.flop_per_second);
    let plane = Plane {
        frame: FRAME,
        across: Scale::around(
            across.chain([ridge / 4.0, ridge * 4.0]),
            (0.8, 1.25),
            FRAME.across(),
        ),
        up: Scale::around(up.chain([peak / 10.0, peak]), (0.8, 1.5), FRAME.up()),
    };
    let (low, high) = plane.across.domain();
    // The roof is shown from where it enters the drawing.
    let start = low.max(plane.up.domain().0 / bandwidth);
    let roof = plane.path([(start, start * bandwidth), (ridge, peak), (high, peak)]);
    let words = format!(
        "{}: {}B/s of memory, {}FLOP/s of arithmetic; both take as long at {} FLOP per byte",
        name(likely),
        compact(bandwidth),
        compact(peak),
        compact(ridge)
    );
    let (blue, grey): (Vec<_>, Vec<_>) = draws
        .iter()
        .partition(|draw| machine(draw) == machine(likely));
    let dots = |draws: &[&RooflinePoint], tone, radius| {
        let places = plane.path(
            draws
                .iter()
                .map(|draw| (draw.flop_per_byte, draw.flop_per_second)),
        );
        html! { @for place in places { (dot(tone, place, radius, 0.6)) } }
    };
    let (x, top) = plane.at((ridge, peak));
    html! {
        (plane.axes([short, short], ["FLOP per byte read", "FLOP per second and chip"]))
        (dots(&grey, Tone::Prior, 2.0))
        (dots(&blue, Tone::Estimate, 2.5))
        (labelled(&words, &html! {
            (line(Tone::Ink, &roof, 2.0))
            (rule(Tone::Muted, (x, top), (x, FRAME.bottom), 1.0))
        }))
        (text(Tone::Muted, (x - 4.0, FRAME.bottom - 6.0), Anchor::End, "memory-bound"))
        (text(Tone::Muted, (x + 4.0, FRAME.bottom - 6.0), Anchor::Start, "compute-bound"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_and_each_draw_are_drawn() {
        let draw = |flop_per_byte, accelerator| RooflinePoint {
            flop_per_byte,
            flop_per_second: 1e14,
            accelerator,
            peak_flop_per_second: 1e15,
            bytes_per_second: 3e12,
        };
        let draws = [
            draw(100.0, Some("H100")),
            draw(120.0, Some("H100")),
            draw(900.0, None),
        ];
        let svg = roofline(&draws).unwrap().svg().into_string();
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert!(
            svg.contains("both take as long at 333 FLOP per byte"),
            "{svg}"
        );
    }
}

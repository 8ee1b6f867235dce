//! Decoding on the roofline: arithmetic per byte read against the arithmetic reached, a dot per draw, under the roof of the
//! accelerator that is likely.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame;
use crate::chart::frame::{Axis, Frame};
use crate::chart::mark::{Anchor, dot, labelled, line, rule, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 220.0);

/// A draw on the roofline of its machine.
#[derive(Debug, Clone)]
pub struct Draw {
    /// FLOP per byte read.
    pub flop_per_byte: f64,
    /// FLOP per second and chip.
    pub flop_per_second: f64,
    /// Accelerator of the draw.
    pub accelerator: String,
    /// Whether it is the likely one.
    pub is_likely: bool,
}

/// Draws under a roof.
#[derive(Debug, Clone)]
pub struct Roofline {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Draws of the estimate.
    pub draws: Vec<Draw>,
    /// Name, peak FLOP per second and bytes per second of the likely accelerator.
    pub roof: (String, f64, f64),
}

impl Roofline {
    /// Chart of the roofline.
    pub fn chart(self) -> Chart {
        let (_, peak, bandwidth) = &self.roof;
        let ridge = peak / bandwidth;
        let ends = |of: fn(&Draw) -> f64, (low, high): (f64, f64)| {
            extent(self.draws.iter().map(of).chain([low, high]))
        };
        let (low, high) = ends(|draw| draw.flop_per_byte, (ridge / 4.0, ridge * 4.0));
        let horizontal = Scale::log((low * 0.8, high * 1.25), FRAME.across());
        let (least, most) = ends(|draw| draw.flop_per_second, (peak / 10.0, *peak));
        let vertical = Scale::log((least * 0.8, most * 1.5), FRAME.up());
        let drawing = html! {
            (FRAME.axes(
                &Axis::new(&horizontal, 7, short, "FLOP per byte read"),
                &Axis::new(&vertical, 6, short, "FLOP per second and chip"),
            ))
            (self.drawing(&horizontal, &vertical))
        };
        Chart {
            drawing,
            table: self.table(),
            title: self.title,
            description: self.description,
            width: FRAME.width,
            height: FRAME.height(),
        }
    }

    fn drawing(&self, horizontal: &Scale, vertical: &Scale) -> Markup {
        let (name, peak, bandwidth) = &self.roof;
        let ridge = peak / bandwidth;
        let (low, high) = horizontal.domain();
        let (floor, _) = vertical.domain();
        // The roof is shown from where it enters the drawing.
        let start = low.max(floor / bandwidth);
        let corners = [(start, start * bandwidth), (ridge, *peak), (high, *peak)];
        let roof: Vec<(f64, f64)> = corners
            .iter()
            .map(|(x, y)| (horizontal.at(*x), vertical.at(*y)))
            .collect();
        let words = format!(
            "{name}: {}B/s of memory, {}FLOP/s of arithmetic; both take as long at {} FLOP per byte",
            compact(*bandwidth),
            compact(*peak),
            compact(ridge)
        );
        let place = |draw: &Draw| {
            (
                horizontal.at(draw.flop_per_byte),
                vertical.at(draw.flop_per_second),
            )
        };
        html! {
            @for draw in self.draws.iter().filter(|draw| !draw.is_likely) { (dot(Tone::Prior, place(draw), 2.0, 0.6)) }
            @for draw in self.draws.iter().filter(|draw| draw.is_likely) { (dot(Tone::Estimate, place(draw), 2.5, 0.6)) }
            (labelled(&words, &html! {
                (line(Tone::Ink, &roof, 2.0))
                @let x = horizontal.at(ridge);
                (rule(Tone::Muted, (x, vertical.at(*peak)), (x, FRAME.bottom), 1.0))
            }))
            (text(Tone::Muted, (horizontal.at(ridge) - 4.0, FRAME.bottom - 6.0), Anchor::End, "memory-bound"))
            (text(Tone::Muted, (horizontal.at(ridge) + 4.0, FRAME.bottom - 6.0), Anchor::Start, "compute-bound"))
        }
    }

    fn table(&self) -> Table {
        let row = |draw: &Draw| {
            vec![
                draw.flop_per_byte.into(),
                draw.flop_per_second.into(),
                draw.accelerator.as_str().into(),
            ]
        };
        Table {
            columns: vec!["flop_per_byte", "flop_per_second_and_chip", "accelerator"],
            rows: self.draws.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_and_each_draw_are_drawn() {
        let draw = |flop_per_byte, is_likely| Draw {
            flop_per_byte,
            flop_per_second: 1e14,
            accelerator: "H100".to_owned(),
            is_likely,
        };
        let roofline = Roofline {
            title: "t".to_owned(),
            description: "d".to_owned(),
            draws: vec![draw(100.0, true), draw(900.0, false)],
            roof: ("H100".to_owned(), 1e15, 3e12),
        };
        let svg = roofline.chart().svg().into_string();
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(
            svg.contains("both take as long at 333 FLOP per byte"),
            "{svg}"
        );
    }
}

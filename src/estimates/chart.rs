//! Curves of an answer: drawn in the terminal with characters, and as an SVG picture.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use textwrap::core::display_width;

use crate::shell::terminal;
use crate::{Failure, label};
use unroof_base::units::readable;

/// Marks of the curves in the terminal.
const MARKS: [char; 6] = ['•', 'o', '+', 'x', '*', '#'];
const COLORS: [&str; 6] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
];
/// Lines of a drawing in the terminal.
const HEIGHT: usize = 14;
/// Ratio of the ends of an axis from which it is logarithmic.
const LOGARITHMIC_FROM: f64 = 8.0;

/// Size of a picture, and the space around its curves.
const PICTURE: (f64, f64) = (720.0, 440.0);
const LEFT: f64 = 80.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// A curve in characters.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Curves over one axis.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) lines: Vec<Line>,
}

/// An axis from its least to its greatest value.
#[derive(Debug, Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        (low.is_finite() && high.is_finite()).then_some(Self {
            low,
            high,
            is_logarithmic: low > 0.0 && high / low >= LOGARITHMIC_FROM,
        })
    }

    /// The place of a value between 0 and 1.
    fn place(self, value: f64) -> f64 {
        let scaled = |value: f64| {
            if self.is_logarithmic {
                value.ln()
            } else {
                value
            }
        };
        let (low, high) = (scaled(self.low), scaled(self.high));
        if high > low {
            (scaled(value) - low) / (high - low)
        } else {
            0.5
        }
    }

    /// The value at a place.
    fn at(self, place: f64) -> f64 {
        if self.is_logarithmic {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + (self.high - self.low) * place
        }
    }
}

/// A number for an axis, with three digits.
fn tick(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a small exponent")]
    let digits = 2 - value.abs().log10().floor() as i32;
    let factor = 10.0_f64.powi(digits);
    readable((value * factor).round() / factor)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "columns and lines of a drawing"
)]
fn cell(place: f64, cells: usize) -> usize {
    (place * (cells.saturating_sub(1)) as f64).round().max(0.0) as usize
}

/// A chart with the axes that hold its points.
struct Drawing {
    chart: Chart,
    across: Axis,
    up: Axis,
}

impl Drawing {
    /// The points of a chart that can be drawn; none without two of them.
    fn of(mut chart: Chart) -> Option<Self> {
        for line in &mut chart.lines {
            line.points.retain(|(x, y)| x.is_finite() && y.is_finite());
        }
        chart.lines.retain(|line| !line.points.is_empty());
        chart.lines.truncate(MARKS.len());
        let points = || {
            chart
                .lines
                .iter()
                .flat_map(|line| line.points.iter().copied())
        };
        if points().count() < 2 {
            return None;
        }
        Some(Self {
            across: Axis::of(points().map(|(x, _)| x))?,
            up: Axis::of(points().map(|(_, y)| y))?,
            chart,
        })
    }

    /// Draws the curves with characters, as wide as the terminal.
    fn draw(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { chart, across, up } = self;
        let labels: Vec<String> = (0..HEIGHT)
            .map(|line| match line {
                0 => tick(up.high),
                line if line == HEIGHT / 2 => tick(up.at(0.5)),
                line if line == HEIGHT - 1 => tick(up.low),
                _ => String::new(),
            })
            .collect();
        let margin = labels.iter().map(|label| display_width(label)).max();
        let margin = margin.unwrap_or(0);
        let width = terminal::width().min(100).saturating_sub(margin + 4);
        let width = width.max(20);
        let mut drawing = vec![vec![' '; width]; HEIGHT];
        for (line, mark) in chart.lines.iter().zip(MARKS) {
            for (x, y) in &line.points {
                let column = cell(across.place(*x), width);
                drawing[HEIGHT - 1 - cell(up.place(*y), HEIGHT)][column] = mark;
            }
        }
        let title = format!("{}: {} over {}", chart.title, chart.y, chart.x);
        writeln!(out, "{}", label(&title))?;
        for (text, line) in labels.iter().zip(&drawing) {
            let drawn: String = line.iter().collect();
            let gap = " ".repeat(margin - display_width(text));
            writeln!(out, " {gap}{text} │{}", drawn.trim_end())?;
        }
        let blank = " ".repeat(margin);
        writeln!(out, " {blank} └{}", "─".repeat(width))?;
        let (left, middle, right) = (tick(across.low), tick(across.at(0.5)), tick(across.high));
        let room = width
            .saturating_sub(display_width(&left) + display_width(&middle) + display_width(&right));
        let (before, after) = (" ".repeat(room / 2), " ".repeat(room - room / 2));
        writeln!(out, " {blank}  {left}{before}{middle}{after}{right}")?;
        if chart.lines.len() > 1 {
            for (line, mark) in chart.lines.iter().zip(MARKS) {
                writeln!(out, " {blank}  {mark} {}", line.name)?;
            }
        }
        writeln!(out)
    }

    /// The curves as an SVG picture.
    fn svg(&self) -> String {
        let (width, height) = PICTURE;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        self.axes_svg(&mut svg);
        self.lines_svg(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn axes_svg(&self, svg: &mut String) {
        let Self { chart, across, up } = self;
        let (width, height) = PICTURE;
        let (right, bottom) = (width - RIGHT, height - BOTTOM);
        for step in 0..=4_u8 {
            let place = f64::from(step) / 4.0;
            let x = LEFT + place * (right - LEFT);
            let y = bottom - place * (bottom - TOP);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{bottom}M{LEFT} {y:.1}H{right}\" stroke=\"#dddddd\" fill=\"none\"/>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                bottom + 18.0,
                tick(across.at(place)),
                LEFT - 6.0,
                y + 4.0,
                tick(up.at(place)),
            );
        }
        let middle = f64::midpoint(LEFT, right);
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">{}</text>\n\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"16\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\">{}</text>",
            escaped(&chart.title),
            height - 10.0,
            escaped(chart.x),
            f64::midpoint(TOP, bottom),
            f64::midpoint(TOP, bottom),
            escaped(chart.y),
        );
    }

    fn lines_svg(&self, svg: &mut String) {
        let Self { chart, across, up } = self;
        let (right, bottom) = (PICTURE.0 - RIGHT, PICTURE.1 - BOTTOM);
        let mut legend = TOP + 10.0;
        for (line, color) in chart.lines.iter().zip(COLORS) {
            let placed: Vec<String> = line
                .points
                .iter()
                .map(|(x, y)| {
                    let x = LEFT + across.place(*x) * (right - LEFT);
                    format!("{x:.1},{:.1}", bottom - up.place(*y) * (bottom - TOP))
                })
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
                placed.join(" ")
            );
            for point in &placed {
                if let Some((x, y)) = point.split_once(',') {
                    let _ = writeln!(
                        svg,
                        "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{color}\"/>"
                    );
                }
            }
            if chart.lines.len() > 1 {
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{legend:.1}\" fill=\"{color}\">{}</text>",
                    right + 10.0,
                    escaped(&line.name)
                );
                legend += 18.0;
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Draws a chart where there is one, and saves it where a file is named.
pub(crate) fn show(
    chart: Option<Chart>,
    save: Option<&Path>,
    is_drawn: bool,
) -> Result<(), Failure> {
    let drawing = chart.and_then(Drawing::of);
    match (&drawing, save) {
        (None, Some(_)) => {
            return Err(Failure::Usage(anyhow::anyhow!(
                "--save: the answer has no curve; state a grid"
            )));
        }
        (Some(drawing), Some(path)) => std::fs::write(path, drawing.svg())
            .with_context(|| format!("{} cannot be written", path.display()))?,
        _ => {}
    }
    if let Some(drawing) = drawing.filter(|_| is_drawn) {
        drawing.draw(&mut terminal::stdout())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart {
            title: "a < b".to_owned(),
            x: "batch",
            y: "USD/Mtok",
            lines: vec![Line {
                name: "one".to_owned(),
                points: vec![(1.0, 100.0), (10.0, 10.0), (100.0, 1.0)],
            }],
        }
    }

    #[test]
    fn a_power_law_is_a_diagonal_between_the_ends_of_the_axes() {
        let mut out = Vec::new();
        Drawing::of(chart()).unwrap().draw(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with(" 100 │•"), "{text}");
        assert!(lines[HEIGHT].starts_with("   1 │"), "{text}");
        assert!(lines[HEIGHT].ends_with('•'), "{text}");
    }

    #[test]
    fn a_picture_is_well_formed_and_names_its_axes() {
        let svg = Drawing::of(chart()).unwrap().svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("a &lt; b") && svg.contains("batch") && svg.contains("USD/Mtok"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn a_single_point_is_no_curve() {
        let mut single = chart();
        single.lines[0].points.truncate(1);
        assert!(Drawing::of(single).is_none());
    }
}

//! A heat map of probabilities: rows with a name each, and columns.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::frame::WIDTH;
use crate::chart::mark::{Anchor, bar, labelled, text};
use crate::chart::table::{Cell, Table};
use crate::chart::tone::Tone;

/// Height of the names of the columns.
const HEAD: f64 = 40.0;
/// Height of a row: its name, and its cells below.
const ROW: f64 = 50.0;
/// Least share that is written.
const LEAST: f64 = 0.005;
/// Opacity of a probability of 1, so that the words in it are read.
const FULL: f64 = 0.6;

/// Opacity of a cell without a probability.
const GROUND: f64 = 0.12;

/// A row: its name, and a probability per column.
#[derive(Debug, Clone)]
pub struct HeatRow {
    /// Name of the row.
    pub name: String,
    /// A probability per column.
    pub shares: Vec<f64>,
}

/// A heat map of probabilities.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows of the map.
    pub rows: Vec<HeatRow>,
}

impl HeatMap {
    /// Chart of the heat map.
    #[must_use]
    pub fn chart(self) -> Chart {
        #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
        let height = HEAD + ROW * self.rows.len() as f64 + 4.0;
        Chart {
            drawing: self.drawing(),
            table: self.table(),
            title: self.title,
            description: self.description,
            width: WIDTH,
            height,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of rows and columns")]
    fn drawing(&self) -> Markup {
        let width = WIDTH / self.columns.len().max(1) as f64;
        html! {
            @for (number, column) in self.columns.iter().enumerate() {
                @let middle = width * (number as f64 + 0.5);
                @for (place, word) in column.splitn(2, '-').enumerate() {
                    (text(Tone::Muted, (middle, 14.0 + 15.0 * place as f64), Anchor::Middle, word))
                }
            }
            @for (number, row) in self.rows.iter().enumerate() {
                @let top = HEAD + ROW * number as f64;
                (text(Tone::Ink, (2.0, top + 14.0), Anchor::Start, &row.name))
                @for (place, share) in row.shares.iter().enumerate() {
                    @let left = width * place as f64;
                    (self.cell(row, place, (left, top + 20.0), width))
                    @if *share >= LEAST {
                        (text(Tone::Ink, (left + width / 2.0, top + 37.0), Anchor::Middle, &percent(*share)))
                    }
                }
            }
        }
    }

    fn cell(&self, row: &HeatRow, place: usize, (left, top): (f64, f64), width: f64) -> Markup {
        let share = row.shares[place];
        let (from, to) = ((left + 1.0, top), (left + width - 1.0, top + 26.0));
        let ground = bar(Tone::Prior, from, to, GROUND);
        if share < LEAST {
            return ground;
        }
        let words = format!(
            "{}: {} with {}",
            row.name,
            self.columns[place],
            percent(share)
        );
        let cell = bar(Tone::Estimate, from, to, FULL * share);
        labelled(&words, &html! { (ground) (cell) })
    }

    fn table(&self) -> Table {
        let row = |row: &HeatRow| {
            let shares = row.shares.iter().copied().map(Cell::from);
            std::iter::once(row.name.as_str().into())
                .chain(shares)
                .collect()
        };
        Table {
            columns: std::iter::once("offer")
                .chain(self.columns.iter().copied())
                .collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_written_where_they_are_seen() {
        let map = HeatMap {
            title: "t".to_owned(),
            description: "d".to_owned(),
            columns: vec!["hbm-rented", "disk"],
            rows: vec![HeatRow {
                name: "5 minutes".to_owned(),
                shares: vec![0.93, 0.001],
            }],
        };
        let chart = map.chart();
        let svg = chart.svg().into_string();
        assert!(
            svg.contains("5 minutes: hbm-rented with 93\u{a0}%"),
            "{svg}"
        );
        assert_eq!(svg.matches("\u{a0}%</text>").count(), 1, "{svg}");
        assert_eq!(chart.table.columns, ["offer", "hbm-rented", "disk"]);
    }
}

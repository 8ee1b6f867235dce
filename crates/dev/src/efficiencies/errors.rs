//! `docs/model/errors.md`: how far off the forward model is from measurements that a fit has not seen, and in which direction.

use std::collections::BTreeMap;

use super::figures::{mean, median, quantile, short};
use super::measured::benchmark;
use super::predict::INT4_BYTES;
use super::ranges::errors;
use super::report::{Report, RowKind, Scored, is_mixture};
use crate::generated::Template;
use unroof_roofline::reference::Predicted;
use unroof_roofline::reference::measurement::{
    MeasuredPhase, MeasuredSpread, Measurement, Purpose,
};

/// The page as it was when the program was built.
const PAGE: &str = include_str!("../../../../docs/model/errors.md");
/// Fewest rows of a cell that is shown.
const LEAST_ROWS: usize = 8;
/// Upper ends of the ranges of sequences per chip.
const BATCHES: [(f64, &str); 4] = [
    (1.0, "up to 1"),
    (8.0, "1 to 8"),
    (64.0, "8 to 64"),
    (f64::INFINITY, "above 64"),
];

/// Logs of predicted over measured of rows that are alike: by fits that have not seen them, and by the one that has.
#[derive(Debug, Default)]
struct Logs {
    left_out: Vec<f64>,
    seen: Vec<f64>,
}

impl Report {
    /// Content of `docs/model/errors.md`.
    #[must_use]
    pub fn errors_markdown(&self) -> String {
        let mut page = Template::new(PAGE);
        let of = |row: &Scored| row.left_out_log();
        let kinds = self.grouped(of, |row| Some(row.kind()));
        page.table(
            "## By kind",
            lines(kinds, |kind: &RowKind| kind.words().to_owned()),
        );
        let publications = self.grouped(of, |row| {
            let measured = row.measured;
            Some((benchmark(measured), phase(measured), kind(measured)))
        });
        let name = |(benchmark, phase, kind): &(_, _, _)| format!("{benchmark}: {phase}, {kind}");
        page.table("## By benchmark", lines(publications, name));
        let widths = self.grouped(of, generation_and_width);
        let name = |(generation, width): &(_, _)| format!("{generation}, {width}");
        page.table(
            "## Mixtures by the width of their experts",
            lines(widths, name),
        );
        let mut cells = self.grouped(of, cell);
        cells.retain(|_, logs| logs.left_out.len() >= LEAST_ROWS);
        page.table("## Cell by cell", lines(cells, cell_name));
        let of = |row: &Scored| Some(row.ratio(row.without_generation)?.ln());
        let generations = self.grouped(of, |row| Some((row.generation(), row.kind())));
        let name = |(generation, kind): &(&str, RowKind)| format!("{generation}: {}", kind.words());
        page.table(
            "## A generation that was not seen",
            lines(generations, name),
        );
        page.table("## Intervals", self.intervals());
        page.filled()
    }

    /// The range of measured over predicted times of every kind, and how often that of the other benchmarks covers.
    fn intervals(&self) -> Vec<[String; 6]> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let kinds = errors(&self.rows);
        let of = |was_measured| {
            kinds.iter().map(move |(of, errors)| {
                let range = errors.range(*of, was_measured);
                let [of_80, of_90] = errors.covered(*of, was_measured).map(percent);
                [
                    predicted_name(*of, was_measured),
                    range.rows.to_string(),
                    format!("{} to {}", short(range.low_80), short(range.high_80)),
                    of_80,
                    format!("{} to {}", short(range.low_90), short(range.high_90)),
                    of_90,
                ]
            })
        };
        of(true).chain(of(false)).collect()
    }

    /// Rows by a key, those at a speed per user and the slopes of one sequence apart.
    fn grouped<K: Ord>(
        &self,
        left_out: impl Fn(&Scored) -> Option<f64>,
        key: impl Fn(&Scored) -> Option<K>,
    ) -> BTreeMap<K, Logs> {
        let mut groups: BTreeMap<K, Logs> = BTreeMap::new();
        let is_scored = |row: &&Scored| matches!(row.measured.purpose, Purpose::Fit);
        for row in self.rows.iter().filter(is_scored) {
            let logs = left_out(row).zip(row.ratio(row.fitted).map(f64::ln));
            if let Some(((log, seen), key)) = logs.zip(key(row)) {
                let logs = groups.entry(key).or_default();
                logs.left_out.push(log);
                logs.seen.push(seen);
            }
        }
        groups
    }
}

fn predicted_name(of: Predicted, was_measured: bool) -> String {
    let kind = match (of.has_experts, of.distributes_experts) {
        (false, _) => "dense",
        (true, false) => "experts, tensor",
        (true, true) => "experts distributed",
    };
    let chips = if was_measured {
        ""
    } else {
        ", unseen generation"
    };
    format!("{kind}{chips}")
}

type Cell = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    usize,
);

/// Phase, kind of model, generation of the chips, spread, and the range of sequences per chip.
fn cell(row: &Scored) -> Option<Cell> {
    let measured = row.measured;
    let spread = match measured.spread {
        MeasuredSpread::Experts => "experts distributed",
        MeasuredSpread::Tensor | MeasuredSpread::TensorByToken => "tensor",
    };
    let batch = measured.batch_per_chip?;
    let range = BATCHES.iter().position(|(most, _)| batch <= *most)?;
    Some((
        phase(measured),
        kind(measured),
        row.generation(),
        spread,
        range,
    ))
}

/// Generation of the chips and width of the experts of a mixture.
fn generation_and_width(row: &Scored) -> Option<(&'static str, &'static str)> {
    let measured = row.measured;
    let width = match measured.weight_bytes_per_parameter {
        bytes if bytes <= INT4_BYTES => "INT4",
        bytes if bytes < 1.0 => "4 bits",
        bytes if bytes < 2.0 => "8 bits",
        _ => "16 bits",
    };
    is_mixture(measured).then_some((row.generation(), width))
}

fn cell_name((phase, kind, generation, spread, range): &Cell) -> String {
    let batch = BATCHES[*range].1;
    format!("{phase}, {kind}, {generation}, {spread}, {batch} per chip")
}

/// A row of each group: its number of rows, and the errors of the prediction.
fn lines<K>(groups: BTreeMap<K, Logs>, name: impl Fn(&K) -> String) -> Vec<[String; 7]> {
    let line = |(key, logs): (K, Logs)| {
        let Logs { mut left_out, seen } = logs;
        let middle = mean(&left_out);
        let squares: Vec<f64> = left_out.iter().map(|log| (log - middle).powi(2)).collect();
        left_out.sort_by(f64::total_cmp);
        let at = |share| short(quantile(&left_out, share).exp());
        [
            name(&key),
            left_out.len().to_string(),
            format!("**{}**", short(middle.exp())),
            short(mean(&squares).sqrt()),
            short(median(left_out.iter().map(|log| log.abs()).collect())),
            format!("{} to {}", at(0.1), at(0.9)),
            short(mean(&seen).exp()),
        ]
    };
    groups.into_iter().map(line).collect()
}

fn phase(measured: &Measurement) -> &'static str {
    match measured.phase {
        MeasuredPhase::Decode => "decode",
        MeasuredPhase::Prefill => "prefill",
        MeasuredPhase::Mixed | MeasuredPhase::Mlperf => "both phases",
    }
}

fn kind(measured: &Measurement) -> &'static str {
    if is_mixture(measured) {
        "experts"
    } else {
        "dense"
    }
}

//! `docs/model/unfitted.md`: how far off the forward model is from measurements that nothing was fitted to, and in which direction.

use std::collections::BTreeMap;

use super::figures::{mean, median, quantile, short};
use super::predict::predict;
use crate::generated::Template;
use unroof_roofline::reference::measurement::{MeasuredPhase, MeasuredSpread, Measurement};
use unroof_roofline::reference::{Attainment, open_model};

/// The page as it was when the program was built.
const PAGE: &str = include_str!("../../../../docs/model/unfitted.md");
/// Files with the columns of `crates/roofline/data/serving_measurements.csv`, one per publication.
const FILES: [&str; 8] = [
    include_str!("../../data/measurements/inferencex_dashboard.csv"),
    include_str!("../../data/measurements/inferencex_by_aiconfigurator.csv"),
    include_str!("../../data/measurements/inferencex_posts.csv"),
    include_str!("../../data/measurements/aiconfigurator.csv"),
    include_str!("../../data/measurements/dstack.csv"),
    include_str!("../../data/measurements/mlperf_server.csv"),
    include_str!("../../data/measurements/tensorrt_llm_guide.csv"),
    include_str!("../../data/measurements/tpu_recipes.csv"),
];
/// Fewest rows of a cell that is shown.
const LEAST_ROWS: usize = 8;
/// Upper ends of the ranges of sequences per chip.
const BATCHES: [(f64, &str); 4] = [
    (1.0, "up to 1"),
    (8.0, "1 to 8"),
    (64.0, "8 to 64"),
    (f64::INFINITY, "above 64"),
];

/// A measurement with ln(predicted/measured) by efficiencies that were fitted to other rows.
#[derive(Debug, Clone)]
struct Unfitted {
    /// Measurement that is predicted.
    measured: Measurement,
    /// ln(predicted/measured): above 0 where the prediction is too fast.
    log: f64,
}

/// Every measurement that nothing was fitted to and that can be predicted.
fn unfitted(attainment: Attainment) -> Vec<Unfitted> {
    let rows = FILES.iter().flat_map(|file| read(file));
    let scored = |measured: Measurement| {
        let log = (predict(&measured, attainment)? / measured.value).ln();
        Some(Unfitted { measured, log })
    };
    rows.filter_map(scored).collect()
}

/// Content of `docs/model/unfitted.md`.
///
/// # Panics
/// A file of measurements is damaged.
#[must_use]
pub fn unfitted_markdown(attainment: Attainment) -> String {
    let rows = unfitted(attainment);
    let mut page = Template::new(PAGE);
    page.table("# Measurements", by_publication(&rows));
    page.table("## Cell by cell", by_cell(&rows));
    page.filled()
}

fn read(file: &str) -> Vec<Measurement> {
    let rows = csv::Reader::from_reader(file.as_bytes()).into_deserialize();
    let rows: Result<_, csv::Error> = rows.collect();
    rows.expect("a file of measurements is damaged")
}

/// A row per publication, kind of phase and kind of model.
fn by_publication(rows: &[Unfitted]) -> Vec<[String; 6]> {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<f64>> = BTreeMap::new();
    for row in rows {
        let measured = &row.measured;
        let key = (
            measured.publication.as_str(),
            phase(measured),
            kind(measured),
        );
        groups.entry(key).or_default().push(row.log);
    }
    let line = |((publication, phase, kind), logs): ((&str, &str, &str), Vec<f64>)| {
        let name = format!("{publication}: {phase}, {kind}");
        errors(name, logs)
    };
    groups.into_iter().map(line).collect()
}

/// A row per cell: phase, kind of model, generation of the chips, spread, and sequences per chip.
fn by_cell(rows: &[Unfitted]) -> Vec<[String; 6]> {
    let mut cells: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let measured = &row.measured;
        let spread = match measured.spread {
            MeasuredSpread::Experts => "experts distributed",
            MeasuredSpread::Tensor | MeasuredSpread::TensorByToken => "tensor",
        };
        let batch = measured.batch_per_chip.unwrap_or_default();
        let range = BATCHES.iter().position(|(most, _)| batch <= *most);
        let generation = measured.generation.as_str();
        let key = (phase(measured), kind(measured), generation, spread, range);
        cells.entry(key).or_default().push(row.log);
    }
    let shown = cells
        .into_iter()
        .filter(|(_, logs)| logs.len() >= LEAST_ROWS);
    let line =
        |((phase, kind, generation, spread, range), logs): ((_, _, _, _, Option<usize>), _)| {
            let batch = range.map_or("unknown", |range| BATCHES[range].1);
            errors(
                format!("{phase}, {kind}, {generation}, {spread}, {batch} per chip"),
                logs,
            )
        };
    shown.map(line).collect()
}

/// Rows that are alike: their number, and the errors of the prediction.
fn errors(name: String, mut logs: Vec<f64>) -> [String; 6] {
    let middle = mean(&logs);
    let squares: Vec<f64> = logs.iter().map(|log| (log - middle).powi(2)).collect();
    logs.sort_by(f64::total_cmp);
    let at = |share| short(quantile(&logs, share).exp());
    [
        name,
        logs.len().to_string(),
        format!("**{}**", short(middle.exp())),
        short(mean(&squares).sqrt()),
        short(median(logs.iter().map(|log| log.abs()).collect())),
        format!("{} to {}", at(0.1), at(0.9)),
    ]
}

fn phase(measured: &Measurement) -> &'static str {
    match measured.phase {
        MeasuredPhase::Decode => "decode",
        MeasuredPhase::Prefill => "prefill",
        MeasuredPhase::Mixed | MeasuredPhase::Mlperf => "both phases",
    }
}

fn kind(measured: &Measurement) -> &'static str {
    let model = open_model(&measured.model);
    let has_experts = model.is_some_and(|model| model.architecture.experts.is_some());
    if has_experts { "experts" } else { "dense" }
}

#[cfg(test)]
mod tests {
    use unroof_roofline::reference::fitted_attainment;

    use super::*;

    #[test]
    fn every_row_of_every_file_is_predicted_and_has_a_source() {
        let rows: usize = FILES.iter().map(|file| read(file).len()).sum();
        let predicted = unfitted(fitted_attainment());
        assert_eq!(predicted.len(), rows);
        assert!(rows > 3_000, "{rows}");
        for row in &predicted {
            let measured = &row.measured;
            assert!(!measured.source.is_empty(), "{measured:?}");
            assert!(measured.batch_per_chip.is_some(), "{measured:?}");
            assert!(row.log.is_finite(), "{measured:?}");
        }
    }

    #[test]
    fn the_direction_of_errors_is_shown_where_their_median_hides_it() {
        let rows = unfitted(fitted_attainment());
        let logs = |is_in: fn(&Measurement) -> bool| {
            let rows = rows.iter().filter(|row| is_in(&row.measured));
            rows.map(|row| row.log).collect::<Vec<f64>>()
        };
        let is_wide = |row: &Measurement| {
            row.phase == MeasuredPhase::Decode
                && row.generation == "Blackwell"
                && row.spread == MeasuredSpread::Experts
                && row.batch_per_chip.is_some_and(|batch| batch > 8.0)
        };
        let is_narrow = |row: &Measurement| {
            row.phase == MeasuredPhase::Decode
                && row.generation == "Blackwell"
                && row.spread == MeasuredSpread::Tensor
                && row.batch_per_chip.is_some_and(|batch| batch <= 1.0)
        };
        assert!(mean(&logs(is_wide)) > 0.2, "too fast with many sequences");
        assert!(mean(&logs(is_narrow)) < -0.2, "too slow with one");
    }
}

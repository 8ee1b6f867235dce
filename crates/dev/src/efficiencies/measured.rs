//! Every measurement: those of the reference data, which pages show row by row, and the collected ones.

use std::sync::LazyLock;

use unroof_roofline::reference::measurement::{Measurement, measurements};

/// Files with the columns of `crates/roofline/data/serving_measurements.csv`, one per publication.
const FILES: [&str; 13] = [
    include_str!("../../data/measurements/inferencex_dashboard.csv"),
    include_str!("../../data/measurements/inferencex_by_aiconfigurator.csv"),
    include_str!("../../data/measurements/inferencex_posts.csv"),
    include_str!("../../data/measurements/aiconfigurator.csv"),
    include_str!("../../data/measurements/dstack.csv"),
    include_str!("../../data/measurements/mlperf_server.csv"),
    include_str!("../../data/measurements/tensorrt_llm_guide.csv"),
    include_str!("../../data/measurements/tpu_recipes.csv"),
    include_str!("../../data/measurements/atom.csv"),
    include_str!("../../data/measurements/amd_vllm_guide.csv"),
    include_str!("../../data/measurements/sglang_cookbook.csv"),
    include_str!("../../data/measurements/single_requests_b200.csv"),
    include_str!("../../data/measurements/single_batch_overlap.csv"),
];
/// Benchmarks with several publications: their rows share a way of measuring, and are left out together.
const BENCHMARKS: [&str; 5] = [
    "ATOM",
    "InferenceX",
    "MLPerf",
    "SGLang cookbook",
    "TensorRT-LLM",
];

/// Benchmark of a measurement; its publication where that is the only one.
pub(super) fn benchmark(row: &Measurement) -> &str {
    let publication = row.publication.as_str();
    let mut benchmarks = BENCHMARKS.into_iter();
    benchmarks
        .find(|benchmark| publication.starts_with(benchmark))
        .unwrap_or(publication)
}

/// The collected measurements, file by file.
///
/// # Panics
/// A file is damaged.
pub(super) fn collected() -> &'static [Measurement] {
    static ROWS: LazyLock<Vec<Measurement>> =
        LazyLock::new(|| FILES.iter().flat_map(|file| read(file)).collect());
    &ROWS
}

/// All measurements: rows of the reference data, then the collected ones.
pub(super) fn all_measurements() -> impl Iterator<Item = &'static Measurement> {
    measurements().iter().chain(collected())
}

fn read(file: &str) -> Vec<Measurement> {
    let rows = csv::Reader::from_reader(file.as_bytes()).into_deserialize();
    let rows: Result<_, csv::Error> = rows.collect();
    rows.expect("a file of measurements is damaged")
}

#[cfg(test)]
mod tests {
    use super::super::predict::predict;
    use super::*;
    use unroof_roofline::reference::fitted_attainment;

    #[test]
    fn every_row_of_every_file_is_predicted_and_has_a_source() {
        assert!(collected().len() > 3_000);
        for row in collected() {
            assert!(!row.source.is_empty(), "{row:?}");
            assert!(row.batch_per_chip.is_some(), "{row:?}");
            let predicted = predict(row, fitted_attainment()).expect("it is predicted");
            assert!(predicted.is_finite() && predicted > 0.0, "{row:?}");
        }
    }
}

//! Score of the line through context bands on open-weight models, compared with that of the first threshold: the reason that the
//! line has no term of the joint estimate.

use super::{PricedModel, built_in};
use unroof_infer::clue::readings;
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_infer::evidence::clue_table::ReadingId;
use unroof_infer::evidence::reading::Reading;

/// Assumptions at which a model's own size is known.
fn known_size(model: &PricedModel) -> Assumptions {
    let active = model.truth.log_active.exp();
    let stated = format!(
        r#"{{"active_parameters": {active}, "weight_bytes_per_parameter": 1, "batch_over_optimal_batch": 2.5,
            "accelerator": {{"compute_to_bandwidth": 300}}}}"#
    );
    unroof_base::input::read(stated.as_bytes(), Assumptions::read).unwrap()
}

/// KV bytes by the line through all bands; by that through two where there are no more, which is the reading of the cover.
fn by_line(readings: &[Reading]) -> Option<f64> {
    let cover = || {
        let cover = found(readings, ReadingId::OutputMultiplierCover)?;
        let mut details = cover.details.iter();
        let kv_bytes = details.find(|detail| detail.name == "kv_bytes_per_token_read_slope")?;
        kv_bytes.value.number()
    };
    let bands = found(readings, ReadingId::ContextBandsKvBytes)?;
    bands.number().or_else(cover)
}

fn found(readings: &[Reading], id: ReadingId) -> Option<&Reading> {
    readings.iter().find(|reading| reading.id == id)
}

/// log of KV bytes over the truth: by the line and by the first threshold.
type Errors = [f64; 2];

/// The errors of every sheet with a value for both, with its model and its count of bands.
fn errors() -> Vec<(String, usize, Errors)> {
    let mut errors = Vec::new();
    for model in built_in() {
        let assumptions = known_size(&model);
        for sheet in &model.sheets {
            let readings = readings(&sheet.pricing_content(), &assumptions);
            let threshold = found(&readings, ReadingId::ContextTierKvBytes);
            let threshold = threshold.and_then(Reading::number);
            if let Some((line, threshold)) = by_line(&readings).zip(threshold) {
                let log_error = |bytes: f64| bytes.ln() - model.truth.log_kv_read;
                let both = [log_error(line), log_error(threshold)];
                errors.push((model.name.clone(), sheet.rates.len(), both));
            }
        }
    }
    errors
}

/// Mean and standard deviation over models of the median over a model's sheets.
fn score(errors: &[(String, usize, Errors)], which: usize) -> [f64; 2] {
    let medians = errors.chunk_by(|left, right| left.0 == right.0).map(|of| {
        let mut sorted: Vec<f64> = of.iter().map(|(_, _, errors)| errors[which]).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    });
    let medians: Vec<f64> = medians.collect();
    super::moments(&medians).into()
}

#[test]
fn a_line_through_bands_is_further_from_the_cache_than_the_first_threshold_and_scatters_more() {
    // docs/model/readings.md, "Context bands". Once this fails, the line may carry information, and a term is due.
    let errors = errors();
    let mut banded = errors.iter().filter(|(_, bands, _)| *bands > 2).peekable();
    assert!(banded.peek().is_some(), "{errors:?}");
    for (model, _, [line, threshold]) in banded {
        assert!(
            line.abs() > threshold.abs() + 1.0,
            "{model}: {line}, {threshold}"
        );
    }
    let (line, threshold) = (score(&errors, 0), score(&errors, 1));
    let figures = format!("line {line:.2?}, first threshold {threshold:.2?}");
    assert!(
        line[0].abs() > threshold[0].abs() && line[1] > threshold[1],
        "{figures}"
    );
}

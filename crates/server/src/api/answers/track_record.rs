//! `/track-record`: how often the estimates of open-weight models are right.

use std::sync::LazyLock;

use axum::http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use crate::query::query;
use crate::service::extract::Query;
use unroof_base::units::significant;
use unroof_edge::{CachedBody, FilterText, Problem, QueryRefusals, Reply, Unchanged};
use unroof_infer::clue;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::evidence::reading::Specification;
use unroof_infer::posterior::Interval;
use unroof_roofline::reference;
use unroof_roofline::reference::{
    HeldOut, HeldOutQuantity, QuantityRecord, RecordBand, RecordSetting, TrackRecord, bands,
    held_out,
};

/// Record of the estimates of open-weight models
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TrackRecordTable {
    /// Quantities with published values, in every setting.
    pub(crate) quantities: Vec<TrackedQuantity>,
    /// Every reading alone with a record, and whether it is better than the prior.
    pub(crate) readings: Vec<TrackedReading>,
    /// Quantities of which no value is public: no record says how often their estimates are right.
    pub(crate) without_truth: Vec<&'static str>,
}

/// A quantity in one setting
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TrackedQuantity {
    /// Name of the quantity.
    #[schema(example = "active_parameters")]
    pub(crate) quantity: &'static str,
    /// Name of the quantity in reports.
    pub(crate) label: &'static str,
    /// Unit of the quantity; empty for a plain ratio.
    pub(crate) unit: &'static str,
    /// The setting in words.
    #[schema(example = "pooled hosts")]
    pub(crate) sheets: String,
    /// Errors over all models that count.
    pub(crate) record: QuantityRecord,
    /// Verdict of the record.
    pub(crate) verdict: Verdict,
    /// Share of the true values inside intervals of growing width, over the models that count; empty for a number of
    /// decisions.
    pub(crate) calibration: Vec<CalibrationPoint>,
    /// Errors by size, year of release and family of the models; empty for a number of decisions.
    pub(crate) bands: Vec<RecordBand>,
    /// Every model, estimated by a calibration that has not seen it; empty for a number of decisions.
    pub(crate) models: Vec<HeldOutModel>,
}

/// Verdict of a record on estimates like these
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::enum_variant_names,
    reason = "the names are those of the answer, which say better than what"
)]
pub(crate) enum Verdict {
    /// Better than the prior.
    BetterThanThePrior,
    /// Not clearly better than the prior: such estimates count as not identified.
    NotClearlyBetterThanThePrior,
    /// Worse than the prior.
    WorseThanThePrior,
}

/// Nominal and actual coverage
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(crate) struct CalibrationPoint {
    /// Probability that an interval should hold.
    pub(crate) nominal: f64,
    /// Share of the true values that such intervals hold.
    pub(crate) covered: f64,
}

/// The estimate of a model next to the published value
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct HeldOutModel {
    /// Name of the open-weight model.
    pub(crate) model: &'static str,
    /// The host, where the sheet is that of one host alone.
    pub(crate) host: Option<&'static str>,
    /// Whether it counts in the record; models that were added later do not.
    pub(crate) counted: bool,
    /// The published value, or the one computed from it.
    pub(crate) truth: f64,
    /// Median of the estimate.
    pub(crate) median: f64,
    /// Interval that contains the value with a probability of 90 %.
    pub(crate) interval_90: Interval,
    /// Whether the interval holds the truth.
    pub(crate) is_inside: bool,
    /// Log score less that of the prior, in nats: below 0 the prior was nearer.
    pub(crate) gain: f64,
}

/// A reading by itself, with its errors
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TrackedReading {
    /// Id of the reading.
    pub(crate) reading: &'static str,
    /// The quantity that it estimates.
    pub(crate) quantity: &'static str,
    /// Errors on open-weight models.
    pub(crate) record: TrackRecord,
    /// Verdict of the record.
    pub(crate) verdict: Verdict,
}

query! {
    /// The part of the record to return.
    TrackRecordQuery {
        /// Name of a quantity; all if left out.
        #[param(nullable = false, inline, example = "active_parameters")]
        quantity: Option<FilterText>,
        /// The sheets that the estimates are from; all settings if left out.
        setting: RecordSetting,
    }
}

/// Show how often the estimates are right
///
/// Per quantity and setting the errors on open-weight models, each estimated by a calibration that has not seen its family,
/// author or host: every model with its published value, its estimate and its interval; a calibration curve; and the record
/// of every reading alone, also where it is worse than the prior.
#[utoipa::path(get, path = "/track-record", tag = "reference", params(TrackRecordQuery), responses(
    (status = 200, description = "The record", body = TrackRecordTable, headers(("etag" = String))),
    Unchanged, QueryRefusals,
))]
pub(crate) async fn show_track_record(
    Query(query): Query<TrackRecordQuery>,
    headers: HeaderMap,
) -> Reply {
    static WHOLE: LazyLock<CachedBody> = LazyLock::new(|| body(track_record()));
    if let (None, None) = (&query.quantity, query.setting) {
        return Ok(WHOLE.respond(&headers));
    }
    if let Some(FilterText(name)) = &query.quantity {
        require_quantity(name)?;
    }
    let is_wanted = |tracked: &&TrackedQuantity| {
        let name = query.quantity.as_ref().map(|FilterText(name)| name);
        name.is_none_or(|name| name == tracked.quantity)
            && query
                .setting
                .is_none_or(|setting| setting == tracked.record.setting)
    };
    let whole = track_record();
    let part = TrackRecordTable {
        quantities: whole.quantities.iter().filter(is_wanted).cloned().collect(),
        ..whole.clone()
    };
    Ok(body(&part).respond(&headers))
}

fn body(table: &TrackRecordTable) -> CachedBody {
    let text = serde_json::to_string(table).expect("a table of texts and numbers serialises");
    CachedBody::new(text, "application/json", None)
}

/// The quantity of a name in a query.
pub(crate) fn require_quantity(name: &str) -> Result<JointQuantity, Problem> {
    let known = |quantity: &JointQuantity| quantity.name() == name;
    if let Some(quantity) = JointQuantity::ALL.into_iter().find(known) {
        return Ok(quantity);
    }
    let names = JointQuantity::ALL.map(JointQuantity::name);
    let shown: String = name.chars().take(100).collect();
    let all = format!("the quantities are {}", names.join(", "));
    let problem = Problem::of_query(&format!("`{shown}` is not a quantity"));
    Err(problem.hint_of(name, &names, &all))
}

/// The record of every quantity and reading.
pub(crate) fn track_record() -> &'static TrackRecordTable {
    static TABLE: LazyLock<TrackRecordTable> = LazyLock::new(|| {
        let records = |quantity: JointQuantity| {
            let records = reference::track_records_of_quantity(quantity.name());
            records.map(move |record| TrackedQuantity::new(quantity, record))
        };
        let has_truth = |quantity: &JointQuantity| {
            reference::track_records_of_quantity(quantity.name())
                .next()
                .is_some()
        };
        let without = JointQuantity::ALL
            .into_iter()
            .filter(|quantity| !has_truth(quantity));
        TrackRecordTable {
            quantities: JointQuantity::ALL.into_iter().flat_map(records).collect(),
            readings: clue::specifications()
                .filter_map(TrackedReading::new)
                .collect(),
            without_truth: without.map(JointQuantity::name).collect(),
        }
    });
    &TABLE
}

impl TrackedQuantity {
    fn new(quantity: JointQuantity, record: QuantityRecord) -> Self {
        let definition = quantity.definition();
        let is_own =
            |estimate: &&HeldOut| record.decisions.is_none() && estimate.setting == record.setting;
        let own: Vec<(&'static HeldOut, &'static HeldOutQuantity)> = held_out()
            .iter()
            .filter(is_own)
            .filter_map(|estimate| Some((estimate, estimate.quantities.get(definition.name)?)))
            .collect();
        Self {
            quantity: definition.name,
            label: definition.label,
            unit: definition.unit,
            sheets: record.label(),
            verdict: Verdict::of(&record),
            calibration: calibration(&own),
            bands: match record.decisions {
                None => bands(held_out(), definition.name, record.setting),
                Some(_) => Vec::new(),
            },
            models: own
                .iter()
                .map(|(estimate, quantity)| HeldOutModel::new(estimate, quantity))
                .collect(),
            record,
        }
    }
}

impl Verdict {
    fn of(record: &QuantityRecord) -> Self {
        if record.beats_prior() {
            Self::BetterThanThePrior
        } else if record.mean_gain < 0.0 {
            Self::WorseThanThePrior
        } else {
            Self::NotClearlyBetterThanThePrior
        }
    }
}

/// Shares of the true values in intervals of 10 % to 95 %.
fn calibration(estimates: &[(&HeldOut, &HeldOutQuantity)]) -> Vec<CalibrationPoint> {
    let counted = || estimates.iter().filter(|(estimate, _)| estimate.counted);
    let total: f64 = counted().map(|(estimate, _)| estimate.weight).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let point = |percent: u32| {
        let nominal = f64::from(percent) / 100.0;
        let covered = counted().filter(|(_, quantity)| quantity.is_covered(nominal));
        let covered: f64 = covered.map(|(estimate, _)| estimate.weight).sum();
        CalibrationPoint {
            nominal,
            covered: significant(covered / total),
        }
    };
    (10..=95).step_by(5).map(point).collect()
}

impl HeldOutModel {
    fn new(estimate: &'static HeldOut, quantity: &HeldOutQuantity) -> Self {
        Self {
            model: &estimate.model,
            host: estimate.host.as_deref(),
            counted: estimate.counted,
            truth: shown(quantity.log_truth),
            median: shown(quantity.log_median),
            interval_90: Interval {
                low: shown(quantity.log_low_90),
                high: shown(quantity.log_high_90),
            },
            is_inside: quantity.is_covered(0.9),
            gain: quantity.gain,
        }
    }
}

/// The number of a logarithm, to the digits that are stored of it.
fn shown(log: f64) -> f64 {
    let number = log.exp();
    format!("{number:.3e}").parse().unwrap_or(number)
}

impl TrackedReading {
    fn new(specification: &'static Specification) -> Option<Self> {
        let record = reference::track_record_of_reading(specification.id.name())?;
        Some(Self {
            reading: specification.id.name(),
            quantity: specification.quantity,
            verdict: if record.beats_prior {
                Verdict::BetterThanThePrior
            } else {
                Verdict::WorseThanThePrior
            },
            record,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_at_90_percent_is_the_coverage_of_the_record() {
        let table = track_record();
        let whole = |tracked: &&TrackedQuantity| tracked.record.decisions.is_none();
        let mut compared = 0;
        for tracked in table.quantities.iter().filter(whole) {
            assert_eq!(tracked.calibration.len(), 18);
            let at_90 = tracked.calibration[16];
            assert!((at_90.nominal - 0.9).abs() < 1e-12);
            let apart = (at_90.covered - tracked.record.coverage_90).abs();
            assert!(apart < 0.005, "{}: {apart}", tracked.quantity);
            let rises = tracked.calibration.windows(2);
            assert!(
                rises
                    .into_iter()
                    .all(|two| two[0].covered <= two[1].covered)
            );
            assert!(tracked.models.len() >= tracked.record.models);
            compared += 1;
        }
        assert_eq!(compared, 24);
        assert!(table.without_truth.contains(&"cost_output_usd_per_mtok"));
    }

    #[test]
    fn a_reading_that_is_worse_than_the_prior_says_so() {
        let readings = &track_record().readings;
        for reading in readings {
            let is_worse = reading.verdict == Verdict::WorseThanThePrior;
            assert_ne!(is_worse, reading.record.beats_prior, "{}", reading.reading);
        }
        assert!(readings.iter().any(|reading| !reading.record.beats_prior));
    }
}

//! The track record of each quantity and reading on open-weight models.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

static TRACK_RECORDS: LazyLock<TrackRecords> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../data/track_record.json"))
        .unwrap_or_else(|error| panic!("data/track_record.json: {error}"))
});

/// Track records of quantities and readings on open-weight models with published values, each estimated with a calibration
/// fitted without the model's family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackRecords {
    /// Quantities of the joint estimate, by name.
    pub quantities: Vec<NamedRecord>,
    /// Readings, by id.
    pub readings: Vec<NamedRecord>,
}

/// A track record with the name of its quantity or reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRecord {
    /// Name of the quantity, or id of the reading.
    pub name: String,
    /// Track record.
    pub record: TrackRecord,
}

/// Errors of an estimate on open-weight models with published values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackRecord {
    /// Number of models in the score.
    pub models: usize,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Whether its error is smaller than that of the prior on the same models.
    pub beats_prior: bool,
}

/// The record of a quantity of the joint estimate; none where no value is published.
#[must_use]
pub fn track_record_of_quantity(name: &str) -> Option<TrackRecord> {
    found(&TRACK_RECORDS.quantities, name)
}

/// The record of a reading; none where no value is published.
#[must_use]
pub fn track_record_of_reading(id: &str) -> Option<TrackRecord> {
    found(&TRACK_RECORDS.readings, id)
}

fn found(records: &[NamedRecord], name: &str) -> Option<TrackRecord> {
    records
        .iter()
        .find(|record| record.name == name)
        .map(|record| record.record)
}

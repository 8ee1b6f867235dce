//! The track record of each quantity and reading on open-weight models.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

static TRACK_RECORDS: LazyLock<TrackRecords> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/track_record.json"))
        .unwrap_or_else(|error| panic!("data/track_record.json: {error}"))
});

/// Least mean gain over the prior, in nats per model, of a setting in which a quantity can be identified.
pub const LEAST_GAIN: f64 = 0.1;
/// Most independent pricing decisions of a pool that has a track record of its own.
pub const MOST_COUNTED_DECISIONS: usize = 4;

/// The sheets that an estimate is from, as far as its errors depend on them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RecordSetting {
    /// Sheets of several hosts, pooled.
    PooledHosts,
    /// The sheet of the model's author, alone; nothing of this vendor is in the calibration.
    AuthorAlone,
    /// The sheet of one host that is not the author, alone; nothing of this host is in the calibration.
    OtherHostAlone,
    /// Sheets of several hosts and of several periods, pooled.
    AllPeriods,
}

impl RecordSetting {
    /// All settings.
    pub const ALL: [Self; 4] = [
        Self::PooledHosts,
        Self::AuthorAlone,
        Self::OtherHostAlone,
        Self::AllPeriods,
    ];

    /// Name for a reader.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::PooledHosts => "pooled hosts",
            Self::AuthorAlone => "the author's sheet alone",
            Self::OtherHostAlone => "one other host alone",
            Self::AllPeriods => "pooled hosts and periods",
        }
    }
}

/// Track records of quantities and readings on open-weight models with published values, each estimated with a calibration
/// fitted without the model's family or author.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackRecords {
    /// Quantities of the joint estimate, by name and setting.
    pub quantities: Vec<NamedQuantityRecord>,
    /// Track records of readings, by id.
    pub readings: Vec<NamedRecord>,
}

/// A track record with the name of its quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedQuantityRecord {
    /// Name of the quantity.
    pub name: String,
    /// Track record of the quantity.
    pub record: QuantityRecord,
}

/// A track record with the name of its reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRecord {
    /// Id of the reading.
    pub name: String,
    /// Track record of the reading.
    pub record: TrackRecord,
}

/// Errors of a reading on open-weight models with published values.
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

/// Errors of a quantity of the joint estimate on open-weight models with published values, in one setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuantityRecord {
    /// The sheets that the estimates are from.
    pub setting: RecordSetting,
    /// Independent pricing decisions in each pool; null for all that a model has.
    pub decisions: Option<usize>,
    /// Number of models in the score.
    pub models: usize,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Mean log score over that of the prior, in nats per model.
    pub mean_gain: f64,
    /// 80 % interval of the mean gain over resampled families, or over resampled vendors for an author's sheet.
    pub mean_gain_80: [f64; 2],
    /// Share of the true values inside the 90 % interval.
    pub coverage_90: f64,
    /// Record on models that were released after those of the calibration.
    pub rolling: RollingRecord,
}

/// Errors on later models: each is estimated by a calibration that has seen only models released before its half-year, and none of its
/// author.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollingRecord {
    /// Number of models in the score.
    pub models: usize,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Mean log score over that of the prior, in nats per model.
    pub mean_gain: f64,
    /// Share of the true values inside the 90 % interval.
    pub coverage_90: f64,
}

impl QuantityRecord {
    /// Whether estimates in this setting are known to be better than the prior, with the family left out and on later models.
    #[must_use]
    pub fn beats_prior(&self) -> bool {
        self.beats_prior_of_today() && self.rolling.mean_gain > LEAST_GAIN
    }

    /// Whether they are with the family left out, where later models are in the calibration.
    #[must_use]
    pub fn beats_prior_of_today(&self) -> bool {
        self.mean_gain > LEAST_GAIN && self.mean_gain_80[0] > 0.0
    }

    /// Name of the setting with the number of decisions, for a reader.
    #[must_use]
    pub fn label(&self) -> String {
        let setting = self.setting.label();
        match self.decisions {
            None => setting.to_owned(),
            Some(1) => format!("{setting} with one decision"),
            Some(number) => format!("{setting} with {number} decisions"),
        }
    }
}

/// The records of a quantity of the joint estimate in every setting; none where no value is published.
pub fn track_records_of_quantity(name: &str) -> impl Iterator<Item = QuantityRecord> {
    records_in(&TRACK_RECORDS, name)
}

/// The record of a quantity that an estimate from such sheets shows. Of several settings it may be in, that of the least
/// gain counts; a pool of few independent decisions has the record of their number.
#[must_use]
pub fn track_record_of_quantity(
    name: &str,
    settings: &[RecordSetting],
    decisions: usize,
) -> Option<QuantityRecord> {
    chosen(&TRACK_RECORDS, name, settings, decisions)
}

/// The record of a reading; none where no value is published.
#[must_use]
pub fn track_record_of_reading(id: &str) -> Option<TrackRecord> {
    let mut records = TRACK_RECORDS.readings.iter();
    records
        .find(|record| record.name == id)
        .map(|record| record.record)
}

fn records_in<'r>(
    records: &'r TrackRecords,
    name: &str,
) -> impl Iterator<Item = QuantityRecord> + use<'r> {
    let name = name.to_owned();
    let own = records.quantities.iter();
    own.filter(move |record| record.name == name)
        .map(|record| record.record)
}

fn chosen(
    records: &TrackRecords,
    name: &str,
    settings: &[RecordSetting],
    decisions: usize,
) -> Option<QuantityRecord> {
    let counted = (1..=MOST_COUNTED_DECISIONS)
        .contains(&decisions)
        .then_some(decisions);
    let in_setting = |setting: &RecordSetting| {
        let own = || records_in(records, name).filter(|record| record.setting == *setting);
        let by_number = own().find(|record| counted.is_some() && record.decisions == counted);
        by_number.or_else(|| own().find(|record| record.decisions.is_none()))
    };
    settings
        .iter()
        .filter_map(in_setting)
        .min_by(|left, right| left.mean_gain.total_cmp(&right.mean_gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(
        setting: RecordSetting,
        decisions: Option<usize>,
        mean_gain: f64,
    ) -> NamedQuantityRecord {
        NamedQuantityRecord {
            name: "active_parameters".to_owned(),
            record: QuantityRecord {
                setting,
                decisions,
                models: 10,
                median_fold_error: 1.5,
                fold_error_90: 3.0,
                mean_gain,
                mean_gain_80: [mean_gain - 0.2, mean_gain + 0.2],
                coverage_90: 0.9,
                rolling: RollingRecord {
                    models: 8,
                    median_fold_error: 1.6,
                    fold_error_90: 3.5,
                    mean_gain: 0.2,
                    coverage_90: 0.9,
                },
            },
        }
    }

    fn records() -> TrackRecords {
        use RecordSetting::{AuthorAlone, OtherHostAlone, PooledHosts};
        TrackRecords {
            quantities: vec![
                record(PooledHosts, None, 0.6),
                record(PooledHosts, Some(2), 0.4),
                record(AuthorAlone, None, 0.3),
                record(OtherHostAlone, None, 0.2),
            ],
            readings: Vec::new(),
        }
    }

    #[test]
    fn the_record_is_that_of_the_setting_and_of_the_number_of_decisions() {
        use RecordSetting::{AllPeriods, AuthorAlone, OtherHostAlone, PooledHosts};
        let gain = |settings: &[RecordSetting], decisions| {
            chosen(&records(), "active_parameters", settings, decisions)
                .map(|record| record.mean_gain)
        };
        assert_eq!(gain(&[AuthorAlone], 1), Some(0.3));
        assert_eq!(gain(&[OtherHostAlone], 1), Some(0.2));
        // A seller that may be either shows the worse.
        assert_eq!(gain(&[AuthorAlone, OtherHostAlone], 1), Some(0.2));
        assert_eq!(gain(&[PooledHosts], 2), Some(0.4));
        for many in [5, 47] {
            assert_eq!(gain(&[PooledHosts], many), Some(0.6));
        }
        assert_eq!(gain(&[AllPeriods], 9), None);
        assert_eq!(chosen(&records(), "latency_floor", &[PooledHosts], 9), None);
    }

    #[test]
    fn a_record_beats_the_prior_by_its_mean_and_by_the_end_of_its_interval() {
        let beats = |mean_gain| record(RecordSetting::PooledHosts, None, mean_gain).record;
        assert!(beats(0.25).beats_prior());
        // Above 0.1 nats, but the interval reaches below 0.
        assert!(!beats(0.15).beats_prior());
        let narrow = QuantityRecord {
            mean_gain_80: [0.05, 0.12],
            ..beats(0.09)
        };
        assert!(!narrow.beats_prior());
        // Good on models of its time, and no better than the prior on later ones.
        let good = beats(0.25);
        let rolling = RollingRecord {
            mean_gain: 0.05,
            ..good.rolling
        };
        let outdated = QuantityRecord { rolling, ..good };
        assert!(outdated.beats_prior_of_today() && !outdated.beats_prior());
        let counted = record(RecordSetting::PooledHosts, Some(1), 0.2).record;
        assert_eq!(counted.label(), "pooled hosts with one decision");
    }
}

//! All settings together, and the track records that they give.

use serde::Serialize;

use super::estimate::Shown;
use super::readings::ReadingScore;
use super::score::{Outcome, Score};
use super::scored::scored_models;
use super::setting::{folds, folds_of_decisions, rolling};
use super::validate::{By, ModelOutcome, Scored, Validation, scores, validate, validation};
use crate::prices::PricedModel;
use unroof_base::units::significant;
use unroof_roofline::reference::{
    HeldOut, HeldOutQuantity, MOST_COUNTED_DECISIONS, NamedQuantityRecord, NamedRecord,
    QuantityRecord, RecordSetting, RollingRecord, TrackRecord, TrackRecords,
};

/// The scores in every setting.
#[derive(Debug, Clone, Serialize)]
pub struct Board {
    /// All hosts of a model pooled; the family left out.
    #[serde(flatten)]
    pub pooled_hosts: Validation,
    /// The sheet of the author alone; the author left out.
    pub author_alone: Validation,
    /// One other host alone; the family and the host left out.
    pub other_host_alone: Validation,
    /// All hosts and all periods pooled; the family left out.
    pub all_periods: Periods,
    /// Pools of few independent decisions; the family left out.
    pub by_decisions: Vec<DecisionScores>,
    /// Scores on later models, by the sheets that they are estimated from.
    pub rolling: Vec<(RecordSetting, Scored)>,
}

/// Scores of pools over time, compared with those of today's sheets on the same models.
#[derive(Debug, Clone, Serialize)]
pub struct Periods {
    /// Validation with the sheets of all periods.
    pub pooled: Validation,
    /// Scores with today's sheets, on the same models.
    pub today: Scored,
}

/// Scores of pools with a number of independent decisions.
#[derive(Debug, Clone, Serialize)]
pub struct DecisionScores {
    /// Independent decisions in each pool.
    pub decisions: usize,
    /// Scores by quantity, on the models that are compared.
    pub quantities: Scored,
}

/// Settings with a rolling split; pools over periods are too few for one.
const ROLLING: [RecordSetting; 3] = [
    RecordSetting::PooledHosts,
    RecordSetting::AuthorAlone,
    RecordSetting::OtherHostAlone,
];

/// Scores estimates in every setting.
#[must_use]
pub fn board(models: &[&PricedModel], by: By<'_>, shown: Shown<'_>) -> Board {
    let in_setting = |setting| validate(models, setting, by, shown);
    let pooled_hosts = in_setting(RecordSetting::PooledHosts);
    let periods = in_setting(RecordSetting::AllPeriods);
    let has_periods = |outcome: &ModelOutcome| {
        let mut dated = periods.by_model.iter();
        by.counts(RecordSetting::PooledHosts, &outcome.model)
            && dated.any(|dated| dated.model == outcome.model)
    };
    let today = scores(&pooled_hosts.by_model, has_periods);
    let by_decisions = (1..=MOST_COUNTED_DECISIONS).map(|decisions| {
        let folds = folds_of_decisions(models, decisions);
        DecisionScores {
            decisions,
            quantities: validation(&folds, RecordSetting::PooledHosts, by, shown).quantities,
        }
    });
    let later = |setting| {
        let folds = rolling(&folds(models, setting));
        (setting, validation(&folds, setting, by, shown).all_models)
    };
    Board {
        rolling: ROLLING.map(later).into(),
        author_alone: in_setting(RecordSetting::AuthorAlone),
        other_host_alone: in_setting(RecordSetting::OtherHostAlone),
        all_periods: Periods {
            today,
            pooled: periods,
        },
        by_decisions: by_decisions.collect(),
        pooled_hosts,
    }
}

impl Board {
    /// The scores of a setting.
    #[must_use]
    pub fn setting(&self, setting: RecordSetting) -> &Validation {
        match setting {
            RecordSetting::PooledHosts => &self.pooled_hosts,
            RecordSetting::AuthorAlone => &self.author_alone,
            RecordSetting::OtherHostAlone => &self.other_host_alone,
            RecordSetting::AllPeriods => &self.all_periods.pooled,
        }
    }

    /// Scores on later models in a setting; those of pooled hosts for pools over periods.
    #[must_use]
    pub fn rolling(&self, setting: RecordSetting) -> &Scored {
        let own = self.rolling.iter().find(|(of, _)| *of == setting);
        &own.unwrap_or(&self.rolling[0]).1
    }

    /// Every estimate of every setting, each by a calibration that has not seen the model.
    #[must_use]
    pub fn held_out(&self) -> Vec<HeldOut> {
        let of_setting = |setting| {
            let outcomes = self.setting(setting).by_model.iter();
            outcomes.map(move |outcome| held_out(outcome, setting))
        };
        RecordSetting::ALL
            .into_iter()
            .flat_map(of_setting)
            .collect()
    }

    /// Track records for answers to carry.
    #[must_use]
    pub fn track_records(&self) -> TrackRecords {
        let of_setting = RecordSetting::ALL.into_iter().flat_map(|setting| {
            let scores = self.setting(setting).quantities.iter();
            let later = self.rolling(setting);
            scores.map(move |(name, score)| record(name, (setting, None), score, &later[name]))
        });
        let of_number = self.by_decisions.iter().flat_map(|of_number| {
            let number = Some(of_number.decisions);
            let scores = of_number.quantities.iter();
            let setting = (RecordSetting::PooledHosts, number);
            let later = self.rolling(RecordSetting::PooledHosts);
            scores.map(move |(name, score)| record(name, setting, score, &later[name]))
        });
        TrackRecords {
            quantities: of_setting.chain(of_number).collect(),
            readings: self.pooled_hosts.readings.iter().map(reading).collect(),
        }
    }
}

/// The estimates of a model, for the program to carry.
fn held_out(outcome: &ModelOutcome, setting: RecordSetting) -> HeldOut {
    let quantity = |outcome: &Outcome| HeldOutQuantity {
        log_truth: outcome.truth.ln(),
        log_median: outcome.median.ln(),
        log_low_90: outcome.low_90.ln(),
        log_high_90: outcome.high_90.ln(),
        rank: outcome.scores.rank,
        gain: outcome.scores.gain,
    };
    let quantities = outcome.quantities.iter();
    HeldOut {
        setting,
        model: outcome.model.clone(),
        host: outcome.host.clone(),
        weight: outcome.weight,
        counted: scored_models(setting).any(|listed| listed == outcome.model),
        quantities: quantities
            .map(|(name, outcome)| ((*name).to_owned(), quantity(outcome)))
            .collect(),
    }
}

fn record(
    name: &str,
    (setting, decisions): (RecordSetting, Option<usize>),
    score: &Score,
    later: &Score,
) -> NamedQuantityRecord {
    NamedQuantityRecord {
        name: name.to_owned(),
        record: QuantityRecord {
            setting,
            decisions,
            models: score.models,
            median_fold_error: significant(score.median_fold_error),
            fold_error_90: significant(score.fold_error_90),
            mean_gain: significant(score.log_score_gain),
            mean_gain_80: score.bootstrap.log_score_gain_80.map(significant),
            coverage_90: significant(score.coverage_90),
            rolling: RollingRecord {
                models: later.models,
                median_fold_error: significant(later.median_fold_error),
                fold_error_90: significant(later.fold_error_90),
                mean_gain: significant(later.log_score_gain),
                coverage_90: significant(later.coverage_90),
            },
        },
    }
}

fn reading(score: &ReadingScore) -> NamedRecord {
    NamedRecord {
        name: score.id.to_owned(),
        record: TrackRecord {
            models: score.models,
            median_fold_error: significant(score.median_fold_error),
            fold_error_90: significant(score.fold_error_90),
            beats_prior: score.beats_prior,
        },
    }
}

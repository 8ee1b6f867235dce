//! The estimate of one quantity: its intervals next to those of the prior, and the clues that moved it.
//!
//! ```
//! use unroof_infer::estimate::{Format, LEAST_BITS, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let active = infer(&request).joint.quantities.active_parameters;
//! // The clues that moved it: the product of their factors is the whole move.
//! assert!(active.information_gained_bits >= LEAST_BITS && !active.moved_by.is_empty());
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::evidence::clue_table::ClueKind;
use crate::posterior::{Interval, Summary};
use unroof_base::units::{compact, readable, significant};
use unroof_roofline::reference::{LEAST_GAIN, QuantityRecord};

/// Information in bits from which a quantity counts as identified: that of an interval narrowed by two fifths.
pub const LEAST_BITS: f64 = 0.3;
/// Factor between the ends of a 90 % interval up to which a quantity counts as identified.
pub const MOST_SPREAD: f64 = 30.0;
/// Limit of Pareto k̂: above it the second moment of the weights is practically infinite.
pub(crate) const LARGEST_PARETO_K: f64 = 0.7;

/// One quantity: its posterior next to its prior.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QuantityEstimate {
    /// Moments and quantiles of the logarithm.
    #[serde(skip)]
    pub summary: Summary,
    /// Median of the posterior.
    pub median: f64,
    /// Interval that contains the value with a probability of 50 %.
    pub interval_50: Interval,
    /// Interval that contains the value with a probability of 90 %.
    pub interval_90: Interval,
    /// The estimate before the sheets are read; stated assumptions are part of it.
    pub prior: PriorEstimate,
    /// Information that the sheets add to the prior.
    pub information_gained_bits: f64,
    /// Whether the sheets add enough information for an estimate.
    pub identified: bool,
    /// Reason that it is not identified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub not_identified_because: Option<NotIdentified>,
    /// Unit; empty for a dimensionless ratio.
    pub unit: &'static str,
    /// Equation from the model's unknowns.
    pub equation: &'static str,
    /// Errors of this estimate on open-weight models, from such sheets as these; null where no true value is public.
    pub track_record: Option<QuantityRecord>,
    /// The clues that moved it, in order; the product of their factors is the whole move.
    pub moved_by: Vec<Move>,
}

/// The estimate before the sheets are read.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct PriorEstimate {
    /// Median of the prior.
    pub median: f64,
    /// Interval that contains the value with a probability of 50 %.
    pub interval_50: Interval,
    /// Interval that contains the value with a probability of 90 %.
    pub interval_90: Interval,
}

/// Change of a quantity by a clue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Move {
    /// Clue that moved the estimate.
    pub clue: ClueKind,
    /// Geometric mean after the clue over that before it.
    pub factor: f64,
}

/// The ratio of memory time to compute time, with the regime that follows.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RatioEstimate {
    /// The ratio at peak.
    #[serde(flatten)]
    pub estimate: QuantityEstimate,
    /// Limit of decoding at the fitted efficiencies: memory or compute.
    pub regime: Regime,
    /// Probability of that regime.
    pub regime_probability: f64,
}

/// Limit of decoding: memory or compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Reading memory limits decoding.
    MemoryBound,
    /// Arithmetic limits decoding.
    ComputeBound,
}

/// Reason that a quantity is not identified.
#[derive(Debug, Clone, PartialEq)]
pub enum NotIdentified {
    /// The quantity is stated.
    Stated,
    /// The rent of the machine is neither published nor stated.
    NoRent,
    /// The sheets do not fit the model.
    Misfit,
    /// The sheets add too little information.
    TooLittle {
        /// The information in bits.
        bits: f64,
        /// Prices that the sheets lack.
        missing: Vec<String>,
    },
    /// No true value is public, so such estimates cannot be scored.
    NoPublicTruth,
    /// Few draws carry the estimate.
    Unsound {
        /// Pareto k̂ of the weights.
        pareto_k: f64,
    },
    /// The 90 % interval is too wide to say anything.
    TooWide {
        /// Upper end over lower end.
        factor: f64,
    },
    /// A public value lies outside of the 90 % interval.
    Contradicted {
        /// The public value.
        value: f64,
    },
    /// On open-weight models, estimates from such sheets are not known to be better than the prior.
    NoBetterThanPrior {
        /// Track record on open-weight models.
        record: QuantityRecord,
    },
}

impl NotIdentified {
    /// The reason that a quantity is not identified; none if it is.
    #[must_use]
    pub fn check(
        prior: &Summary,
        bits: f64,
        is_misfit: bool,
        record: Option<QuantityRecord>,
        missing: &[String],
    ) -> Option<Self> {
        if prior.log_sd <= 0.0 {
            Some(Self::Stated)
        } else {
            let Some(record) = record else {
                return Some(Self::NoPublicTruth);
            };
            if is_misfit {
                Some(Self::Misfit)
            } else if bits < LEAST_BITS {
                let missing = missing.to_vec();
                Some(Self::TooLittle { bits, missing })
            } else if record.beats_prior() {
                None
            } else {
                Some(Self::NoBetterThanPrior { record })
            }
        }
    }
}

impl fmt::Display for NotIdentified {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated => write!(out, "it is stated, so there is nothing to identify"),
            Self::NoRent => write!(
                out,
                "not defined: state `rental_usd_per_hour`; the accelerator has no published rent, and the interval is that of \
                 what other accelerators of its arithmetic cost"
            ),
            Self::Misfit => write!(
                out,
                "the prices contradict each other or the price law, or the model is of another kind; see `misfit`"
            ),
            Self::TooLittle { bits, missing } => {
                let bits = readable((bits * 100.0).floor() / 100.0);
                write!(
                    out,
                    "the sheet adds only {bits} bits of information; {LEAST_BITS} are needed"
                )?;
                missing
                    .iter()
                    .try_for_each(|missing| write!(out, "; {missing}"))
            }
            Self::Unsound { pareto_k } => write!(
                out,
                "few draws carry the estimate: Pareto k̂ is {pareto_k:.2}, above {LARGEST_PARETO_K}"
            ),
            Self::TooWide { factor } => write!(
                out,
                "the 90 % interval spans a factor of {}; at most {MOST_SPREAD} is an estimate",
                compact(*factor)
            ),
            Self::Contradicted { value } => write!(
                out,
                "the public value, {}, lies outside of the 90 % interval of what the prices say",
                compact(*value)
            ),
            Self::NoPublicTruth => write!(
                out,
                "no public truth: no vendor publishes it, so such estimates cannot be scored"
            ),
            Self::NoBetterThanPrior { record } if record.beats_prior_of_today() => write!(
                out,
                "on {} open-weight models that were released later than those of the calibration, {} gains {:.2} nats over the \
                 prior; more than {LEAST_GAIN} are needed",
                record.rolling.models,
                record.label(),
                record.rolling.mean_gain
            ),
            Self::NoBetterThanPrior { record } => {
                let [low, high] = record.mean_gain_80.map(|gain| format!("{gain:.2}"));
                write!(
                    out,
                    "on open-weight models, {} gains {:.2} nats over the prior ({low} to {high}); more than {LEAST_GAIN} are \
                     needed, and an interval above 0",
                    record.label(),
                    record.mean_gain
                )
            }
        }
    }
}

impl Serialize for NotIdentified {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A quantity as the answer shows it.
pub(super) trait Shown {
    /// Quantity from the estimate, and the regime with its probability.
    fn new(estimate: QuantityEstimate, regime: (Regime, f64)) -> Self;

    /// Estimate of the quantity.
    fn estimate(&self) -> &QuantityEstimate;

    /// Estimate of the quantity, to be changed.
    fn estimate_mut(&mut self) -> &mut QuantityEstimate;
}

impl Shown for QuantityEstimate {
    fn new(estimate: QuantityEstimate, _: (Regime, f64)) -> Self {
        estimate
    }

    fn estimate(&self) -> &QuantityEstimate {
        self
    }

    fn estimate_mut(&mut self) -> &mut QuantityEstimate {
        self
    }
}

impl Shown for RatioEstimate {
    fn new(estimate: QuantityEstimate, (regime, probability): (Regime, f64)) -> Self {
        Self {
            estimate,
            regime,
            regime_probability: significant(probability),
        }
    }

    fn estimate(&self) -> &QuantityEstimate {
        &self.estimate
    }

    fn estimate_mut(&mut self) -> &mut QuantityEstimate {
        &mut self.estimate
    }
}

impl QuantityEstimate {
    /// Takes back that it is identified, if it is: a public value lies outside of its interval.
    pub(super) fn contradict(&mut self, value: f64) {
        if self.identified {
            self.identified = false;
            self.not_identified_because = Some(NotIdentified::Contradicted { value });
        }
    }

    /// KV bytes with this many bytes per element.
    pub(super) fn as_served(&self, element_bytes: f64) -> Self {
        let times = |value: f64| significant(value * element_bytes);
        let interval = |interval: Interval| Interval {
            low: times(interval.low),
            high: times(interval.high),
        };
        Self {
            median: times(self.median),
            interval_50: interval(self.interval_50),
            interval_90: interval(self.interval_90),
            prior: PriorEstimate {
                median: times(self.prior.median),
                interval_50: interval(self.prior.interval_50),
                interval_90: interval(self.prior.interval_90),
            },
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::summarize;
    use unroof_roofline::reference::{RecordSetting, RollingRecord};

    fn record(mean_gain: f64, low: f64) -> QuantityRecord {
        QuantityRecord {
            setting: RecordSetting::AuthorAlone,
            decisions: None,
            models: 49,
            median_fold_error: 1.9,
            fold_error_90: 5.0,
            mean_gain,
            mean_gain_80: [low, 0.5],
            coverage_90: 0.9,
            rolling: RollingRecord {
                models: 30,
                median_fold_error: 2.0,
                fold_error_90: 6.0,
                mean_gain,
                coverage_90: 0.9,
            },
        }
    }

    #[test]
    fn a_quantity_is_identified_by_information_and_by_the_record_of_its_setting() {
        let prior = summarize([0.0, 1.0, 2.0].into_iter(), &[1.0; 3]);
        let check =
            |bits, is_misfit, record| NotIdentified::check(&prior, bits, is_misfit, record, &[]);
        let good = record(0.3, 0.1);
        assert_eq!(check(0.31, false, Some(good)), None);
        assert_eq!(check(0.31, true, Some(good)), Some(NotIdentified::Misfit));
        assert!(matches!(
            check(0.29, false, Some(good)),
            Some(NotIdentified::TooLittle { .. })
        ));
        for poor in [record(0.04, 0.01), record(0.3, -0.01)] {
            let reason = check(2.0, false, Some(poor)).expect("the record is poor");
            assert_eq!(reason, NotIdentified::NoBetterThanPrior { record: poor });
            assert!(reason.to_string().contains("the author's sheet alone"));
        }
        let later = RollingRecord {
            mean_gain: 0.01,
            ..good.rolling
        };
        let outdated = QuantityRecord {
            rolling: later,
            ..good
        };
        let reason = check(2.0, false, Some(outdated)).expect("it does not hold for later models");
        assert!(reason.to_string().contains("released later"), "{reason}");
        let unknown = check(2.0, false, None).expect("nothing is published");
        assert!(unknown.to_string().starts_with("no public truth"));
        let stated = summarize([1.0].into_iter(), &[1.0]);
        assert_eq!(
            NotIdentified::check(&stated, 2.0, false, Some(good), &[]),
            Some(NotIdentified::Stated)
        );
    }
}

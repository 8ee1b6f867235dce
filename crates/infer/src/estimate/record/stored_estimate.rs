//! A stored estimate read back: the parts that pages, charts and the terminal show, of a model or of the answer to sheets.
//!
//! ```
//! use unroof_infer::estimate::quantities::JointQuantity;
//! use unroof_infer::estimate::{Format, StoredEstimate, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let answer = infer(&request);
//! let stored: StoredEstimate = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
//! let active = stored.quantity(JointQuantity::ActiveParameters).unwrap();
//! assert_eq!(active.median, answer.joint.quantities.active_parameters.median);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::estimate::answer::Answer;
use crate::estimate::judgement::published::{Published, PublishedBy, PublishedServing};
use crate::estimate::margins::LineMargin;
use crate::estimate::nearest::NearModel;
use crate::estimate::quantities::JointQuantity;
use crate::estimate::quantity_estimate::{PriorEstimate, Regime};
use crate::estimate::samples::Spread;
use crate::estimate::storage_tiers::OfferTiers;
use crate::joint::Diagnostics;
use crate::posterior::Interval;
use unroof_roofline::reference::{RecordSetting, RollingRecord};

/// A stored estimate, as far as it is shown.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredEstimate {
    /// Id of the estimate.
    pub id: Uuid,
    /// Version of the engine that made it.
    pub engine_version: String,
    /// author/model, of the estimate of a model.
    pub canonical_model: Option<String>,
    /// Separate pricing decisions, of the estimate of a model.
    pub decisions: Option<u32>,
    /// The sheets behind it.
    pub price_sheets: Vec<StoredSheet>,
    quantities: BTreeMap<String, EstimatedQuantity>,
    /// Public values of the model.
    pub published: Option<Published>,
    /// Tokens of the prompts whose costs and margins these are.
    pub prompt_tokens: f64,
    /// Margin of each price line.
    #[serde(default)]
    pub margins: Vec<LineMargin>,
    /// Storage tier of each cache offer.
    #[serde(default)]
    pub storage_tiers: Vec<OfferTiers>,
    /// Open-weight models with the most similar figures.
    #[serde(default)]
    pub nearest_open_models: Vec<NearModel>,
    /// Whether the sheets fit the model.
    pub misfit: StoredMisfit,
    /// Reliability of the draws.
    pub diagnostics: Diagnostics,
    /// Pairs of readings that contradict each other, of an answer.
    #[serde(default)]
    pub conflicts: Vec<StoredConflict>,
    /// Every reading, of an answer.
    #[serde(default)]
    pub readings: Vec<StoredReading>,
}

impl StoredEstimate {
    /// An answer, as it will be read back.
    ///
    /// # Errors
    /// The answer cannot be serialised.
    pub fn of(answer: &Answer) -> serde_json::Result<Self> {
        serde_json::from_value(serde_json::to_value(answer)?)
    }

    /// A quantity; an estimate by an older engine may lack it.
    #[must_use]
    pub fn quantity(&self, quantity: JointQuantity) -> Option<&EstimatedQuantity> {
        self.quantities.get(quantity.name())
    }

    /// Every quantity that it has, in the order of answers.
    pub fn in_order(&self) -> impl Iterator<Item = (JointQuantity, &EstimatedQuantity)> {
        let all = JointQuantity::ALL.into_iter();
        all.filter_map(|quantity| Some((quantity, self.quantity(quantity)?)))
    }

    /// The limit of decoding with its probability.
    #[must_use]
    pub fn regime(&self) -> Option<(Regime, f64)> {
        let mut all = self.quantities.values();
        all.find_map(|estimate| Some((estimate.regime?, estimate.regime_probability?)))
    }

    /// Costs and margins of the published architecture.
    #[must_use]
    pub fn serving(&self) -> Option<&PublishedServing> {
        self.published.as_ref()?.serving.as_ref()
    }

    /// A size of the published architecture.
    #[must_use]
    pub fn published_size(&self, quantity: JointQuantity) -> Option<f64> {
        let published = self.published.as_ref()?;
        let value = published.value(quantity)?.value;
        (published.by == PublishedBy::Architecture).then_some(value)
    }

    /// A quantity to be shown: of the published architecture, where it has it, else by prices alone.
    #[must_use]
    pub fn best_spread(&self, quantity: JointQuantity) -> Option<Spread> {
        if let Some(median) = self.published_size(quantity) {
            return Some(Spread {
                median,
                interval_90: Interval {
                    low: median,
                    high: median,
                },
            });
        }
        let published = self.published.as_ref();
        let served = published.and_then(|published| published.served(quantity));
        served.or_else(|| {
            let own = self.quantity(quantity)?;
            Some(Spread {
                median: own.median,
                interval_90: own.interval_90,
            })
        })
    }

    /// The margins to be shown: of the published architecture, where there is one, else by prices alone.
    #[must_use]
    pub fn best_margins(&self) -> &[LineMargin] {
        self.serving()
            .map_or(&self.margins, |serving| &serving.margins)
    }

    /// Margin of the output price.
    #[must_use]
    pub fn output_margin(&self) -> Option<&LineMargin> {
        self.best_margins()
            .iter()
            .find(|margin| margin.line == "output")
    }

    /// The sheets that it reads.
    pub fn sheets_used(&self) -> impl Iterator<Item = &StoredSheet> {
        self.price_sheets
            .iter()
            .filter(|sheet| sheet.used != Some(false))
    }
}

/// A sheet of an estimate.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredSheet {
    /// Id of its content.
    pub id: Uuid,
    /// Provider that bills for the sheet's offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// author/model; the estimate of a model does not repeat it.
    pub canonical_model: Option<String>,
    /// Currency; the estimate of a model does not state it.
    pub currency: Option<String>,
    /// Whether the estimate of a model reads it.
    pub used: Option<bool>,
}

/// A quantity: its posterior beside its prior.
#[derive(Debug, Clone, Deserialize)]
pub struct EstimatedQuantity {
    /// Median of the posterior.
    pub median: f64,
    /// 50 % interval of the posterior.
    pub interval_50: Interval,
    /// 90 % interval of the posterior.
    pub interval_90: Interval,
    /// The estimate before the sheets are read.
    pub prior: PriorEstimate,
    /// Information that the sheets add.
    pub information_gained_bits: f64,
    /// Whether that is enough.
    pub identified: bool,
    /// Reason that it is not.
    pub not_identified_because: Option<String>,
    /// Errors of such estimates on open-weight models.
    pub track_record: Option<StoredRecord>,
    /// The clues that moved it.
    pub moved_by: Vec<StoredMove>,
    /// Limit of decoding, of the ratio of memory time to compute time.
    pub regime: Option<Regime>,
    /// Probability of the regime.
    pub regime_probability: Option<f64>,
}

/// Errors of estimates on open-weight models.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredRecord {
    /// Number of models in the record.
    pub models: u32,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// Error that nine of ten do not exceed.
    pub fold_error_90: f64,
    /// Share of the 90 % intervals that hold the truth; a reading has none.
    pub coverage_90: Option<f64>,
    /// The record on later models; a reading has none.
    pub rolling: Option<RollingRecord>,
    /// Whether a reading is better than the prior.
    pub beats_prior: Option<bool>,
    /// The sheets that the scored estimates are from; a reading has none.
    pub setting: Option<RecordSetting>,
    /// Independent pricing decisions in each pool; none for all that a model has.
    pub decisions: Option<usize>,
}

impl StoredRecord {
    /// Share of the 90 % intervals that hold the truth: the smaller of those on models of the calibration's time and on later ones.
    #[must_use]
    pub fn least_coverage_90(&self) -> Option<f64> {
        let later = self.rolling.map_or(1.0, |later| later.coverage_90);
        Some(self.coverage_90?.min(later))
    }
}

/// Change of a quantity by a clue.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredMove {
    /// Clue that moved the quantity.
    pub clue: String,
    /// Geometric mean after it over that before it.
    pub factor: f64,
}

/// Whether the sheets fit the model.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredMisfit {
    /// A clue whose probability is below this is a misfit.
    pub threshold: f64,
    /// Probability of each clue.
    pub checks: Vec<StoredCheck>,
    /// Prices in an order that no cost explains.
    pub contradictions: Vec<String>,
}

/// Tail probability of a clue.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredCheck {
    /// Clue that is checked.
    pub clue: String,
    /// Probability of a value at least as extreme.
    pub probability: f64,
}

/// Readings that contradict each other.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredConflict {
    /// Ids of the readings; one alone contradicts the joint estimate.
    pub between: Vec<String>,
    /// The quantity they disagree about.
    pub quantity: String,
    /// Value of each of the two readings.
    pub values: [f64; 2],
    /// Reason that both cannot be right.
    pub why: String,
}

impl StoredConflict {
    /// The two sides in words: one reading alone contradicts the joint estimate.
    #[must_use]
    pub fn sides(&self) -> [&str; 2] {
        let side = |place| {
            let id = self.between.get(place);
            id.map_or("the joint estimate", String::as_str)
        };
        [side(0), side(1)]
    }
}

/// A stored reading of a textbook's closed form.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredReading {
    /// Id of the reading.
    pub id: String,
    /// The feature of the sheet that it is drawn from.
    pub clue: String,
    /// Quantity that the reading is about.
    pub quantity: String,
    /// Closed form of the reading.
    pub equation: String,
    /// The closed form with its numbers.
    pub working: Option<String>,
    /// The values that it is computed from.
    #[serde(default)]
    pub inputs: Vec<StoredInput>,
    /// `equal`, `upper` or `lower`.
    pub kind: String,
    /// A number or a name; null where it is not defined.
    #[serde(default)]
    pub value: Value,
    /// Unit of the value.
    #[serde(default)]
    pub unit: String,
    /// Errors of the reading on open-weight models.
    pub track_record: Option<StoredRecord>,
}

/// An input of a reading.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredInput {
    /// Name of the input.
    pub name: String,
    /// Value of the input.
    pub value: Value,
}

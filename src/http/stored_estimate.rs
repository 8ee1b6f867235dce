//! A stored estimate read back: the parts that pages and charts show, of a model or of the answer to one sheet.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use unroof_core::estimate::posterior::Interval;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::reference::RecordSetting;

/// An estimate.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredEstimate {
    /// Its id.
    pub(super) id: Uuid,
    /// Separate pricing decisions, of the estimate of a model.
    pub(super) decisions: Option<u32>,
    /// The sheets behind it.
    pub(super) price_sheets: Vec<StoredSheet>,
    quantities: BTreeMap<String, StoredQuantity>,
    /// Margin of each price line.
    pub(super) margins: Vec<StoredMargin>,
    /// Storage tier of each cache offer.
    pub(super) storage_tiers: Vec<StoredTiers>,
    /// Open-weight models with the most similar figures.
    pub(super) nearest_open_models: Vec<StoredNeighbour>,
    /// Whether the sheets fit the model.
    pub(super) misfit: StoredMisfit,
    /// Reliability of the draws.
    pub(super) diagnostics: StoredDiagnostics,
    /// Pairs of readings that contradict each other, of an answer.
    #[serde(default)]
    pub(super) conflicts: Vec<StoredConflict>,
    /// Every reading, of an answer.
    #[serde(default)]
    pub(super) readings: Vec<StoredReading>,
}

impl StoredEstimate {
    /// A quantity; an estimate by an older engine may lack it.
    pub(super) fn quantity(&self, quantity: JointQuantity) -> Option<&StoredQuantity> {
        self.quantities.get(quantity.name())
    }

    /// Every quantity that it has, in the order of answers.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (JointQuantity, &StoredQuantity)> {
        let all = JointQuantity::ALL.into_iter();
        all.filter_map(|quantity| Some((quantity, self.quantity(quantity)?)))
    }

    /// The sheets that it reads.
    pub(super) fn sheets_used(&self) -> impl Iterator<Item = &StoredSheet> {
        self.price_sheets
            .iter()
            .filter(|sheet| sheet.used != Some(false))
    }
}

/// A sheet of an estimate.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredSheet {
    /// Id of its content.
    pub(super) id: Uuid,
    /// Currency; the estimate of a model does not state it.
    pub(super) currency: Option<String>,
    /// Whether the estimate of a model reads it.
    pub(super) used: Option<bool>,
}

/// A quantity: its posterior beside its prior.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredQuantity {
    /// Median.
    pub(super) median: f64,
    /// 50 % interval.
    pub(super) interval_50: Interval,
    /// 90 % interval.
    pub(super) interval_90: Interval,
    /// The estimate before the sheets are read.
    pub(super) prior: StoredPrior,
    /// Information that the sheets add.
    pub(super) information_gained_bits: f64,
    /// Whether that is enough.
    pub(super) identified: bool,
    /// Reason that it is not.
    pub(super) not_identified_because: Option<String>,
    /// Errors of such estimates on open-weight models.
    pub(super) track_record: Option<StoredRecord>,
    /// The clues that moved it.
    pub(super) moved_by: Vec<StoredMove>,
}

/// The estimate before the sheets are read.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredPrior {
    /// Median.
    pub(super) median: f64,
    /// 90 % interval.
    pub(super) interval_90: Interval,
}

/// Errors of estimates on open-weight models.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredRecord {
    /// Number of models.
    pub(super) models: u32,
    /// Median error, as a factor.
    pub(super) median_fold_error: f64,
    /// Error that nine of ten do not exceed.
    pub(super) fold_error_90: f64,
    /// Share of the 90 % intervals that hold the truth; a reading has none.
    pub(super) coverage_90: Option<f64>,
    /// Whether a reading is better than the prior.
    pub(super) beats_prior: Option<bool>,
    /// The sheets that the scored estimates are from; a reading has none.
    pub(super) setting: Option<RecordSetting>,
    /// Independent pricing decisions in each pool; none for all that a model has.
    pub(super) decisions: Option<usize>,
}

/// Change of a quantity by a clue.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredMove {
    /// The clue.
    pub(super) clue: String,
    /// Geometric mean after it over that before it.
    pub(super) factor: f64,
}

/// Margin of one price line.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredMargin {
    /// The price line.
    pub(super) line: String,
    /// USD per million tokens.
    pub(super) price_usd_per_mtok: f64,
    /// Median.
    pub(super) median: f64,
    /// 90 % interval.
    pub(super) interval_90: Interval,
    /// Probability that the cost exceeds the price.
    pub(super) cost_exceeds_price_probability: f64,
    /// A warning where that is at least a half.
    pub(super) warning: Option<String>,
}

/// A cache offer with the probability of each storage tier.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredTiers {
    /// Provider of the offer.
    pub(super) provider: String,
    /// Name of the offer.
    pub(super) name: String,
    /// Time to live of a write; an implicit cache has none.
    pub(super) ttl_seconds: Option<f64>,
    /// Probability of each tier, by its id.
    pub(super) probabilities: BTreeMap<String, f64>,
    /// The same without the documented medium.
    pub(super) probability_without_document: Option<BTreeMap<String, f64>>,
    /// The most probable one.
    pub(super) most_likely: String,
    /// Evidence behind the probabilities.
    pub(super) rests_on: Vec<String>,
    /// Document of the vendor.
    pub(super) document: Option<StoredDocument>,
}

/// Document of a vendor about a cache offer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredDocument {
    /// The medium as it is written.
    pub(super) medium: Option<String>,
    /// The lifetime as it is written.
    pub(super) lifetime: String,
    /// Its source.
    pub(super) source: String,
}

/// An open-weight model near the estimate.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredNeighbour {
    /// Its name.
    pub(super) name: String,
    /// Distance in standard deviations of the estimate.
    pub(super) distance: f64,
    /// Active parameters.
    pub(super) active_parameters: f64,
    /// Total parameters.
    pub(super) total_parameters: f64,
    /// KV bytes read per token of a context of 8,192.
    pub(super) kv_bytes_per_token_read: f64,
}

/// Whether the sheets fit the model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredMisfit {
    /// A clue whose probability is below this is a misfit.
    pub(super) threshold: f64,
    /// Probability of each clue.
    pub(super) checks: Vec<StoredCheck>,
    /// Prices in an order that no cost explains.
    pub(super) contradictions: Vec<String>,
}

/// Tail probability of a clue.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredCheck {
    /// The clue.
    pub(super) clue: String,
    /// Probability of a value at least as extreme.
    pub(super) probability: f64,
}

/// Reliability of the draws.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredDiagnostics {
    /// Number of independent draws with the same information.
    pub(super) effective_sample_size: f64,
    /// Warnings about the intervals.
    pub(super) warnings: Vec<String>,
}

/// Readings that contradict each other.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredConflict {
    /// Ids of the readings; one alone contradicts the joint estimate.
    pub(super) between: Vec<String>,
    /// The quantity they disagree about.
    pub(super) quantity: String,
    /// Value of each.
    pub(super) values: [f64; 2],
    /// Reason that both cannot be right.
    pub(super) why: String,
}

/// A reading.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredReading {
    /// Its id.
    pub(super) id: String,
    /// The feature of the sheet that it is drawn from.
    pub(super) clue: String,
    /// The quantity.
    pub(super) quantity: String,
    /// The closed form.
    pub(super) equation: String,
    /// The closed form with its numbers.
    pub(super) working: Option<String>,
    /// The values that it is computed from.
    #[serde(default)]
    pub(super) inputs: Vec<StoredInput>,
    /// `equal`, `upper` or `lower`.
    pub(super) kind: String,
    /// A number or a name; null where it is not defined.
    #[serde(default)]
    pub(super) value: Value,
    /// Unit.
    #[serde(default)]
    pub(super) unit: String,
    /// Its errors on open-weight models.
    pub(super) track_record: Option<StoredRecord>,
}

/// An input of a reading.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StoredInput {
    /// Its name.
    pub(super) name: String,
    /// Its value.
    pub(super) value: Value,
}

//! An estimate as it is stored and sent: the parts that a report shows, of an answer or of a model.

use std::collections::BTreeMap;

use serde::Deserialize;
use unroof_core::estimate::Answer;
use unroof_core::estimate::joint::Regime;
use unroof_core::estimate::posterior::Interval;
use unroof_core::estimate::quantities::JointQuantity;

/// An estimate.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Estimated {
    /// Its id.
    pub(in crate::cli) id: String,
    pub(super) engine_version: String,
    /// author/model, of the estimate of a model.
    pub(super) canonical_model: Option<String>,
    pub(in crate::cli) price_sheets: Vec<SheetNamed>,
    quantities: BTreeMap<String, Quantity>,
    #[serde(default)]
    pub(in crate::cli) margins: Vec<Margin>,
    #[serde(default)]
    pub(super) storage_tiers: Vec<CacheOffer>,
    #[serde(default)]
    pub(super) nearest_open_models: Vec<OpenModel>,
    pub(super) misfit: Misfit,
    pub(super) diagnostics: Diagnostics,
    #[serde(default)]
    pub(super) conflicts: Vec<Conflict>,
}

/// A sheet behind an estimate.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct SheetNamed {
    pub(in crate::cli) provider: String,
    pub(in crate::cli) model: String,
    pub(super) canonical_model: Option<String>,
    pub(super) currency: Option<String>,
}

/// The estimate of one quantity.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Quantity {
    pub(in crate::cli) median: f64,
    pub(super) interval_50: Interval,
    pub(in crate::cli) interval_90: Interval,
    pub(super) prior: Prior,
    pub(super) information_gained_bits: f64,
    pub(in crate::cli) identified: bool,
    track_record: Option<serde::de::IgnoredAny>,
    regime: Option<Regime>,
    regime_probability: Option<f64>,
}

impl Quantity {
    /// Whether such estimates can be scored.
    pub(super) fn has_record(&self) -> bool {
        self.track_record.is_some()
    }
}

/// The estimate of a quantity without the sheets.
#[derive(Debug, Deserialize)]
pub(super) struct Prior {
    pub(super) interval_90: Interval,
}

/// Margin of one price line.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Margin {
    pub(in crate::cli) line: String,
    pub(in crate::cli) median: f64,
    pub(in crate::cli) interval_90: Interval,
    pub(super) warning: Option<String>,
}

/// A cache offer and the storage tiers that it may be on.
#[derive(Debug, Deserialize)]
pub(super) struct CacheOffer {
    pub(super) name: String,
    pub(super) probabilities: BTreeMap<String, f64>,
}

/// An open-weight model.
#[derive(Debug, Deserialize)]
pub(super) struct OpenModel {
    pub(super) name: String,
}

/// Fit of the prices to the model.
#[derive(Debug, Deserialize)]
pub(super) struct Misfit {
    pub(super) threshold: f64,
    pub(super) checks: Vec<Check>,
    pub(super) contradictions: Vec<String>,
}

/// Probability of a clue, given those before it.
#[derive(Debug, Deserialize)]
pub(super) struct Check {
    pub(super) clue: String,
    pub(super) probability: f64,
}

/// Doubts about an estimate.
#[derive(Debug, Deserialize)]
pub(super) struct Diagnostics {
    #[serde(default)]
    pub(super) warnings: Vec<String>,
}

/// Two readings that contradict each other.
#[derive(Debug, Deserialize)]
pub(super) struct Conflict {
    between: Vec<String>,
    pub(super) why: String,
}

impl Conflict {
    /// The two sides in words: one reading alone contradicts the joint estimate.
    pub(super) fn sides(&self) -> String {
        let second = self.between.get(1);
        let second = second.map_or("the joint estimate", String::as_str);
        let first = self.between.first().map_or("", String::as_str);
        format!("{first} against {second}")
    }
}

impl Estimated {
    /// The parts of an answer that a report shows.
    ///
    /// # Errors
    /// The answer cannot be serialised.
    pub(super) fn of(answer: &Answer) -> serde_json::Result<Self> {
        serde_json::from_value(serde_json::to_value(answer)?)
    }

    /// The quantities that it has, in the order of reports.
    pub(in crate::cli) fn quantities(&self) -> Vec<(JointQuantity, &Quantity)> {
        let named = |quantity: JointQuantity| Some((quantity, self.quantity(quantity)?));
        JointQuantity::ALL.into_iter().filter_map(named).collect()
    }

    /// One of them.
    pub(in crate::cli) fn quantity(&self, quantity: JointQuantity) -> Option<&Quantity> {
        self.quantities.get(quantity.definition().name)
    }

    /// The limit of decoding with its probability.
    pub(in crate::cli) fn regime(&self) -> Option<(Regime, f64)> {
        let mut all = self.quantities.values();
        all.find_map(|estimate| Some((estimate.regime?, estimate.regime_probability?)))
    }
}

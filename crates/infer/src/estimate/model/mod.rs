//! One estimate per model: the sheets of all its hosts and periods, answered together, and the margin of
//! each offer.
//!
//! ```
//! use unroof_infer::estimate::model::ModelPool;
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let sheet = |seller: &str, input: &str, output: &str| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//!     PriceSheet::new(seller, "m-1", vec![cell])
//! };
//! // Three sellers, of which one copies the author.
//! let sheets = [sheet("acme", "1", "4"), sheet("copy", "1", "4"), sheet("host", "0.7", "3.5")];
//! assert_eq!(ModelPool::new("acme/m-1", &sheets).decisions(), 2);
//! ```

mod decisions;
mod difference;
mod modes;
#[cfg(test)]
mod tests;

pub use difference::{Difference, differences};

use jiff::civil::Date;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use self::decisions::{
    MOST_SHEETS, distinct_decisions, of_hosts, own_decisions, spread_over_sellers,
};
use crate::clue;
use crate::evidence::assumptions::Assumptions;
use crate::joint;
use crate::joint::{ENGINE_VERSION, Joint};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::catalog::canonical::Mode;
use unroof_price_sheet::sheet::compare::decision::Prices;
use unroof_price_sheet::sheet::{EvidenceItem, PriceSheet, SheetId};
use unroof_roofline::reference::calibration::Calibration;

/// The estimate of a model from all its sheets.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelEstimate {
    /// Made of the model, its sheets, the engine version and the calibration: the same sheets have the same id.
    pub id: Uuid,
    /// `model`: the estimate is not that of one sheet.
    pub of: ModelMark,
    /// Canonical name, `author/model`.
    #[schema(example = "openai/gpt-oss-120b")]
    pub canonical_model: String,
    /// Version of the estimation engine.
    #[schema(example = "0.1.0")]
    pub engine_version: &'static str,
    /// The calibration behind the joint estimate.
    pub calibration_id: String,
    /// Every sheet of the model, the author's own first.
    pub price_sheets: Vec<ModelSheet>,
    /// Number of separate pricing decisions among them.
    pub decisions: usize,
    /// Day of release that the estimate reads: as the author's own sheets state it, else the middle of all that are stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = Date, required = false)]
    pub released: Option<Date>,
    /// Public facts that the estimate reads beside the prices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub evidence: Vec<EvidenceItem>,
    /// Joint estimate from these sheets, with intervals.
    #[serde(flatten)]
    pub joint: Box<Joint>,
}

/// Mark of an estimate of a model.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelMark {
    /// All sheets of a model.
    Model,
}

/// A sheet of a model, and its part in the estimate.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelSheet {
    /// Id of the pricing content.
    #[schema(value_type = Uuid)]
    pub id: SheetId,
    /// Provider that bills for the sheet's offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<jiff::Timestamp>,
    /// Whether the estimate reads it. One that repeats a decision of its own seller is not read, nor are those beyond the
    /// 64 most different ones, nor those of resellers of closed weights, nor offers of a fast or thinking mode beside plain ones.
    pub used: bool,
}

/// The sheets of a model in the order in which they are answered, and which of them are read.
#[derive(Debug, Clone)]
pub struct ModelPool {
    canonical_model: String,
    contents: Vec<PriceSheet>,
    /// Mode of each sheet, by the name of its offer.
    modes: Vec<Option<Mode>>,
    is_used: Vec<bool>,
    decisions: usize,
    /// Day of release, as [`release_of`] finds it.
    released: Option<Date>,
    /// Public facts on any of the sheets, each once.
    evidence: Vec<EvidenceItem>,
}

impl ModelPool {
    /// The pool of a model's sheets, whatever their order: the author's own come first, so that a copy is a copy of
    /// theirs, and of one seller's equal prices, in other regions or periods, one stands for all.
    #[must_use]
    pub fn new(canonical_model: &str, sheets: &[PriceSheet]) -> Self {
        let author = author_of(canonical_model);
        let mut contents: Vec<PriceSheet> =
            sheets.iter().map(PriceSheet::pricing_content).collect();
        contents.sort_by_cached_key(|sheet| {
            (
                sheet.provider != author,
                sheet.provider.clone(),
                sheet.region != PriceSheet::DEFAULT_REGION,
                sheet.region.clone(),
                sheet.valid_from,
                sheet.id().0,
            )
        });
        contents.dedup_by_key(|sheet| sheet.id());
        let prices: Vec<Prices> = contents.iter().map(Prices::of).collect();
        let own = of_hosts(
            own_decisions(&contents, &prices),
            canonical_model,
            &contents,
        );
        let modes = modes::of_each(&contents);
        let own = modes::plain_offers(own, &modes);
        let distinct = distinct_decisions(&own, &prices);
        let used = if own.len() <= MOST_SHEETS {
            own
        } else {
            spread_over_sellers(&distinct, &contents)
        };
        Self {
            canonical_model: canonical_model.to_owned(),
            is_used: (0..contents.len())
                .map(|place| used.binary_search(&place).is_ok())
                .collect(),
            decisions: distinct.len(),
            released: release_of(&contents, author),
            modes,
            contents,
            evidence: each_once(sheets.iter().flat_map(|sheet| &sheet.evidence)),
        }
    }

    /// The sheets that are read, each with the release of the model and with the modes that its seller offers under other names;
    /// the first has the public facts of all.
    #[must_use]
    pub fn used(&self) -> Vec<PriceSheet> {
        let places = (0..self.contents.len()).filter(|place| self.is_used[*place]);
        let mut used: Vec<PriceSheet> = places
            .map(|place| modes::with_fast_mode(place, &self.contents, &self.modes))
            .collect();
        for sheet in &mut used {
            sheet.released = self.released;
        }
        if let Some(first) = used.first_mut() {
            first.evidence.clone_from(&self.evidence);
        }
        used
    }

    /// Ids of the sheets that are read.
    pub fn used_ids(&self) -> impl Iterator<Item = SheetId> {
        let marked = self.contents.iter().zip(&self.is_used);
        let used = marked.filter(|(_, is_used)| **is_used);
        used.map(|(sheet, _)| sheet.id())
    }

    /// The pool with further public facts about its model.
    #[must_use]
    pub fn with_further_facts(self, facts: &[EvidenceItem]) -> Self {
        let evidence = each_once(self.evidence.iter().chain(facts));
        Self { evidence, ..self }
    }

    /// The pool with these facts and this release, as an estimate has read them.
    pub(crate) fn with_facts(self, evidence: Vec<EvidenceItem>, released: Option<Date>) -> Self {
        Self {
            released,
            evidence,
            ..self
        }
    }

    /// Ids of all sheets.
    pub fn sheet_ids(&self) -> impl Iterator<Item = SheetId> {
        self.contents.iter().map(PriceSheet::id)
    }

    /// Number of separate pricing decisions.
    #[must_use]
    pub fn decisions(&self) -> usize {
        self.decisions
    }

    /// Id of the estimate by a calibration.
    #[must_use]
    pub fn estimate_id(&self, calibration_id: &str) -> Uuid {
        let mut sheets: Vec<String> = self.sheet_ids().map(|id| id.to_string()).collect();
        sheets.sort_unstable();
        let facts = self.evidence.iter();
        sheets.extend(facts.map(|fact| json!(fact).to_string()));
        let question = json!({
            "of": "model",
            "engine_version": ENGINE_VERSION,
            "calibration_id": calibration_id,
            "canonical_model": self.canonical_model,
            "price_sheets": sheets,
        });
        SheetId::digest(question.to_string().as_bytes())
    }

    /// Estimates the model.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn estimate(
        &self,
        calibration: &Calibration,
        wanted: &CancelToken,
    ) -> Result<ModelEstimate, Cancelled> {
        let assumptions = Assumptions::default();
        let used = self.used();
        let readings = used
            .iter()
            .flat_map(|sheet| clue::readings(sheet, &assumptions));
        let readings: Vec<_> = readings.collect();
        let joint = joint::estimate(&used, &readings, &assumptions, calibration, wanted)?;
        let name = &self.canonical_model;
        let mut joint =
            joint.beside_public_values(name, &used, &assumptions, calibration, wanted)?;
        joint
            .diagnostics
            .warnings
            .extend(modes::in_words(&self.contents, &self.modes));
        let calibration_id = joint.diagnostics.calibration_id.clone();
        Ok(ModelEstimate {
            id: self.estimate_id(&calibration_id),
            of: ModelMark::Model,
            canonical_model: self.canonical_model.clone(),
            engine_version: ENGINE_VERSION,
            calibration_id,
            price_sheets: self.sheets(),
            decisions: self.decisions,
            released: self.released,
            evidence: self.evidence.clone(),
            joint: Box::new(joint),
        })
    }

    /// The estimate where one sheet alone is read, from the stored answer to it; none where that is not its answer.
    #[must_use]
    pub fn from_answer(&self, answer: &str, calibration_id: &str) -> Option<Value> {
        /// Left out where nothing is public.
        const OPTIONAL: [&str; 2] = ["published", "margin_report"];
        const JOINT: [&str; 10] = [
            "quantities",
            "published",
            "prompt_tokens",
            "margins",
            "margin_report",
            "storage_tiers",
            "nearest_open_models",
            "attention_layouts",
            "misfit",
            "diagnostics",
        ];
        let is_as_stored = self.used().iter().all(|used| self.contents.contains(used));
        if !is_as_stored || self.modes.iter().any(Option::is_some) {
            return None;
        }
        let mut answer: Map<String, Value> = serde_json::from_str(answer).ok()?;
        let mut head = json!({
            "id": self.estimate_id(calibration_id),
            "of": ModelMark::Model,
            "canonical_model": self.canonical_model,
            "engine_version": ENGINE_VERSION,
            "calibration_id": calibration_id,
            "price_sheets": self.sheets(),
            "decisions": self.decisions,
        });
        if let Some(released) = self.released {
            head["released"] = json!(released);
        }
        if !self.evidence.is_empty() {
            head["evidence"] = json!(self.evidence);
        }
        let Value::Object(mut estimate) = head else {
            return None;
        };
        for name in JOINT {
            match answer.remove(name) {
                Some(part) => estimate.insert(name.to_owned(), part),
                None if OPTIONAL.contains(&name) => None,
                None => return None,
            };
        }
        Some(Value::Object(estimate))
    }

    fn sheets(&self) -> Vec<ModelSheet> {
        let marked = self.contents.iter().zip(&self.is_used);
        let sheet = |(sheet, used): (&PriceSheet, &bool)| ModelSheet {
            id: sheet.id(),
            provider: sheet.provider.clone(),
            model: sheet.model.clone(),
            region: sheet.region.clone(),
            valid_from: sheet.valid_from,
            used: *used,
        };
        marked.map(sheet).collect()
    }
}

/// The earliest day of release on the author's own sheets; where they state none, the middle of all stated days, since one
/// catalog in many is wrong by years.
fn release_of(contents: &[PriceSheet], author: &str) -> Option<Date> {
    let own = contents.iter().filter(|sheet| sheet.provider == author);
    let mut stated: Vec<Date> = contents.iter().filter_map(|sheet| sheet.released).collect();
    stated.sort_unstable();
    let middle = stated.get(stated.len().saturating_sub(1) / 2).copied();
    own.filter_map(|sheet| sheet.released).min().or(middle)
}

/// Public facts, each once, in an order of their own.
fn each_once<'f>(facts: impl Iterator<Item = &'f EvidenceItem>) -> Vec<EvidenceItem> {
    let mut facts: Vec<EvidenceItem> = facts.cloned().collect();
    facts.sort_by_cached_key(|fact| json!(fact).to_string());
    facts.dedup();
    facts
}

/// The author in `author/model`.
#[must_use]
pub fn author_of(canonical_model: &str) -> &str {
    canonical_model
        .split_once('/')
        .map_or(canonical_model, |(author, _)| author)
}

//! One estimate per model: the sheets of all its hosts and periods, answered together, and the margin of
//! each offer.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::joint::{self, ENGINE_VERSION, Joint};
use super::posterior::Interval;
use super::quantities::{JointQuantity, Quantities};
use super::quantity_estimate::QuantityEstimate;
use crate::clue;
use crate::input::cancel::{CancelToken, Cancelled};
use crate::model::assumptions::Assumptions;
use crate::reference::calibration::Calibration;
use crate::sheet::compare::decision::{Likeness, Prices};
use crate::sheet::{PriceSheet, SheetId};
use crate::units::significant;

/// Most sheets that are answered together, as for a pool that is sent.
const MOST_SHEETS: usize = 64;

/// The estimate of a model from all its sheets.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelEstimate {
    /// Made of the model, its sheets, the engine version and the calibration: the same sheets have the same id.
    pub id: Uuid,
    /// `model`: the estimate is not that of one sheet.
    pub of: ModelMark,
    /// author/model
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
    /// Billing provider.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<jiff::Timestamp>,
    /// Whether the estimate reads it. One that repeats a decision of its own seller is not read, nor are those beyond the
    /// 64 most different ones.
    pub used: bool,
}

/// The sheets of a model in the order in which they are answered, and which of them are read.
#[derive(Debug, Clone)]
pub struct ModelPool {
    canonical_model: String,
    contents: Vec<PriceSheet>,
    is_used: Vec<bool>,
    decisions: usize,
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
        let own = own_decisions(&contents, &prices);
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
            contents,
        }
    }

    /// The sheets that are read.
    #[must_use]
    pub fn used(&self) -> Vec<PriceSheet> {
        let marked = self.contents.iter().zip(&self.is_used);
        let used = marked.filter(|(_, is_used)| **is_used);
        used.map(|(sheet, _)| sheet.clone()).collect()
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
        let calibration_id = joint.diagnostics.calibration_id.clone();
        Ok(ModelEstimate {
            id: self.estimate_id(&calibration_id),
            of: ModelMark::Model,
            canonical_model: self.canonical_model.clone(),
            engine_version: ENGINE_VERSION,
            calibration_id,
            price_sheets: self.sheets(),
            decisions: self.decisions,
            joint: Box::new(joint),
        })
    }

    /// The estimate where one sheet alone is read, from the stored answer to it; none where that is not its answer.
    #[must_use]
    pub fn from_answer(&self, answer: &str, calibration_id: &str) -> Option<Value> {
        const JOINT: [&str; 7] = [
            "quantities",
            "margins",
            "storage_tiers",
            "nearest_open_models",
            "attention_layouts",
            "misfit",
            "diagnostics",
        ];
        let mut answer: Map<String, Value> = serde_json::from_str(answer).ok()?;
        let head = json!({
            "id": self.estimate_id(calibration_id),
            "of": ModelMark::Model,
            "canonical_model": self.canonical_model,
            "engine_version": ENGINE_VERSION,
            "calibration_id": calibration_id,
            "price_sheets": self.sheets(),
            "decisions": self.decisions,
        });
        let Value::Object(mut estimate) = head else {
            return None;
        };
        for name in JOINT {
            estimate.insert(name.to_owned(), answer.remove(name)?);
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

/// The author in `author/model`.
#[must_use]
pub fn author_of(canonical_model: &str) -> &str {
    canonical_model
        .split_once('/')
        .map_or(canonical_model, |(author, _)| author)
}

/// The first sheet of every decision of every seller.
fn own_decisions(contents: &[PriceSheet], prices: &[Prices]) -> Vec<usize> {
    let mut own: Vec<usize> = Vec::new();
    for (place, sheet) in contents.iter().enumerate() {
        let repeats = |known: &usize| {
            contents[*known].provider == sheet.provider
                && prices[*known].is_one_decision(&prices[place])
        };
        if !own.iter().any(repeats) {
            own.push(place);
        }
    }
    own
}

/// The first sheet of every decision; its copies are left out.
fn distinct_decisions(own: &[usize], prices: &[Prices]) -> Vec<usize> {
    let mut distinct: Vec<usize> = Vec::new();
    for place in own {
        let is_known =
            |known: &usize| prices[*known].likeness(&prices[*place]) == Some(Likeness::OneDecision);
        if !distinct.iter().any(is_known) {
            distinct.push(*place);
        }
    }
    distinct
}

/// Up to [`MOST_SHEETS`] decisions: the newest of every seller, then the one before that, and so on.
fn spread_over_sellers(distinct: &[usize], contents: &[PriceSheet]) -> Vec<usize> {
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for place in distinct {
        let sheet = &contents[*place];
        let is_newer = |other: &&usize| {
            let other = &contents[**other];
            other.provider == sheet.provider
                && (other.valid_from, other.id().0) > (sheet.valid_from, sheet.id().0)
        };
        ranked.push((distinct.iter().filter(is_newer).count(), *place));
    }
    ranked.sort_unstable();
    ranked.truncate(MOST_SHEETS);
    let mut used: Vec<usize> = ranked.into_iter().map(|(_, place)| place).collect();
    used.sort_unstable();
    used
}

/// A quantity on which two estimates differ: their 90 % intervals have no value in common, or their medians are a factor
/// of two apart.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// The quantity.
    pub quantity: &'static str,
    /// The sheet's median over the model's.
    pub factor: f64,
    /// Whether the 90 % intervals have a value in common.
    pub intervals_overlap: bool,
}

/// Factor between medians from which two estimates differ.
const NOTED_FACTOR: f64 = 2.0;

/// Quantities on which the estimate of a sheet differs from that of its model, given as median and 90 % interval each.
#[must_use]
pub fn differences(
    sheet: &Quantities,
    model: impl Fn(JointQuantity) -> Option<(f64, Interval)>,
) -> Vec<Difference> {
    let differs = |(quantity, of_sheet): (JointQuantity, &QuantityEstimate)| {
        let (median, interval) = model(quantity)?;
        let own = of_sheet.interval_90;
        let intervals_overlap = own.low <= interval.high && interval.low <= own.high;
        let factor = of_sheet.median / median;
        let is_far = factor.ln().abs() >= NOTED_FACTOR.ln();
        (is_far || !intervals_overlap).then(|| Difference {
            quantity: quantity.name(),
            factor: significant(factor),
            intervals_overlap,
        })
    };
    sheet.in_order().into_iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::super::margins::ImpliedMargin;
    use super::*;
    use crate::sheet::{ContextTier, RateCell};

    fn sheet(provider: &str, input: &str, output: &str) -> PriceSheet {
        let mut cell = RateCell::new("standard", ContextTier::default(), None);
        cell.input = Some(input.parse().unwrap());
        cell.output = Some(output.parse().unwrap());
        PriceSheet::new(provider, "m-1", vec![cell])
    }

    fn estimate(sheets: &[PriceSheet]) -> ModelEstimate {
        let pool = ModelPool::new("acme/m-1", sheets);
        let wanted = CancelToken::default();
        pool.estimate(Calibration::shipped(), &wanted).unwrap()
    }

    fn active(estimate: &ModelEstimate) -> (f64, Interval) {
        let active = &estimate.joint.quantities.active_parameters;
        (active.median, active.interval_90)
    }

    #[test]
    fn the_order_of_the_sheets_changes_no_byte() {
        let mut sheets = vec![
            sheet("zeta", "0.2", "0.8"),
            sheet("acme", "0.15", "0.6"),
            sheet("beta", "0.1", "0.5"),
        ];
        let one = serde_json::to_string(&estimate(&sheets)).unwrap();
        sheets.reverse();
        let pool = ModelPool::new("acme/m-1", &sheets);
        assert_eq!(pool.contents[0].provider, "acme");
        assert_eq!(serde_json::to_string(&estimate(&sheets)).unwrap(), one);
    }

    #[test]
    fn a_sellers_regions_and_periods_of_one_price_are_read_once() {
        let first = sheet("acme", "1", "4");
        let mut region = first.clone();
        region.region = "eu".to_owned();
        let mut period = first.clone();
        period.valid_from = Some("2026-01-01T00:00:00Z".parse().unwrap());
        let copy = sheet("beta", "1", "4");
        let pool = ModelPool::new("acme/m-1", &[period, copy, region, first]);
        assert_eq!(pool.contents.len(), 4);
        assert_eq!(pool.used().len(), 2);
        assert_eq!(pool.decisions(), 1);
    }

    #[test]
    fn a_long_history_is_thinned_to_the_newest_decisions_of_every_seller() {
        let mut sheets: Vec<PriceSheet> = (1..=80)
            .map(|number| {
                let mut sheet = sheet(
                    "acme",
                    &format!("{number}"),
                    &format!("{}", number * number),
                );
                let day = format!("20{:02}-01-01T00:00:00Z", number + 10);
                sheet.valid_from = Some(day.parse().unwrap());
                sheet
            })
            .collect();
        sheets.push(sheet("beta", "0.3", "7"));
        let pool = ModelPool::new("acme/m-1", &sheets);
        let used = pool.used();
        assert_eq!(used.len(), MOST_SHEETS);
        assert_eq!(pool.decisions(), 81);
        assert!(used.iter().any(|sheet| sheet.provider == "beta"));
        let is_oldest = |sheet: &PriceSheet| sheet.valid_from == sheets[0].valid_from;
        assert!(!used.iter().any(is_oldest));
    }

    #[test]
    fn many_sellers_of_one_model_have_one_estimate_and_each_a_margin() {
        let sheets = [
            sheet("acme", "0.15", "0.6"),
            sheet("beta", "0.05", "0.25"),
            sheet("gamma", "0.35", "0.75"),
        ];
        let pooled = estimate(&sheets);
        let (median, interval) = active(&pooled);
        let alone: Vec<f64> = sheets
            .iter()
            .map(|sheet| active(&estimate(std::slice::from_ref(sheet))).0)
            .collect();
        assert!(
            alone[1] < median && median < alone[2],
            "{median} in {alone:?}"
        );
        assert!(interval.low < interval.high);
        let cost = &pooled.joint.quantities.cost_output_usd_per_mtok;
        let margin = |price| ImpliedMargin::new(price, cost.median, cost.interval_90);
        assert!(margin(0.25).unwrap().median < margin(0.75).unwrap().median);
        assert_eq!(margin(0.0), None);
    }

    #[test]
    fn a_repricing_moves_the_architecture_less_than_the_price() {
        let hosts = [
            sheet("acme", "0.15", "0.6"),
            sheet("beta", "0.12", "0.5"),
            sheet("gamma", "0.2", "0.75"),
            sheet("delta", "0.1", "0.45"),
        ];
        let (before, _) = active(&estimate(&hosts));
        let mut repriced = hosts.to_vec();
        repriced.push(sheet("beta", "0.06", "0.27"));
        let (after, interval) = active(&estimate(&repriced));
        assert!(
            (before / after).ln().abs() < 0.5 * 2.0_f64.ln(),
            "{before} to {after}"
        );
        assert!(interval.low < before && before < interval.high);
    }

    #[test]
    fn the_stored_answer_to_the_only_sheet_is_its_models_estimate() {
        let own = sheet("acme", "1", "4");
        let request = super::super::Request {
            sheets: vec![own.clone()],
            assumptions: Assumptions::default(),
        };
        let answer = serde_json::to_string(&super::super::infer(&request)).unwrap();
        let pool = ModelPool::new("acme/m-1", std::slice::from_ref(&own));
        let calibration_id = Calibration::shipped().id();
        let reused = pool.from_answer(&answer, &calibration_id).unwrap();
        let computed = serde_json::to_string(&estimate(&[own])).unwrap();
        assert_eq!(reused.to_string(), computed);
        assert_eq!(pool.from_answer("{}", &calibration_id), None);
    }

    #[test]
    fn estimates_differ_by_a_factor_of_two_or_by_intervals_that_part() {
        let one = estimate(&[sheet("acme", "1", "4")]);
        let quantities = &one.joint.quantities;
        let same = |quantity| {
            let own = quantities.get(quantity);
            Some((own.median, own.interval_90))
        };
        assert_eq!(differences(quantities, same), []);
        let apart = |quantity: JointQuantity| {
            let own = quantities.get(quantity);
            (quantity == JointQuantity::ActiveParameters).then_some((
                own.median * 100.0,
                Interval {
                    low: own.interval_90.high * 2.0,
                    high: own.interval_90.high * 3.0,
                },
            ))
        };
        let found = differences(quantities, apart);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].quantity, "active_parameters");
        assert!((found[0].factor - 0.01).abs() < 1e-9);
        assert!(!found[0].intervals_overlap);
    }
}

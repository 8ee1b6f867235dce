//! The question behind a stored estimate, so that its draws can be made again.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::estimate::model::ModelPool;
use crate::estimate::samples::{PriorAndPosterior, Samples};
use crate::estimate::serving::Serving;
use crate::estimate::{Answer, Estimator, Request, identity};
use crate::evidence::assumptions::Assumptions;
use crate::joint;
use crate::joint::ENGINE_VERSION;
use unroof_base::input;
use unroof_base::input::body::Body;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::input::json;
use unroof_price_sheet::sheet::{EvidenceItem, PriceSheet, canonical};

/// The sheets of an estimate as the engine reads them, and the assumptions.
#[derive(Debug, Clone)]
pub struct Question {
    contents: Vec<PriceSheet>,
    assumptions: Assumptions,
}

/// The question of any stored estimate, from which the whole of it can be computed again.
#[derive(Debug, Clone)]
pub enum StoredQuestion {
    /// The sheets and assumptions of a request.
    Sheets(Question),
    /// All sheets of a model.
    Model(ModelPool),
}

/// Reason that the draws of a stored estimate cannot be made again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRepeatable {
    /// Another version of the engine made the estimate.
    #[error("the estimate is by engine {0}, and this is engine {ENGINE_VERSION}")]
    Engine(String),
    /// The estimate was made with another calibration.
    #[error("the estimate is by calibration {0}, which is not the one in use")]
    Calibration(String),
    /// The stored sheets are not those that the estimate was made from.
    #[error("the sheets of the estimate are no longer stored as they were")]
    Sheets,
}

/// The parts of a stored estimate that say how it was made.
#[derive(Deserialize)]
struct Head {
    id: Uuid,
    engine_version: String,
    calibration_id: String,
    canonical_model: Option<String>,
    price_sheets: Vec<HeadSheet>,
    /// Facts that the estimate of a model reads.
    #[serde(default)]
    evidence: Vec<Value>,
    /// Day of release that it reads.
    released: Option<Date>,
    /// Assumptions of the estimate; none for the estimate of a model.
    assumptions: Option<Value>,
}

#[derive(Deserialize)]
struct HeadSheet {
    id: Uuid,
    /// Whether the estimate of a model reads it.
    used: Option<bool>,
    /// With the speeds that were measured then; the stored sheet may have others.
    service_tiers: Option<Value>,
    /// Facts that were known then; the stored sheet may have others.
    #[serde(default)]
    evidence: Vec<Value>,
}

impl StoredQuestion {
    /// The question of a stored estimate, from its document and the documents of all its sheets by their ids.
    ///
    /// # Errors
    /// It was made otherwise than it would be now.
    pub fn of_stored(
        estimate: &str,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
    ) -> Result<Self, NotRepeatable> {
        let head = Head::of_estimator(estimate, estimator)?;
        let question = match (&head.assumptions, &head.canonical_model) {
            (Some(assumptions), _) => head
                .question(assumptions, sheets, estimator)
                .map(Self::Sheets),
            (None, Some(model)) => head.pool(model, sheets, estimator).map(Self::Model),
            (None, None) => None,
        };
        question.ok_or(NotRepeatable::Sheets)
    }
}

impl Question {
    /// The question of a stored estimate, from its document and the documents of its sheets by their ids.
    ///
    /// # Errors
    /// It was made otherwise than it would be now.
    pub fn of_stored(
        estimate: &str,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
    ) -> Result<Self, NotRepeatable> {
        let head = Head::of_estimator(estimate, estimator)?;
        let question = match (&head.assumptions, &head.canonical_model) {
            (Some(assumptions), _) => head.question(assumptions, sheets, estimator),
            (None, Some(model)) => head.question_of_model(model, sheets),
            (None, None) => None,
        };
        question.ok_or(NotRepeatable::Sheets)
    }

    /// The question of a model.
    #[must_use]
    pub fn of_pool(pool: &ModelPool) -> Self {
        Self {
            contents: pool.used(),
            assumptions: Assumptions::default(),
        }
    }

    /// Answer to the question.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn answer(&self, estimator: &Estimator, wanted: &CancelToken) -> Result<Answer, Cancelled> {
        let request = Request {
            sheets: self.contents.clone(),
            assumptions: self.assumptions.clone(),
        };
        estimator.infer(&request, wanted)
    }

    /// The longest context that one of the sheets states.
    #[must_use]
    pub fn longest_context(&self) -> Option<u32> {
        let stated = |sheet: &PriceSheet| sheet.limits.context;
        self.contents.iter().filter_map(stated).max()
    }

    /// Draws of the prior and of the estimate that answer the question.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn samples(
        &self,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<PriorAndPosterior, Cancelled> {
        let calibration = estimator.calibration();
        joint::samples(&self.contents, &self.assumptions, calibration, wanted)
    }

    /// Draws of the model of a name with its published architecture stated; none where it is not published.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn samples_of_architecture(
        &self,
        model: &str,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<Samples>, Cancelled> {
        let (contents, calibration) = (&self.contents, estimator.calibration());
        let drawn =
            joint::drawn_with_architecture(model, contents, &self.assumptions, calibration, wanted);
        Ok(drawn?.map(|(samples, _)| samples))
    }

    /// Draws that answer the question, and how the drawn models are served.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn samples_and_serving(
        &self,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<(PriorAndPosterior, Serving), Cancelled> {
        let calibration = estimator.calibration();
        joint::samples_and_serving(&self.contents, &self.assumptions, calibration, wanted)
    }
}

impl Head {
    /// Head of an estimate by this engine and calibration.
    fn of_estimator(estimate: &str, estimator: &Estimator) -> Result<Self, NotRepeatable> {
        let head: Self = serde_json::from_str(estimate).map_err(|_| NotRepeatable::Sheets)?;
        if head.engine_version != ENGINE_VERSION {
            return Err(NotRepeatable::Engine(head.engine_version));
        }
        if head.calibration_id != estimator.calibration_id() {
            return Err(NotRepeatable::Calibration(head.calibration_id));
        }
        Ok(head)
    }

    /// The question of an answer; none where it has another id.
    fn question(
        &self,
        assumptions: &Value,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
    ) -> Option<Question> {
        let text = assumptions.to_string();
        let assumptions = input::read(text.as_bytes(), Assumptions::read).ok()?;
        let content = |sheet: &HeadSheet| {
            let stored = sheets.get(&sheet.id)?;
            Some(read(stored, Some(sheet))?.evidence_content())
        };
        let contents: Vec<PriceSheet> = self
            .price_sheets
            .iter()
            .map(content)
            .collect::<Option<_>>()?;
        let ids = contents.iter().map(PriceSheet::evidence_id).collect();
        let id = identity(ids, &assumptions, estimator.calibration_id());
        (id == self.id).then_some(Question {
            contents,
            assumptions,
        })
    }

    /// The pool of a model's sheets; none where it has another id.
    fn pool(
        &self,
        model: &str,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
    ) -> Option<ModelPool> {
        let all = self.price_sheets.iter();
        let all: Option<Vec<PriceSheet>> = all
            .map(|sheet| read(sheets.get(&sheet.id)?, None))
            .collect();
        let pool = ModelPool::new(model, &all?).with_facts(self.facts()?, self.released);
        (pool.estimate_id(estimator.calibration_id()) == self.id).then_some(pool)
    }

    /// The public facts that the estimate of a model has read.
    fn facts(&self) -> Option<Vec<EvidenceItem>> {
        let facts = Value::from(self.evidence.clone()).to_string();
        input::read(facts.as_bytes(), |root| root.list_of(EvidenceItem::read)).ok()
    }

    /// The question of a model; none where another choice of its sheets would be read.
    fn question_of_model(&self, model: &str, sheets: &BTreeMap<Uuid, String>) -> Option<Question> {
        let used = || {
            self.price_sheets
                .iter()
                .filter(|sheet| sheet.used == Some(true))
        };
        let stored = used().map(|sheet| read(sheets.get(&sheet.id)?, None));
        let stored: Vec<PriceSheet> = stored.collect::<Option<_>>()?;
        let pool = ModelPool::new(model, &stored).with_facts(self.facts()?, self.released);
        let read_now = pool.used_ids().map(|id| id.0);
        let is_same = read_now.eq(used().map(|sheet| sheet.id));
        is_same.then(|| Question::of_pool(&pool))
    }
}

/// A stored sheet, with the service tiers and the facts of an answer where they are given.
fn read(document: &str, of_answer: Option<&HeadSheet>) -> Option<PriceSheet> {
    let mut text = document.to_owned();
    if let Some(head) = of_answer {
        let mut sheet: Value = serde_json::from_str(document).ok()?;
        let fields = sheet.as_object_mut()?;
        if let Some(tiers) = head.service_tiers.clone() {
            fields.insert("service_tiers".to_owned(), tiers);
        }
        fields.insert("evidence".to_owned(), head.evidence.clone().into());
        text = sheet.to_string();
    }
    canonical::read(&json::parse(text.as_bytes()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::estimate::{Format, infer, read_request};

    fn document(provider: &str) -> String {
        let document = json!({
            "schema": "pricesheet/v1", "provider": provider, "model": "m-1",
            "canonical_model": "acme/m-1", "currency": "USD", "unit": "per_1m_tokens",
            "service_tiers": {"standard": {"measured": {"output_tokens_per_second": {"p50": 80}}}},
            "rates": [{"input": "1.25", "output": "10.00"}],
            "sources": [{"url": "https://example.com/prices", "format": "official"}],
        });
        document.to_string()
    }

    fn sheet(document: &str) -> PriceSheet {
        canonical::read(&json::parse(document.as_bytes()).unwrap()).unwrap()
    }

    fn median(question: &Question) -> f64 {
        let samples = question.samples(&Estimator::default(), &CancelToken::default());
        let quantity = crate::estimate::quantities::JointQuantity::ActiveParameters;
        samples.unwrap().posterior.summary(quantity).median()
    }

    #[test]
    fn the_draws_of_a_stored_answer_are_made_again() {
        let (one, other) = (document("beta"), document("acme"));
        let body = format!(
            "{{\"price_sheets\": [{one}, {other}], \"assumptions\": {{\"accelerator\": \"h100-sxm\"}}}}"
        );
        let request = read_request(body.as_bytes(), &Format::Canonical).unwrap();
        let answer = infer(&request);
        let text = serde_json::to_string(&answer).unwrap();
        let known = BTreeMap::from([
            (sheet(&one).id().0, one.clone()),
            (sheet(&other).id().0, other.clone()),
        ]);
        let estimator = Estimator::default();
        let stored = StoredQuestion::of_stored(&text, &known, &estimator).unwrap();
        let StoredQuestion::Sheets(question) = stored else {
            panic!("it is the answer to sheets");
        };
        let repeated = question.answer(&estimator, &CancelToken::default());
        assert_eq!(serde_json::to_string(&repeated.unwrap()).unwrap(), text);
        // The speeds may have been measured again since.
        let again = one.replace("80", "95");
        let sheets = BTreeMap::from([(sheet(&one).id().0, again), (sheet(&other).id().0, other)]);
        let question = Question::of_stored(&text, &sheets, &Estimator::default()).unwrap();
        let expected = answer.joint.quantities.active_parameters.median;
        assert_eq!(median(&question).to_bits(), expected.to_bits());
        assert_eq!(
            Question::of_stored(&text, &BTreeMap::new(), &Estimator::default()).unwrap_err(),
            NotRepeatable::Sheets
        );
    }

    #[test]
    fn the_draws_of_a_models_estimate_are_made_again() {
        let documents = [document("beta"), document("acme")];
        let sheets: Vec<PriceSheet> = documents.iter().map(|text| sheet(text)).collect();
        let pool = ModelPool::new("acme/m-1", &sheets);
        let estimator = Estimator::default();
        let estimate = pool.estimate(estimator.calibration(), &CancelToken::default());
        let estimate = estimate.unwrap();
        let text = serde_json::to_string(&estimate).unwrap();
        let ids = sheets.iter().map(|sheet| sheet.id().0);
        let stored: BTreeMap<Uuid, String> = ids.zip(documents).collect();
        let question = Question::of_stored(&text, &stored, &estimator).unwrap();
        let expected = estimate.joint.quantities.active_parameters.median;
        assert_eq!(median(&question).to_bits(), expected.to_bits());
        let StoredQuestion::Model(pool) =
            StoredQuestion::of_stored(&text, &stored, &estimator).unwrap()
        else {
            panic!("it is the estimate of a model");
        };
        let repeated = pool.estimate(estimator.calibration(), &CancelToken::default());
        assert_eq!(serde_json::to_string(&repeated.unwrap()).unwrap(), text);
        let older = text.replace(ENGINE_VERSION, "0.0.1");
        let refused = Question::of_stored(&older, &stored, &estimator).unwrap_err();
        assert_eq!(refused, NotRepeatable::Engine("0.0.1".to_owned()));
    }
}

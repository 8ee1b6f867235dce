//! A stored estimate, compared with what it says of itself and with the same estimate computed again.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::Drawn;
use unroof_infer::estimate::model::{ModelPool, author_of};
use unroof_infer::estimate::{
    CancelToken, Cancelled, ENGINE_VERSION, Estimator, NotRepeatable, Question, Request,
    StoredQuestion, infer_while,
};
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_store::{CheckedEstimate, EstimateRecord, ModelColumns, differing};

/// The parts of an estimate that say how it was made.
#[derive(Debug, Deserialize)]
struct Head {
    id: Uuid,
    engine_version: String,
    calibration_id: String,
    price_sheets: Vec<HeadSheet>,
    /// `model` for the estimate of a model.
    #[serde(default)]
    of: Value,
    #[serde(default)]
    canonical_model: Value,
    #[serde(default)]
    decisions: Value,
}

#[derive(Debug, Deserialize)]
struct HeadSheet {
    id: Uuid,
    /// Whether the estimate of a model reads it; every other estimate reads all of its sheets.
    #[serde(default = "is_read")]
    used: bool,
}

fn is_read() -> bool {
    true
}

/// An estimate that differs from the stored one.
pub(super) struct Differing {
    /// The difference, in words.
    pub(super) detail: String,
    /// The estimate computed again.
    pub(super) again: EstimateRecord,
}

/// An estimate whose document is sound.
#[derive(Debug)]
pub(super) struct SoundEstimate {
    row: CheckedEstimate,
    document: String,
    head: Head,
}

impl SoundEstimate {
    /// Reads an estimate.
    ///
    /// # Errors
    /// The fault, in words.
    pub(super) fn read(row: CheckedEstimate) -> Result<Self, String> {
        let document = row.document();
        let document =
            document.map_err(|_| "its document does not match its checksum".to_owned())?;
        let head: Head = serde_json::from_str(&document)
            .map_err(|_| "its document is not an estimate".to_owned())?;
        if head.id != row.id {
            return Err(format!("its document has the id {}", head.id));
        }
        if head.engine_version != row.engine_version {
            return Err(format!("its document is of engine {}", head.engine_version));
        }
        Ok(Self {
            row,
            document,
            head,
        })
    }

    pub(super) fn id(&self) -> Uuid {
        self.row.id
    }

    /// Whether this engine made it, with this calibration.
    pub(super) fn is_of(&self, estimator: &Estimator) -> bool {
        self.head.engine_version == ENGINE_VERSION
            && self.head.calibration_id == estimator.calibration_id()
    }

    /// Ids of its sheets.
    pub(super) fn sheet_ids(&self) -> impl Iterator<Item = Uuid> {
        self.head.price_sheets.iter().map(|sheet| sheet.id)
    }

    /// The sheets that it was drawn from.
    pub(super) fn drawn_from(&self) -> BTreeSet<Uuid> {
        let read = self.head.price_sheets.iter().filter(|sheet| sheet.used);
        read.map(|sheet| sheet.id).collect()
    }

    /// The row of its model, if it is that of one.
    pub(super) fn model(&self) -> Option<ModelColumns> {
        let name = self.head.canonical_model.as_str()?;
        (self.head.of == "model").then(|| ModelColumns {
            estimate_id: self.head.id,
            canonical_model: name.to_owned(),
            author: author_of(name).to_owned(),
            calibration_id: self.head.calibration_id.clone(),
            sheets: i64::try_from(self.head.price_sheets.len()).unwrap_or(i64::MAX),
            decisions: self.head.decisions.as_i64().unwrap_or_default(),
        })
    }

    /// Computes it again from the documents of its sheets; what is wrong, if anything is.
    ///
    /// # Errors
    /// The work is cancelled.
    pub(super) fn compare(
        &self,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<Differing>, Cancelled> {
        match StoredQuestion::of_stored(&self.document, sheets, estimator) {
            Ok(StoredQuestion::Sheets(question)) => {
                self.compare_answer(&question, estimator, wanted)
            }
            Ok(StoredQuestion::Model(pool)) => self.compare_model(&pool, estimator, wanted),
            Err(_) => Ok(None),
        }
    }

    /// The reason why it cannot be computed again, if there is one.
    pub(super) fn obstacle(
        &self,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
    ) -> Option<String> {
        if let Some(missing) = self.sheet_ids().find(|id| !sheets.contains_key(id)) {
            return Some(format!("its price sheet {missing} is missing or damaged"));
        }
        match StoredQuestion::of_stored(&self.document, sheets, estimator) {
            Ok(_) => None,
            Err(NotRepeatable::Sheets) => {
                Some("its id is not that of its sheets and assumptions".to_owned())
            }
            Err(other) => Some(other.to_string()),
        }
    }

    fn compare_answer(
        &self,
        question: &Question,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<Differing>, Cancelled> {
        let answer = question.answer(estimator, wanted)?;
        let document = serde_json::to_string(&answer).expect("an answer serialises");
        let again = EstimateRecord::new(&answer, document);
        Ok(in_words(&self.row.differences(&again)).map(|detail| Differing { detail, again }))
    }

    fn compare_model(
        &self,
        pool: &ModelPool,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<Differing>, Cancelled> {
        let drawn = match pool.used().as_slice() {
            // It was made from the answer to that sheet, if there was one.
            [sheet] => {
                let request = Request {
                    sheets: vec![sheet.clone()],
                    assumptions: Assumptions::default(),
                };
                let answer = infer_while(&request, estimator.calibration(), wanted)?;
                let document = serde_json::to_string(&answer).expect("an answer serialises");
                let record = EstimateRecord::new(&answer, document);
                let calibration_id = estimator.calibration_id();
                Drawn::of_answer(pool, calibration_id, &record.numbers, &record.document.text)
            }
            _ => None,
        };
        if drawn.is_some_and(|drawn| self.differences(&drawn).is_empty()) {
            return Ok(None);
        }
        let drawn = Drawn::of_pool(pool, estimator, wanted)?;
        let differing = in_words(&self.differences(&drawn));
        Ok(differing.map(|detail| Differing {
            detail,
            again: drawn.record(self.row.id),
        }))
    }

    fn differences(&self, drawn: &Drawn) -> Vec<&'static str> {
        differing([
            ("its document", self.document == drawn.document),
            (
                "its row of numbers",
                self.row.has_numbers_of(&drawn.row_values),
            ),
            (
                "its numbers of readings and conflicts",
                self.row.has_no_readings(),
            ),
        ])
    }
}

fn in_words(differing: &[&str]) -> Option<String> {
    (!differing.is_empty()).then(|| {
        let parts = differing.join(", ");
        format!("computed again, other than stored: {parts}")
    })
}

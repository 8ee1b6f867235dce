//! A stored estimate, compared with what it says of itself and with the same estimate computed again.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use uuid::Uuid;

use crate::import::Drawn;
use crate::keep::check::differing;
use crate::{CheckedEstimate, EstimateRecord};
use unroof_infer::estimate::model::ModelPool;
use unroof_infer::estimate::{
    CancelToken, Cancelled, ENGINE_VERSION, Estimator, NotRepeatable, Question, Request,
    StoredQuestion, infer_while,
};
use unroof_infer::evidence::assumptions::Assumptions;

/// The parts of an estimate that say how it was made.
#[derive(Debug, Deserialize)]
struct Head {
    id: Uuid,
    engine_version: String,
    calibration_id: String,
    price_sheets: Vec<HeadSheet>,
}

#[derive(Debug, Deserialize)]
struct HeadSheet {
    id: Uuid,
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

    /// Computes it again from the documents of its sheets; what is wrong, if anything is.
    ///
    /// # Errors
    /// The work is cancelled.
    pub(super) fn compare(
        &self,
        sheets: &BTreeMap<Uuid, String>,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<String>, Cancelled> {
        let ids: BTreeSet<Uuid> = self.sheet_ids().collect();
        if let Some(missing) = ids.iter().find(|id| !sheets.contains_key(id)) {
            return Ok(Some(format!(
                "its price sheet {missing} is missing or damaged"
            )));
        }
        match StoredQuestion::of_stored(&self.document, sheets, estimator) {
            Ok(StoredQuestion::Sheets(question)) => {
                self.compare_answer(&question, estimator, wanted)
            }
            Ok(StoredQuestion::Model(pool)) => self.compare_model(&pool, estimator, wanted),
            Err(NotRepeatable::Sheets) => Ok(Some(
                "its id is not that of its sheets and assumptions".to_owned(),
            )),
            Err(other) => Ok(Some(other.to_string())),
        }
    }

    fn compare_answer(
        &self,
        question: &Question,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<String>, Cancelled> {
        let answer = question.answer(estimator, wanted)?;
        let document = serde_json::to_string(&answer).expect("an answer serialises");
        let again = EstimateRecord::new(&answer, document);
        Ok(in_words(&self.row.differences(&again)))
    }

    fn compare_model(
        &self,
        pool: &ModelPool,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Option<String>, Cancelled> {
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
        Ok(in_words(&self.differences(&drawn)))
    }

    fn differences(&self, drawn: &Drawn) -> Vec<&'static str> {
        differing([
            ("its document", self.document == drawn.document),
            (
                "its row of numbers",
                self.row.has_numbers_of(&drawn.row_values),
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

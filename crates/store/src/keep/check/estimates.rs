//! Estimates and their rows, read to be checked.

use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use super::differing;
use crate::connect::query::Query;
use crate::record::checksum::StoredDocument;
use crate::{EstimateRecord, Store, StoreError};

/// An estimate as it is stored.
#[derive(Debug, FromRow)]
pub struct CheckedEstimate {
    /// Id of the estimate.
    pub id: Uuid,
    /// Version of the engine that made it.
    pub engine_version: String,
    readings_defined: i64,
    conflicts: i64,
    row_values: String,
    #[sqlx(flatten)]
    document: StoredDocument,
}

const ESTIMATES: &str = "
    SELECT id, engine_version, readings_defined, conflicts, row_values, document, checksum FROM estimates
    WHERE id > $1 ORDER BY id LIMIT $2";

impl CheckedEstimate {
    /// Document of the estimate.
    ///
    /// # Errors
    /// It is damaged.
    pub fn document(&self) -> Result<String, StoreError> {
        self.document.clone().checked(self.id)
    }

    /// Whether its row of a list is one of these numbers. Columns that are younger than the row are not in it.
    #[must_use]
    pub fn has_numbers_of(&self, again: &str) -> bool {
        let read = |row: &str| serde_json::from_str::<Map<String, Value>>(row);
        let (Ok(stored), Ok(again)) = (read(&self.row_values), read(again)) else {
            return false;
        };
        let is_same = |(name, value): (&String, &Value)| again.get(name) == Some(value);
        !stored.is_empty() && stored.iter().all(is_same)
    }

    /// Whether it has neither readings nor conflicts, as the estimate of a model.
    #[must_use]
    pub fn has_no_readings(&self) -> bool {
        self.readings_defined == 0 && self.conflicts == 0
    }

    /// The parts that differ from the same estimate computed again.
    #[must_use]
    pub fn differences(&self, again: &EstimateRecord) -> Vec<&'static str> {
        differing([
            ("its id", self.id == again.id),
            (
                "its document",
                self.document.document == again.document.text,
            ),
            ("its row of numbers", self.has_numbers_of(&again.numbers)),
            (
                "its number of readings",
                self.readings_defined == again.readings_defined,
            ),
            ("its number of conflicts", self.conflicts == again.conflicts),
        ])
    }
}

impl Store {
    /// Estimates after an id.
    ///
    /// # Errors
    /// The query fails.
    pub async fn estimates_to_check(
        &self,
        after: Uuid,
        limit: u32,
    ) -> Result<Vec<CheckedEstimate>, StoreError> {
        let query = Query::new(ESTIMATES).bind(after).bind(i64::from(limit));
        self.rows(query).await
    }
}

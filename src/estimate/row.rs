//! The flat row that lists show of an answer.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Answer;
use crate::clue::{self};
use crate::sheet::RateCell;

/// An answer as one row of a list: one nullable number per scalar reading.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    /// Number by reading id; null where it is not defined.
    #[serde(flatten)]
    pub readings: Map<String, Value>,
}

/// Ids of the readings that rows carry, in their order.
pub fn scalar_readings() -> impl Iterator<Item = &'static str> {
    clue::specifications()
        .filter(|specification| specification.scalar)
        .map(|specification| specification.id)
}

impl ListRow {
    /// The row of an answer: standard tier, first threshold, shortest time to live. A reading that compares a mode with
    /// the standard tier shows the first mode that has a value.
    #[must_use]
    pub fn new(answer: &Answer) -> Self {
        let number = |id: &str| {
            let mut entries = answer
                .readings
                .iter()
                .filter(|reading| reading.id == id)
                .peekable();
            let is_of_modes = entries.peek().is_some_and(|first| {
                first
                    .label("service_tier")
                    .is_some_and(|tier| tier != RateCell::STANDARD)
            });
            if is_of_modes {
                entries.find_map(crate::clue::reading::Reading::number)
            } else {
                entries.next()?.number()
            }
        };
        let readings = scalar_readings()
            .map(|id| (id.to_owned(), number(id).map_or(Value::Null, Value::from)));
        Self {
            readings: readings.collect(),
        }
    }
}

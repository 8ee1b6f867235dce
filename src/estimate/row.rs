//! The flat row that lists show of an answer.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Answer;
use crate::clue;
use crate::clue::reading::Reading;
use crate::sheet::RateCell;

/// An answer as one row of a list: one nullable number per scalar reading.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    /// Number by reading id; null where it is not defined.
    #[serde(flatten)]
    pub readings: Map<String, Value>,
}

/// Clues that compare service tiers with the standard one, or are promised for one of them.
const CLUES_ABOUT_MODES: [&str; 3] = ["fast mode", "batch discount", "output speed"];

/// Ids of the readings that rows carry, in their order.
pub fn scalar_readings() -> impl Iterator<Item = &'static str> {
    clue::specifications()
        .filter(|specification| specification.scalar)
        .map(|specification| specification.id)
}

impl ListRow {
    /// The row of an answer: standard tier, no schedule, first threshold, shortest time to live. A reading about modes
    /// shows the first mode that has a value.
    #[must_use]
    pub fn new(answer: &Answer) -> Self {
        let is_base = |reading: &&Reading| {
            reading.label("schedule").is_none()
                && reading
                    .label("service_tier")
                    .is_none_or(|tier| tier == RateCell::STANDARD)
        };
        let number = |id: &str| {
            let mut entries = answer.readings.iter().filter(|reading| reading.id == id);
            let is_about_modes = CLUES_ABOUT_MODES.contains(&entries.clone().next()?.clue);
            if is_about_modes {
                entries.find_map(Reading::number)
            } else {
                entries.find(is_base)?.number()
            }
        };
        let readings = scalar_readings()
            .map(|id| (id.to_owned(), number(id).map_or(Value::Null, Value::from)));
        Self {
            readings: readings.collect(),
        }
    }
}

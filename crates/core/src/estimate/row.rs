//! The flat row that lists show of an answer.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Answer;
use super::joint::QuantityEstimate;
use super::quantities::{JOINT_QUANTITIES, JointQuantity};
use crate::clue;
use crate::model::reading::Reading;
use crate::sheet::RateCell;

/// An answer as one row of a list: four columns per quantity of the joint estimate, and one nullable number per scalar
/// reading.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    /// Value by column; null where it is not defined.
    #[serde(flatten)]
    pub columns: Map<String, Value>,
}

/// A column of one quantity.
type QuantityColumn = (&'static str, fn(&QuantityEstimate) -> Value);

/// The columns of each quantity, by the ends of their names.
const QUANTITY_COLUMNS: [QuantityColumn; 4] = [
    ("median", |estimate| estimate.median.into()),
    ("low_90", |estimate| estimate.interval_90.low.into()),
    ("high_90", |estimate| estimate.interval_90.high.into()),
    ("identified", |estimate| estimate.identified.into()),
];

static COLUMNS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of_quantity = |quantity: &'static JointQuantity| {
        QUANTITY_COLUMNS.map(|(end, _)| format!("{}_{end}", quantity.name))
    };
    let quantities = JOINT_QUANTITIES.into_iter().flat_map(of_quantity);
    quantities
        .chain(scalar_readings().map(str::to_owned))
        .collect()
});

/// Clues that compare service tiers with the standard one, or are promised for one of them.
const CLUES_ABOUT_MODES: [&str; 3] = ["fast mode", "batch discount", "output speed"];

/// The columns that rows carry, in their order: quantities, then scalar readings.
pub fn row_columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(String::as_str)
}

/// Ids of the readings that rows carry.
fn scalar_readings() -> impl Iterator<Item = &'static str> {
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
            let mut entries = answer
                .textbook
                .readings
                .iter()
                .filter(|reading| reading.id == id);
            let is_about_modes = CLUES_ABOUT_MODES.contains(&entries.clone().next()?.clue);
            if is_about_modes {
                entries.find_map(Reading::number)
            } else {
                entries.find(is_base)?.number()
            }
        };
        let of_quantity = |(_, estimate): (_, &QuantityEstimate)| {
            QUANTITY_COLUMNS.map(|(_, value)| value(estimate))
        };
        let quantities = answer
            .joint
            .quantities
            .in_order()
            .into_iter()
            .flat_map(of_quantity);
        let readings = scalar_readings().map(|id| number(id).map_or(Value::Null, Value::from));
        let values = quantities.chain(readings);
        Self {
            columns: row_columns().map(str::to_owned).zip(values).collect(),
        }
    }
}

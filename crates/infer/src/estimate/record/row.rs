//! The flat row of an answer in lists.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::clue::{CLUES, Clue};
use crate::estimate::answer::Answer;
use crate::estimate::quantities::{JointQuantity, Quantities, QuantityColumns};
use crate::estimate::quantity_estimate::QuantityEstimate;
use crate::evidence::reading::{Kind, Reading, Specification};
use crate::posterior::Interval;
use unroof_price_sheet::sheet::RateCell;

/// An answer as one row of a list: four columns per quantity of the joint estimate, and one nullable number per scalar
/// reading. It keeps the 50 % intervals too, which lists leave out.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    /// Value by column; null where it is not defined.
    #[serde(flatten)]
    pub columns: Map<String, Value>,
}

/// A column of a row.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// Whether it holds true or false instead of a number.
    pub is_flag: bool,
    /// Content of the column, with the unit.
    pub description: String,
}

/// A column of one quantity: its name, its meaning, its value.
type QuantityColumn = (
    fn(&QuantityColumns) -> &'static str,
    &'static str,
    fn(&QuantityEstimate) -> Value,
);

/// The columns of each quantity.
const QUANTITY_COLUMNS: [QuantityColumn; 4] = [
    (|of| of.median, "median", |estimate| estimate.median.into()),
    (
        |of| of.low_90,
        "lower end of the 90 % interval",
        |estimate| estimate.interval_90.low.into(),
    ),
    (
        |of| of.high_90,
        "upper end of the 90 % interval",
        |estimate| estimate.interval_90.high.into(),
    ),
    (
        |of| of.identified,
        "whether the quantity is identified",
        |estimate| estimate.identified.into(),
    ),
];

static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let quantities = JointQuantity::ALL.into_iter().flat_map(quantity_columns);
    quantities
        .chain(scalar_readings().map(reading_column))
        .collect()
});

fn quantity_columns(quantity: JointQuantity) -> impl Iterator<Item = Column> {
    let definition = quantity.definition();
    QUANTITY_COLUMNS.iter().map(|(name, meaning, _)| {
        let name = name(&definition.columns);
        let is_flag = name == definition.columns.identified;
        let unit = if is_flag { "" } else { definition.unit };
        Column {
            name,
            is_flag,
            description: with_unit(&format!("{}: {meaning}", definition.description), unit),
        }
    })
}

fn reading_column((_, specification): ScalarReading) -> Column {
    let bound = match specification.kind {
        Kind::Equal => "",
        Kind::Upper => ", an upper bound",
        Kind::Lower => ", a lower bound",
    };
    let (quantity, equation) = (specification.quantity, specification.equation);
    let text = format!("Reading of {quantity}{bound}: {equation}");
    Column {
        name: specification.id.name(),
        is_flag: false,
        description: with_unit(&text, specification.unit),
    }
}

fn with_unit(text: &str, unit: &str) -> String {
    if unit.is_empty() {
        text.to_owned()
    } else {
        format!("{text}, {unit}")
    }
}

/// The columns that rows carry, in their order: quantities, then scalar readings.
#[must_use]
pub fn columns() -> &'static [Column] {
    &COLUMNS
}

/// The names of [`columns`].
pub fn row_columns() -> impl Iterator<Item = &'static str> {
    columns().iter().map(|column| column.name)
}

/// A reading that rows carry, and its clue.
type ScalarReading = (&'static Clue, &'static Specification);

fn scalar_readings() -> impl Iterator<Item = ScalarReading> {
    let of_clue = |clue: &'static &'static Clue| {
        let specifications = clue.specifications.iter();
        specifications.map(move |specification| (*clue, *specification))
    };
    let all = CLUES.iter().flat_map(of_clue);
    all.filter(|(_, specification)| specification.scalar)
}

/// Values of a stored row, by column.
#[derive(Debug, Clone, Default)]
pub struct StoredRow(Map<String, Value>);

/// One quantity of a stored row; null where the row has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredQuantity {
    /// Median of the quantity.
    pub median: Option<f64>,
    /// Lower end of the 90 % interval.
    pub low_90: Option<f64>,
    /// Upper end of the 90 % interval.
    pub high_90: Option<f64>,
    /// Whether it is identified.
    pub identified: Option<bool>,
    /// The 50 % interval; none in rows of an engine that did not keep it.
    pub interval_50: Option<Interval>,
}

impl StoredQuantity {
    /// Median and 90 % interval; none where the row lacks one of them.
    #[must_use]
    pub fn span(&self) -> Option<(f64, Interval)> {
        let interval = Interval {
            low: self.low_90?,
            high: self.high_90?,
        };
        Some((self.median?, interval))
    }
}

impl StoredRow {
    /// Reads the JSON text of a [`ListRow`]; empty if the text is invalid.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// The JSON text of a row with its quantities alone.
    #[must_use]
    pub fn quantities(mut self) -> String {
        for (_, specification) in scalar_readings() {
            self.0
                .insert(specification.id.name().to_owned(), Value::Null);
        }
        Value::Object(self.0).to_string()
    }

    /// A quantity of it.
    #[must_use]
    pub fn quantity(&self, quantity: JointQuantity) -> StoredQuantity {
        let columns = &quantity.definition().columns;
        let number = |column| self.0.get(column).and_then(Value::as_f64);
        StoredQuantity {
            median: number(columns.median),
            low_90: number(columns.low_90),
            high_90: number(columns.high_90),
            identified: self.0.get(columns.identified).and_then(Value::as_bool),
            interval_50: number(columns.low_50)
                .zip(number(columns.high_50))
                .map(|(low, high)| Interval { low, high }),
        }
    }
}

impl ListRow {
    /// The row of an answer: standard tier, no schedule, first threshold, shortest time to live. A reading about modes
    /// shows the first mode that has a value.
    #[must_use]
    pub fn new(answer: &Answer) -> Self {
        let readings = &answer.textbook.readings;
        let numbers = scalar_readings().map(|reading| shown_number(readings, reading).into());
        Self::of(&answer.joint.quantities, numbers)
    }

    /// The row of quantities without readings.
    #[must_use]
    pub fn of_quantities(quantities: &Quantities) -> Self {
        Self::of(quantities, scalar_readings().map(|_| Value::Null))
    }

    fn of(quantities: &Quantities, numbers: impl Iterator<Item = Value>) -> Self {
        let of_quantity = |(_, estimate): (_, &QuantityEstimate)| {
            QUANTITY_COLUMNS.map(|(_, _, value)| value(estimate))
        };
        let in_order = quantities.in_order();
        let listed = in_order.into_iter().flat_map(of_quantity);
        let listed = row_columns().map(str::to_owned).zip(listed.chain(numbers));
        let halves = in_order.into_iter().flat_map(|(quantity, estimate)| {
            let (columns, half) = (&quantity.definition().columns, estimate.interval_50);
            [(columns.low_50, half.low), (columns.high_50, half.high)]
        });
        let halves = halves.map(|(name, end)| (name.to_owned(), end.into()));
        Self {
            columns: listed.chain(halves).collect(),
        }
    }
}

/// The number that a row shows of a reading.
fn shown_number(readings: &[Reading], (clue, specification): ScalarReading) -> Option<f64> {
    let is_base = |reading: &&Reading| {
        let tier = reading.label("service_tier");
        reading.label("schedule").is_none() && tier.is_none_or(|tier| tier == RateCell::STANDARD)
    };
    let mut entries = readings
        .iter()
        .filter(|reading| reading.id == specification.id);
    if clue.about_modes {
        entries.find_map(Reading::number)
    } else {
        entries.find(is_base)?.number()
    }
}

//! The stored values of an estimate in lists: columns of quantities and readings, as JSON.

use std::collections::BTreeMap;

use serde::Serializer;
use serde_json::value::RawValue;

use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::row_columns;

/// The columns of quantities.
pub fn quantity_columns() -> impl Iterator<Item = &'static str> {
    let names = |quantity: JointQuantity| {
        let of = &quantity.definition().columns;
        [of.median, of.low_90, of.high_90, of.identified]
    };
    JointQuantity::ALL.into_iter().flat_map(names)
}

/// Serialises the values of quantities and readings.
pub(crate) fn all<S: Serializer>(row_values: &str, serializer: S) -> Result<S::Ok, S::Error> {
    in_order(row_values, row_columns(), serializer)
}

/// Serialises the values of quantities.
pub(crate) fn quantities<S: Serializer>(
    row_values: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    in_order(row_values, quantity_columns(), serializer)
}

/// Serialises stored values in the order of the columns, in the digits in which they are stored; null where an older engine
/// stored none.
fn in_order<S: Serializer>(
    row_values: &str,
    columns: impl Iterator<Item = &'static str>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let stored: BTreeMap<&str, &RawValue> = serde_json::from_str(row_values).unwrap_or_default();
    serializer.collect_map(columns.map(|column| (column, stored.get(column))))
}

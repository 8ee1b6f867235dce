//! The views for dashboards as SQL, from the columns of lists.

use std::fmt::Write;

use unroof_core::estimate::columns;

/// The views, with marks in the place of the columns of lists.
const TEMPLATE: &str = include_str!("reporting.sql");

/// The text of `migrations/reporting.sql`.
#[must_use]
pub fn views() -> String {
    let columns = columns();
    let (mut types, mut meanings) = (String::new(), String::new());
    for (place, column) in columns.iter().enumerate() {
        let kind = if column.is_flag {
            "boolean"
        } else {
            "double precision"
        };
        let comma = if place + 1 < columns.len() { ",\n" } else { "" };
        let meaning = column.description.replace('\'', "''");
        // Writing to a String cannot fail.
        let _ = write!(types, "    {} {kind}{comma}", column.name);
        let _ = write!(
            meanings,
            "            ('{}', '{meaning}'){comma}",
            column.name
        );
    }
    TEMPLATE
        .replace("{COLUMNS}", &types)
        .replace("{MEANINGS}", &meanings)
}

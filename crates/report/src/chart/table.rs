//! The table behind a chart: as HTML, CSV and JSON.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::tables::{Head, scrolling, table};
use crate::words::{or_dash, spaced};
use unroof_base::units::readable;

/// A table with the data of a chart.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Names of the columns, with their units: the fields of CSV and JSON.
    pub columns: Vec<&'static str>,
    /// One value per column in each row: a name or a time, a number as it is measured, or null where it is not known.
    pub rows: Vec<Vec<Value>>,
}

/// A value that says whether something holds.
#[must_use]
pub fn yes_or_no(holds: bool) -> Value {
    if holds { "yes" } else { "no" }.into()
}

fn cell(value: &Value) -> Markup {
    html! {
        @match value {
            Value::String(text) => td { (text) },
            number => td.number { (or_dash(number.as_f64(), readable)) },
        }
    }
}

fn csv_field(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        number => number
            .as_f64()
            .map_or_else(String::new, |number| number.to_string()),
    }
}

/// A column: its name, and its value of an item.
pub type Column<T> = (&'static str, fn(&T) -> Value);

impl Table {
    /// A table with a row per item.
    pub fn of<T>(items: impl IntoIterator<Item = T>, columns: &[Column<T>]) -> Self {
        let row = |item: T| columns.iter().map(|(_, value)| value(&item)).collect();
        Self {
            columns: columns.iter().map(|(name, _)| *name).collect(),
            rows: items.into_iter().map(row).collect(),
        }
    }

    /// Table as HTML.
    #[must_use]
    pub fn html(&self) -> Markup {
        let names: Vec<String> = self.columns.iter().map(|name| spaced(name)).collect();
        let heads: Vec<Head<'_>> = names.iter().map(|name| Head::Text(name)).collect();
        let rows = html! {
            @for row in &self.rows { tr { @for value in row { (cell(value)) } } }
        };
        scrolling("The table behind the chart", &table(&heads, &rows))
    }

    /// As CSV.
    ///
    /// # Errors
    /// A row has fewer or more values than there are columns.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(csv_field))?;
        }
        writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))
    }

    /// Table as a list of JSON objects.
    #[must_use]
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let fields = self.columns.iter().zip(row);
            let fields = fields.map(|(column, value)| ((*column).to_owned(), value.clone()));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_three_forms() {
        let table = Table {
            columns: vec!["host", "usd_per_mtok"],
            rows: vec![
                vec!["a, \"b\"".into(), 2.5.into()],
                vec!["<c>".into(), f64::NAN.into()],
            ],
        };
        assert_eq!(
            String::from_utf8(table.csv().unwrap()).unwrap(),
            "host,usd_per_mtok\n\"a, \"\"b\"\"\",2.5\n<c>,\n"
        );
        assert_eq!(
            table.json().to_string(),
            r#"[{"host":"a, \"b\"","usd_per_mtok":2.5},{"host":"<c>","usd_per_mtok":null}]"#
        );
        let page = table.html().into_string();
        assert!(
            page.contains("&lt;c&gt;") && page.contains("usd per mtok"),
            "{page}"
        );
    }
}

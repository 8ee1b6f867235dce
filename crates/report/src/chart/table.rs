//! The table behind a chart: as HTML, CSV and JSON.

use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::{Map, Value};

use unroof_base::units::readable;

/// A table with the data of a chart.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Names of the columns, with their units: the fields of CSV and JSON.
    pub columns: Vec<&'static str>,
    /// One value per column in each row.
    pub rows: Vec<Vec<Cell>>,
}

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A name or a time.
    Text(String),
    /// A number, as it is measured.
    Number(f64),
    /// A value that is not known.
    Unknown,
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() {
            Self::Number(number)
        } else {
            Self::Unknown
        }
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, T::into)
    }
}

impl From<bool> for Cell {
    fn from(holds: bool) -> Self {
        if holds { "yes" } else { "no" }.into()
    }
}

impl From<Timestamp> for Cell {
    fn from(time: Timestamp) -> Self {
        time.to_string().into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Cell {
    fn json(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::Unknown => Value::Null,
        }
    }

    fn html(&self) -> Markup {
        match self {
            Self::Text(text) => html! { td { (text) } },
            Self::Number(number) => html! { td.number { (readable(*number)) } },
            Self::Unknown => html! { td.number { "–" } },
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Unknown => String::new(),
        }
    }
}

/// A column: its name, and its value of an item.
pub type Column<T> = (&'static str, fn(&T) -> Cell);

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
        html! {
            div.scroll tabindex="0" role="region" aria-label="The table behind the chart" {
                table {
                    thead { tr { @for column in &self.columns { th scope="col" { (column.replace('_', " ")) } } } }
                    tbody { @for row in &self.rows { tr { @for cell in row { (cell.html()) } } } }
                }
            }
        }
    }

    /// As CSV.
    ///
    /// # Errors
    /// A row has fewer or more values than there are columns.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::csv))?;
        }
        writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))
    }

    /// Table as a list of JSON objects.
    #[must_use]
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let fields = self.columns.iter().zip(row);
            let fields = fields.map(|(column, cell)| ((*column).to_owned(), cell.json()));
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
                vec!["<c>".into(), Cell::from(f64::NAN)],
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

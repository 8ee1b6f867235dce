//! Rows as CSV, in which no cell is a formula.

use std::io::Write;

use serde::Serialize;

pub(super) type CsvError = Box<dyn std::error::Error>;

/// Flat rows as CSV: a header line with the names of the first row's fields in their order, then one line per row.
pub(super) fn write_csv_of_rows<Row: Serialize>(
    text: &mut impl Write,
    rows: &[Row],
) -> Result<(), CsvError> {
    let first = rows.first().map(serde_json::to_value).transpose()?;
    let fields = first.as_ref().and_then(serde_json::Value::as_object);
    let columns: Vec<String> = fields
        .into_iter()
        .flat_map(|fields| fields.keys().cloned())
        .collect();
    write_csv_header(text, &columns)?;
    write_csv_rows(text, &columns, rows)
}

/// The header line of CSV; a list has it also where it is empty.
pub(super) fn write_csv_header(text: &mut impl Write, columns: &[String]) -> Result<(), CsvError> {
    let mut writer = csv::Writer::from_writer(text);
    writer.write_record(columns)?;
    Ok(writer.flush()?)
}

pub(super) fn write_csv_rows<Row: Serialize>(
    text: &mut impl Write,
    columns: &[String],
    rows: &[Row],
) -> Result<(), CsvError> {
    let mut writer = csv::Writer::from_writer(text);
    for row in rows {
        let fields = serde_json::to_value(row)?;
        let text = |column: &String| match &fields[column] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => as_text(text),
            other => other.to_string(),
        };
        writer.write_record(columns.iter().map(text))?;
    }
    Ok(writer.flush()?)
}

/// Signs that a spreadsheet takes for the beginning of a formula, also in their wide forms; an apostrophe is among them so
/// that a reader may take off the first one of every cell.
const BEGINS_FORMULA: [char; 12] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠',
];

/// A text as a cell that no spreadsheet takes for a formula: with an apostrophe before it where it would. Numbers stay.
fn as_text(text: &str) -> String {
    if text.starts_with(BEGINS_FORMULA) && text.parse::<f64>().is_err() {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-2+3", "'-2+3"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("\t=1", "'\t=1"),
            ("'quoted", "''quoted"),
            ("＝1+1", "'＝1+1"),
            ("-1.5", "-1.5"),
            ("+3e-7", "+3e-7"),
            ("gpt-5.4", "gpt-5.4"),
            ("", ""),
        ] {
            assert_eq!(as_text(text), cell);
        }
    }

    #[derive(Serialize)]
    struct Point {
        stages: u32,
        name: &'static str,
        bytes: Option<f64>,
    }

    #[test]
    fn rows_become_a_header_and_a_line_each_with_nothing_where_there_is_no_value() {
        let rows = [
            Point {
                stages: 2,
                name: "a, b",
                bytes: None,
            },
            Point {
                stages: 1,
                name: "",
                bytes: Some(0.5),
            },
        ];
        let mut text = Vec::new();
        write_csv_of_rows(&mut text, &rows).unwrap();
        assert_eq!(text, b"stages,name,bytes\n2,\"a, b\",\n1,,0.5\n");
    }
}

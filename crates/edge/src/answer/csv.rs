//! CSV output, protected against formula injection.

use std::io::Write;

use serde::Serialize;

/// Error of writing CSV.
pub type CsvError = Box<dyn std::error::Error>;

/// Flat rows as CSV: a header line with the first row's field names, then one line per row.
pub fn write_csv_of_rows<Row: Serialize>(
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

/// The header line, also written for an empty list.
pub fn write_csv_header(text: &mut impl Write, columns: &[String]) -> Result<(), CsvError> {
    let mut writer = csv::Writer::from_writer(text);
    writer.write_record(columns)?;
    Ok(writer.flush()?)
}

/// Writes rows below a heading of the fields that are asked for.
pub fn write_csv_rows<Row: Serialize>(
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

/// Characters that start a formula in a spreadsheet, also in full width. The apostrophe is included, so that a reader can
/// strip the first one from every cell.
const BEGINS_FORMULA: [char; 12] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠',
];

/// Text as a cell that no spreadsheet evaluates: prefixed with an apostrophe if it starts like a formula. Numbers are
/// unchanged.
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
    fn text_is_escaped_and_numbers_are_unchanged() {
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
    fn rows_become_a_header_and_one_line_each_with_empty_cells_for_missing_values() {
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

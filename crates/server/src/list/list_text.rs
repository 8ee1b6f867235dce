//! Rows of a list as JSON or CSV, with all fields or some.

use std::io::Write;

use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::answers::Answers;
use unroof_edge::{
    CachedBody, CsvError, Problem, Text, prefers_csv, write_csv_header, write_csv_rows,
};

/// Field names of an object in the OpenAPI document.
pub(crate) fn fields<Row: PartialSchema + ?Sized>() -> Vec<String> {
    match Row::schema() {
        RefOr::T(Schema::Object(row)) => row.properties.into_keys().collect(),
        _ => Vec::new(),
    }
}

/// A list being serialised in the client's preferred format.
pub(crate) struct ListText {
    text: Text,
    /// Columns of CSV; none for JSON.
    columns: Option<Vec<String>>,
    /// Fields of a row; none for all.
    fields: Option<Vec<String>>,
    is_empty: bool,
}

impl ListText {
    pub(crate) fn begin(
        answers: &Answers,
        headers: &HeaderMap,
        all: fn() -> Vec<String>,
        fields: Option<&str>,
    ) -> Result<Self, Problem> {
        let fields = fields.map(|names| chosen(names, &all())).transpose()?;
        let columns = prefers_csv(headers).then(|| fields.clone().unwrap_or_else(all));
        let mut text = Text::new(&answers.budget)?;
        text.write_with(|text| match &columns {
            Some(columns) => write_csv_header(text, columns),
            None => Ok(text.write_all(b"{\"data\":[")?),
        })?;
        Ok(Self {
            text,
            columns,
            fields,
            is_empty: true,
        })
    }

    pub(crate) fn add<Item: Serialize>(&mut self, items: &[Item]) -> Result<(), Problem> {
        let Self {
            text,
            columns,
            fields,
            is_empty,
        } = self;
        text.write_with(|text| match columns {
            Some(columns) => write_csv_rows(text, columns, items),
            None => items.iter().try_for_each(|item| {
                if !std::mem::take(is_empty) {
                    text.write_all(b",")?;
                }
                let written = match fields {
                    None => serde_json::to_writer(&mut *text, item),
                    Some(fields) => serde_json::to_writer(&mut *text, &only(fields, item)?),
                };
                Ok(written?)
            }),
        })
    }

    pub(crate) fn end(mut self, tail: &Value, link: Option<String>) -> Result<CachedBody, Problem> {
        if self.columns.is_some() {
            let text = self.text.finish()?;
            return Ok(CachedBody::new(text, "text/csv; charset=utf-8", link));
        }
        self.text.write_with(|text| {
            let tail = tail.to_string();
            let fields = tail.strip_prefix('{').unwrap_or(&tail);
            Ok::<_, CsvError>(write!(text, "],{fields}")?)
        })?;
        let text = self.text.finish()?;
        Ok(CachedBody::new(text, "application/json", link))
    }
}

/// The fields that a request names, in its order.
///
/// # Errors
/// The rows have no such field.
pub(crate) fn chosen(names: &str, columns: &[String]) -> Result<Vec<String>, Problem> {
    let mut chosen: Vec<String> = Vec::new();
    for name in names.split(',').map(str::trim) {
        if !columns.iter().any(|column| column == name) {
            return Err(no_field("fields", name, columns));
        }
        if !chosen.iter().any(|known| known == name) {
            chosen.push(name.to_owned());
        }
    }
    Ok(chosen)
}

/// Some fields of a row, in their order.
fn only(fields: &[String], row: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    let mut values = match serde_json::to_value(row)? {
        Value::Object(values) => values,
        _ => Map::new(),
    };
    let field = |name: &String| (name.clone(), values.remove(name).unwrap_or_default());
    Ok(fields.iter().map(field).collect())
}

/// The refusal of a parameter that names a field which no row has, or by which no row can be sorted.
pub(crate) fn no_field(parameter: &str, name: &str, columns: &[String]) -> Problem {
    let name: String = name.chars().take(100).collect();
    let why = match parameter {
        "sort" => "by which no row can be sorted",
        _ => "which no row has",
    };
    let problem = Problem::of_query(&format!("`{parameter}` names `{name}`, {why}"));
    problem.hint(format!("the fields are {}", columns.join(", ")))
}

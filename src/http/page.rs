//! Pages of lists: how long, from where, in which form.

use std::fmt::Write;

use axum::http::{HeaderMap, Uri};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::polling::{CachedBody, prefers_csv};
use super::problem::{INTERNAL, Problem, UNREADABLE};
use crate::storage::{DbTime, Filter, Times};

const MOST_ROWS: u32 = 2_000;
const ROWS: u32 = 100;

/// Rows per page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(pub(super) u32);

impl Default for Limit {
    fn default() -> Self {
        Self(ROWS)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let limit = text
            .parse()
            .ok()
            .filter(|limit| (1..=MOST_ROWS).contains(limit));
        limit.map(Self).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a number from 1 to {MOST_ROWS}"))
        })
    }
}

/// Describes a text that stored rows are compared with: no stored text holds NUL.
pub(super) struct FilterText;

impl PartialSchema for FilterText {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^[^\x00]*$"))
            .into()
    }
}

impl ToSchema for FilterText {}

/// A point in time: RFC 3339, or milliseconds since 1970 as dashboards send them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(pub(super) Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let milliseconds = text.parse().ok().map(Timestamp::from_millisecond);
        let read = milliseconds.unwrap_or_else(|| text.parse());
        // Databases keep years of four digits.
        let is_kept = |moment: &Timestamp| *moment >= Timestamp::UNIX_EPOCH;
        read.ok().filter(is_kept).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is no point in time: write RFC 3339, such as 2026-11-21T00:00:00Z, or milliseconds since 1970"
            ))
        })
    }
}

impl Moment {
    /// The time at which something was seen.
    ///
    /// # Errors
    /// It is yet to come.
    pub(super) fn not_after(self, now: Timestamp) -> Result<Timestamp, Problem> {
        if self.0 > now {
            return Err(Problem::new(
                UNREADABLE,
                "the query string is wrong: `observed_at` is in the future",
            )
            .hint("write when the price was seen; a price to come states its `valid_from`"));
        }
        Ok(self.0)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(
                r"^([0-9]{1,13}|(19[7-9]|[2-9][0-9]{2})[0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$",
            ))
            .examples(["2026-11-21T00:00:00Z", "1795219200000"])
            .into()
    }
}

impl ToSchema for Moment {}

/// When a single document is asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct AsOfQuery {
    /// Only if it was in force at this time: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
}

impl AsOfQuery {
    pub(super) fn as_of(&self) -> Option<DbTime> {
        self.as_of.map(|moment| moment.0.into())
    }
}

/// Which offers a list shows, and which page of it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Who bills.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(super) provider: Option<String>,
    /// The model as the provider spells it.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(super) model: Option<String>,
    /// author/model
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(super) canonical_model: Option<String>,
    /// Where it is served.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(super) region: Option<String>,
    /// ISO 4217 code.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(super) currency: Option<String>,
    /// Stored at this time or later: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(super) from: Option<Moment>,
    /// Stored before this time.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(super) to: Option<Moment>,
    /// In force at this time.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(super) as_of: Option<Moment>,
    /// Rows per page.
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    pub(super) limit: Limit,
    /// `next_cursor` of the page before.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    pub(super) cursor: Option<String>,
}

impl ListQuery {
    /// The filter.
    ///
    /// # Errors
    /// A value holds NUL, which no stored text does and PostgreSQL refuses.
    pub(super) fn filter(&self) -> Result<Filter, Problem> {
        let filter = Filter {
            provider: self.provider.clone(),
            model: self.model.clone(),
            canonical_model: self.canonical_model.clone(),
            region: self.region.clone(),
            currency: self.currency.clone(),
        };
        let values = [
            &filter.provider,
            &filter.model,
            &filter.canonical_model,
            &filter.region,
            &filter.currency,
        ];
        if values
            .into_iter()
            .flatten()
            .any(|value| value.contains('\0'))
        {
            return Err(Problem::new(
                UNREADABLE,
                "the query string is wrong: a value holds the NUL character",
            ));
        }
        Ok(filter)
    }

    /// The times.
    pub(super) fn times(&self) -> Times {
        let time = |moment: Option<Moment>| moment.map(|moment| moment.0.into());
        Times {
            from: time(self.from),
            to: time(self.to),
            as_of: time(self.as_of),
        }
    }

    /// The place where the page begins.
    ///
    /// # Errors
    /// The cursor is not one that this list gave.
    pub(super) fn after<Key: DeserializeOwned>(&self, list: &str) -> Result<Option<Key>, Problem> {
        let decode = |cursor: &String| {
            let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
            let (key, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
            (seal == cursor_seal(list, key)).then(|| serde_json::from_slice(key).ok())?
        };
        self.cursor
            .as_ref()
            .map(|cursor| decode(cursor).ok_or_else(bad_cursor))
            .transpose()
    }
}

pub(super) fn bad_cursor() -> Problem {
    Problem::new(
        UNREADABLE,
        "the query string is wrong: `cursor` is not one that this list gave",
    )
    .hint("send `next_cursor` of the page before as it stands, or leave it out to begin")
}

const SEAL_BYTES: usize = 6;

/// Tells a cursor that this list gave from one that was edited or belongs to another list.
fn cursor_seal(list: &str, key: &[u8]) -> [u8; SEAL_BYTES] {
    let digest = Sha256::new()
        .chain_update(list)
        .chain_update([0])
        .chain_update(key)
        .finalize();
    let mut seal = [0; SEAL_BYTES];
    seal.copy_from_slice(&digest[..SEAL_BYTES]);
    seal
}

fn cursor<Key: Serialize>(list: &str, key: &Key) -> String {
    let mut bytes = serde_json::to_vec(key).unwrap_or_default();
    bytes.extend(cursor_seal(list, &bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A flat row of a list.
pub(super) trait ListItem: Serialize {
    /// Names of its fields, in the order of CSV columns.
    fn columns() -> Vec<&'static str>;
}

/// Rows, and where the next page begins.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Page<Row> {
    /// The rows.
    pub(super) data: Vec<Row>,
    /// Send it as `cursor` for the next page; null on the last.
    pub(super) next_cursor: Option<String>,
}

impl<Row: ListItem> Page<Row> {
    /// A page from one row more than it shows, if there are so many.
    pub(super) fn new<Stored, Key: Serialize>(
        list: &str,
        mut stored: Vec<Stored>,
        limit: Limit,
        key: impl Fn(&Stored) -> Key,
        row: impl Fn(Stored) -> Row,
    ) -> Self {
        let rows = limit.0 as usize;
        let has_more = stored.len() > rows;
        stored.truncate(rows);
        let next_cursor = stored
            .last()
            .filter(|_| has_more)
            .map(|last| cursor(list, &key(last)));
        Self {
            data: stored.into_iter().map(row).collect(),
            next_cursor,
        }
    }

    /// The body in the form the client prefers, with a link to the next page.
    pub(super) fn body(&self, uri: &Uri, headers: &HeaderMap) -> Result<CachedBody, Problem> {
        let link = self
            .next_cursor
            .as_ref()
            .map(|cursor| next_link(uri, "cursor", cursor));
        let no_text = |_| Problem::new(INTERNAL, "the list has no text");
        if prefers_csv(headers) {
            return Ok(CachedBody::new(
                csv_text(&self.data).map_err(no_text)?,
                "text/csv; charset=utf-8",
                link,
            ));
        }
        let text = serde_json::to_string(self)
            .map_err(|_| Problem::new(INTERNAL, "the list has no text"))?;
        Ok(CachedBody::new(text, "application/json", link))
    }
}

/// A link to the same list from another place on.
pub(super) fn next_link(uri: &Uri, parameter: &str, place: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        if name != parameter {
            query.append_pair(&name, &value);
        }
    }
    query.append_pair(parameter, place);
    let mut link = String::new();
    let _ = write!(link, "<{}?{}>; rel=\"next\"", uri.path(), query.finish());
    link
}

/// Rows of a list as CSV: a header line, also where the list is empty, then one line per row.
pub(super) fn csv_text<Row: ListItem>(rows: &[Row]) -> Result<String, Box<dyn std::error::Error>> {
    csv_of_columns(&Row::columns(), rows)
}

/// Flat rows as CSV: a header line with the names of the first row's fields in their order, then one line per row.
pub(super) fn csv_of_rows<Row: Serialize>(
    rows: &[Row],
) -> Result<String, Box<dyn std::error::Error>> {
    let first = rows.first().map(serde_json::to_value).transpose()?;
    let fields = first.as_ref().and_then(serde_json::Value::as_object);
    let columns: Vec<&str> = fields
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
        .collect();
    csv_of_columns(&columns, rows)
}

fn csv_of_columns<Row: Serialize>(
    columns: &[&str],
    rows: &[Row],
) -> Result<String, Box<dyn std::error::Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns)?;
    for row in rows {
        let fields = serde_json::to_value(row)?;
        let text = |column: &&str| match &fields[*column] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => as_text(text),
            other => other.to_string(),
        };
        writer.write_record(columns.iter().map(text))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
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
        let text = csv_of_rows(&rows).unwrap();
        assert_eq!(text, "stages,name,bytes\n2,\"a, b\",\n1,,0.5\n");
    }
}

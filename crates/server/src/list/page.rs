//! Pages of lists: length, position, format.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::list_text::ListText;
pub(crate) use super::list_text::fields;
use crate::answers::Answers;
use crate::query::query;
pub(crate) use unroof_edge::FilterText;
use unroof_edge::{CachedBody, Problem, Running, Workers};
use unroof_store::{AsOf, DbTime, NamePrefix, Order, SortKey};

const MOST_ROWS: u32 = 2_000;
const ROWS: u32 = 100;
/// Rows above which a page counts as long.
const LONG_PAGE: u32 = 250;

/// A number of rows, from 1 to `MOST`; `USUAL` if left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit<const MOST: u32 = MOST_ROWS, const USUAL: u32 = ROWS>(pub(crate) u32);

impl<const MOST: u32, const USUAL: u32> Default for Limit<MOST, USUAL> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<'de, const MOST: u32, const USUAL: u32> Deserialize<'de> for Limit<MOST, USUAL> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let limit = text.parse().ok();
        let limit = limit.filter(|limit| (1..=MOST).contains(limit));
        limit
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not a number from 1 to {MOST}")))
    }
}

/// A point in time: RFC 3339, milliseconds since 1970 as dashboards send them, or `now`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// The time at which it is asked.
    Now,
    /// A stated time.
    At(Timestamp),
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "now" {
            return Ok(Self::Now);
        }
        let milliseconds = text.parse().ok().map(Timestamp::from_millisecond);
        let read = milliseconds.unwrap_or_else(|| text.parse());
        // Databases store years of four digits.
        let is_kept = |moment: &Timestamp| *moment >= Timestamp::UNIX_EPOCH;
        read.ok().filter(is_kept).map(Self::At).ok_or_else(|| {
            let day = text.parse::<jiff::civil::Date>().ok();
            let example = day.map_or_else(
                || "such as 2026-11-21T00:00:00Z".to_owned(),
                |day| format!("{day}T00:00:00Z for the beginning of that day"),
            );
            D::Error::custom(format!(
                "`{text}` is not a time: write RFC 3339, {example}, milliseconds since 1970, or `now`"
            ))
        })
    }
}

impl Moment {
    /// The time of a moment, where one is stated.
    pub(crate) fn time(moment: Option<Self>, now: DbTime) -> Option<DbTime> {
        Self::as_of(moment, now).map(AsOf::time)
    }

    /// The moment at which prices are in force, where one is stated.
    pub(crate) fn as_of(moment: Option<Self>, now: DbTime) -> Option<AsOf> {
        moment.map(|moment| match moment {
            Self::Now => AsOf::Now(now),
            Self::At(time) => AsOf::Time(time.into()),
        })
    }

    /// A time of observation.
    ///
    /// # Errors
    /// The time is in the future.
    pub(crate) fn not_after(self, now: Timestamp) -> Result<Timestamp, Problem> {
        let Self::At(time) = self else {
            return Ok(now);
        };
        if time > now {
            return Err(Problem::of_query("`observed_at` is in the future")
            .hint("write the time at which the price was seen; a future price states its `valid_from`"));
        }
        Ok(time)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(
                r"^(now|[0-9]{1,13}|(19[7-9]|[2-9][0-9]{2})[0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$",
            ))
            .examples(["2026-11-21T00:00:00Z", "1795219200000"])
            .into()
    }
}

impl ToSchema for Moment {}

query! {
    /// Query of a single document.
    AsOfQuery {
        /// Time at which it must be in force: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
    }
}

impl AsOfQuery {
    pub(crate) fn as_of(&self, now: Timestamp) -> Option<AsOf> {
        Moment::as_of(self.as_of, now.into())
    }

    /// The moment, which is now where none is stated.
    pub(crate) fn as_of_or_now(&self, now: Timestamp) -> AsOf {
        self.as_of(now).unwrap_or(AsOf::Now(now.into()))
    }
}

query! {
    /// Query of a list that is one page.
    FieldsQuery {
        fields,
    }
}

impl FieldsQuery {
    /// The whole list, of at most as many rows.
    pub(crate) fn all(&self, most: u32) -> PagePart<'_> {
        PagePart {
            fields: self.fields.as_deref(),
            limit: Limit(most),
            cursor: None,
        }
    }
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    /// From the least to the greatest.
    Asc,
    /// From the greatest to the least.
    Desc,
}

impl Direction {
    /// The order of a sort, descending by default where it is by time.
    pub(crate) fn of(direction: Option<Self>, by: SortKey) -> Order {
        let default = by == SortKey::Stored;
        Order {
            by,
            is_descending: direction.map_or(default, |direction| direction == Self::Desc),
        }
    }
}

/// The key after which a page of a list begins, from its cursor.
///
/// # Errors
/// The cursor is not from this list.
pub(crate) fn read_cursor<Key: DeserializeOwned>(
    list: &str,
    cursor: Option<&str>,
) -> Result<Option<Key>, Problem> {
    let decode = |cursor: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (key, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
        let key: Value =
            (seal == cursor_seal(list, key)).then(|| serde_json::from_slice(key).ok())??;
        // A forged cursor may contain NUL, which PostgreSQL rejects.
        (!has_nul(&key)).then(|| serde_json::from_value(key).ok())?
    };
    cursor
        .map(|cursor| decode(cursor).ok_or_else(bad_cursor))
        .transpose()
}

/// Whether the key of a row contains NUL.
fn has_nul(key: &Value) -> bool {
    match key {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        _ => false,
    }
}

/// The beginning of a name, unless it is empty.
///
/// # Errors
/// It contains NUL.
pub(crate) fn prefix(text: Option<&str>) -> Result<Option<NamePrefix>, Problem> {
    let text = text.filter(|text| !text.is_empty());
    text.map(without_nul).transpose()?;
    Ok(text.map(NamePrefix::new))
}

/// Refuses NUL: PostgreSQL does, and no stored text contains it.
///
/// # Errors
/// The text contains it.
pub(crate) fn without_nul(text: &str) -> Result<(), Problem> {
    if text.contains('\0') {
        return Err(Problem::of_query("a value contains the NUL character")
            .hint("GET /search finds names; none contains it"));
    }
    Ok(())
}

pub(crate) fn bad_cursor() -> Problem {
    Problem::of_query("`cursor` is not from this list").hint(
        "send `next_cursor` of the previous page unchanged, or leave it out for the first page",
    )
}

const SEAL_BYTES: usize = 6;

/// Checksum that detects an edited cursor and the cursor of another list.
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

/// A page of rows.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Page<Row> {
    /// Rows of the page.
    data: Vec<Row>,
    /// Cursor of the next page; null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// The part of a list that a query asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PagePart<'a> {
    /// Fields of a row, separated by commas; all without any.
    pub(crate) fields: Option<&'a str>,
    /// Rows of the page.
    pub(crate) limit: Limit,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<&'a str>,
}

/// A request for a page of a list.
pub(crate) struct PageRequest<'a> {
    answers: &'a Answers,
    list: Cow<'static, str>,
    columns: fn() -> Vec<String>,
    part: PagePart<'a>,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    /// Rows read and serialised at a time.
    pub(crate) piece: u32,
}

impl<'a> PageRequest<'a> {
    pub(crate) fn new(
        answers: &'a Answers,
        list: impl Into<Cow<'static, str>>,
        columns: fn() -> Vec<String>,
        part: PagePart<'a>,
        uri: &'a Uri,
        headers: &'a HeaderMap,
    ) -> Self {
        Self {
            answers,
            list: list.into(),
            columns,
            part,
            uri,
            headers,
            piece: 250,
        }
    }

    /// Workers for this page: long pages have their own queue, so that short ones do not wait for them.
    fn workers(&self) -> &Arc<Workers> {
        if self.part.limit.0 > LONG_PAGE {
            &self.answers.long_pages
        } else {
            &self.answers.writing
        }
    }

    /// The rows after a key, and what `end` says after the last of them. Each piece is serialised, on a worker thread where it is
    /// long, before the next one is read.
    pub(crate) async fn write<Row, Item, Key, Fault, Rows>(
        &self,
        mut after: Option<Key>,
        key: impl Fn(&Row) -> Key,
        rows: impl Fn(Option<Key>, u32) -> Rows,
        mut items: impl FnMut(Vec<Row>) -> Result<Vec<Item>, Problem> + Send + 'static,
        end: impl FnOnce(Option<&Key>, bool) -> Result<PageEnd, Problem>,
    ) -> Result<CachedBody, Problem>
    where
        Row: Send + 'static,
        Item: Serialize,
        Key: Clone,
        Rows: Future<Output = Result<Vec<Row>, Fault>>,
        Problem: From<Fault>,
    {
        let permit = self.answers.permit_of(self.workers()).await?;
        let mut text = ListText::begin(self.answers, self.headers, self.columns, self.part.fields)?;
        // One extra row shows whether another page follows.
        let mut missing = self.part.limit.0 + 1;
        loop {
            let wanted = missing.min(self.piece);
            let mut piece = rows(after.clone(), wanted).await?;
            let came = u32::try_from(piece.len()).unwrap_or(wanted);
            missing -= came.min(missing);
            let has_more = missing == 0;
            if has_more {
                piece.pop();
            }
            after = piece.last().map(&key).or(after);
            if has_more || came < wanted {
                let PageEnd { tail, link } = end(after.as_ref(), has_more)?;
                let finish = move || {
                    text.add(&items(piece)?)?;
                    text.end(&tail, link)
                };
                // Serialising a few rows takes less time than the way to another thread and back.
                if came <= self.piece / 16 {
                    return finish();
                }
                return permit.run(move |_| finish()).await?;
            }
            let write = move |_: &Running| {
                let written = items(piece).and_then(|items| text.add(&items));
                (written, text, items)
            };
            let written;
            (written, text, items) = permit.run(write).await?;
            written?;
        }
    }

    /// The end of a page, with a cursor if another one follows.
    pub(crate) fn with_cursor<Key: Serialize>(
        &self,
        last: Option<&Key>,
        has_more: bool,
    ) -> PageEnd {
        let last = last.filter(|_| has_more);
        let next_cursor = last.map(|key| cursor(&self.list, key));
        let link = next_cursor
            .as_ref()
            .map(|cursor| next_link(self.uri, "cursor", cursor));
        PageEnd {
            tail: json!({"next_cursor": next_cursor}),
            link,
        }
    }
}

/// The end of a page, after its rows.
pub(crate) struct PageEnd {
    /// The fields after the rows.
    pub(crate) tail: Value,
    /// A link to the next page.
    pub(crate) link: Option<String>,
}

/// A link to the same list with another cursor or position.
pub(crate) fn next_link(uri: &Uri, parameter: &str, place: &str) -> String {
    format!("<{}>; rel=\"next\"", link_with(uri, parameter, place))
}

/// Address with another value of a parameter.
pub(crate) fn link_with(uri: &Uri, parameter: &str, place: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        if name != parameter {
            query.append_pair(&name, &value);
        }
    }
    query.append_pair(parameter, place);
    format!("{}?{}", uri.path(), query.finish())
}

//! `/changes/summary`: the feed of changes in numbers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::answers::Answers;
use crate::list::page::Limit;
use crate::query::query;
use crate::service::extract::Query;
use unroof_edge::{CachedBody, KnownTag, Names, Reply, Running, StoreRefusals, Unchanged};
use unroof_store::{ChangeCount, ChangeFilter, ChangeKind, DbTime, KindCount, MoveRow, Summarised};

/// A length of time: up to 999 hours, or up to 366 days.
#[derive(Debug, Clone)]
struct Window {
    text: String,
    hours: i64,
}

impl Default for Window {
    fn default() -> Self {
        Self::read("30d").expect("it is a window")
    }
}

impl Window {
    fn read(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let (hours, most) = match unit {
            "h" => (1, 999),
            "d" => (24, 366),
            _ => return None,
        };
        let is_plain = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = number.parse().ok().filter(|_| is_plain)?;
        (number <= most).then(|| Self {
            text: text.to_owned(),
            hours: number * hours,
        })
    }

    /// Begin of the window, cut to minutes: within a minute, the answer is the same.
    fn begin(&self, now: Timestamp) -> Timestamp {
        let begin = now - SignedDuration::from_hours(self.hours);
        Timestamp::from_second(begin.as_second().div_euclid(60) * 60).unwrap_or(begin)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a window: write 1h to 999h, or 1d to 366d"
            ))
        })
    }
}

query! {
    /// Window and filter of a summary.
    SummaryQuery {
        /// Time before now in which the changes were seen: `1h` to `999h`, or `1d` to `366d`.
        #[param(value_type = String, default = "30d", example = "30d",
            pattern = "^([1-9][0-9]{0,2}h|([1-9][0-9]?|[12][0-9]{2}|3[0-5][0-9]|36[0-6])d)$")]
        window: Window,
        /// Prices listed in each direction.
        #[param(value_type = u32, minimum = 1, maximum = 100, default = 10)]
        limit: Limit<100, 10>,
        provider,
        model,
        canonical_model,
    }
}

/// The feed of changes in numbers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangeSummary {
    /// Window of the summary, as it was asked for.
    #[schema(example = "30d")]
    window: String,
    /// Begin of the window, cut to minutes.
    #[schema(value_type = String, format = DateTime, example = "2026-10-22T06:00:00Z")]
    from: DbTime,
    /// Changes by kind; only kinds that occur.
    kinds: Vec<KindCount>,
    /// Changes by day in UTC and kind; only days and kinds that occur.
    days: Vec<ChangeCount>,
    /// The prices that rose by the largest factors between the first and the last change in the window.
    rises: Vec<MoveRow>,
    /// The prices that fell by the largest factors.
    falls: Vec<MoveRow>,
}

impl ChangeSummary {
    fn new(window: String, from: DbTime, summarised: Summarised) -> Self {
        let place = |count: &KindCount| ChangeKind::ALL.iter().position(|kind| *kind == count.kind);
        let mut kinds = summarised.kinds;
        kinds.sort_by_key(place);
        let (rises, falls) = summarised.moves.into_iter().partition(|row| row.is_rise);
        Self {
            window,
            from,
            kinds,
            days: summarised.counts,
            rises,
            falls,
        }
    }
}

/// Summarise the changes of a window
///
/// Counts of changes by day and kind, and the prices that moved most: per offer and cell, from the value before
/// its first `price.changed` in the window to the value after its last. A price that is back where it began, and one
/// that was or is 0, is not listed.
#[utoipa::path(
    get,
    path = "/changes/summary",
    tag = "changes",
    params(SummaryQuery, KnownTag),
    responses(
        (status = 200, description = "The summary", body = ChangeSummary, headers(("etag" = String))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn summarise_changes(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<SummaryQuery>,
    headers: HeaderMap,
) -> Reply {
    let filter = ChangeFilter {
        provider: Names::list(query.provider),
        model: Names::list(query.model),
        canonical_model: Names::list(query.canonical_model),
        ..ChangeFilter::default()
    };
    let (window, Limit(limit)) = (query.window, query.limit);
    let from = DbTime::from(window.begin(answers.now()));
    let question = format!(
        "changes/summary {} {from:?} {limit} {filter:?}",
        window.text
    );
    let body = async || {
        let permit = answers.permit_of(&answers.long_pages).await?;
        let summarised = answers.store.change_summary(&filter, from, limit).await?;
        let summary = ChangeSummary::new(window.text, from, summarised);
        let budget = answers.budget.clone();
        let body = move |_: &Running| CachedBody::json(&budget, &summary);
        permit.run(body).await?
    };
    answers.polled(question, &headers, body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_plain_number_of_hours_or_days() {
        for (text, hours) in [("1h", 1), ("999h", 999), ("1d", 24), ("366d", 8_784)] {
            assert_eq!(Window::read(text).unwrap().hours, hours, "{text}");
        }
        for text in [
            "", "h", "d", "0h", "01d", "1000h", "367d", "-1d", "+1d", "1.5d", "1w", "1D", " 1d",
            "30", "1é",
        ] {
            assert!(Window::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_begin_is_the_same_within_a_minute() {
        let begin = |now: &str| Window::read("1h").unwrap().begin(now.parse().unwrap());
        let expected: Timestamp = "2026-11-21T05:59:00Z".parse().unwrap();
        assert_eq!(begin("2026-11-21T06:59:00Z"), expected);
        assert_eq!(begin("2026-11-21T06:59:59.9Z"), expected);
    }
}

//! `/ui/changes`: what changed, by day; the prices that moved most are first.

mod brief;
mod view;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use jiff::SignedDuration;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use self::view::View;
use super::answer;
use super::layout::Page;
use crate::answers::Answers;
use crate::list::page::without_nul;
use crate::service::extract::Query;
use unroof_edge::answer::problem::{Problem, UNREADABLE};
use unroof_store::{ChangeFilter, ChangeKind, ChangesFrom};

pub(super) use brief::{address_of, brief, changed_prices, folded};

/// The parameters as they are sent: a form sends empty ones too.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Parameters {
    kind: String,
    provider: String,
    model: String,
    min_factor: String,
    days: String,
    before: String,
}

/// Filter of the page of changes.
#[derive(Debug, Clone)]
struct Question {
    parameters: Parameters,
    filter: ChangeFilter,
    /// Days of the list of movers.
    days: i64,
    /// Sequence number before which the changes are; none for the newest.
    before: Option<i64>,
}

/// Kinds of changes that come in large numbers: a day has their number, and a page of their own lists them.
const COUNTED: [(ChangeKind, &str); 5] = [
    (ChangeKind::OfferAdded, "offers seen for the first time"),
    (
        ChangeKind::SourceAdded,
        "first observations of an offer by another source",
    ),
    (
        ChangeKind::HistoryBackfilled,
        "prices of the past that became known",
    ),
    (ChangeKind::EstimateUpdated, "estimates that changed"),
    (
        ChangeKind::IdentityChanged,
        "offers with another name or form",
    ),
];

impl Question {
    /// The filter of what is listed one by one: without a kind, all but those that are counted.
    fn listed(&self) -> ChangeFilter {
        let is_listed = |kind: &&ChangeKind| COUNTED.iter().all(|(counted, _)| counted != *kind);
        let mut filter = self.filter.clone();
        if filter.kind.is_empty() {
            filter.kind = ChangeKind::ALL.iter().filter(is_listed).copied().collect();
        }
        filter
    }
}

/// Changes of a page.
const ROWS: u32 = 200;
/// Prices listed in each direction.
const MOVERS: u32 = 8;
/// Windows of the movers, in days.
const WINDOWS: [i64; 4] = [1, 7, 30, 90];

impl Question {
    fn read(parameters: Parameters) -> Result<Self, Problem> {
        let one = |text: &str| match text.trim() {
            "" => Vec::new(),
            text => vec![text.to_owned()],
        };
        for text in [&parameters.provider, &parameters.model] {
            without_nul(text)?;
        }
        let kind = match parameters.kind.as_str() {
            "" => Vec::new(),
            name => vec![
                ChangeKind::try_from(name.to_owned())
                    .map_err(|_| wrong("kind", name, "a kind from the list"))?,
            ],
        };
        let min_factor = number("min_factor", &parameters.min_factor)?;
        Ok(Self {
            filter: ChangeFilter {
                kind,
                provider: one(&parameters.provider),
                canonical_model: one(&parameters.model),
                min_factor: min_factor.filter(|factor: &f64| *factor > 1.0),
                ..ChangeFilter::default()
            },
            days: number("days", &parameters.days)?
                .filter(|days| WINDOWS.contains(days))
                .unwrap_or(7),
            before: number("before", &parameters.before)?,
            parameters,
        })
    }

    /// The filter as parameters of the API's feeds.
    fn feed(&self) -> String {
        let of = &self.parameters;
        self::query(&[
            ("kind", &of.kind),
            ("provider", of.provider.trim()),
            ("canonical_model", of.model.trim()),
            ("min_factor", &of.min_factor),
        ])
    }

    /// The page of the changes before one.
    fn older(&self, before: i64) -> String {
        self.page_of(&self.parameters.kind, &before.to_string())
    }

    /// The page of the changes of a kind.
    fn of_kind(&self, kind: ChangeKind) -> String {
        self.page_of(kind.name(), "")
    }

    fn page_of(&self, kind: &str, before: &str) -> String {
        let of = &self.parameters;
        let query = self::query(&[
            ("kind", kind),
            ("provider", &of.provider),
            ("model", &of.model),
            ("min_factor", &of.min_factor),
            ("days", &of.days),
            ("before", before),
        ]);
        format!("/ui/changes{query}")
    }
}

/// The parameters that are not empty, after a question mark.
fn query(parameters: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() {
        query
    } else {
        format!("?{query}")
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<Option<N>, Problem> {
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = |_| wrong(name, value, "a number");
    value.parse().map(Some).map_err(wrong)
}

fn wrong(name: &str, value: &str, expected: &str) -> Problem {
    let value: String = value.chars().take(60).collect();
    Problem::new(UNREADABLE, format!("`{name}={value}` cannot be read"))
        .hint(format!("`{name}` is {expected}"))
}

/// Shows the page of changes.
pub(super) async fn show(
    State(answers): State<Arc<Answers>>,
    query: Result<Query<Parameters>, Problem>,
    headers: HeaderMap,
) -> Response<Body> {
    match query.and_then(|Query(parameters)| Question::read(parameters)) {
        Ok(question) => {
            let name = format!("changes {:?}", question.parameters);
            answer::page(&answers, &name, &headers, || page(&answers, &question)).await
        }
        Err(problem) => answer::of(&answers, &problem),
    }
}

async fn page(answers: &Answers, question: &Question) -> Result<Page, Problem> {
    let from = answers.now() - SignedDuration::from_hours(24 * question.days);
    // Of a filter by kind or factor, the movers are the same.
    let of_names = ChangeFilter {
        provider: question.filter.provider.clone(),
        canonical_model: question.filter.canonical_model.clone(),
        ..ChangeFilter::default()
    };
    let summarised = answers
        .store
        .change_summary(&of_names, from.into(), MOVERS)
        .await?;
    let before = ChangesFrom::Before(question.before.unwrap_or(i64::MAX));
    let listed = question.listed();
    let mut rows = answers
        .store
        .changes_from(&listed, before, ROWS + 1)
        .await?;
    let has_more = rows.len() > ROWS as usize;
    rows.truncate(ROWS as usize);
    let view = View {
        question,
        summarised: &summarised,
        rows: &rows,
        has_more,
    };
    Ok(view.page())
}

//! `/ui/changes`: what changed, by day; the prices that moved most are first.

mod brief;
mod view;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use jiff::SignedDuration;

use self::view::View;
use super::answer;
use super::layout::Page;
use crate::answers::Answers;
use crate::question::{Question, wrong};
use unroof_edge::Problem;
use unroof_store::{ChangeFilter, ChangeKind, ChangesFrom};

pub(super) use brief::{address_of, brief, changed_prices, folded};

/// Names of the parameters.
const PARAMETERS: [&str; 6] = ["kind", "provider", "model", "min_factor", "days", "before"];

/// Filter of the page of changes.
#[derive(Debug, Clone)]
struct ChangesQuestion {
    asked: Question,
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

impl ChangesQuestion {
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

impl ChangesQuestion {
    fn read(asked: Question) -> Result<Self, Problem> {
        asked.require_known(&PARAMETERS)?;
        let one = |name: &str| match asked.text(name).trim() {
            "" => Vec::new(),
            text => vec![text.to_owned()],
        };
        let kind = match asked.text("kind") {
            "" => None,
            name => Some(
                ChangeKind::try_from(name.to_owned())
                    .map_err(|_| wrong("kind", name, "a kind from the list"))?,
            ),
        };
        let min_factor = asked.number("min_factor")?;
        let days = asked.number("days")?;
        Ok(Self {
            filter: ChangeFilter {
                kind: kind.into_iter().collect(),
                provider: one("provider"),
                canonical_model: one("model"),
                min_factor: min_factor.filter(|factor: &f64| *factor > 1.0),
                ..ChangeFilter::default()
            },
            days: days.filter(|days| WINDOWS.contains(days)).unwrap_or(7),
            before: asked.number("before")?,
            asked,
        })
    }

    /// The filter as parameters of the API's feeds, at the path of one.
    fn feed(&self, path: &str) -> String {
        let of = |name| self.asked.text(name).trim();
        let filter = [
            ("kind", of("kind")),
            ("provider", of("provider")),
            ("canonical_model", of("model")),
            ("min_factor", of("min_factor")),
        ];
        Question::of(filter).address(path)
    }

    /// The page of the changes before one.
    fn older(&self, before: i64) -> String {
        self.page_of(self.asked.text("kind"), &before.to_string())
    }

    /// The page of the changes of a kind.
    fn of_kind(&self, kind: ChangeKind) -> String {
        self.page_of(kind.name(), "")
    }

    fn page_of(&self, kind: &str, before: &str) -> String {
        let asked = self.asked.set("kind", kind).set("before", before);
        asked.address("/ui/changes")
    }
}

/// Shows the page of changes.
pub(super) async fn show(
    State(answers): State<Arc<Answers>>,
    question: Question,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let question = ChangesQuestion::read(question)?;
    let name = format!("changes {:?}", question.asked);
    let page = async || page(&answers, &question).await;
    Ok(answer::page(&answers, &name, &headers, page).await)
}

async fn page(answers: &Answers, question: &ChangesQuestion) -> Result<Page, Problem> {
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

//! `/search`: names for a search box.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::answers::Answers;
use crate::list::page::{FilterText, prefix};
use crate::query::query;
use crate::service::extract::Query;
use unroof_edge::{CachedBody, KnownTag, Problem, StoreRefusals, Unchanged};
use unroof_store::{NameKind, NamePrefix, NameRow};

const MOST_NAMES: u32 = 100;

/// Names of each kind.
#[derive(Debug, Clone, Copy)]
struct NameLimit(u32);

impl Default for NameLimit {
    fn default() -> Self {
        Self(10)
    }
}

impl<'de> Deserialize<'de> for NameLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let limit = text
            .parse()
            .ok()
            .filter(|limit| (1..=MOST_NAMES).contains(limit));
        limit.map(Self).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a number from 1 to {MOST_NAMES}"))
        })
    }
}

/// A kind of names.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SearchedKind {
    /// Providers, as they bill.
    Provider,
    /// Canonical models, `author/model`.
    CanonicalModel,
    /// Models as providers spell them.
    Model,
}

query! {
    /// Filters of the names.
    SearchQuery {
    /// Beginning of the name, or of what is behind its last `/`, in any case; the first names of all if left out.
    #[param(nullable = false, inline, value_type = Option<FilterText>, example = "gpt-5")]
    q: Option<String>,
        /// Kind of the names; all kinds if left out.
        kind: SearchedKind,
    /// Names of each kind.
    #[param(value_type = u32, minimum = 1, maximum = 100, default = 10)]
    limit: NameLimit,
    }
}

impl SearchQuery {
    fn kinds(&self) -> &'static [NameKind] {
        match self.kind {
            Some(SearchedKind::Provider) => &[NameKind::Provider],
            Some(SearchedKind::CanonicalModel) => &[NameKind::CanonicalModel],
            Some(SearchedKind::Model) => &[NameKind::Model],
            None => NameKind::ALL,
        }
    }
}

/// Names that were found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchAnswer {
    /// The names: providers, canonical models, then models, each in the order of its letters.
    data: Vec<NameRow>,
}

/// Search names by their beginning
///
/// For a search box that completes what is typed. Each name is a value for the filter of the lists that is called like its
/// kind.
#[utoipa::path(
    get,
    path = "/search",
    tag = "price sheets",
    params(SearchQuery, KnownTag),
    responses(
        (status = 200, description = "The names", body = SearchAnswer, headers(("etag" = String))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn search_names(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<SearchQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let NameLimit(limit) = query.limit;
    let prefix = prefix(query.q.as_deref())?.unwrap_or_else(|| NamePrefix::new(""));
    let body = async || {
        let _place = answers.turn_to_write().await?;
        let data = answers
            .store
            .search_names(query.kinds(), &prefix, limit)
            .await?;
        let text =
            serde_json::to_string(&SearchAnswer { data }).map_err(Problem::not_serialised)?;
        Ok(CachedBody::new(text, "application/json", None))
    };
    // A letter in another case is the same question.
    let question = format!("search {:?} {prefix:?} {limit}", query.kinds());
    answers.polled(question, &headers, body).await
}

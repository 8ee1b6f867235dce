//! `/search`: names for a search box.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answers::Answers;
use crate::list::page::{FilterText, Limit, prefix};
use crate::query::query;
use crate::service::extract::Query;
use unroof_edge::{CachedBody, KnownTag, Reply, Running, StoreRefusals, Unchanged};
use unroof_store::{NameKind, NamePrefix, NameRow};

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
    limit: Limit<100, 10>,
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
) -> Reply {
    let Limit(limit) = query.limit;
    let prefix = prefix(query.q.as_deref())?.unwrap_or_else(|| NamePrefix::new(""));
    let body = async || {
        let permit = answers.permit_to_write().await?;
        let data = answers
            .store
            .search_names(query.kinds(), &prefix, limit)
            .await?;
        let budget = answers.budget.clone();
        let body = move |_: &Running| CachedBody::json(&budget, &SearchAnswer { data });
        permit.run(body).await?
    };
    // A letter in another case is the same question.
    let question = format!("search {:?} {prefix:?} {limit}", query.kinds());
    answers.polled(question, &headers, body).await
}

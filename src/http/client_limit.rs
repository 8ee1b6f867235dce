//! The limit of a client's requests: each is charged before it is worked on, and one that the client cannot pay is 429.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::extract::{discard, stated_length};
use super::problem::{LIMITED, Problem};
use super::queue::CLIENT;
use super::quota::{Exhausted, Quotas, cost};
use crate::access::{Client, Scope};

/// The budget that a request is charged to.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) quotas: Arc<Quotas>,
    pub(super) client: Client,
    /// Bytes of a refused body that are read, so that its sender sees the refusal.
    pub(super) most_bytes: usize,
}

/// Charges a request to a route that needs a scope. What the client knew already is free: a 304 gives the points back.
pub(super) async fn charge(State(needed): State<Scope>, request: Request, next: Next) -> Response {
    let Some(account) = request.extensions().get::<Account>().cloned() else {
        return next.run(request).await;
    };
    let points = cost(needed, length(request.headers()));
    let Account { quotas, client, .. } = &account;
    let rest = match quotas.charge(client, points) {
        Ok(rest) => rest,
        Err(exhausted) => {
            discard(request, account.most_bytes).await;
            return account.refuse(exhausted);
        }
    };
    let mut response = CLIENT.scope(client.clone(), next.run(request)).await;
    let is_free = response.status() == StatusCode::NOT_MODIFIED;
    let rest = if is_free {
        quotas.give_back(client, points, rest)
    } else {
        rest
    };
    quotas.announce(rest, response.headers_mut());
    response
}

/// Bytes of a request's body; none if they are not stated.
fn length(headers: &HeaderMap) -> Option<usize> {
    let is_unknown = headers.contains_key(header::TRANSFER_ENCODING);
    (!is_unknown).then(|| stated_length(headers).unwrap_or_default())
}

impl Account {
    fn refuse(&self, exhausted: Exhausted) -> Response {
        let mut headers = HeaderMap::new();
        self.quotas.refuse(exhausted, &mut headers);
        let problem = Problem::new(LIMITED, "this client has spent its budget")
            .hint("send the request again after the seconds in `Retry-After`");
        (headers, problem).into_response()
    }
}

//! The limit of a client's requests: each is charged before it is worked on, and one that the client cannot pay is 429.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::queue::CLIENT;
use super::quota::{Exhausted, Quotas, cost};
use crate::answer::problem::{LIMITED, Problem};
use crate::answer::stated_length;
use unroof_store::access::{Client, Scope};

/// The budget that a request is charged to.
#[derive(Debug, Clone)]
pub struct Account {
    /// Budgets of all clients.
    pub quotas: Arc<Quotas>,
    /// Client that pays.
    pub client: Client,
}

/// Charges a request to a route, which may need a scope. One that needs none charges for what it stores: a sign-in. An answer
/// that the client has already is free: a 304 gives the points back.
pub async fn charge(
    needed: Option<Scope>,
    request: Request,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let account = request.extensions().get::<Account>().cloned();
    let (Some(account), false) = (account, needed.is_none() && request.method().is_safe()) else {
        return answer(request).await;
    };
    let Account { quotas, client } = &account;
    let points = cost(needed, length(request.headers()));
    let rest = match quotas.charge(client, points) {
        Ok(rest) => rest,
        Err(exhausted) => return account.refuse(exhausted),
    };
    let mut response = CLIENT.scope(client.clone(), answer(request)).await;
    // What was charged meanwhile says what is left since.
    let rest = response.extensions_mut().remove().unwrap_or(rest);
    let rest = match response.status() {
        StatusCode::NOT_MODIFIED => quotas.give_back(client, points, rest),
        _ => rest,
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

//! The limit of a client's requests: each is charged before it is worked on, and one that the client cannot pay is 429.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::bill::{Account, Bill};
use super::quota::{Exhausted, cost};
use crate::answer::problem::{LIMITED, Problem};
use crate::answer::stated_length;
use unroof_store::access::Scope;

/// The place of a request's bill, for the layers around the one that opens it.
#[derive(Debug, Clone, Default)]
pub struct Tab(Arc<OnceLock<Arc<Bill>>>);

impl Tab {
    /// The bill; none if the request was refused before it was charged, or costs nothing.
    #[must_use]
    pub fn bill(&self) -> Option<&Arc<Bill>> {
        self.0.get()
    }
}

/// Charges a request of a caller to a route, each with a scope. A route that needs none charges for what it stores: a sign-in.
/// An answer that the client has already is free: a 304 gives the points back.
pub async fn charge(
    needed: Option<Scope>,
    caller: Option<Scope>,
    request: Request,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    if needed.is_none() && request.method().is_safe() {
        return answer(request).await;
    }
    let account = request.extensions().get::<Account>().cloned();
    let points = cost(needed, length(request.headers()));
    let bill = match Bill::open(account.clone(), caller, points) {
        Ok(bill) => bill,
        Err(exhausted) => return refuse(account.as_ref(), exhausted),
    };
    if let Some(Tab(tab)) = request.extensions().get::<Tab>() {
        // A request passes one route.
        let _ = tab.set(Arc::clone(&bill));
    }
    let response = bill.scope(answer(request)).await;
    if response.status() == StatusCode::NOT_MODIFIED {
        bill.waive(points);
    }
    response
}

/// Bytes of a request's body; none if they are not stated.
fn length(headers: &HeaderMap) -> Option<usize> {
    let is_unknown = headers.contains_key(header::TRANSFER_ENCODING);
    (!is_unknown).then(|| stated_length(headers).unwrap_or_default())
}

fn refuse(account: Option<&Account>, exhausted: Exhausted) -> Response {
    let mut headers = HeaderMap::new();
    if let Some(account) = account {
        account.quotas.refuse(exhausted, &mut headers);
    }
    let problem = Problem::new(LIMITED, "this client has spent its budget")
        .hint("send the request again after the seconds in `Retry-After`");
    (headers, problem).into_response()
}

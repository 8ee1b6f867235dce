//! The limit of a client's requests: each is charged before it is worked on, and one that the client cannot pay is 429.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::answer::stated_length;
use super::manners::CLIENT;
use crate::answer::problem::{LIMITED, Problem};
use super::quota::{Exhausted, Quotas, Rest, cost};
use super::shared_quota::SharedQuotas;
use unroof_store::access::{Client, Scope};

/// The budget that a request is charged to.
#[derive(Debug, Clone)]
pub struct Account {
    pub quotas: Arc<Quotas>,
    /// Budgets of all replicas, where they share them.
    pub shared: Option<Arc<SharedQuotas>>,
    pub client: Client,
    /// Time at which the budget is read.
    pub now: Timestamp,
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
    let points = cost(needed, length(request.headers()));
    // It may be free: shared budgets are charged afterwards, so that polling costs no query.
    let is_conditional = request.headers().contains_key(header::IF_NONE_MATCH);
    let may_be_free = is_conditional && request.method().is_safe();
    let rest = match account.begin(points, may_be_free).await {
        Ok(rest) => rest,
        Err(exhausted) => return account.refuse(exhausted),
    };
    let mut response = CLIENT.scope(account.client.clone(), answer(request)).await;
    let ended = account.end(points, rest, may_be_free, response.status());
    match ended.await {
        Ok(rest) => {
            account.quotas.announce(rest, response.headers_mut());
            response
        }
        Err(exhausted) => account.refuse(exhausted),
    }
}

/// Bytes of a request's body; none if they are not stated.
fn length(headers: &HeaderMap) -> Option<usize> {
    let is_unknown = headers.contains_key(header::TRANSFER_ENCODING);
    (!is_unknown).then(|| stated_length(headers).unwrap_or_default())
}

impl Account {
    /// Charges a request before it is worked on.
    async fn begin(&self, points: usize, may_be_free: bool) -> Result<Rest, Exhausted> {
        let rest = self.quotas.charge(&self.client, points)?;
        if may_be_free {
            return Ok(rest);
        }
        self.share(points, rest).await
    }

    /// Charges what could only be known afterwards.
    async fn end(
        &self,
        points: usize,
        rest: Rest,
        might_be_free: bool,
        status: StatusCode,
    ) -> Result<Rest, Exhausted> {
        if status == StatusCode::NOT_MODIFIED {
            return Ok(self.quotas.give_back(&self.client, points, rest));
        }
        if might_be_free {
            return self.share(points, rest).await;
        }
        Ok(rest)
    }

    /// Charges the budget that all replicas share, if there is one.
    async fn share(&self, points: usize, rest: Rest) -> Result<Rest, Exhausted> {
        let Some(shared) = &self.shared else {
            return Ok(rest);
        };
        let charged = shared.charge(&self.quotas, &self.client, points, self.now, rest);
        charged.await.inspect_err(|_| {
            self.quotas.give_back(&self.client, points, rest);
        })
    }

    fn refuse(&self, exhausted: Exhausted) -> Response {
        let mut headers = HeaderMap::new();
        self.quotas.refuse(exhausted, &mut headers);
        let problem = Problem::new(LIMITED, "this client has spent its budget")
            .hint("send the request again after the seconds in `Retry-After`");
        (headers, problem).into_response()
    }
}

//! Response timeout: from the end of the request body to the response headers.

use std::pin::pin;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::oneshot;

use super::access::identified;
use crate::app::App;
use unroof_edge::{Limits, Problem};

/// Finds the caller of a request and has it answered. Cancels requests that exceed the timeout; reading the body has its own
/// timeout.
pub(crate) async fn limit(State(app): State<App>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return in_time(&app.limits, answer(&app, request, next)).await;
    }
    let (reading, read) = oneshot::channel::<()>();
    // Dropped with the body, when it is read to its end or discarded.
    let request = request.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &reading;
            frame
        }))
    });
    let mut answer = pin!(answer(&app, request, next));
    tokio::select! {
        biased;
        response = &mut answer => return response,
        _ = read => {}
    }
    in_time(&app.limits, answer).await
}

async fn answer(app: &App, request: Request, next: Next) -> Response {
    identified(&app.clients, request, next).await
}

async fn in_time(limits: &Limits, answer: impl Future<Output = Response>) -> Response {
    let answer_time = limits.answer_time;
    match tokio::time::timeout(answer_time, answer).await {
        Ok(response) => response,
        Err(_) => Problem::busy(&format!(
            "the response was not ready within {answer_time:?}"
        ))
        .into_response(),
    }
}

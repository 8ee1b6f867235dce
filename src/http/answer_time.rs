//! Response timeout: from the end of the request body to the response headers.

use std::pin::pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::oneshot;

use super::Limits;
use super::problem::Problem;

/// Cancels requests that exceed the timeout. Reading the body has its own timeout.
pub(super) async fn limit(
    State(limits): State<Arc<Limits>>,
    request: Request,
    next: Next,
) -> Response {
    let (reading, read) = oneshot::channel::<()>();
    // Dropped with the body, when it is read to its end or discarded.
    let request = request.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &reading;
            frame
        }))
    });
    let mut answer = pin!(next.run(request));
    tokio::select! {
        biased;
        response = &mut answer => return response,
        _ = read => {}
    }
    let answer_time = limits.answer_time;
    match tokio::time::timeout(answer_time, answer).await {
        Ok(response) => response,
        Err(_) => Problem::busy(&format!(
            "the response was not ready within {answer_time:?}"
        ))
        .into_response(),
    }
}

//! How long an answer may take: from the end of the request's body to the head of the answer.

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

/// Ends what takes longer. The body has a limit of its own, where it is read.
pub(super) async fn limit(
    State(limits): State<Arc<Limits>>,
    request: Request,
    next: Next,
) -> Response {
    let (reading, read) = oneshot::channel::<()>();
    // Dropped with the body, once it is read to its end or is not wanted.
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
        Err(_) => {
            Problem::busy(&format!("the answer took longer than {answer_time:?}")).into_response()
        }
    }
}

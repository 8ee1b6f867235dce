//! The answer to a request for a page: cached like the API's, and a problem as a page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;

use super::layout::{Page, of_problem};
use crate::answers::Answers;
use unroof_edge::quota;
use unroof_edge::{CHALLENGE, CachedBody, NOT_FOUND, Problem};

/// Media type of a page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// A page for clients that come back: while neither the store nor the day changes, it is written once. The tag is made of
/// the page itself, which names the build's files and the day.
pub(super) async fn page(
    answers: &Answers,
    question: &str,
    headers: &HeaderMap,
    page: impl AsyncFnOnce() -> Result<Page, Problem>,
) -> Response<Body> {
    let now = answers.now();
    let body = async || {
        let _permit = answers.permit_to_write().await?;
        let document = page().await?.document(now);
        Ok(CachedBody::new(document, HTML, None))
    };
    let question = format!("page of {} {question}", now.strftime("%Y-%m-%d"));
    match answers.polled(question, headers, body).await {
        Ok(response) => response,
        Err(problem) => of(answers, &problem),
    }
}

/// The page for a problem.
pub(super) fn of(answers: &Answers, problem: &Problem) -> Response<Body> {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = html(status, of_problem(problem).document(answers.now()));
    problem.note_refusal(&mut response);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let wait = HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    response
}

/// The answer of a page's route, as a page also where a layer around it refused the request.
pub(crate) fn as_page(answers: &Answers, mut answer: Response<Body>) -> Response<Body> {
    match answer.extensions_mut().remove::<Problem>() {
        Some(problem) => {
            let mut page = of(answers, &problem);
            quota::hand_on(answer.headers(), page.headers_mut());
            page
        }
        None => answer,
    }
}

/// A document with a status, not cached.
pub(super) fn html(status: StatusCode, document: String) -> Response<Body> {
    let mut response = (status, document).into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, HTML),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static(CHALLENGE);
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// No page has this address.
pub(super) async fn no_page(State(answers): State<Arc<Answers>>, uri: Uri) -> Response<Body> {
    let path: String = uri.path().chars().take(200).collect();
    let problem = Problem::new(NOT_FOUND, format!("there is no page {path}"))
        .hint("the navigation above leads to all pages");
    of(&answers, &problem)
}

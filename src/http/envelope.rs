//! What surrounds every request: its id, its log line, and problems for all that is refused anywhere below.

use std::any::Any;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;
use uuid::Uuid;

use super::metrics::method_name;
use super::problem::{INTERNAL, NOT_FOUND, PROBLEM_JSON, Problem, UNREADABLE};

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request an id, writes one log line for it, and turns every refusal into a problem.
pub(super) async fn surround(request: Request, next: Next) -> Response {
    let request_id = request_id(&request);
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("", |path| path.as_str())
        .to_owned();
    let is_page = route.starts_with("/docs");
    let span = tracing::info_span!(
        "request",
        method = %method_name(request.method()),
        route,
        request_id
    );
    let started = Instant::now();
    async move {
        let mut response = with_problem(next.run(request).await, &request_id);
        restrict_browsers(response.headers_mut(), is_page);
        // Whole microseconds.
        let duration_ms = (started.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        tracing::info!(status = response.status().as_u16(), duration_ms, "served");
        response
    }
    .instrument(span)
    .await
}

/// The client's own id where it is safe to log and echo, else a new one.
fn request_id(request: &Request) -> String {
    let is_safe = |id: &&str| {
        (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let sent = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .filter(is_safe);
    sent.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

fn with_problem(mut response: Response, request_id: &str) -> Response {
    let status = response.status();
    let problem = response.extensions_mut().remove::<Problem>();
    let is_rendered = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|content_type| content_type == PROBLEM_JSON);
    let mut response = match problem {
        Some(problem) => problem.render(request_id, response),
        None if (status.is_client_error() || status.is_server_error()) && !is_rendered => {
            Problem::of_status(status).render(request_id, response)
        }
        None => response,
    };
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// What a browser may make of an answer: nothing but what it is, and in no frame. The pages of the docs load their own
/// scripts and styles, and nothing from elsewhere.
fn restrict_browsers(headers: &mut HeaderMap, is_page: bool) {
    let policy = if is_page {
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
    } else {
        "default-src 'none'; frame-ancestors 'none'"
    };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Refuses what RFC 9112 (3.2) has refused: a request that does not say once, and well, whom it is for.
pub(super) async fn require_host(request: Request, next: Next) -> Response {
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    let is_well_formed = |host: &HeaderValue| {
        host.is_empty()
            || host
                .to_str()
                .is_ok_and(|host| !host.contains('@') && host.parse::<Authority>().is_ok())
    };
    match hosts.as_slice() {
        [] if request.version() != Version::HTTP_11 => next.run(request).await,
        [host] if is_well_formed(host) => next.run(request).await,
        hosts => {
            let detail = match hosts.len() {
                0 => "the request has no header `Host`",
                1 => "the header `Host` names no host",
                _ => "the request has the header `Host` more than once",
            };
            Problem::new(UNREADABLE, detail)
                .hint("send one header `Host` with the name that you connect to")
                .into_response()
        }
    }
}

/// Refuses bodies that are coded in any way but in chunks: others on the way may see their end elsewhere, and another
/// request behind it.
pub(super) async fn require_plain_coding(request: Request, next: Next) -> Response {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_none_or(is_chunked) && codings.next().is_none() {
        return next.run(request).await;
    }
    let problem = Problem::new(
        UNREADABLE,
        "the body has a transfer coding beside `chunked`",
    )
    .hint("send `Transfer-Encoding: chunked` once, or `Content-Length`");
    ([(header::CONNECTION, "close")], problem).into_response()
}

/// The answer to a connection for which there is no place.
pub(super) fn no_place() -> Response {
    let problem = Problem::busy("there are as many connections as there may be");
    let mut response = with_problem(problem.into_response(), &Uuid::new_v4().to_string());
    restrict_browsers(response.headers_mut(), false);
    response
}

/// No route has this path.
pub(super) async fn no_route(request: Request) -> Problem {
    let path: String = request.uri().path().chars().take(200).collect();
    Problem::new(NOT_FOUND, format!("no route has the path `{path}`"))
        .hint("all paths are listed at /docs")
}

/// A handler panicked: logged here, and no word of it to the client.
#[expect(clippy::needless_pass_by_value, reason = "the signature is given")]
pub(super) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = message, "a handler panicked");
    Problem::new(INTERNAL, "the request could not be carried out").into_response()
}

/// Status of a request that was not answered in time.
pub(super) const TIMED_OUT: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

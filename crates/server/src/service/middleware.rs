//! Middleware around every request: request id, log line, and problem documents for all refusals.

use std::any::Any;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;
use tracing::field::Empty;
use uuid::Uuid;

use super::metrics::{Counted, method_name};
use crate::answers::Answers;
use crate::app::App;
use crate::pages::{HTML, as_page};
use unroof_edge::{
    Bill, Coding, INTERNAL, METHOD_NOT_ALLOWED, NOT_FOUND, PAUSE, PROBLEM_JSON, Problem, Tab,
    UNREADABLE, check_host, linger,
};
use unroof_telemetry::RequestTrace;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Id of a request, for its handler.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Check of a request before its route is asked.
pub(crate) type Check = fn(&App, &Request) -> Result<(), Response>;

/// The HTTP checks of a request from a connection that the library leaves out.
pub(crate) fn check_request(app: &App, request: &Request) -> Result<(), Response> {
    let host = check_host(&app.limits.allowed_hosts, request);
    host.map_err(Problem::into_response)?;
    check_coding(request.headers())
}

/// Counts the request, adds a request id, logs one line, and turns every refusal into a problem. Refusals for overload are
/// rate-limited; those beyond the rate are delayed and not logged. One layer does all of it: each has a price per request.
pub(crate) async fn request_scope(
    State((app, check)): State<(App, Check)>,
    mut request: Request,
    next: Next,
) -> Response {
    let request_id = request_id(&request);
    let of_handler = RequestId(request_id.clone());
    request.extensions_mut().insert(of_handler);
    linger(&mut request);
    let tab = Tab::default();
    request.extensions_mut().insert(tab.clone());
    let coding = Coding::preferred(request.headers());
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("", MatchedPath::as_str);
    let policy = policy_of(route);
    let is_probe = route == "/readyz";
    let method = method_name(request.method());
    let mut counted = Counted::new(Arc::clone(&app.service.metrics), method, route);
    let path = request.uri().path();
    let trace = RequestTrace::begin(request.headers(), method, route, path, &request_id);
    let (trace_id, trace_span) = (trace.trace_id.clone(), trace.span.clone());
    // An error has the ids too, whatever the level of the log.
    let (client, key, user) = (Empty, Empty, Empty);
    let span =
        tracing::error_span!("request", %method, route, request_id, trace_id, client, key, user);
    let answering = async {
        let trace_id = trace_id.as_deref();
        let mut answer = match check(&app, &request) {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal,
        };
        if policy == PAGES {
            answer = as_page(&app.answers, answer);
        }
        let is_refusal = answer.status() == BUSY && !is_probe;
        let is_prompt = match answer.status() {
            LIMITED => app.clients.limited.count(),
            _ if is_refusal => app.service.refusals.count(),
            _ => true,
        };
        if !is_prompt {
            app.answers.pause().await;
        }
        let answer = app
            .answers
            .budget
            .hold(with_problem(answer, &request_id, trace_id))
            .await;
        let no_room =
            |problem: Problem| with_problem(problem.into_response(), &request_id, trace_id);
        let response = answer.unwrap_or_else(no_room);
        let compressing = app.answers.compress(response, coding);
        let mut response = Bill::charge(tab.bill(), compressing).await;
        if let Some(bill) = tab.bill() {
            bill.announce(response.headers_mut());
        }
        restrict_browsers(response.headers_mut(), policy);
        let took = counted.answered(response.status());
        let status = response.status().as_u16();
        trace.end(status);
        if !is_prompt {
            return response;
        }
        // Whole microseconds.
        let duration_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        tracing::info!(status, duration_ms, "served");
        if app.limits.is_slow(route, took) {
            tracing::warn!(status, duration_ms, "slow answer");
        }
        response
    };
    // The log's span is the inner one: what takes the current span to another thread takes the ids along.
    answering.instrument(span).instrument(trace_span).await
}

/// Turns every refusal into a problem, without a log line.
pub(crate) async fn problems_only(request: Request, next: Next) -> Response {
    let request_id = request_id(&request);
    let mut response = with_problem(next.run(request).await, &request_id, None);
    restrict_browsers(response.headers_mut(), NO_PAGE);
    response
}

/// The client's request id if it is safe to log and echo, else a new one.
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

fn with_problem(mut response: Response, request_id: &str, trace_id: Option<&str>) -> Response {
    let status = response.status();
    let problem = response.extensions_mut().remove::<Problem>();
    let is_rendered = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|content_type| content_type == PROBLEM_JSON || content_type == HTML);
    let mut response = match problem {
        Some(problem) => problem.render(request_id, trace_id, response),
        None if (status.is_client_error() || status.is_server_error()) && !is_rendered => {
            Problem::of_status(status).render(request_id, trace_id, response)
        }
        None => response,
    };
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Content security policy of an answer that is not a page.
const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'";

/// Content security policy of the pages.
const PAGES: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// Content security policy of a route: scripts and styles only for pages, and only from this origin. Swagger UI styles its
/// elements itself.
fn policy_of(route: &str) -> &'static str {
    if route.starts_with("/docs") {
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
    } else if route.starts_with("/ui") {
        PAGES
    } else {
        NO_PAGE
    }
}

/// Sets the browser security headers: the policy, no sniffing, no address of the page for other sites.
fn restrict_browsers(headers: &mut HeaderMap, policy: &'static str) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Refuses every transfer coding but `chunked`: a proxy may find another end of the body and so another request after it
/// (request smuggling).
fn check_coding(headers: &HeaderMap) -> Result<(), Response> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_none_or(is_chunked) && codings.next().is_none() {
        return Ok(());
    }
    let problem = Problem::new(
        UNREADABLE,
        "the body has a transfer coding besides `chunked`",
    )
    .hint("send `Transfer-Encoding: chunked` once, or `Content-Length`");
    Err(([(header::CONNECTION, "close")], problem).into_response())
}

/// The response to a connection above the limit.
pub(crate) fn no_place() -> Response {
    let problem = Problem::busy("connection limit reached");
    let mut response = with_problem(problem.into_response(), &Uuid::new_v4().to_string(), None);
    restrict_browsers(response.headers_mut(), NO_PAGE);
    response
}

/// No route has this path.
pub(crate) async fn no_route(request: Request) -> Problem {
    let path: String = request.uri().path().chars().take(200).collect();
    let known = crate::routes_like(&path);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let problem = Problem::new(NOT_FOUND, format!("there is no route `{path}`"));
    problem.hint_of(&path, &known, "all paths are listed at /docs")
}

/// The path exists, and takes other methods.
pub(crate) async fn other_method(request: Request) -> Problem {
    let path: String = request.uri().path().chars().take(200).collect();
    let methods = match crate::methods_of_path(&path).as_slice() {
        [] => "GET".to_owned(),
        methods => methods.join(" or a "),
    };
    Problem::new(
        METHOD_NOT_ALLOWED,
        format!("{} is not a method of `{path}`", request.method()),
    )
    .hint(format!("send a {methods} to this path"))
}

/// Logs the panic of a handler; the client sees an internal error without details.
#[expect(clippy::needless_pass_by_value, reason = "the signature is given")]
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = message, "handler panicked");
    Problem::new(INTERNAL, "the request could not be carried out").into_response()
}

/// Status of a request refused for overload.
const BUSY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
/// Status of a request refused since its client sends too much.
const LIMITED: StatusCode = StatusCode::TOO_MANY_REQUESTS;

impl Answers {
    /// Waits for the `Retry-After` time; returns at once during shutdown.
    async fn pause(&self) {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = self.stopping.cancelled() => {}
        }
    }
}

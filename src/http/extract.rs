//! Thin extractors of our own, so that every rejection is a problem.
#![expect(
    clippy::disallowed_types,
    reason = "these wrap axum's extractors, whose rejections are plain text"
)]

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use super::App;
use super::problem::{NOT_FOUND, Problem, TIMEOUT, TOO_LARGE, UNREADABLE, UNSUPPORTED_MEDIA_TYPE};
use super::refusals::PAUSE;

/// The query string; unknown names and bad values are refused by name.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Query::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection: QueryRejection| {
                let text = rejection.body_text();
                let reason = text
                    .strip_prefix("Failed to deserialize query string: ")
                    .unwrap_or(&text);
                Problem::new(UNREADABLE, format!("the query string is wrong: {reason}"))
                    .hint("the parameters of every path are listed at /docs")
            })
    }
}

/// The parameters of a path. What cannot be one names nothing that is there.
#[derive(Debug)]
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            .map_err(|_: PathRejection| {
                Problem::new(NOT_FOUND, "the last part of the path is no id")
                    .hint("ids look like 4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11; lists carry them")
            })
    }
}

/// The bytes of a JSON body, not yet read.
#[derive(Debug)]
pub(super) struct JsonBody(pub(super) Bytes);

impl FromRequest<App> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        read_json(request, app).await.map(Self)
    }
}

/// The same of a question whose answer is worked out. While as many wait for theirs as may, it is refused unread.
#[derive(Debug)]
pub(super) struct Question(pub(super) Bytes);

impl FromRequest<App> for Question {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if let Err(busy) = app.computing.has_room().await {
            discard(request, app.limits.body_bytes).await;
            return Err(busy);
        }
        read_json(request, app).await.map(Self)
    }
}

/// The body of a request that says it is JSON, in one piece. It takes from the budget what has come of it.
async fn read_json(request: Request, app: &App) -> Result<Bytes, Problem> {
    let most = MostBytes {
        bytes: app.limits.body_bytes,
        hint: "send one price sheet at a time, or a catalog to /catalogs",
    };
    if let Err(refusal) = most.check(request.headers()) {
        discard(request, most.bytes).await;
        return Err(refusal);
    }
    let mut held = app.budget.take(0)?;
    let text = most.read(request, app, |bytes| held.resize(bytes)).await?;
    Ok(held.keep(text))
}

/// A body takes from the budget in steps of this many bytes.
const STEP: usize = 64 * 1024;

/// Most bytes of a body.
pub(super) struct MostBytes {
    pub(super) bytes: usize,
    /// What to do with a larger one.
    pub(super) hint: &'static str,
}

impl MostBytes {
    /// Whether a body may be read, by what the head says of it.
    ///
    /// # Errors
    /// It is not JSON, or larger than it may be.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        check_media_type(headers)?;
        if stated_length(headers).is_some_and(|bytes| bytes > self.bytes) {
            return Err(self.too_large());
        }
        Ok(())
    }

    /// Reads a body. Each piece is copied to its place at once: a body in small pieces takes no more room than one in
    /// large ones. `take` is told how many bytes it takes.
    ///
    /// # Errors
    /// It is larger than it may be, takes more than there is, ends early or takes too long.
    pub(super) async fn read(
        &self,
        request: Request,
        app: &App,
        mut take: impl FnMut(usize) -> Result<(), Problem>,
    ) -> Result<Vec<u8>, Problem> {
        let stated = stated_length(request.headers()).unwrap_or_default();
        let body_time = app.limits.body_time;
        let mut body = request.into_body();
        let read = async {
            // Memory that is asked for is not taken before something is written there.
            let mut text = Vec::with_capacity(stated);
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|_| Problem::new(UNREADABLE, "the body ended early"))?;
                let Ok(piece) = frame.into_data() else {
                    continue;
                };
                let length = text.len() + piece.len();
                if length > self.bytes {
                    return Err(self.too_large());
                }
                let takes = if stated == 0 { 2 * length } else { length };
                take(takes.next_multiple_of(STEP))?;
                text.extend_from_slice(&piece);
            }
            Ok(text)
        };
        tokio::time::timeout(body_time, read).await.map_err(|_| {
            Problem::new(TIMEOUT, "the body did not arrive in time")
                .hint(format!("send all of it within {body_time:?}"))
        })?
    }

    fn too_large(&self) -> Problem {
        let detail = format!("the body is larger than {} bytes", self.bytes);
        Problem::new(TOO_LARGE, detail).hint(self.hint)
    }
}

fn stated_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Takes the body of a request that is refused, and keeps none of it: a client that is still sending when the connection
/// is closed may not see the answer.
async fn discard(request: Request, most_bytes: usize) {
    if request.headers().contains_key(header::EXPECT) {
        return;
    }
    let mut body = request.into_body();
    let take = async {
        let mut left = most_bytes;
        while let Some(Ok(frame)) = body.frame().await
            && let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len))
        {
            left = rest;
        }
    };
    // A client that is slow has the rest of its body left unread.
    let _ = tokio::time::timeout(PAUSE, take).await;
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let refusal = |detail: String| {
        Err(Problem::new(UNSUPPORTED_MEDIA_TYPE, detail)
            .hint("send `Content-Type: application/json`, in UTF-8"))
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return refusal("compressed bodies are not read".to_owned());
    }
    let Some(content_type) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return refusal("the request has no content type".to_owned());
    };
    let mut parts = content_type
        .split(';')
        .map(|part| part.trim().to_ascii_lowercase());
    let essence = parts.next().unwrap_or_default();
    if essence != "application/json"
        && !(essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return refusal(format!("the body is `{essence}`, not JSON"));
    }
    for parameter in parts {
        if let Some(charset) = parameter.strip_prefix("charset=")
            && charset.trim_matches('"') != "utf-8"
        {
            return refusal(format!("the body is in `{charset}`, not in UTF-8"));
        }
    }
    Ok(())
}

/// No parameters: anything in the query string is refused by name.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoQuery {}

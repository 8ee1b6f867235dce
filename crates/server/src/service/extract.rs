//! Extractors whose rejections are problems.
#![expect(
    clippy::disallowed_types,
    reason = "these wrap axum's extractors, whose rejections are plain text"
)]

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::compute::Views;
use unroof_edge::{
    NOT_FOUND, Problem, TIMEOUT, TOO_LARGE, UNREADABLE, UNSUPPORTED_MEDIA_TYPE, media_type,
    stated_length,
};

/// The query string. Unknown names and invalid values are rejected.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

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
                refused_query(reason)
            })
    }
}

/// The refusal of a query string, with the parameter that an unknown one means.
pub(crate) fn refused_query(reason: &str) -> Problem {
    let (_, unknown) = reason.split_once("unknown field `").unwrap_or_default();
    // The reason names the unknown parameter, then those that are known, each between backticks.
    let mut names = unknown.split('`').step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let listed = "the parameters of every path are listed at /docs";
    Problem::of_query(reason).hint_of(unknown, &known, listed)
}

/// Path parameters. An invalid id is answered with 404.
#[derive(Debug)]
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            .map_err(|_: PathRejection| {
                Problem::new(NOT_FOUND, "the last part of the path is not an id").hint(
                    "an id looks like 4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11; the lists contain them",
                )
            })
    }
}

/// The bytes of a JSON body, not yet parsed.
#[derive(Debug)]
pub(crate) struct JsonBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBody
where
    Views: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        read_json(request, &Views::from_ref(state)).await.map(Self)
    }
}

/// The bytes of a JSON body that is queued for computing. Refused unread while the queue is full.
#[derive(Debug)]
pub(crate) struct Question(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Question
where
    Views: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let views = Views::from_ref(state);
        views.compute.workers.has_room()?;
        read_json(request, &views).await.map(Self)
    }
}

/// The bytes of a form that is queued for computing, with the same limits.
#[derive(Debug)]
pub(crate) struct FormBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for FormBody
where
    Views: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let views = Views::from_ref(state);
        views.compute.workers.has_room()?;
        read_body(request, &views, check_form_type).await.map(Self)
    }
}

/// Reads a whole JSON body.
async fn read_json(request: Request, views: &Views) -> Result<Bytes, Problem> {
    read_body(request, views, check_media_type).await
}

/// Reads a whole body of a media type. The bytes received so far count towards the memory budget.
async fn read_body(
    request: Request,
    views: &Views,
    check_type: impl Fn(&HeaderMap) -> Result<(), Problem>,
) -> Result<Bytes, Problem> {
    let most = MostBytes {
        bytes: views.limits.body_bytes,
        hint: "send one price sheet at a time, or a whole catalog to /catalogs",
    };
    let headers = request.headers();
    check_type(headers)?;
    most.check_length(headers)?;
    let mut held = views.answers.budget.take(0)?;
    let read = most.read(request, views.limits.body_time, |bytes| held.resize(bytes));
    let text = read.await?;
    Ok(held.keep(text))
}

/// Step in which a body reserves memory, in bytes.
const STEP: usize = 64 * 1024;

/// Size limit of a body.
pub(crate) struct MostBytes {
    pub bytes: usize,
    /// Hint for a larger body.
    pub hint: &'static str,
}

impl MostBytes {
    /// Checks media type and length in the request's headers.
    ///
    /// # Errors
    /// The body is not JSON, or too large.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        check_media_type(headers)?;
        self.check_length(headers)
    }

    fn check_length(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if stated_length(headers).is_some_and(|bytes| bytes > self.bytes) {
            return Err(self.too_large());
        }
        Ok(())
    }

    /// Reads a body into one buffer: a body in small pieces takes no more memory than one in large pieces. `take` is called
    /// with the bytes reserved so far.
    ///
    /// # Errors
    /// The body is too large, exceeds the memory budget, ends early or arrives too slowly.
    pub(crate) async fn read(
        &self,
        request: Request,
        body_time: Duration,
        mut take: impl FnMut(usize) -> Result<(), Problem>,
    ) -> Result<Vec<u8>, Problem> {
        let stated = stated_length(request.headers()).unwrap_or_default();
        let mut body = request.into_body();
        let read = async {
            // Allocated memory is not resident before it is written to.
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
        let detail = format!("the body exceeds {} bytes", self.bytes);
        Problem::new(TOO_LARGE, detail).hint(self.hint)
    }
}

/// Checks that a body is a form as browsers send it.
fn check_form_type(headers: &HeaderMap) -> Result<(), Problem> {
    const FORM: &str = "application/x-www-form-urlencoded";
    let is_form = media_type(headers).is_some_and(|stated| stated.eq_ignore_ascii_case(FORM));
    if is_form && !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    Err(
        Problem::new(UNSUPPORTED_MEDIA_TYPE, "The body is not a form")
            .hint(format!("Send `Content-Type: {FORM}`, or JSON to /infer")),
    )
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let refusal = |detail: String| {
        Err(Problem::new(UNSUPPORTED_MEDIA_TYPE, detail)
            .hint("send `Content-Type: application/json`, in UTF-8"))
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return refusal("compressed bodies are not supported".to_owned());
    }
    let Some(content_type) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return refusal("the header `Content-Type` is missing".to_owned());
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
            return refusal(format!("the body is in `{charset}`, not UTF-8"));
        }
    }
    Ok(())
}

/// No parameters: anything in the query string is refused by name.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoQuery {}

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(none) = Query::from_request_parts(parts, state).await?;
        Ok(none)
    }
}

//! Thin extractors of our own, so that every rejection is a problem.
#![expect(
    clippy::disallowed_types,
    reason = "these wrap axum's extractors, whose rejections are plain text"
)]

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use super::problem::{NOT_FOUND, Problem, TIMEOUT, TOO_LARGE, UNREADABLE, UNSUPPORTED_MEDIA_TYPE};
use super::{App, Limits};

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
        let read = read_json(request, app, app.limits.body_bytes);
        read.await.map(Self)
    }
}

async fn read_json(mut request: Request, app: &App, most_bytes: usize) -> Result<Bytes, Problem> {
    check_media_type(request.headers())?;
    let Limits { body_time, .. } = *app.limits;
    // The limit that holds for all routes is that of a sheet.
    axum::extract::DefaultBodyLimit::max(most_bytes).apply(&mut request);
    let read = tokio::time::timeout(body_time, Bytes::from_request(request, app));
    let body = read.await.map_err(|_| {
        Problem::new(TIMEOUT, "the body did not arrive in time")
            .hint(format!("send all of it within {body_time:?}"))
    })?;
    body.map_err(|rejection: BytesRejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Problem::new(
                TOO_LARGE,
                format!("the body is larger than {most_bytes} bytes"),
            )
            .hint("send one price sheet at a time, or a catalog to /catalogs")
        } else {
            Problem::new(UNREADABLE, "the body ended early")
        }
    })
}

pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
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

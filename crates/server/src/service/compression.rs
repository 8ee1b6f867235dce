//! Compression of response bodies by `Accept-Encoding` (RFC 9110, 12.5.3): gzip and Zstandard.
//!
//! A body is compressed as a whole on a worker thread and counted in the memory budget, so that a slow client holds its
//! bytes and no encoder. A compressed body has a strong ETag of its own. Streams are sent as they are.

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;

use crate::answers::Answers;
use unroof_edge::{Coding, Counted, Problem, SizeOfBody, media_type};

/// Bodies below this size, in bytes, are sent as they are: they fit into one packet.
const SMALLEST: u64 = 1400;
/// Bodies above this size, in bytes, wait in the queue of long pages.
const LONG: u64 = 1024 * 1024;

/// Whether bodies of this media type become smaller.
fn is_text(response: &Response<Body>) -> bool {
    media_type(response.headers()).is_some_and(|media_type| {
        let (kind, form) = media_type.split_once('/').unwrap_or_default();
        kind == "text" || ["json", "xml"].iter().any(|text| form.ends_with(text))
    })
}

/// Size of the plain body, in bytes, also where a 304 leaves it out. The body of a response to `HEAD` is left out later.
fn size(response: &Response<Body>) -> Option<u64> {
    if response.status() == StatusCode::NOT_MODIFIED {
        return response.extensions().get::<SizeOfBody>().map(|size| size.0);
    }
    if !is_text(response) || response.headers().contains_key(header::CONTENT_ENCODING) {
        return None;
    }
    response.body().size_hint().exact()
}

impl Answers {
    /// The response in a coding, if its body is a text of known size that is not small. A body that finds no place in the
    /// queue or in the memory budget is sent as it is.
    pub(crate) async fn compress(
        &self,
        mut response: Response<Body>,
        coding: Option<Coding>,
    ) -> Response<Body> {
        let Some(size) = size(&response).filter(|size| *size >= SMALLEST) else {
            return response;
        };
        let varies = HeaderValue::from_static("accept-encoding");
        response.headers_mut().append(header::VARY, varies);
        let Some(coding) = coding else {
            return response;
        };
        let tag = response.headers().get(header::ETAG).cloned();
        let tag = tag.and_then(|plain| coding.tag(&plain));
        if response.status() != StatusCode::NOT_MODIFIED {
            let (parts, body) = response.into_parts();
            // In memory already: no byte is copied.
            let plain = usize::try_from(size).unwrap_or(usize::MAX);
            let plain = match to_bytes(body, plain).await {
                Ok(plain) => plain,
                Err(error) => return Problem::not_serialised(error).into_response(),
            };
            let compressed = self.compressed(plain.clone(), coding, tag.as_ref()).await;
            let Ok(compressed) = compressed else {
                return Response::from_parts(parts, Body::from(plain));
            };
            response = Response::from_parts(parts, Body::from(compressed));
            response.extensions_mut().insert(Counted);
            let headers = response.headers_mut();
            headers.remove(header::CONTENT_LENGTH);
            let name = HeaderValue::from_static(coding.name());
            headers.insert(header::CONTENT_ENCODING, name);
        }
        if let Some(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }

    /// A compressed body; one with an ETag is compressed once while the cache keeps it.
    async fn compressed(
        &self,
        plain: Bytes,
        coding: Coding,
        tag: Option<&HeaderValue>,
    ) -> Result<Bytes, Problem> {
        let make = async {
            let workers = if plain.len() as u64 > LONG {
                &self.long_pages
            } else {
                &self.writing
            };
            let permit = self.permit_of(workers).await?;
            let budget = self.budget.clone();
            permit
                .run(move |_| coding.compress(&plain, &budget))
                .await?
        };
        match tag {
            Some(tag) => self.bodies.compressed(tag, make).await,
            None => make.await,
        }
    }
}

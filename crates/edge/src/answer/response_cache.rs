//! Conditional GET and the response cache: strong ETags, 304, and no query while nothing has changed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moka::future::Cache;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::coding::{Accepted, Coding, SizeOfBody};
use super::problem::Problem;
use crate::limit::budget::{Budget, Counted};

/// Cached bodies; the least used are evicted first.
#[derive(Debug, Clone)]
pub struct BodyCache {
    /// Bodies by store version and request.
    current: Cache<(i64, String), Arc<CachedBody>>,
    /// Last body of each request, for outages in which the version is unknown.
    last: Cache<String, Arc<CachedBody>>,
    /// Compressed bodies by their ETags.
    compressed: Cache<HeaderValue, Bytes>,
}

/// A body with its headers.
#[derive(Debug)]
pub struct CachedBody {
    bytes: Bytes,
    content_type: &'static str,
    etag: HeaderValue,
    link: Option<HeaderValue>,
}

impl CachedBody {
    /// A body with its type, ready to be sent.
    pub fn new(bytes: impl Into<Bytes>, content_type: &'static str, link: Option<String>) -> Self {
        let bytes = bytes.into();
        let digest = Sha256::digest(&bytes);
        Self::with_digest(bytes, &digest[..16], content_type, link)
    }

    /// A stored document, whose checksum is the digest of its tag.
    pub fn of_stored(document: Bytes, checksum: &[u8]) -> Self {
        Self::with_digest(document, checksum, "application/json", None)
    }

    fn with_digest(
        bytes: Bytes,
        digest: &[u8],
        content_type: &'static str,
        link: Option<String>,
    ) -> Self {
        let digest = URL_SAFE_NO_PAD.encode(digest);
        let etag =
            HeaderValue::from_str(&format!("\"{digest}\"")).expect("base64 is a header value");
        Self {
            bytes,
            content_type,
            etag,
            link: link.and_then(|link| HeaderValue::from_str(&link).ok()),
        }
    }

    /// A value as JSON, counted in the memory budget.
    ///
    /// # Errors
    /// The budget is used up, or the value cannot be serialised.
    pub fn json(budget: &Budget, value: &impl Serialize) -> Result<Self, Problem> {
        let mut text = serde_json::to_vec(value).map_err(Problem::not_serialised)?;
        text.shrink_to_fit();
        let held = budget.take(text.len())?;
        Ok(Self::new(held.keep(text), "application/json", None))
    }

    /// The body, or 304 if `If-None-Match` has its tag.
    pub fn respond(&self, request_headers: &HeaderMap) -> Response<Body> {
        let is_known = has_matching_tag(request_headers, &self.etag);
        let body = if is_known {
            Body::empty()
        } else {
            Body::from(self.bytes.clone())
        };
        let mut response = Response::new(body);
        response.extensions_mut().insert(Counted);
        if is_known {
            let size = SizeOfBody(self.bytes.len() as u64);
            response.extensions_mut().insert(size);
        }
        let headers = response.headers_mut();
        // For those of the layers around it too, so that the map does not grow.
        headers.reserve(12);
        headers.insert(header::ETAG, self.etag.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if let Some(link) = &self.link {
            headers.insert(header::LINK, link.clone());
        }
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static(self.content_type),
            );
        }
        response
    }

    /// The stale body, marked with `Cache-Status` (RFC 9211).
    pub fn respond_stale(&self, request_headers: &HeaderMap) -> Response<Body> {
        let mut response = self.respond(request_headers);
        response.headers_mut().insert(
            HeaderName::from_static("cache-status"),
            HeaderValue::from_static(
                "unroof; hit; fwd=stale; detail=\"the database does not answer\"",
            ),
        );
        response
    }
}

/// Time after which an unused body is dropped: those of an earlier version are not asked for again.
const UNUSED_FOR: Duration = Duration::from_mins(1);

impl BodyCache {
    /// A cache of this many bytes: a quarter of them for compressed bodies, half of the others for outages of the database.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let weight = |question: &str, body: &CachedBody| {
            u32::try_from(body.bytes.len() + question.len() + 256).unwrap_or(u32::MAX)
        };
        let compressed = bytes / 4;
        let plain = (bytes - compressed) / 2;
        Self {
            current: Cache::builder()
                .max_capacity(plain)
                .time_to_idle(UNUSED_FOR)
                .weigher(move |(_, question): &(i64, String), body: &Arc<_>| weight(question, body))
                .build(),
            last: Cache::builder()
                .max_capacity(plain)
                .weigher(move |question: &String, body: &Arc<_>| weight(question, body))
                .build(),
            compressed: Cache::builder()
                .max_capacity(compressed)
                .time_to_idle(UNUSED_FOR)
                .weigher(|tag: &HeaderValue, body: &Bytes| {
                    u32::try_from(body.len() + tag.len() + 256).unwrap_or(u32::MAX)
                })
                .build(),
        }
    }

    /// The body of a request at a version, made once for concurrent requests. Every layer around a handler moves its future, so
    /// that it holds little of what makes a body: that has a place of its own.
    pub async fn get(
        &self,
        version_and_question: &(i64, String),
        make: impl Future<Output = Result<CachedBody, Problem>>,
    ) -> Result<Arc<CachedBody>, Problem> {
        let make = async {
            let body = Arc::new(make.await?);
            let question = version_and_question.1.clone();
            self.last.insert(question, Arc::clone(&body)).await;
            Ok(body)
        };
        if let Some(body) = self.current.get(version_and_question).await {
            return Ok(body);
        }
        let body = self.current.try_get_with_by_ref(version_and_question, make);
        Box::pin(body)
            .await
            .map_err(|problem: Arc<Problem>| (*problem).clone())
    }

    /// The compressed body of an ETag, made once for concurrent requests.
    pub async fn compressed(
        &self,
        tag: &HeaderValue,
        make: impl Future<Output = Result<Bytes, Problem>>,
    ) -> Result<Bytes, Problem> {
        if let Some(body) = self.compressed.get(tag).await {
            return Ok(body);
        }
        let body = self.compressed.try_get_with(tag.clone(), make);
        Box::pin(body)
            .await
            .map_err(|problem: Arc<Problem>| (*problem).clone())
    }

    /// Number of cached bodies.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.current.entry_count() + self.last.entry_count()
    }

    /// The last cached body of a request.
    pub async fn last(&self, question: &str) -> Option<Arc<CachedBody>> {
        self.last.get(question).await
    }
}

/// Whether `If-None-Match` matches the tag: `*`, or a list compared weakly (RFC 9110, 13.1.2). The tag of the body in a
/// content coding matches that of the plain body.
fn has_matching_tag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let lists = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|tag| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        tag == "*" || etag == tag || etag == &Coding::plain_tag(tag)
    })
}

/// Whether the client prefers CSV to JSON.
#[must_use]
pub fn prefers_csv(headers: &HeaderMap) -> bool {
    prefers(headers, "text/csv", "application/json")
}

/// Whether the client prefers a media type to the default.
#[must_use]
pub fn prefers(headers: &HeaderMap, media_type: &str, default: &str) -> bool {
    let accepted = Accepted::read(headers, header::ACCEPT);
    accepted.weight(media_type).unwrap_or(0.0) > accepted.weight(default).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_matching_tag_is_found_in_every_form() {
        let body = CachedBody::new("{}", "application/json", None);
        let tag = body.etag.to_str().unwrap();
        for list in [
            "*".to_owned(),
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"x\", {tag}"),
        ] {
            let headers = HeaderMap::from_iter([(
                header::IF_NONE_MATCH,
                HeaderValue::from_str(&list).unwrap(),
            )]);
            assert!(has_matching_tag(&headers, &body.etag), "{list}");
        }
        assert!(!has_matching_tag(
            &headers(header::IF_NONE_MATCH, "\"x\""),
            &body.etag
        ));
        assert!(!has_matching_tag(&HeaderMap::new(), &body.etag));
    }

    #[test]
    fn csv_is_sent_if_the_client_prefers_it() {
        for (accept, csv) in [
            ("text/csv", true),
            ("text/csv, application/json;q=0.5", true),
            ("application/json, text/csv", false),
            ("*/*", false),
            ("text/csv;q=0.1, application/json;q=0.2", false),
        ] {
            assert_eq!(
                prefers_csv(&headers(header::ACCEPT, accept)),
                csv,
                "{accept}"
            );
        }
    }
}

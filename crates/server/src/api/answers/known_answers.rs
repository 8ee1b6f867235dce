//! Answers to requests that are sent again and record nothing: while the store has the version that they were made at, and for a
//! second at most, since prices also begin and end by the clock.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use moka::future::Cache;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use unroof_edge::Counted;
use unroof_store::access::Only;

/// Longest time for which an answer is known.
pub(crate) const KNOWN_FOR: SignedDuration = SignedDuration::from_secs(1);

/// Known answers by their requests; the least used are evicted first.
#[derive(Debug, Clone)]
pub(crate) struct KnownAnswers(pub(crate) Cache<Question, Arc<KnownAnswer>>);

/// Digest of what an answer depends on besides the store and the time.
pub(crate) type Question = [u8; 32];

/// An answer, and the version of the store that it holds for.
#[derive(Debug)]
pub(crate) struct KnownAnswer {
    pub(crate) version: i64,
    pub(crate) made_at: Timestamp,
    pub(crate) id: Uuid,
    pub(crate) headers: HeaderMap,
    pub(crate) document: Bytes,
}

/// The question of a request by a caller that may, or may not, observe prices of some providers, and whose answer is stored, or
/// is not.
pub(crate) fn question(
    uri: &Uri,
    body: &[u8],
    (may_observe, is_stored): (bool, bool),
    providers: &Only<String>,
) -> Question {
    Sha256::new()
        .chain_update([may_observe, is_stored].map(u8::from))
        .chain_update(providers.stored().unwrap_or_default())
        .chain_update([0])
        .chain_update(uri.query().unwrap_or_default())
        .chain_update([0])
        .chain_update(body)
        .finalize()
        .into()
}

impl KnownAnswers {
    /// Answers of this many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let weight = |_: &Question, answer: &Arc<KnownAnswer>| {
            u32::try_from(answer.document.len() + 512).unwrap_or(u32::MAX)
        };
        let answers = Cache::builder().max_capacity(bytes).weigher(weight);
        Self(answers.time_to_live(KNOWN_FOR.unsigned_abs()).build())
    }
}

impl IntoResponse for &KnownAnswer {
    fn into_response(self) -> Response {
        let document = self.document.clone();
        (self.headers.clone(), Extension(Counted), document).into_response()
    }
}

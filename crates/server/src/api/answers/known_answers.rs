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

use crate::answers::Answers;
use unroof_edge::Counted;
use unroof_store::StoreError;

/// Longest time for which an answer is known.
const KNOWN_FOR: SignedDuration = SignedDuration::from_secs(1);

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

/// The question of a request by a caller that may, or may not, observe prices.
pub(crate) fn question(uri: &Uri, body: &[u8], may_observe: bool) -> Question {
    Sha256::new()
        .chain_update([u8::from(may_observe)])
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

impl Answers {
    /// The answer to a request that was answered before, if it still holds. The database is asked for its version by a query that
    /// begins after the request came, so that what was stored by any replica before is seen.
    ///
    /// # Errors
    /// The database is unreachable: then the request could not be recorded either.
    pub(crate) async fn known_answer(
        &self,
        question: &Question,
    ) -> Result<Option<Arc<KnownAnswer>>, StoreError> {
        let Some(known) = self.known.0.get(question).await else {
            return Ok(None);
        };
        let version = self.version_from_now().await?;
        let age = self.now().duration_since(known.made_at).abs();
        let holds = known.version == version && age < KNOWN_FOR;
        Ok(holds.then_some(known))
    }

    /// Keeps the answer to a request that has recorded nothing since the store had a version, if it still has it.
    pub(crate) async fn keep_answer(
        &self,
        question: Question,
        version: i64,
        id: Uuid,
        (headers, document): (&HeaderMap, &Bytes),
    ) {
        let made_at = self.now();
        if self
            .version_from_now()
            .await
            .is_ok_and(|now| now == version)
        {
            let answer = KnownAnswer {
                version,
                made_at,
                id,
                headers: headers.clone(),
                document: document.clone(),
            };
            let answers = &self.known.0;
            answers.insert(question, Arc::new(answer)).await;
        }
    }
}

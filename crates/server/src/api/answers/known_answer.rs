//! The known answer to a request, if it still holds for the store.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderMap;
use uuid::Uuid;

use super::known_answers::{KNOWN_FOR, KnownAnswer, Question};
use crate::answers::Answers;
use unroof_store::StoreError;

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

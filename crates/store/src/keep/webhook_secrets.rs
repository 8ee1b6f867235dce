//! Secrets of webhooks at rest: encrypted, where the service has a key.

use std::sync::Arc;

use sqlx::FromRow;
use uuid::Uuid;

use super::secrets_key::{SEALED, SecretError, SecretsKey};
use crate::connect::query::Query;
use crate::{Store, StoreError};

#[derive(FromRow)]
struct SecretRow {
    id: Uuid,
    secret: String,
}

const SECRETS: &str = "SELECT id, secret FROM webhooks ORDER BY created_at, id";

// Not over what another replica has written meanwhile.
const REPLACE: &str = "UPDATE webhooks SET secret = $3 WHERE id = $1 AND secret = $2";

impl Store {
    /// Store with a key that secrets are encrypted with.
    #[must_use]
    pub fn with_secrets_key(self, key: SecretsKey) -> Self {
        Self {
            secrets_key: Some(Arc::new(key)),
            ..self
        }
    }

    /// A secret as it is stored: encrypted, if there is a key.
    pub(crate) fn sealed(&self, webhook: Uuid, secret: &str) -> Result<String, StoreError> {
        match &self.secrets_key {
            Some(key) => Ok(key.seal(webhook, secret)?),
            None => Ok(secret.to_owned()),
        }
    }

    /// The secret of a webhook, as it was sent when the webhook was added.
    ///
    /// # Errors
    /// It is encrypted, and the key is missing or another one.
    pub fn secret_of(&self, webhook: Uuid, stored: &str) -> Result<String, SecretError> {
        let Some(sealed) = stored.strip_prefix(SEALED) else {
            return Ok(stored.to_owned());
        };
        let key = self.secrets_key.as_ref().ok_or(SecretError::NoKey)?;
        key.open(webhook, sealed).ok_or(SecretError::OtherKey)
    }

    /// Encrypts the secrets that are stored in plain text, if there is a key; the webhooks whose secrets cannot be read.
    ///
    /// # Errors
    /// The query fails.
    pub async fn seal_secrets(&self) -> Result<Vec<(Uuid, SecretError)>, StoreError> {
        let rows: Vec<SecretRow> = self.rows(Query::new(SECRETS)).await?;
        let mut unreadable = Vec::new();
        for row in rows {
            if let Err(error) = self.secret_of(row.id, &row.secret) {
                unreadable.push((row.id, error));
            } else if self.secrets_key.is_some() && !row.secret.starts_with(SEALED) {
                let replace = Query::new(REPLACE)
                    .bind(row.id)
                    .bind(&row.secret)
                    .bind(self.sealed(row.id, &row.secret)?);
                self.write(replace).await?;
            }
        }
        Ok(unreadable)
    }
}

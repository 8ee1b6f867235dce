//! Keys of clients, and the sessions of the pages that were made from them.

use ipnet::IpNet;
use jiff::Timestamp;
use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry};
use crate::access::{Actor, Key, KeyHash, KeyRing, Only, Scope};
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};

/// A key to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewKeyRow<'a> {
    /// Id of the key.
    pub id: Uuid,
    /// Name of the key; unique among the keys that are not revoked.
    pub name: &'a str,
    /// Scope of the key.
    pub scope: Scope,
    /// The hash of its text.
    pub hash: KeyHash,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Option<Timestamp>,
    /// Networks from which it is taken.
    pub networks: &'a Only<IpNet>,
    /// Providers whose prices it may write.
    pub providers: &'a Only<String>,
}

impl NewKeyRow<'_> {
    /// Name, scope and limits, for the audit log.
    fn described(&self) -> String {
        let limit = |is_any: bool, text: String| if is_any { String::new() } else { text };
        let from = limit(self.networks.is_any(), format!(", from {}", self.networks));
        let of = limit(
            self.providers.is_any(),
            format!(", prices of {}", self.providers),
        );
        format!("{} ({}{from}{of})", self.name, self.scope)
    }
}

/// A key, without its secret.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct KeyRow {
    /// Id of the key.
    #[schema(example = "3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
    pub id: Uuid,
    /// Name of the key.
    #[schema(example = "price desk")]
    pub name: String,
    /// Scope; each includes those before it.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "observe")]
    pub scope: Scope,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub created_at: DbTime,
    /// Time from which it is refused; null if it does not expire.
    #[schema(value_type = Option<String>, format = DateTime, example = json!(null))]
    pub expires_at: Option<DbTime>,
    /// Time of its last use, a minute late at most; null before the first.
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub last_used_at: Option<DbTime>,
    /// Networks from which it is taken; null for any.
    #[sqlx(try_from = "Option<String>")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["10.0.0.0/8"]))]
    pub networks: Only<IpNet>,
    /// Providers whose prices it may write; null for any.
    #[sqlx(try_from = "Option<String>")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["acme"]))]
    pub providers: Only<String>,
    /// Time at which it was revoked; null if it was not.
    #[schema(value_type = Option<String>, format = DateTime, example = json!(null))]
    pub revoked_at: Option<DbTime>,
}

impl KeyRow {
    /// Place in the list of keys.
    #[must_use]
    pub fn place(&self) -> (Timestamp, Uuid) {
        (self.created_at.into(), self.id)
    }

    /// Whether it is neither revoked nor expired.
    #[must_use]
    pub fn is_usable(&self, now: Timestamp) -> bool {
        let has_ended = self
            .expires_at
            .is_some_and(|end| Timestamp::from(end) <= now);
        self.revoked_at.is_none() && !has_ended
    }
}

/// A key that may be used, with its hash.
#[derive(Debug, FromRow)]
struct UsableRow {
    id: Uuid,
    origin: Uuid,
    name: String,
    #[sqlx(try_from = "String")]
    scope: Scope,
    hash: Vec<u8>,
    expires_at: Option<DbTime>,
    networks: Option<String>,
    providers: Option<String>,
}

const INSERT_KEY: &str = "
    INSERT INTO api_keys (id, name, scope, hash, created_at, expires_at, networks, providers)
    SELECT $1, $2, $3, $4, $5, $6, $8, $9
    WHERE (SELECT count(*) FROM api_keys WHERE made_from IS NULL AND revoked_at IS NULL) < $7
    ON CONFLICT DO NOTHING";

// A session allows what its key does, and ends with it.
const INSERT_SESSION: &str = "
    INSERT INTO api_keys (id, name, scope, hash, made_from, created_at, expires_at, networks, providers)
    SELECT $2, name, scope, $3, id, $4, $5, networks, providers FROM api_keys
    WHERE id = $1 AND revoked_at IS NULL AND made_from IS NULL";

/// Sessions of one key: the oldest ends when another one begins.
const MOST_SESSIONS: i64 = 20;
const DELETE_OLD_SESSIONS: &str = "
    DELETE FROM api_keys WHERE made_from IS NOT NULL AND (expires_at <= $1 OR id IN (
        SELECT id FROM api_keys WHERE made_from = $2 ORDER BY created_at DESC, id LIMIT 1000 OFFSET $3))";

const DELETE_SESSION: &str = "DELETE FROM api_keys WHERE id = $1 AND made_from IS NOT NULL";

const REVOKE: &str = "
    UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL AND made_from IS NULL";

const KEYS: &str = "
    SELECT id, name, scope, created_at, expires_at, last_used_at, networks, providers, revoked_at FROM api_keys
    WHERE made_from IS NULL";

const USABLE: &str = "
    SELECT own.id, COALESCE(own.made_from, own.id) AS origin, own.name, own.scope, own.hash, own.expires_at,
           own.networks, own.providers
    FROM api_keys AS own
    LEFT JOIN api_keys AS origin ON origin.id = own.made_from
    WHERE own.revoked_at IS NULL AND origin.revoked_at IS NULL
      AND (origin.expires_at IS NULL OR origin.expires_at > $1)";

impl Store {
    /// Stores a key; false if a key that is not revoked has the name, or there are `most` keys.
    ///
    /// # Errors
    /// The query fails.
    pub async fn add_key(
        &self,
        new: NewKeyRow<'_>,
        most: i64,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let insert = Query::new(INSERT_KEY)
            .bind(new.id)
            .bind(new.name)
            .bind(new.scope.name())
            .bind(new.hash.0.to_vec())
            .bind(new.created_at)
            .bind(new.expires_at)
            .bind(most)
            .bind(new.networks.stored())
            .bind(new.providers.stored());
        let entry = AuditEntry::new(
            actor,
            new.created_at,
            AuditAction::KeyCreated,
            new.id,
            new.described(),
        );
        Ok(self.write_audited(insert, entry).await? > 0)
    }

    /// Stores a session of a key; false if the key was revoked meanwhile. Sessions that have expired are deleted, and
    /// the oldest beyond those that a key may have.
    ///
    /// # Errors
    /// The query fails.
    pub async fn add_session(
        &self,
        key: &Key,
        hash: KeyHash,
        now: Timestamp,
        expires_at: Timestamp,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let old = Query::new(DELETE_OLD_SESSIONS).bind(now).bind(key.id);
        self.write(old.bind(MOST_SESSIONS - 1)).await?;
        let id = Uuid::new_v4();
        let insert = Query::new(INSERT_SESSION)
            .bind(key.id)
            .bind(id)
            .bind(hash.0.to_vec())
            .bind(now)
            .bind(expires_at);
        let entry = AuditEntry::new(actor, now, AuditAction::SessionBegun, id, key.name.clone());
        Ok(self.write_audited(insert, entry).await? > 0)
    }

    /// Deletes a session; false if there is none.
    ///
    /// # Errors
    /// The query fails.
    pub async fn end_session(
        &self,
        session: &Key,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let entry = AuditEntry::new(
            actor,
            now,
            AuditAction::SessionEnded,
            session.id,
            session.name.clone(),
        );
        let delete = Query::new(DELETE_SESSION).bind(session.id);
        Ok(self.write_audited(delete, entry).await? > 0)
    }

    /// Revokes a key and with it its sessions; false if it was revoked before, or there is none.
    ///
    /// # Errors
    /// The query fails.
    pub async fn revoke_key(
        &self,
        key: &KeyRow,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let entry = AuditEntry::new(
            actor,
            now,
            AuditAction::KeyRevoked,
            key.id,
            format!("{} ({})", key.name, key.scope),
        );
        let revoke = Query::new(REVOKE).bind(key.id).bind(now);
        Ok(self.write_audited(revoke, entry).await? > 0)
    }

    /// Keys after the place of one, also those that were revoked or have expired, the first created first.
    ///
    /// # Errors
    /// The query fails.
    pub async fn keys(
        &self,
        after: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<KeyRow>, StoreError> {
        let (created_at, id) = after.unwrap_or((Timestamp::UNIX_EPOCH, Uuid::nil()));
        let query = Query::new(KEYS).text(" AND (created_at, id) > (");
        let query = query.value(created_at).text(", ").value(id);
        let query = query.text(") ORDER BY created_at, id LIMIT ");
        self.rows(query.value(i64::from(limit))).await
    }

    /// The key with an id.
    ///
    /// # Errors
    /// The query fails.
    pub async fn key_with_id(&self, id: Uuid) -> Result<Option<KeyRow>, StoreError> {
        self.row(Query::new(KEYS).text(" AND id = ").value(id))
            .await
    }

    /// The key with a name that is not revoked.
    ///
    /// # Errors
    /// The query fails.
    pub async fn key_named(&self, name: &str) -> Result<Option<KeyRow>, StoreError> {
        let query = Query::new(KEYS).text(" AND revoked_at IS NULL AND name = ");
        self.row(query.value(name)).await
    }

    /// The keys and sessions that are not revoked.
    ///
    /// # Errors
    /// The query fails.
    pub async fn key_ring(&self, now: Timestamp) -> Result<KeyRing, StoreError> {
        let rows: Vec<UsableRow> = self.rows(Query::new(USABLE).bind(now)).await?;
        let usable = rows.into_iter().filter_map(|row| {
            let hash = KeyHash(row.hash.try_into().ok()?);
            let key = Key {
                id: row.id,
                origin: row.origin,
                name: row.name,
                scope: row.scope,
                expires_at: row.expires_at.map(Timestamp::from),
                networks: row.networks.try_into().ok()?,
                providers: row.providers.try_into().ok()?,
            };
            Some((hash, key))
        });
        Ok(usable.collect())
    }
}

//! Webhooks and their deliveries. One process at a time sends: it takes a lease, and records a delivery
//! before sending it, so that another process sends it again if this one dies.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry};
use crate::access::Actor;
use crate::connect::query::Query;
use crate::record::names::stored_names;
use crate::{ChangeFilter, ChangeRow, DbTime, Store, StoreError};
use unroof_telemetry::secrets::without_secrets;

/// A webhook to be added.
#[derive(Debug, Clone, Copy)]
pub struct NewWebhook<'a> {
    /// Id of the webhook.
    pub id: Uuid,
    /// Address to which changes are sent.
    pub url: &'a str,
    /// Key with which deliveries are signed.
    pub secret: &'a str,
    /// Changes that are sent to it.
    pub filter: &'a ChangeFilter,
    /// Time of the request that adds it.
    pub created_at: Timestamp,
}

/// A webhook, without its secret.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct WebhookRow {
    /// Id of the webhook.
    #[schema(example = "3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
    pub id: Uuid,
    /// Address to which changes are sent.
    #[schema(example = "https://hooks.example.com/unroof")]
    pub url: String,
    /// Changes that are sent to it; all if it is empty.
    #[sqlx(try_from = "Option<String>")]
    pub filter: ChangeFilter,
    /// Time at which it was added.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub created_at: DbTime,
    /// Sequence number of the last change that was delivered, given up or left out by the filter.
    #[schema(example = 1204)]
    pub since: i64,
    /// Time at which its receiver answered 410, after which nothing is sent to it; null while it is sent changes.
    #[schema(value_type = Option<String>, format = DateTime, example = json!(null))]
    pub disabled_at: Option<DbTime>,
}

stored_names! {
    /// State of a delivery.
    DeliveryState {
        /// Being sent, or waiting for the next attempt.
        Pending = "pending",
        /// Confirmed by the receiver.
        Delivered = "delivered",
        /// Given up after the last attempt.
        Failed = "failed",
    }
}

/// A delivery of changes to a webhook.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct DeliveryRow {
    /// Id of the delivery, as in the header `webhook-id`; the same at every attempt.
    #[schema(example = "8d4f2b1a-6c3e-4f5d-8a7b-9c0d1e2f3a4b")]
    pub id: Uuid,
    /// State of the delivery.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "delivered")]
    pub state: DeliveryState,
    /// Sequence number after which its changes begin.
    #[schema(example = 1104)]
    pub since: i64,
    /// Sequence number of its last change.
    #[schema(example = 1204)]
    pub next_since: i64,
    /// Number of changes, 1 to 100.
    #[schema(example = 100)]
    pub changes: i64,
    /// Number of attempts, 1 to 8.
    #[schema(example = 1)]
    pub attempts: i64,
    /// Time of the first attempt, which is the `timestamp` of the message.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub created_at: DbTime,
    /// Time of the last attempt.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub attempted_at: DbTime,
    /// Time of the next attempt; null if there is none.
    #[schema(value_type = Option<String>, format = DateTime, example = json!(null))]
    pub next_attempt_at: Option<DbTime>,
    /// Status code of the last response; null if there was none.
    #[schema(example = 200)]
    pub status: Option<i64>,
    /// Reason why the last attempt got no response; null if it got one.
    #[schema(example = json!(null))]
    pub error: Option<String>,
}

/// A lease: the exclusive right to send to a webhook for a limited time.
#[derive(Debug, Clone, FromRow)]
pub struct WebhookLease {
    /// Id of the webhook.
    pub id: Uuid,
    /// Id of the lease.
    pub lease_id: Uuid,
    /// Address to which changes are sent.
    pub url: String,
    /// Key with which deliveries are signed, as it is stored: see [`Store::secret_of`].
    pub secret: String,
    /// Changes after this one.
    pub since: i64,
    /// Changes that are sent.
    #[sqlx(try_from = "Option<String>")]
    pub filter: ChangeFilter,
}

/// An attempt that begins now.
#[derive(Debug, Clone, FromRow)]
pub struct Attempt {
    /// Id of the delivery, the same at every attempt.
    pub id: Uuid,
    /// Changes up to this one, the same at every attempt.
    pub next_since: i64,
    /// Number of the attempt, from 1.
    pub attempts: i64,
    /// Time of the first attempt.
    pub created_at: DbTime,
}

/// An attempt that was made.
#[derive(Debug)]
pub struct EndedAttempt {
    /// Attempt that ended.
    pub attempt: Attempt,
    /// Outcome of the attempt.
    pub outcome: Outcome,
    /// The status that the receiver answered, or why there was no answer.
    pub answer: Result<u16, String>,
    /// End of the attempt.
    pub at: Timestamp,
}

/// Outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Confirmed by the receiver.
    Delivered,
    /// Failed; it is sent again at this time.
    Again(Timestamp),
    /// Given up; later changes are sent.
    Failed,
    /// The receiver answered 410: the webhook is disabled.
    Unwanted,
}

/// Result of recording an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Recorded; the lease is released.
    Noted,
    /// The lease has expired, and another process holds a new one.
    Lost,
    /// The webhook was removed.
    Removed,
}

const WEBHOOKS: &str = "
    SELECT id, url, filter, created_at, since, disabled_at FROM webhooks
    WHERE ($1 IS NULL OR id = $1)
    ORDER BY created_at, id";

const INSERT_WEBHOOK: &str = "
    INSERT INTO webhooks (id, url, secret, created_at, since, due_at, filter)
    SELECT $1, $2, $3, $4, (SELECT coalesce(max(sequence), 0) FROM changes), $7, $6
    WHERE (SELECT count(*) FROM webhooks) < $5";

const DELETE_WEBHOOK: &str = "DELETE FROM webhooks WHERE id = $1";

const DELIVERIES: &str = "
    SELECT id, state, since, next_since, changes, attempts, created_at, attempted_at, next_attempt_at, status, error
    FROM webhook_deliveries
    WHERE webhook_id = $1 AND since < $2
    ORDER BY since DESC
    LIMIT $3";

/// Due time of what waits for nothing. The time of the last delivery would stop a webhook while a clock that was ahead of the
/// truth is set back.
const AT_ONCE: Timestamp = Timestamp::UNIX_EPOCH;

const DUE: &str = "
    SELECT min(CASE WHEN leased_until > due_at THEN leased_until ELSE due_at END) FROM webhooks
    WHERE disabled_at IS NULL AND since < (SELECT max(sequence) FROM changes)";

// The webhook that is furthest behind comes first. Where two processes choose the same one, the second waits for the first
// and then finds it leased.
const LEASE: &str = "
    UPDATE webhooks SET lease_id = $2, leased_until = $3
    WHERE id = (
        SELECT id FROM webhooks
        WHERE disabled_at IS NULL AND due_at <= $1 AND (leased_until IS NULL OR leased_until <= $1)
          AND since < (SELECT max(sequence) FROM changes)
        ORDER BY since, id LIMIT 1)
      AND (leased_until IS NULL OR leased_until <= $1)
    RETURNING id, lease_id, url, secret, since, filter";

// A delivery that was begun keeps its id and its changes.
const BEGIN_ATTEMPT: &str = "
    INSERT INTO webhook_deliveries (id, webhook_id, since, next_since, changes, state, attempts, created_at, attempted_at)
    SELECT $3, id, since, $4, $5, 'pending', 1, $6, $6 FROM webhooks WHERE id = $1 AND lease_id = $2
    ON CONFLICT (webhook_id, since)
    DO UPDATE SET attempts = webhook_deliveries.attempts + 1, attempted_at = excluded.attempted_at, next_attempt_at = NULL
    RETURNING id, next_since, attempts, created_at";

const PASS_OVER: &str = "
    UPDATE webhooks SET since = $3, lease_id = NULL, leased_until = NULL WHERE id = $1 AND lease_id = $2";

const END_LEASE: &str = "
    UPDATE webhooks SET since = $3, due_at = $4, disabled_at = $5, lease_id = NULL, leased_until = NULL
    WHERE id = $1 AND lease_id = $2";

const END_ATTEMPT: &str = "
    UPDATE webhook_deliveries SET state = $2, next_attempt_at = $3, status = $4, error = $5 WHERE id = $1";

const DELETE_OLD: &str =
    "DELETE FROM webhook_deliveries WHERE attempted_at < $1 AND state <> 'pending'";

impl Store {
    /// Adds a webhook for changes from now on; false if the limit `most` is reached.
    ///
    /// # Errors
    /// The query fails.
    pub async fn add_webhook(
        &self,
        new: NewWebhook<'_>,
        most: i64,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let insert = Query::new(INSERT_WEBHOOK)
            .bind(new.id)
            .bind(new.url)
            .bind(self.sealed(new.id, new.secret)?)
            .bind(new.created_at)
            .bind(most)
            .bind(new.filter.stored())
            .bind(AT_ONCE);
        let entry = AuditEntry::new(
            actor,
            new.created_at,
            AuditAction::WebhookAdded,
            new.id,
            without_secrets(new.url),
        );
        Ok(self.write_audited(insert, entry).await? > 0)
    }

    /// All webhooks, or the one with this id, the first added first.
    ///
    /// # Errors
    /// The query fails.
    pub async fn webhooks(&self, id: Option<Uuid>) -> Result<Vec<WebhookRow>, StoreError> {
        self.rows(Query::new(WEBHOOKS).bind(id)).await
    }

    /// Removes a webhook with its deliveries; false if it did not exist.
    ///
    /// # Errors
    /// The query fails.
    pub async fn remove_webhook(
        &self,
        webhook: &WebhookRow,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let entry = AuditEntry::new(
            actor,
            now,
            AuditAction::WebhookRemoved,
            webhook.id,
            without_secrets(&webhook.url),
        );
        let delete = Query::new(DELETE_WEBHOOK).bind(webhook.id);
        Ok(self.write_audited(delete, entry).await? > 0)
    }

    /// Deliveries of a webhook, the last first, beginning below a place.
    ///
    /// # Errors
    /// The query fails.
    pub async fn webhook_deliveries(
        &self,
        id: Uuid,
        below: Option<i64>,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        let deliveries = Query::new(DELIVERIES)
            .bind(id)
            .bind(below.unwrap_or(i64::MAX))
            .bind(i64::from(limit));
        self.rows(deliveries).await
    }

    /// Time of the next known delivery.
    ///
    /// # Errors
    /// The query fails.
    pub async fn next_delivery_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let (due,): (Option<DbTime>,) = self.one(Query::new(DUE)).await?;
        Ok(due.map(Timestamp::from))
    }

    /// Takes the lease of a webhook with changes to send.
    ///
    /// # Errors
    /// The query fails.
    pub async fn lease_webhook(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<WebhookLease>, StoreError> {
        let lease = Query::new(LEASE).bind(now).bind(Uuid::new_v4()).bind(until);
        self.written_row(lease).await
    }

    /// Records an attempt to send the changes after the last delivered one; a repeated attempt has the same changes.
    /// None if the webhook was removed.
    ///
    /// # Errors
    /// The query fails.
    pub async fn begin_attempt(
        &self,
        lease: &WebhookLease,
        changes: &[ChangeRow],
        now: Timestamp,
    ) -> Result<Option<Attempt>, StoreError> {
        let begin = Query::new(BEGIN_ATTEMPT)
            .bind(lease.id)
            .bind(lease.lease_id)
            .bind(Uuid::new_v4())
            .bind(changes.last().map_or(lease.since, |last| last.sequence))
            .bind(i64::try_from(changes.len()).unwrap_or(i64::MAX))
            .bind(now);
        self.written_row(begin).await
    }

    /// Passes over changes of which none passes the filter, up to a sequence number, and releases the lease.
    ///
    /// # Errors
    /// The query fails.
    pub async fn pass_over(&self, lease: &WebhookLease, up_to: i64) -> Result<(), StoreError> {
        let pass = Query::new(PASS_OVER)
            .bind(lease.id)
            .bind(lease.lease_id)
            .bind(up_to.max(lease.since));
        self.write(pass).await.map(drop)
    }

    /// Records the outcome of an attempt, and releases the lease. Deliveries before `oldest` are deleted.
    ///
    /// # Errors
    /// The query fails; the next lease finds the attempt without an end.
    pub async fn end_attempt(
        &self,
        lease: &WebhookLease,
        ended: &EndedAttempt,
        oldest: Timestamp,
    ) -> Result<Ended, StoreError> {
        let (attempt, outcome, now) = (&ended.attempt, ended.outcome, ended.at);
        let (state, since, due_at) = match outcome {
            Outcome::Delivered => (DeliveryState::Delivered, attempt.next_since, AT_ONCE),
            Outcome::Again(at) => (DeliveryState::Pending, lease.since, at),
            Outcome::Failed | Outcome::Unwanted => {
                (DeliveryState::Failed, attempt.next_since, AT_ONCE)
            }
        };
        let next_attempt_at = (state == DeliveryState::Pending).then_some(DbTime::from(due_at));
        let disabled_at = (outcome == Outcome::Unwanted).then_some(DbTime::from(now));
        let _writer = self.wait_to_write().await?;
        let end_lease = Query::new(END_LEASE)
            .bind(lease.id)
            .bind(lease.lease_id)
            .bind(since)
            .bind(due_at)
            .bind(disabled_at);
        let end_attempt = Query::new(END_ATTEMPT)
            .bind(attempt.id)
            .bind(state.name())
            .bind(next_attempt_at)
            .bind(ended.answer.as_ref().ok().map(|status| i64::from(*status)))
            .bind(ended.answer.as_ref().err());
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        if tx.execute(end_lease).await? == 0 {
            let webhook = Query::new(WEBHOOKS).bind(Some(lease.id));
            let there: Option<WebhookRow> = tx.row(webhook).await?;
            return Ok(there.map_or(Ended::Removed, |_| Ended::Lost));
        }
        tx.execute(end_attempt).await?;
        tx.execute(Query::new(DELETE_OLD).bind(oldest)).await?;
        tx.commit().await?;
        Ok(Ended::Noted)
    }
}

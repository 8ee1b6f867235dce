//! The webhook sender: delivers changes in order, signed by the Standard Webhooks scheme, retries failures, and runs in one
//! process at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;
use tokio::sync::{Notify, Semaphore};
use tracing::Instrument;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Jobs, PAUSE};
use unroof_store::{
    Attempt, ChangeRow, DbTime, Ended, EndedAttempt, Outcome, StoreError, WebhookLease, locked,
};
use unroof_telemetry::headers_of;
use unroof_telemetry::{call_span, delivery_span, note_status};

/// Most changes of a delivery.
const BATCH: u32 = 100;
/// Deliveries at the same time, each to another webhook.
const AT_ONCE: usize = 8;
/// Time that a process may take for an attempt before another process begins it again.
const LEASE: Duration = Duration::from_secs(30);
/// Number of tries to record an attempt: for the duration of the lease.
const NOTING_TRIES: u32 = 40;
/// Pause between two tries to record an attempt.
const NOTING_PAUSE: Duration = Duration::from_millis(500);
/// Time for which deliveries are kept in the database.
const REMEMBERED: Duration = Duration::from_hours(30 * 24);
/// Rests after the first seven attempts, before up to a tenth is added: eight attempts within 23 hours.
const RESTS: [Duration; 7] = [
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(6),
    Duration::from_hours(12),
];

/// Rest of a delivery after this many attempts; none after the last. The rest varies by delivery, so that deliveries
/// that fail together are not all sent again together.
fn rest_after(attempts: i64, delivery: Uuid) -> Option<Duration> {
    let place = usize::try_from(attempts - 1).ok()?;
    let rest = RESTS.get(place)?;
    // The id is random; every attempt takes other bits of it.
    let bytes = delivery.into_bytes();
    let chance = u16::from_be_bytes([bytes[2 * place], bytes[2 * place + 1]]);
    Some(*rest + (*rest / 10).mul_f64(f64::from(chance) / f64::from(u16::MAX)))
}

/// Prefix of a secret by the Standard Webhooks scheme; base64 of the key follows.
pub const SECRET_PREFIX: &str = "whsec_";

/// Message to a webhook: changes, in commit order.
#[derive(Serialize, ToSchema)]
pub struct ChangeDelivery {
    /// Type of the message.
    #[schema(example = "changes")]
    r#type: &'static str,
    /// Time of the first attempt: every attempt sends the same body.
    #[schema(value_type = String, format = DateTime)]
    timestamp: DbTime,
    /// Id of the webhook.
    webhook_id: Uuid,
    /// Sequence number of the last change.
    next_since: i64,
    /// Changes, 100 at most.
    data: Vec<ChangeRow>,
}

/// Header `webhook-signature`: the HMAC-SHA256 of the message's id, the time of sending and the body; none if the secret is not
/// the prefix and the base64 of a key.
fn signature(secret: &str, id: Uuid, timestamp: i64, body: &str) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX)?).ok()?;
    let mut code = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    code.update(format!("{id}.{timestamp}.{body}").as_bytes());
    let signature = STANDARD.encode(code.finalize().into_bytes());
    Some(format!("v1,{signature}"))
}

/// Finished attempts that are not recorded yet, by webhook: at most one each.
#[derive(Debug, Default)]
pub(super) struct Unrecorded(Mutex<HashMap<Uuid, Arc<EndedAttempt>>>);

impl Unrecorded {
    /// The finished attempt to send the changes that a lease is for.
    fn of(&self, lease: &WebhookLease) -> Option<Arc<EndedAttempt>> {
        let sent = locked(&self.0).get(&lease.id).cloned();
        sent.filter(|sent| sent.attempt.next_since > lease.since)
    }

    fn remember(&self, webhook: Uuid, sent: &Arc<EndedAttempt>) {
        locked(&self.0).insert(webhook, Arc::clone(sent));
    }

    fn forget(&self, webhook: Uuid) {
        locked(&self.0).remove(&webhook);
    }
}

impl Jobs {
    /// Sends due deliveries until a stop is requested.
    pub(super) async fn send_webhooks(&self) {
        tokio::select! {
            () = self.stopping.cancelled() => {}
            () = self.deliver_on() => {}
        }
    }

    async fn deliver_on(&self) {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let is_done = Arc::new(Notify::new());
        let mut newest = self.store.watch_newest();
        let mut is_gathered = false;
        loop {
            let Ok(turn) = Arc::clone(&turns).acquire_owned().await else {
                return;
            };
            newest.mark_unchanged();
            match self.next_lease(&mut is_gathered).await {
                Ok(Ok(lease)) => {
                    let (jobs, is_done) = (self.clone(), Arc::clone(&is_done));
                    tokio::spawn(async move {
                        jobs.attempt(&lease).await;
                        drop(turn);
                        is_done.notify_one();
                    });
                }
                Ok(Err(rest)) => {
                    tokio::select! {
                        _ = newest.changed() => {}
                        () = is_done.notified() => {}
                        () = tokio::time::sleep(rest) => {}
                    }
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// A webhook with due changes, or the time until the next check. Changes that come one after the other go as one message:
    /// the first that is due after nothing was waits a while for those that follow.
    async fn next_lease(
        &self,
        is_gathered: &mut bool,
    ) -> Result<Result<WebhookLease, Duration>, StoreError> {
        let longest = self.settings.webhook_rest;
        let now = self.clock.now();
        let Some(due) = self.store.next_delivery_due().await? else {
            *is_gathered = false;
            return Ok(Err(longest));
        };
        if let Ok(rest) = Duration::try_from(due.duration_since(now))
            && !rest.is_zero()
        {
            // Others may give a lease back before it ends.
            *is_gathered = false;
            return Ok(Err(rest.min(longest)));
        }
        if !std::mem::replace(is_gathered, true) {
            tokio::time::sleep(self.settings.webhook_gathering).await;
        }
        let now = self.clock.now();
        let lease = self.store.lease_webhook(now, now + LEASE).await?;
        // Another process was faster.
        Ok(lease.ok_or(PAUSE))
    }

    async fn attempt(&self, lease: &WebhookLease) {
        let span = delivery_span(lease.id);
        if let Err(error) = self.try_attempt(lease).instrument(span).await {
            // The lease ends by itself.
            let error = error.with_causes();
            tracing::warn!(webhook.id = %lease.id, error, "a delivery could not be started");
        }
    }

    async fn try_attempt(&self, lease: &WebhookLease) -> Result<(), StoreError> {
        // Sent under an earlier lease: it is not sent again, whether the database has recorded it or not.
        if let Some(sent) = self.unrecorded.of(lease) {
            self.note(lease, &sent).await;
            return Ok(());
        }
        let secret = match self.store.secret_of(lease.id, &lease.secret) {
            Ok(secret) => secret,
            Err(error) => {
                // The lease ends by itself. Another replica may have the key.
                tracing::error!(webhook.id = %lease.id, %error, "this webhook is not sent");
                return Ok(());
            }
        };
        // Read before the changes: all up to it are visible to the next query.
        let newest = self.store.newest_change().await?;
        let filter = &lease.filter;
        let mut changes = self.store.changes(filter, lease.since, BATCH).await?;
        if changes.is_empty() {
            return self.store.pass_over(lease, newest).await;
        }
        let began = self.clock.now();
        let Some(attempt) = self.store.begin_attempt(lease, &changes, began).await? else {
            return Ok(());
        };
        changes.retain(|change| change.sequence <= attempt.next_since);
        let answer = self.send(lease, &secret, &attempt, changes).await;
        let at = self.clock.now();
        let outcome = match &answer {
            Ok(200..=299) => Outcome::Delivered,
            Ok(410) => Outcome::Unwanted,
            _ => rest_after(attempt.attempts, attempt.id)
                .map_or(Outcome::Failed, |rest| Outcome::Again(at + rest)),
        };
        self.attempts.count(outcome);
        tracing::info!(webhook.id = %lease.id, delivery.id = %attempt.id, attempt.attempts, ?answer, ?outcome, "sent");
        let sent = Arc::new(EndedAttempt {
            attempt,
            outcome,
            answer,
            at,
        });
        self.unrecorded.remember(lease.id, &sent);
        self.note(lease, &sent).await;
        Ok(())
    }

    /// Records the outcome of an attempt, with retries while the lease would last. An outcome that cannot be recorded
    /// is kept in memory and recorded under the next lease.
    async fn note(&self, lease: &WebhookLease, sent: &EndedAttempt) {
        let oldest = sent.at - REMEMBERED;
        let mut is_first = true;
        for _ in 0..NOTING_TRIES {
            let noting = self.store.end_attempt(lease, sent, oldest);
            match noting.await {
                Ok(Ended::Noted | Ended::Removed) => return self.unrecorded.forget(lease.id),
                Ok(Ended::Lost) => return,
                Err(error) if is_first => {
                    is_first = false;
                    let error = error.with_causes();
                    tracing::warn!(webhook.id = %lease.id, error, "a delivery was received but could not be recorded; it is not sent again and is recorded once the database accepts writes");
                }
                Err(_) => {}
            }
            tokio::time::sleep(NOTING_PAUSE).await;
        }
    }

    /// Sends an attempt, and returns the status of the response; its body is not read.
    async fn send(
        &self,
        lease: &WebhookLease,
        secret: &str,
        attempt: &Attempt,
        changes: Vec<ChangeRow>,
    ) -> Result<u16, String> {
        let message = ChangeDelivery {
            r#type: "changes",
            timestamp: attempt.created_at,
            webhook_id: lease.id,
            next_since: attempt.next_since,
            data: changes,
        };
        let body = serde_json::to_string(&message).expect("rows of texts and numbers serialise");
        let timestamp = self.clock.now().as_second();
        let signature = signature(secret, attempt.id, timestamp, &body);
        let signature = signature.ok_or("its secret is not a key")?;
        let span = call_span("POST", &lease.url);
        let mut request = self
            .webhook_client
            .post(&lease.url)
            .header("content-type", "application/json")
            .header("webhook-id", attempt.id.to_string())
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature);
        for (name, value) in headers_of(&span) {
            request = request.header(name, value);
        }
        let sent = tokio::task::spawn_blocking(move || request.send(body)).await;
        let status = |answer: &ureq::http::Response<_>| answer.status().as_u16();
        note_status(
            &span,
            sent.as_ref()
                .ok()
                .and_then(|sent| sent.as_ref().ok())
                .map(status),
        );
        match sent {
            Ok(Ok(answer)) => Ok(answer.status().as_u16()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("sending it failed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_spells_no_key_signs_nothing() {
        let spelled = STANDARD.encode("at-least-16-characters");
        let signed = |secret: &str| signature(secret, Uuid::nil(), 7, "{}").is_some();
        assert!(signed(&format!("whsec_{spelled}")));
        assert!(!signed(&spelled));
        assert!(!signed("whsec_at-least-16-characters"));
    }

    #[test]
    fn eight_attempts_take_less_than_a_day_and_every_rest_is_longer_than_the_last() {
        for id in [Uuid::nil(), Uuid::max(), Uuid::new_v4()] {
            let rests: Vec<Duration> = (1..=8).map_while(|made| rest_after(made, id)).collect();
            assert_eq!(rests.len(), 7);
            assert!(
                rests.is_sorted_by(|one, next| *one * 2 < *next + *one / 2),
                "{rests:?}"
            );
            let whole: Duration = rests.iter().sum();
            assert!(whole < Duration::from_hours(23), "{whole:?}");
            assert!(rests.iter().zip(RESTS).all(|(rest, least)| *rest >= least));
        }
        assert_eq!(rest_after(1, Uuid::max()), Some(Duration::from_secs(33)));
    }
}

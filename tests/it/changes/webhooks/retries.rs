//! Retries, receivers that are gone, and replicas that take over.

use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::changes::{Prepared, models};
use crate::server::LONGEST_WAIT;
use crate::support::{TestDatabase, on_each_database, on_postgres};

use super::receiver::{Hand, Receiver, Sender, models_of};

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_sent_again_eight_times_within_a_day_and_then_the_next() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let id = sender.add_at(receiver.listen().await).await;
        // A redirect is not followed, and counts as no.
        receiver
            .answers
            .lock()
            .unwrap()
            .extend([500, 302, 404, 503, 429, 401, 307, 418]);
        let prepared = Prepared::new();
        prepared.record(&sender.store, &models(0..2)).await;
        let rests = [30, 120, 600, 1_800, 7_200, 21_600, 43_200].map(Duration::from_secs);
        let mut whole = Duration::ZERO;
        for (made, rest) in rests.into_iter().enumerate() {
            receiver.wait_for(made + 1).await;
            let last = sender
                .wait_for_last(&id, "answered", |last| {
                    last["attempts"] == made + 1 && last["next_attempt_at"].is_string()
                })
                .await;
            assert_eq!(last["state"], "pending", "{}", database.name);
            let at = |name: &str| last[name].as_str().unwrap().parse::<Timestamp>().unwrap();
            let planned = Duration::try_from(at("next_attempt_at") - at("attempted_at")).unwrap();
            assert!(
                planned >= rest && planned <= rest.mul_f64(1.1),
                "{planned:?}"
            );
            // What came meanwhile waits.
            if made == 0 {
                prepared.record(&sender.store, &models(2..3)).await;
            }
            hand.advance(planned.checked_sub(Duration::from_secs(1)).unwrap());
            if made < 2 {
                receiver.assert_silent().await;
            }
            hand.advance(Duration::from_secs(1));
            whole += planned;
        }
        assert!(whole < Duration::from_hours(24), "{whole:?}");
        // The eighth fails too, and what comes after it is delivered.
        receiver.wait_for(9).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        let rows = sender.deliveries(&id).await;
        assert_eq!((rows.len(), &rows[1]["state"]), (2, &json!("failed")));
        assert_eq!(
            (&rows[1]["attempts"], &rows[1]["status"]),
            (&json!(8), &json!(418))
        );
        assert_eq!(rows[1]["next_attempt_at"], Value::Null);
        let deliveries = receiver.received.lock().unwrap().clone();
        let ids: Vec<_> = deliveries
            .iter()
            .map(|(headers, _)| &headers["webhook-id"])
            .collect();
        assert!(
            ids[..8].iter().all(|id| *id == ids[0]) && ids[8] != ids[0],
            "{ids:?}"
        );
        // Every attempt sends the same bytes.
        assert!(
            deliveries[..8]
                .iter()
                .all(|(_, body)| *body == deliveries[0].1)
        );
        let bodies: Vec<Value> = deliveries
            .iter()
            .map(|(_, body)| serde_json::from_str(body).unwrap())
            .collect();
        assert_eq!(
            (models_of(&bodies[0]), models_of(&bodies[8])),
            (models(0..2), models(2..3))
        );
        // A month later they are forgotten.
        hand.advance(Duration::from_hours(31 * 24));
        prepared.record(&sender.store, &models(3..4)).await;
        receiver.wait_for(10).await;
        sender
            .wait_for_last(&id, "delivered", |last| {
                last["next_since"] == 4 && last["state"] == "delivered"
            })
            .await;
        assert_eq!(sender.deliveries(&id).await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_or_removed_gets_no_more_deliveries() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let prepared = Prepared::new();
        let gone = sender.add_at(receiver.listen().await).await;
        receiver.answers.lock().unwrap().push_back(410);
        prepared.record(&sender.store, &models(0..1)).await;
        sender
            .wait_for_last(&gone, "failed", |last| last["state"] == "failed")
            .await;
        prepared.record(&sender.store, &models(1..2)).await;
        receiver.assert_silent().await;
        let shown = sender.api.get(&format!("/webhooks/{gone}")).await.json();
        assert!(shown["disabled_at"].is_string(), "{shown}");
        let removed = sender.add_at(receiver.listen().await).await;
        let path = format!("/webhooks/{removed}");
        for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
            assert_eq!(
                sender.api.ask(Method::DELETE, &path, &[]).await.status,
                status
            );
        }
        sender.api.get(&path).await.problem(404);
        sender
            .api
            .get(&format!("{path}/deliveries"))
            .await
            .problem(404);
        prepared.record(&sender.store, &models(2..3)).await;
        receiver.assert_silent().await;
        assert_eq!(receiver.count(), 1);
        // One without a listener is tried again, and says why.
        let unused = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap()
        };
        let id = sender.add_at(unused).await;
        prepared.record(&sender.store, &models(3..4)).await;
        let last = sender
            .wait_for_last(&id, "refused", |last| last["error"].is_string())
            .await;
        assert_eq!(
            (&last["state"], &last["status"]),
            (&json!("pending"), &Value::Null)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_replicas_one_sends_and_another_continues_when_it_dies() {
    on_postgres(async |database: &TestDatabase| {
        let receiver = Receiver::slow(Duration::from_millis(20));
        let hand = Hand::new();
        let mut senders = Vec::new();
        for _ in 0..3 {
            senders.push(Sender::new(database, &hand, true).await);
        }
        let id = senders[0].add_at(receiver.listen().await).await;
        let prepared = Prepared::new();
        let all = models(0..600);
        for (number, batch) in all.chunks(20).enumerate() {
            prepared.record(&senders[number % 3].store, batch).await;
        }
        let began = Instant::now();
        while receiver.models().len() < all.len() && began.elapsed() < LONGEST_WAIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), all);
        senders[0]
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        receiver.assert_silent().await;
        // One takes the right to send and dies.
        drop(senders);
        let count = receiver.count();
        let dying = database.store().await;
        prepared.record(&dying, &models(600..601)).await;
        let now = *hand.0.lock().unwrap();
        let until = now + Duration::from_secs(30);
        let lease = dying.lease_webhook(now, until).await.unwrap();
        assert!(lease.is_some());
        assert!(
            dying.lease_webhook(now, until).await.unwrap().is_none(),
            "leased twice"
        );
        let heir = Sender::new(database, &hand, true).await;
        receiver.assert_silent().await;
        hand.advance(Duration::from_secs(31));
        receiver.wait_for(count + 1).await;
        heir.wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        assert_eq!(receiver.models(), models(0..601));
    })
    .await;
}

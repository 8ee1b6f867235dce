//! Delivery: order, signature, gathering, filters.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use unroof_edge::Limits;
use unroof_store::clock::Clock;

use crate::changes::{Prepared, models};
use crate::server::LONGEST_WAIT;
use crate::support::{NOW, TestDatabase, on_each_database};

use super::receiver::{Hand, Receiver, Sender, models_of};

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_sent_in_order_and_signed() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let prepared = Prepared::new();
        prepared.record(&sender.store, &["before".to_owned()]).await;
        let url = format!("http://{}/hook", receiver.listen().await);
        let secret = format!("whsec_{}", STANDARD.encode([7; 24]));
        let verifier = Webhook::new(&secret).unwrap();
        let webhook = sender.add(&json!({"url": url, "secret": secret})).await;
        assert_eq!(webhook.get("secret"), None);
        let id = webhook["id"].as_str().unwrap();
        let all = models(0..250);
        for batch in all.chunks(125) {
            prepared.record(&sender.store, batch).await;
        }
        let began = Instant::now();
        while receiver.models().len() < all.len() && began.elapsed() < LONGEST_WAIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), all, "{}", database.name);
        let mut next = None;
        let deliveries = receiver.received.lock().unwrap().clone();
        for (headers, body) in deliveries {
            let header = |name: &str| headers[name].to_str().unwrap().to_owned();
            let now: Timestamp = NOW.parse().unwrap();
            assert_eq!(header("webhook-timestamp"), now.as_second().to_string());
            let signed = verifier.sign(&header("webhook-id"), now.as_second(), body.as_bytes());
            assert_eq!(header("webhook-signature"), signed.unwrap());
            assert_eq!(header("content-type"), "application/json");
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(
                (&body["type"], &body["webhook_id"]),
                (&json!("changes"), &json!(id))
            );
            let sent_at: Timestamp = body["timestamp"].as_str().unwrap().parse().unwrap();
            assert_eq!(sent_at, now);
            let changes = body["data"].as_array().unwrap();
            assert!((1..=100).contains(&changes.len()), "{}", changes.len());
            assert_eq!(body["next_since"], changes.last().unwrap()["sequence"]);
            let (since, limit) = (next.unwrap_or(1), changes.len());
            let listed = format!("/changes?since={since}&limit={limit}");
            assert_eq!(sender.api.get(&listed).await.rows(), *changes);
            next = body["next_since"].as_i64();
        }
        sender
            .wait_for_last(id, "delivered", |last| last["state"] == "delivered")
            .await;
        let rows = sender.deliveries(id).await;
        assert_eq!(rows.len(), receiver.count());
        assert_eq!(rows[0]["next_since"].as_i64(), next);
        assert_eq!(
            (&rows[0]["attempts"], &rows[0]["status"]),
            (&json!(1), &json!(200))
        );
        // The same, a page each.
        let mut path = format!("/webhooks/{id}/deliveries?limit=1");
        for row in &rows {
            let page = sender.api.get(&path).await;
            assert_eq!(page.rows(), std::slice::from_ref(row));
            let cursor = page.json()["next_cursor"].as_str().map(str::to_owned);
            path = format!(
                "/webhooks/{id}/deliveries?limit=1&cursor={}",
                cursor.unwrap_or_default()
            );
        }
        assert!(path.ends_with("cursor="));
        receiver.assert_silent().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_with_the_library_of_standard_webhooks_verifies_a_message_and_no_other() {
    let (database, receiver) = (TestDatabase::sqlite(), Receiver::default());
    let sender = Sender::with(&database, Clock::system(), Duration::from_millis(20)).await;
    let url = format!("http://{}/hook", receiver.listen().await);
    let webhook = sender.add(&json!({"url": url})).await;
    let verifier = Webhook::new(webhook["secret"].as_str().unwrap()).unwrap();
    Prepared::new().record(&sender.store, &models(0..1)).await;
    receiver.wait_for(1).await;
    let (headers, body) = receiver.received.lock().unwrap()[0].clone();
    verifier.verify(body.as_bytes(), &headers).unwrap();
    let other = body.replace("m-0000", "m-0001");
    assert!(verifier.verify(other.as_bytes(), &headers).is_err());
    let stranger = Webhook::from_bytes(vec![7; 32]).unwrap();
    assert!(stranger.verify(body.as_bytes(), &headers).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_come_one_after_the_other_are_one_message_within_a_second() {
    on_each_database(async |database: &TestDatabase| {
        let receiver = Receiver::default();
        let gathering = Limits::default().webhook_gathering;
        assert!(gathering < Duration::from_secs(1));
        let sender = Sender::with(database, Hand::new().clock(), gathering).await;
        let id = sender.add_at(receiver.listen().await).await;
        let prepared = Prepared::new();
        // The tables are warm, and the loop of the sender waits.
        prepared.record(&sender.store, &models(0..1)).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        for model in models(1..4) {
            prepared.record(&sender.store, &[model]).await;
        }
        let took = began.elapsed();
        receiver.wait_for(2).await;
        if took < gathering / 2 {
            let last = receiver.received.lock().unwrap()[1].1.clone();
            let last: Value = serde_json::from_str(&last).unwrap();
            assert_eq!(models_of(&last), models(1..4), "{}", database.name);
        }
        while receiver.models().len() < 4 {
            assert!(began.elapsed() < LONGEST_WAIT);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), models(0..4));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_with_a_filter_is_sent_what_passes_it_and_passes_over_the_rest() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let url = format!("http://{}/hook", receiver.listen().await);
        let filter =
            json!({"kind": ["offer.added"], "model": ["m-0001", "m-0205"], "in_force": true});
        let webhook = sender.add(&json!({"url": url, "filter": filter})).await;
        assert_eq!(webhook["filter"], filter);
        let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
        let prepared = Prepared::new();
        for batch in models(0..250).chunks(125) {
            prepared.record(&sender.store, batch).await;
        }
        let began = Instant::now();
        loop {
            let shown = sender.api.get(&path).await.json();
            assert_eq!(shown["filter"], filter);
            if shown["since"] == 250 {
                break;
            }
            assert!(began.elapsed() < LONGEST_WAIT, "{shown}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), ["m-0001", "m-0205"], "{}", database.name);
        prepared.record(&sender.store, &models(250..260)).await;
        receiver.assert_silent().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_a_day_ahead_delays_no_delivery() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let id = sender.add_at(receiver.listen().await).await;
        let prepared = Prepared::new();
        let day = Duration::from_hours(24);
        hand.advance(day);
        prepared.record(&sender.store, &models(0..1)).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        hand.set_back(day);
        prepared.record(&sender.store, &models(1..2)).await;
        receiver.wait_for(2).await;
        assert_eq!(receiver.models(), models(0..2), "{}", database.name);
    })
    .await;
}

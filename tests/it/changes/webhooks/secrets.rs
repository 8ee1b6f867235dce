//! Secrets of webhooks at rest.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::json;
use standardwebhooks::Webhook;
use unroof_store::{SecretError, SecretsKey, Store};

use crate::changes::Prepared;
use crate::server::{Server, run_with, unroof};
use crate::support::{NOW, TestDatabase, on_each_database};

use super::receiver::{Hand, Receiver, Sender};

/// Longer than a lease.
const LATER: Duration = Duration::from_mins(10);

async fn store_with(database: &TestDatabase, byte: u8) -> Store {
    let key = SecretsKey::read(&STANDARD.encode([byte; 32])).unwrap();
    database.store().await.with_secrets_key(key)
}

async fn stored(database: &TestDatabase) -> String {
    database
        .texts("SELECT secret FROM webhooks")
        .await
        .remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_secret_is_encrypted_and_only_its_key_signs_with_it() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let url = format!("http://{}/hook", receiver.listen().await);
        let secret = format!("whsec_{}", STANDARD.encode([7; 24]));
        let webhook = sender.add(&json!({"url": url, "secret": secret})).await;
        let id = webhook["id"].as_str().unwrap().parse().unwrap();
        drop(sender);
        assert_eq!(stored(database).await, secret);

        let prepared = Prepared::new();
        let right = store_with(database, 1).await;
        assert_eq!(right.seal_secrets().await.unwrap(), []);
        let sealed = stored(database).await;
        assert!(sealed.starts_with("sealed_v1_"), "{sealed}");
        assert_eq!(right.seal_secrets().await.unwrap(), []);
        assert_eq!(stored(database).await, sealed);

        let wrong = store_with(database, 2).await;
        let missing = database.store().await;
        for (store, error) in [
            (wrong, SecretError::OtherKey),
            (missing, SecretError::NoKey),
        ] {
            assert_eq!(store.seal_secrets().await.unwrap(), [(id, error)]);
            let sender = Sender::of_store(store, &hand);
            prepared.record(&sender.store, &[error.to_string()]).await;
            receiver.assert_silent().await;
            drop(sender);
            hand.advance(LATER);
        }
        let began: Timestamp = NOW.parse().unwrap();
        let sender = Sender::of_store(right, &hand);
        receiver.wait_for(1).await;
        let (headers, body) = receiver.received.lock().unwrap()[0].clone();
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let at: i64 = header("webhook-timestamp").parse().unwrap();
        assert!(at > began.as_second());
        let verifier = Webhook::new(&secret).unwrap();
        let signed = verifier.sign(&header("webhook-id"), at, body.as_bytes());
        assert_eq!(header("webhook-signature"), signed.unwrap());
        sender.add(&json!({"url": url})).await;
        let all = database.texts("SELECT secret FROM webhooks").await;
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|secret| secret.starts_with("sealed_v1_")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_says_which_webhook_it_cannot_send() {
    let database = TestDatabase::sqlite();
    let (hand, receiver) = (Hand::new(), Receiver::default());
    let sender = Sender::of_store(store_with(&database, 1).await, &hand);
    let id = sender.add_at(receiver.listen().await).await;
    drop(sender);
    tokio::task::block_in_place(|| {
        let arguments = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        let mut serve = unroof(&["serve"]);
        serve
            .args(arguments)
            .env("UNROOF_SECRETS_KEY", STANDARD.encode([2; 32]));
        let server = Server::spawn(serve);
        let log = server.wait_for_log("this webhook is not sent");
        assert!(log.contains(&id), "{log}");
        assert!(log.contains("another key than UNROOF_SECRETS_KEY"), "{log}");
        drop(server);
        let mut serve = unroof(&["serve"]);
        serve.args(arguments).env("UNROOF_SECRETS_KEY", "short");
        let ended = run_with(&mut serve, "");
        assert_eq!(ended.code, Some(1), "{}", ended.out);
        assert!(
            ended
                .err
                .contains("UNROOF_SECRETS_KEY is not the base64 of 32 bytes"),
            "{}",
            ended.err
        );
    });
}

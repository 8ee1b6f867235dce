//! Registration: secrets, allowed addresses, filters.

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use unroof_edge::Limits;
use unroof_server::App;

use crate::changes::{Prepared, models};
use crate::support::{Api, TestDatabase};

use super::receiver::{Hand, Receiver, Sender};

#[tokio::test]
async fn secrets_are_shown_once_and_not_weak() {
    let (hand, database) = (Hand::new(), TestDatabase::sqlite());
    let sender = Sender::new(&database, &hand, true).await;
    let url = "https://hooks.example.com/unroof";
    let made = sender.add(&json!({"url": url})).await;
    let secret = made["secret"].as_str().unwrap();
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
    assert_eq!(key.unwrap().len(), 32);
    let other = sender.add(&json!({"url": url})).await;
    assert_ne!(other["secret"], made["secret"]);
    let id = made["id"].as_str().unwrap();
    for path in [
        "/webhooks".to_owned(),
        format!("/webhooks/{id}"),
        format!("/webhooks/{id}/deliveries"),
    ] {
        let shown = sender.api.get(&path).await;
        assert!(
            !shown.text().contains("secret") && !shown.text().contains(secret),
            "{path}"
        );
    }
    let listed = sender.api.get("/webhooks").await.rows();
    assert_eq!((listed.len(), &listed[0]["url"]), (2, &json!(url)));
    let of_length = |length| format!("whsec_{}", STANDARD.encode(vec![7; length]));
    for wrong in [
        String::new(),
        "at-least-16-characters".to_owned(),
        of_length(23),
        of_length(65),
        of_length(24).replace("whsec_", ""),
        of_length(25).trim_end_matches('=').to_owned(),
        of_length(24).replace('B', "-"),
    ] {
        let body = json!({"url": url, "secret": wrong});
        let problem = sender
            .api
            .post("/webhooks", body.to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/secret", "{problem}");
    }
    // There is room for 64.
    for _ in 2..64 {
        sender.add(&json!({"url": url})).await;
    }
    let full = sender
        .api
        .post("/webhooks", json!({"url": url}).to_string())
        .await;
    assert_eq!(full.problem(409)["type"], "/problems/full");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_not_of_the_internet_are_refused_however_they_are_spelled() {
    let (hand, database, receiver) = (Hand::new(), TestDatabase::sqlite(), Receiver::default());
    let sender = Sender::new(&database, &hand, false).await;
    let address = receiver.listen().await;
    let port = address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        for scheme in ["http", "https"] {
            let body = json!({"url": format!("{scheme}://{host}:{port}/hook")});
            let problem = sender
                .api
                .post("/webhooks", body.to_string())
                .await
                .problem(422);
            assert_eq!(problem["errors"][0]["pointer"], "/url", "{host}: {problem}");
        }
    }
    for url in [
        "ftp://hooks.example.com/",
        "https://ann:secret@hooks.example.com/",
        "hooks.example.com",
        "/hook",
    ] {
        let problem = sender
            .api
            .post("/webhooks", json!({"url": url}).to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/url", "{url}: {problem}");
    }
    // A name that led elsewhere when it was added is looked at again before anything is sent.
    let careless = App::new(
        database.store().await,
        hand.clock(),
        Limits {
            webhook_allow_private: true,
            ..Limits::default()
        },
    );
    let url = format!("http://localhost:{port}/hook");
    let added = Api::new(careless)
        .post("/webhooks", json!({"url": url}).to_string())
        .await;
    assert_eq!(added.status, StatusCode::CREATED);
    Prepared::new().record(&sender.store, &models(0..1)).await;
    let id = added.id();
    let last = sender
        .wait_for_last(&id, "refused", |last| last["error"].is_string())
        .await;
    assert!(
        last["error"].as_str().unwrap().contains("not a public one"),
        "{last}"
    );
    assert_eq!(receiver.count(), 0);
}

#[tokio::test]
async fn a_filter_that_is_none_is_refused_at_its_place() {
    let (hand, database) = (Hand::new(), TestDatabase::sqlite());
    let sender = Sender::new(&database, &hand, true).await;
    for (filter, pointer) in [
        (json!("price.changed"), "/filter"),
        (json!({"kind": "price.changed"}), "/filter/kind"),
        (
            json!({"kind": ["price.changed", "sheet.changed"]}),
            "/filter/kind/1",
        ),
        (json!({"provider": [""]}), "/filter/provider/0"),
        (json!({"model": vec!["m"; 65]}), "/filter/model"),
        (json!({"in_force": "true"}), "/filter/in_force"),
        (json!({"min_factor": 0.5}), "/filter/min_factor"),
        (json!({"region": ["global"]}), "/filter/region"),
    ] {
        let body = json!({"url": "https://hooks.example.com/unroof", "filter": filter});
        let problem = sender
            .api
            .post("/webhooks", body.to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
}

//! `POST /cost` with a list of usages, line by line.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::stream;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::{Api, Reply, TestDatabase, sheet, with};

async fn send(api: &Api, body: impl Into<Body>) -> Reply {
    let request = Request::post("/cost").header("content-type", "application/x-ndjson");
    api.send(request.body(body.into()).unwrap()).await
}

fn entries(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    let lines = reply.text().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn usage(tokens: u32) -> Value {
    json!({"price_sheet": sheet(), "usage": {"input_tokens": tokens}})
}

#[tokio::test]
async fn each_line_is_answered_and_the_last_one_has_the_sums() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&sheet()).await;
    let offer = json!({"id": "b", "offer": {"provider": "acme", "model": "m-1"}, "usage": {"input_tokens": 4}});
    let euros = with(usage(8), "/price_sheet/currency", json!("EUR"));
    let unpriced = json!({"price_sheet": sheet(), "usage": {"cached_input_tokens": 1}});
    let unknown = with(offer.clone(), "/offer/model", json!("m-2"));
    let wrong = json!({"price_sheet": sheet(), "usage": {"input_tokens": -1}, "nothing": 1});
    let lines = [
        usage(8).to_string(),
        String::new(),
        offer.to_string(),
        euros.to_string(),
        unpriced.to_string(),
        unknown.to_string(),
        wrong.to_string(),
        "{".to_owned(),
        r#"{"usage": {}, "usage": {}}"#.to_owned(),
        offer.to_string(),
    ];
    // The last line has no end.
    let reply = send(&api, lines.join("\n")).await;
    let entries = entries(&reply);
    let short: Vec<String> = entries
        .iter()
        .map(|entry| {
            format!(
                "{} {} {}",
                entry["type"].as_str().unwrap(),
                entry["line"],
                entry["cost"]["total"]
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            "cost 1 \"0.00001\"",
            "cost 3 \"0.000005\"",
            "cost 4 \"0.00001\"",
            "cost 5 null",
            "fault 6 null",
            "fault 7 null",
            "fault 8 null",
            "fault 9 null",
            "cost 10 \"0.000005\"",
            "done null null",
        ]
    );
    assert_eq!(entries[1]["cost"]["id"], "b");
    assert_eq!(entries[4]["errors"][0]["pointer"], "/offer");
    assert_eq!(entries[5]["errors"].as_array().unwrap().len(), 2);
    assert!(entries[6]["hint"].is_string(), "{}", entries[6]);
    let done = entries.last().unwrap();
    assert_eq!(done["priced"], 4);
    assert_eq!(
        (&done["without_total"], &done["faults"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(
        done["totals"],
        json!([
            {"currency": "EUR", "total": "0.00001", "usages": 1},
            {"currency": "USD", "total": "0.00002", "usages": 3},
        ])
    );
}

#[tokio::test]
async fn answers_leave_before_the_list_has_ended() {
    let api = TestDatabase::sqlite().api().await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<String>(8);
    let pieces = stream::unfold(receiver, async |mut receiver| {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), receiver))
    });
    let request =
        Request::post("/cost").header("content-type", "application/x-ndjson; charset=utf-8");
    let response = api
        .begin(request.body(Body::from_stream(pieces)).unwrap())
        .await;
    let mut body = response.into_body();
    // A line in two pieces, and the beginning of another one.
    let text = usage(8).to_string();
    let (start, rest) = text.split_at(20);
    sender.send(start.to_owned()).await.unwrap();
    sender.send(format!("{rest}\n{{")).await.unwrap();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["cost"]["total"], "0.00001");
    drop(sender);
    let rest = body.collect().await.unwrap().to_bytes();
    let rest = String::from_utf8(rest.to_vec()).unwrap();
    assert!(
        rest.starts_with("{\"type\":\"fault\",\"line\":2,"),
        "{rest}"
    );
    assert!(rest.contains("\"done\""), "{rest}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_a_fault_and_the_next_ones_are_priced() {
    let api = TestDatabase::sqlite().api().await;
    let long = "x".repeat(3 * 1024 * 1024);
    let reply = send(&api, format!("{}\n{long}\n{}\n", usage(8), usage(16))).await;
    let entries = entries(&reply);
    let kinds: Vec<_> = entries
        .iter()
        .map(|entry| (entry["type"].as_str().unwrap(), entry["line"].as_u64()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("cost", Some(1)),
            ("fault", Some(2)),
            ("cost", Some(3)),
            ("done", None)
        ]
    );
    assert!(
        entries[1]["detail"]
            .as_str()
            .unwrap()
            .contains("exceeds 1048576 bytes")
    );
}

#[tokio::test]
async fn many_lines_add_up_exactly() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&with(sheet(), "/rates/0/input", json!("0.1")))
        .await;
    let line = |tokens: u32| {
        format!(
            "{{\"offer\":{{\"provider\":\"acme\",\"model\":\"m-1\"}},\"usage\":{{\"input_tokens\":{tokens}}}}}\n"
        )
    };
    let text: String = (1..=5_000).map(line).collect();
    let entries = entries(&send(&api, text).await);
    assert_eq!(entries.len(), 5_001);
    // 5,000 × 5,001 / 2 × 0.1 / 1,000,000
    assert_eq!(
        entries[5_000]["totals"],
        json!([{"currency": "USD", "total": "1.25025", "usages": 5_000}])
    );
}

#[tokio::test]
async fn an_empty_list_is_done() {
    let api = TestDatabase::sqlite().api().await;
    let entries = entries(&send(&api, "").await);
    assert_eq!(
        entries,
        [json!({"type": "done", "priced": 0, "without_total": 0, "faults": 0, "totals": []})]
    );
}

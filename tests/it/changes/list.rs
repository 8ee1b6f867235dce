//! The feed of changes as a list, `GET /changes`.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{Prepared, models};
use crate::support::{Api, TestDatabase, on_each_database, on_postgres, sheet_of, with};

/// All that comes after a place, two on each page.
async fn read_on(api: &Api, mut since: i64) -> (Vec<Value>, i64) {
    let mut rows = Vec::new();
    for _ in 0..200 {
        let page = api.get(&format!("/changes?since={since}&limit=2")).await;
        rows.extend(page.rows());
        let next = page.json()["next_since"].as_i64().unwrap();
        assert!(next >= since, "{next} after {since}");
        since = next;
        if page.json()["has_more"] == false {
            return (rows, since);
        }
    }
    panic!("no last page");
}

fn models_of(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["model"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_come_in_their_order_and_the_next_place_is_there_also_where_nothing_is_new() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let empty = api.get("/changes").await.json();
        assert_eq!(
            empty,
            json!({"data": [], "next_since": 0, "has_more": false})
        );
        for model in ["a", "b", "c"] {
            api.store(&sheet_of(model)).await;
        }
        let id = api
            .store(&with(sheet_of("a"), "/rates/0/input", json!("2.50")))
            .await;
        let (rows, place) = read_on(&api, 0).await;
        assert_eq!(models_of(&rows), ["a", "b", "c", "a"], "{}", database.name);
        let kinds: Vec<&Value> = rows.iter().map(|row| &row["kind"]).collect();
        assert_eq!(
            kinds,
            ["offer.added", "offer.added", "offer.added", "price.changed"]
        );
        let last = &rows[3];
        assert_eq!(last["sequence"], place);
        assert_eq!(last["estimate_id"], json!(id));
        assert!(last["summary"].as_str().unwrap().contains("2.5"), "{last}");
        let numbers = ["old_value", "new_value", "factor"].map(|name| last[name].as_f64().unwrap());
        assert_eq!(
            (last["cell"].as_str(), numbers),
            (Some("input"), [1.25, 2.5, 2.0])
        );
        let place_of = |row: &Value| {
            let names = [
                "meter",
                "service_tier",
                "min_prompt_tokens",
                "ttl_seconds",
                "schedule",
            ];
            json!(names.map(|name| row[name].clone()))
        };
        assert_eq!(place_of(last), json!(["input", "standard", 0, null, null]));
        assert_eq!(place_of(&rows[0]), json!([null, null, null, null, null]));
        assert_eq!(last["in_force"], true);
        assert_eq!(last["previous_sheet_id"], rows[0]["sheet_id"]);
        let columns: Vec<&String> = last.as_object().unwrap().keys().collect();
        assert_eq!(columns.len(), 22, "{columns:?}");
        assert_eq!(read_on(&api, place).await, (vec![], place));
        assert_eq!(read_on(&api, place + 100).await, (vec![], place + 100));
        let of_a = api.get("/changes?model=a&provider=acme").await;
        assert_eq!(models_of(&of_a.rows()), ["a", "a"]);
        let none = api
            .get(&format!("/changes?provider=b&since={place}"))
            .await
            .json();
        assert_eq!(none["next_since"], place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_polled_like_the_others_and_is_there_as_csv() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for model in ["a", "b", "c"] {
            api.store(&sheet_of(model)).await;
        }
        let page = api.get("/changes?limit=2").await;
        let next = page.json()["next_since"].as_i64().unwrap();
        let link = page.header("link").unwrap();
        assert_eq!(link, format!("</changes?limit=2&since={next}>; rel=\"next\""));
        let tag = page.header("etag").unwrap();
        let again = api
            .ask(Method::GET, "/changes?limit=2", &[("if-none-match", tag)])
            .await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        let headers = [("accept", "text/csv")];
        let csv = api.ask(Method::GET, "/changes?limit=2", &headers).await;
        let mut lines = csv.text().lines();
        assert_eq!(
            lines.next().unwrap(),
            "sequence,kind,observed_at,provider,model,canonical_model,region,sheet_id,estimate_id,summary,cell,old_value,\
             new_value,factor,in_force,valid_from,previous_sheet_id,meter,service_tier,min_prompt_tokens,ttl_seconds,schedule"
        );
        assert_eq!(lines.count(), 2);
        assert_eq!(csv.header("link"), Some(link));
    })
    .await;
}

#[tokio::test]
async fn places_and_limits_that_are_none_are_400() {
    let api = TestDatabase::sqlite().api().await;
    for query in [
        "since=-1",
        "since=a",
        "since=",
        "since=1.5",
        "since=9223372036854775808",
        "since=1&since=2",
        "limit=0",
        "limit=2001",
        "as_of=2026-01-01T00:00:00Z",
        "model=%00",
    ] {
        api.get(&format!("/changes?{query}")).await.problem(400);
        if query.starts_with("since") {
            api.get(&format!("/changes/stream?{query}"))
                .await
                .problem(400);
        }
    }
    let most = api
        .get("/changes?since=9223372036854775807&limit=2000")
        .await;
    assert_eq!(most.json()["next_since"], i64::MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_commits_late_is_not_skipped() {
    const BEGIN: &str = "BEGIN; UPDATE store_version SET version = version + 1;
        INSERT INTO changes (sequence, kind, observed_at, provider, model, region, summary, in_force)
        SELECT version, 'offer.added', now(), 'acme', 'late', 'global', 'late', true FROM store_version";
    on_postgres(async |database: &TestDatabase| {
        let store = database.store().await;
        let api = database.api().await;
        let prepared = Prepared::new();
        prepared.record(&store, &models(0..1)).await;
        let (_, place) = read_on(&api, 0).await;
        let mut late = PgConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql(BEGIN).execute(&mut late).await.unwrap();
        // Another writer comes, and a reader in between.
        let other = tokio::spawn(async move { prepared.record(&store, &models(1..2)).await });
        for _ in 0..20 {
            assert_eq!(read_on(&api, place).await, (vec![], place));
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        sqlx::raw_sql("COMMIT").execute(&mut late).await.unwrap();
        other.await.unwrap();
        // What is asked for after the writer was answered has both.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let (rows, _) = read_on(&api, place).await;
        assert_eq!(models_of(&rows), ["late", "m-0001"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_during_many_writes_sees_every_change_once() {
    on_each_database(async |database: &TestDatabase| {
        let writers: Vec<_> = (0..4_usize)
            .map(|writer| {
                let first = writer * 100;
                (first..first + 40)
                    .step_by(4)
                    .map(|at| models(at..at + 4))
                    .collect()
            })
            .collect();
        let mut expected = Vec::new();
        let mut tasks = Vec::new();
        // On SQLite the writers are one process.
        let store = database.store().await;
        for batches in writers {
            let batches: Vec<Vec<String>> = batches;
            expected.extend(batches.concat());
            let store = match database.name {
                "SQLite" => store.clone(),
                _ => database.store().await,
            };
            tasks.push(tokio::spawn(async move {
                let prepared = Prepared::new();
                for batch in batches {
                    prepared.record(&store, &batch).await;
                }
            }));
        }
        let api = database.api().await;
        let (mut rows, mut since) = (Vec::new(), 0);
        let mut is_over = false;
        while !is_over {
            is_over = tasks.iter().all(tokio::task::JoinHandle::is_finished);
            if is_over {
                // The version that was read before is cached for so long.
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            }
            let (more, next) = read_on(&api, since).await;
            rows.extend(more);
            since = next;
        }
        let sequences: Vec<i64> = rows
            .iter()
            .map(|row| row["sequence"].as_i64().unwrap())
            .collect();
        assert!(
            sequences.is_sorted_by(|one, other| one < other),
            "{sequences:?}"
        );
        let mut seen = models_of(&rows);
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{}", database.name);
    })
    .await;
}

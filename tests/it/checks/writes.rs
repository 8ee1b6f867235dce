//! Writes: the same content is one row, and a writer reads its own writes.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::stored_sheet;
use crate::support::{Api, Reply, TestDatabase, on_each_database, sheet, sheet_of, with};

/// Checks that there is one estimate of one sheet, written once.
async fn assert_one_row(database: &TestDatabase) {
    for sql in [
        "SELECT count(*) FROM estimates",
        "SELECT count(*) FROM price_sheets",
        "SELECT count(*) FROM estimate_sheets",
        "SELECT version FROM store_version",
    ] {
        assert_eq!(database.number(sql).await, 1, "{}: {sql}", database.name);
    }
}

fn assert_same(reply: &Reply, first: &Reply) {
    assert_eq!(reply.body, first.body);
    assert_eq!(reply.header("location"), first.header("location"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_a_hundred_times_is_one_row_one_id_and_one_body() {
    on_each_database(async |database: &TestDatabase| {
        let replicas = [database.api().await, database.api().await];
        let first = replicas[0].infer(&sheet()).await;
        assert_eq!(first.status, StatusCode::CREATED);
        for time in 1..100 {
            let reply = replicas[time % 2].infer(&sheet()).await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
            assert_same(&reply, &first);
        }
        assert_one_row(database).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_that_is_sent_again_is_answered_from_memory_only_until_another_replica_writes() {
    on_each_database(async |database: &TestDatabase| {
        let (sender, other) = (database.api().await, database.api().await);
        let first = sender.infer(&sheet()).await;
        for _ in 0..3 {
            assert_same(&sender.infer(&sheet()).await, &first);
        }
        let id = &first.json()["observe"]["sheets"][0]["price_sheet_id"];
        let path = format!("/price-sheets/{}/withdraw", id.as_str().unwrap());
        let withdrawn = other.post(&path, r#"{"reason": "a slip"}"#).await;
        assert_eq!(withdrawn.status, StatusCode::OK, "{}", withdrawn.text());
        // Its answer is that of the store, not the one that was known before.
        let again = sender.infer(&sheet()).await.json();
        let is_in_force = again["observe"]["sheets"][0]["effect"] == "in_force";
        let latest = database.api().await.get("/estimates/latest").await.rows();
        assert_eq!(latest.len(), usize::from(is_in_force), "{}", database.name);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_at_the_same_moment_in_several_spellings_one_is_201_and_all_have_its_body() {
    on_each_database(async |database: &TestDatabase| {
        let replicas = [database.api().await, database.api().await];
        let spellings = [
            sheet(),
            with(sheet(), "/rates/0/input", json!("1.250")),
            with(sheet(), "/region", json!("global")),
            json!({"price_sheet": sheet(), "assumptions": {}}),
        ];
        let requests: Vec<_> = (0..100)
            .map(|number| {
                let (api, body) = (replicas[number % 2].clone(), spellings[number % 4].clone());
                tokio::spawn(async move { api.infer(&body).await })
            })
            .collect();
        let mut replies = Vec::new();
        for request in requests {
            replies.push(request.await.unwrap());
        }
        let (created, known): (Vec<&Reply>, Vec<&Reply>) = replies
            .iter()
            .partition(|reply| reply.status == StatusCode::CREATED);
        assert_eq!(created.len(), 1, "{}", database.name);
        for reply in known {
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
            assert_same(reply, created[0]);
        }
        assert_one_row(database).await;
    })
    .await;
}

/// Writes, and asks for what was written at once: with the tags of before, in all places where it must be seen.
async fn write_and_read(api: &Api, model: String) {
    let lists = ["/estimates", "/estimates/latest", "/price-sheets"];
    let mut before = Vec::new();
    for list in lists {
        let reply = api.get(list).await;
        before.push((list, reply.header("etag").unwrap().to_owned()));
    }
    let answer = api.infer(&sheet_of(&model)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    for (list, tag) in before {
        let reply = api.ask(Method::GET, list, &[("if-none-match", &tag)]).await;
        let rows = reply.rows();
        assert!(
            rows.iter().any(|row| row["model"] == model),
            "{list}: no {model}"
        );
    }
    assert_eq!(
        api.get(answer.header("location").unwrap()).await.text(),
        answer.stored_body()
    );
    assert_eq!(stored_sheet(api, &answer).await["model"], model);
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_of_many_who_write_at_once_reads_their_write() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let api = api.clone();
                tokio::spawn(async move {
                    for number in 0..4 {
                        write_and_read(&api, format!("m-{writer}-{number}")).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(
            api.get("/estimates").await.rows().len(),
            24,
            "{}",
            database.name
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_wrote_another_shows_a_quarter_of_a_second_later() {
    on_each_database(async |database: &TestDatabase| {
        let (writer, reader) = (database.api().await, database.api().await);
        for number in 1..=3 {
            let tag = reader
                .get("/estimates")
                .await
                .header("etag")
                .unwrap()
                .to_owned();
            let id = writer.store(&sheet_of(&format!("m-{number}"))).await;
            // A single document is asked for by its id, which was unknown before.
            tokio::time::sleep(Duration::from_millis(260)).await;
            let reply = reader
                .ask(Method::GET, "/estimates", &[("if-none-match", &tag)])
                .await;
            assert_eq!(reply.rows().len(), number, "{}", database.name);
            assert_eq!(
                reader.get(&format!("/estimates/{id}")).await.status,
                StatusCode::OK
            );
        }
    })
    .await;
}

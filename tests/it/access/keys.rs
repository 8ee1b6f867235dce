//! Keys over HTTP and on the command line.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};
use unroof_server::needed_scopes;
use unroof_store::access::Scope;

use super::routes::{content, filled};
use super::{get, key, post, send, service};
use crate::support::{on_each_database, sheet, sheet_of};

#[tokio::test]
async fn the_refusal_of_a_caller_without_a_valid_key_names_what_is_missing() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let reply = api.get("/estimates").await;
        let problem = reply.problem(401);
        assert_eq!(problem["type"], "/problems/no-key");
        assert_eq!(
            reply.header("www-authenticate"),
            Some("Bearer realm=\"unroof\"")
        );
        assert_eq!(problem["detail"], "this needs a key with the scope `read`");
        assert!(
            problem["hint"]
                .as_str()
                .unwrap()
                .contains("Authorization: Bearer KEY")
        );
        for wrong in ["", "unroof_wrong", "x"] {
            let problem = get(&api, "/estimates", wrong).await.problem(401);
            assert_eq!(problem["detail"], "the key is unknown or was revoked");
        }
        let basic = [("authorization", "Basic dXNlcjpwYXNz")];
        let problem = api
            .ask(Method::GET, "/estimates", &basic)
            .await
            .problem(401);
        assert_eq!(problem["detail"], "`Authorization` is not `Bearer KEY`");
        let known = key(&store, "reader", Scope::Read).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(get(&api, "/estimates", &known).await.status, 200);
        let problem = post(&api, "/infer", &known, &sheet()).await.problem(403);
        assert_eq!(
            problem["detail"],
            "this needs the scope `ask`, and the caller has `read`"
        );
        // Neither a probe nor a text that is the same everywhere needs a key.
        for open in [
            "/healthz",
            "/readyz",
            "/openapi.json",
            "/docs/",
            "/problems/scope",
        ] {
            assert_eq!(api.get(open).await.status, 200, "{open}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_may_answer_callers_without_a_key() {
    on_each_database(async |database| {
        let (api, _store) = service(database, Some(Scope::Read)).await;
        assert_eq!(api.get("/estimates").await.status, 200);
        let problem = api.infer(&sheet()).await.problem(401);
        assert_eq!(problem["detail"], "this needs a key with the scope `ask`");
        // A wrong key is a mistake, and not no key.
        get(&api, "/estimates", "unroof_wrong").await.problem(401);
        let (api, _store) = service(database, Some(Scope::Ask)).await;
        assert_eq!(api.infer(&sheet()).await.status, 200);
        let stored = api.post("/infer?store=true", sheet().to_string()).await;
        assert_eq!(stored.status, 201);
    })
    .await;
}

#[tokio::test]
async fn a_question_of_a_caller_who_may_not_observe_enters_no_record() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let asks = key(&store, "asks", Scope::Ask).await;
        let observes = key(&store, "observes", Scope::Observe).await;
        let reply = post(&api, "/infer", &asks, &sheet()).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        assert_eq!(reply.json()["observe"]["observed"], false);
        let because = &reply.json()["observe"]["because"];
        assert!(
            because.as_str().unwrap().contains("scope `observe`"),
            "{because}"
        );
        let rows = get(&api, "/price-sheets", &asks).await.rows();
        assert!(rows.is_empty(), "{rows:?}");
        let problem = post(&api, "/infer?observe=true", &asks, &sheet())
            .await
            .problem(403);
        assert_eq!(
            problem["detail"],
            "this needs the scope `observe`, and the caller has `ask`"
        );
        let reply = post(&api, "/infer", &observes, &sheet_of("m-2")).await;
        assert_eq!(reply.json()["observe"]["observed"], true);
        assert_eq!(get(&api, "/price-sheets", &asks).await.rows().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_shown_once_and_refused_on_every_replica_within_a_second_of_its_revocation() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let (other, _) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let asked = json!({"name": "price desk", "scope": "observe"});
        let reply = post(&api, "/keys", &admin, &asked).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        let made = reply.json();
        let text = made["key"].as_str().unwrap();
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(get(&api, "/models", text).await.status, 200);
        assert_eq!(get(&other, "/models", text).await.status, 200);
        let problem = post(&api, "/keys", &admin, &asked).await.problem(409);
        assert!(problem["detail"].as_str().unwrap().contains("`price desk`"));
        let list = get(&api, "/keys", &admin).await;
        assert_eq!(list.rows().len(), 2);
        assert!(!list.text().contains(text));
        for (table, rows) in content(database).await {
            assert!(!rows.iter().any(|row| row.contains(text)), "{table}");
        }

        let path = format!("/keys/{}", made["id"].as_str().unwrap());
        let revoke = send(&api, Method::DELETE, &path, &admin, &Value::Null).await;
        assert_eq!(revoke.status, 204);
        get(&api, "/models", text).await.problem(401);
        let began = Instant::now();
        while get(&other, "/models", text).await.status == 200 {
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "another replica still takes it"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Its name is free again.
        assert_eq!(post(&api, "/keys", &admin, &asked).await.status, 201);
        let unknown = "/keys/4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11";
        send(&api, Method::DELETE, unknown, &admin, &Value::Null)
            .await
            .problem(404);
    })
    .await;
}

#[tokio::test]
async fn a_key_does_not_see_which_key_stored_something_first() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let first = key(&store, "the first desk", Scope::Observe).await;
        let second = key(&store, "the second desk", Scope::Observe).await;
        let created = post(&api, "/infer", &first, &sheet()).await;
        assert_eq!(created.status, 201, "{}", created.text());
        let id = created.id();
        // It is known to all: who stored it gets the same answer as who did not.
        let mut own = post(&api, "/infer", &first, &sheet()).await;
        let mut other = post(&api, "/infer", &second, &sheet()).await;
        // The points are those of the CPU time, which is never twice the same.
        for answer in [&mut own, &mut other] {
            answer.headers.remove("unroof-points");
        }
        assert_eq!((own.status, &own.headers), (other.status, &other.headers));
        assert_eq!(own.text(), other.text());
        let keys = store.keys(None, 100).await.unwrap();
        let key = keys
            .iter()
            .find(|key| key.name == "the first desk")
            .unwrap();
        for (path, needed) in needed_scopes() {
            if needed.is_none_or(|needed| needed > Scope::Observe) || path == "/changes/stream" {
                continue;
            }
            let path = filled(&path, &id, &id, &id);
            let seen = get(&api, &path, &second).await;
            for secret in [&key.name, &key.id.to_string()] {
                assert!(!seen.text().contains(secret), "{path}: {}", seen.text());
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_the_same_for_every_key() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let observer = key(&store, "observer", Scope::Observe).await;
        let reader = key(&store, "reader", Scope::Read).await;
        let id = post(&api, "/infer", &observer, &sheet()).await.id();
        let estimate = format!("/estimates/{id}");
        for path in [
            "/estimates",
            "/estimates/latest",
            "/price-sheets",
            &estimate,
        ] {
            let of_observer = get(&api, path, &observer).await;
            let of_reader = get(&api, path, &reader).await;
            assert_eq!(of_observer.status, 200, "{path}");
            let tag = of_observer.header("etag");
            assert!(tag.is_some(), "{path}");
            assert_eq!(tag, of_reader.header("etag"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_wrong_request_for_a_key_names_every_fault() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let wrong = json!({"scope": "write", "expires_at": "2020-01-01T00:00:00Z", "nmae": "x"});
        let problem = post(&api, "/keys", &admin, &wrong).await.problem(422);
        let pointers: Vec<&str> = problem["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["pointer"].as_str().unwrap())
            .collect();
        assert_eq!(pointers.len(), 4, "{problem}");
        let ended = json!({"name": "guest", "scope": "read", "expires_at": "2026-11-21T12:00:01Z"});
        assert_eq!(post(&api, "/keys", &admin, &ended).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn a_key_without_a_database_is_not_taken_for_a_wrong_one() {
    let database = crate::support::TestDatabase::sqlite();
    let (api, store) = service(&database, None).await;
    store.close().await;
    let problem = get(&api, "/models", "unroof_any").await.problem(503);
    assert_eq!(problem["type"], "/problems/unavailable");
}

/// Keys made at one moment, so that their ids decide the order.
const MANY: [&str; 2] = [
    "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 1100)
     INSERT INTO api_keys (id, name, scope, hash, created_at)
     SELECT randomblob(16), 'key ' || number, 'read', randomblob(32), '2026-11-20T12:00:00.000000Z' FROM numbers",
    "INSERT INTO api_keys (id, name, scope, hash, created_at)
     SELECT gen_random_uuid(), 'key ' || number, 'read', sha256(number::text::bytea), '2026-11-20T12:00:00Z'
     FROM generate_series(1, 1100) AS number",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_of_more_than_a_thousand_keys_is_listed_page_by_page_and_by_the_command_line() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let newest = key(&store, "the newest", Scope::Admin).await;
        let [sqlite, postgres] = MANY;
        let many = if database.name == "SQLite" {
            sqlite
        } else {
            postgres
        };
        database.execute(many).await;
        let mut names = Vec::new();
        let mut path = "/keys?fields=name&limit=300".to_owned();
        loop {
            let page = get(&api, &path, &newest).await;
            names.extend(page.rows().iter().map(|row| row["name"].to_string()));
            let page = page.json();
            let Some(cursor) = page["next_cursor"].as_str() else {
                break;
            };
            path = format!("/keys?fields=name&limit=300&cursor={cursor}");
        }
        assert_eq!(names.last().map(String::as_str), Some("\"the newest\""));
        let whole = get(&api, "/keys?fields=name&limit=2000", &newest)
            .await
            .rows();
        assert_eq!(whole.len(), 1101);
        assert!(whole.iter().map(|row| row["name"].to_string()).eq(names));
        let list = ["keys", "list", "--json", "--database-url", &database.url];
        let listed = tokio::task::block_in_place(|| crate::server::output_of(&list));
        let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed.len(), 1101);
        assert_eq!(listed[1100]["name"], "the newest");
        // The last one is found as well where it is revoked.
        let path = format!("/keys/{}", listed[1100]["id"].as_str().unwrap());
        let revoked = send(&api, Method::DELETE, &path, &newest, &Value::Null).await;
        assert_eq!(revoked.status, 204);
    })
    .await;
}

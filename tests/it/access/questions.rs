//! Questions on a service that others reach: which are stored, what that costs, and who deletes them.

use std::num::NonZeroU32;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_store::access::Scope;
use url::form_urlencoded;
use uuid::Uuid;

use super::limits::{budget, rest};
use super::{get, key, post, send, service, service_within};
use crate::server::run;
use crate::support::{Api, Reply, TestDatabase, on_each_database, sheet, sheet_of, with};

/// Every id in an answer.
fn ids(reply: &Reply) -> Vec<Uuid> {
    let texts = reply.text().split('"');
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// A question about a sheet.
fn question(sheet: &Value) -> Value {
    json!({"price_sheet": sheet, "assumptions": {"chips": 8}})
}

async fn delete(api: &Api, id: &str, key: &str) -> Reply {
    let path = format!("/estimates/{id}");
    send(api, Method::DELETE, &path, key, &Value::Null).await
}

#[tokio::test]
async fn a_question_without_a_key_is_stored_only_where_it_asks_to_be() {
    on_each_database(async |database| {
        let (api, store) = service(database, Some(Scope::Ask)).await;
        for body in [sheet(), question(&sheet())] {
            let reply = api.infer(&body).await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
            assert_eq!(reply.header("location"), None);
            let storing = &reply.json()["store"];
            assert_eq!(storing["stored"], false);
            let because = storing["because"].as_str().unwrap();
            assert!(because.contains("send `store=true`"), "{because}");
            // Nothing is found under an id of what is not stored.
            assert_eq!(ids(&reply), Vec::<Uuid>::new(), "{}", reply.text());
        }
        let count = async || database.number("SELECT count(*) FROM estimates").await;
        assert_eq!(count().await, 0);
        let stored = api.post("/infer?store=true", sheet().to_string()).await;
        assert_eq!(stored.status, StatusCode::CREATED);
        assert_eq!(stored.json()["store"]["stored"], true);
        let path = stored.header("location").unwrap().to_owned();
        assert_eq!(api.get(&path).await.text(), stored.stored_body());
        // With a key, it is the other way round.
        let asks = key(&store, "asks", Scope::Ask).await;
        let reply = post(&api, "/infer", &asks, &sheet_of("m-2")).await;
        assert_eq!(reply.status, StatusCode::CREATED);
        let reply = post(&api, "/infer?store=false", &asks, &sheet_of("m-3")).await;
        assert_eq!(reply.json()["store"]["stored"], false);
        assert_eq!(count().await, 2);
        assert_eq!(
            ids(&stored).len(),
            2,
            "that of the estimate, and that of the sheet"
        );
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_not_stored_leads_to_the_estimate_of_its_model() {
    on_each_database(async |database| {
        let (api, store) = service(database, Some(Scope::Ask)).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let sheet = with(sheet(), "/canonical_model", json!("acme/m-1"));
        let other = with(sheet.clone(), "/provider", json!("beta"));
        for body in [&sheet, &other] {
            assert_eq!(post(&api, "/infer", &desk, body).await.status, 201);
        }
        let models = unroof_import::ModelEstimator {
            store: store.clone(),
            estimator: unroof_infer::estimate::Estimator::default(),
            threads: 1,
        };
        assert_eq!(models.estimate_due().await.unwrap(), 1);
        let reply = api.infer(&question(&sheet)).await;
        assert_eq!(reply.json()["store"]["stored"], false);
        let link = reply.json()["model_estimate"]["path"].clone();
        let link = link.as_str().unwrap();
        assert!(reply.header("link").unwrap().contains(link));
        assert_eq!(api.get(link).await.status, StatusCode::OK);
        // Every id that the answer has is that of something stored.
        for id in ids(&reply) {
            let found = api.get(&format!("/estimates/{id}")).await;
            assert_eq!(found.status, StatusCode::OK, "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_that_only_its_machine_reaches_stores_questions_unless_they_say_no() {
    on_each_database(async |database| {
        let api = database.api().await;
        let reply = api.infer(&question(&sheet())).await;
        assert_eq!(reply.status, StatusCode::CREATED);
        assert_eq!(reply.json()["store"]["stored"], true);
        let body = question(&sheet_of("m-2")).to_string();
        let reply = api.post("/infer?store=false", body).await;
        assert_eq!(reply.json()["store"]["stored"], false);
        assert_eq!(api.get("/estimates").await.rows().len(), 1);
    })
    .await;
}

/// Sends the form of `/ui/try` without a key.
async fn try_sheet(api: &Api, sheet: &Value, store: bool) -> Reply {
    let text = sheet.to_string();
    let mut fields = form_urlencoded::Serializer::new(String::new());
    fields.append_pair("sheet", &text);
    if store {
        fields.append_pair("store", "yes");
    }
    let request = Request::post("/ui/try")
        .header(header::HOST, "localhost:8080")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(fields.finish()));
    api.send(request.unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_answers_without_storing_and_the_pages_of_what_it_stores_work() {
    on_each_database(async |database| {
        let (api, _store) = service(database, Some(Scope::Ask)).await;
        let shown = try_sheet(&api, &sheet(), false).await;
        assert_eq!(shown.status, StatusCode::OK);
        assert!(shown.text().contains("Nothing is stored"));
        assert!(!shown.text().contains("/estimates/"));
        let stored = try_sheet(&api, &sheet(), true).await;
        let (_, rest) = stored.text().split_once("/estimates/").unwrap();
        let id = &rest[..36];
        for path in [
            format!("/estimates/{id}"),
            format!("/estimates/{id}/density"),
        ] {
            let reply = api.get(&path).await;
            assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
        }
    })
    .await;
}

/// Requests of which the one with the fewest points counts: CPU time on a busy machine adds points, and takes none away.
const TRIES: usize = 6;

#[tokio::test]
async fn a_stored_question_costs_points_by_its_bytes() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(100_000)).await;
        let asks = key(&store, "asks", Scope::Ask).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let least = async |path: &str, key: &str, sheets: &[Value], status: StatusCode| {
            let mut least = u32::MAX;
            for sheet in sheets {
                let before = rest(&get(&api, "/track-record?limit=1", key).await);
                let reply = post(&api, path, key, sheet).await;
                assert_eq!(reply.status, status, "{}", reply.text());
                least = least.min(before - rest(&reply));
            }
            least
        };
        let named = |name: &str| -> Vec<Value> {
            let names = (0..TRIES).map(|number| format!("{name}-{number}"));
            names.map(|name| sheet_of(&name)).collect()
        };
        let about = |points: u32, expected: u32| (expected.saturating_sub(3)..=expected + 1).contains(&points);
        let asked = named("asked");
        let computed = least("/infer?store=false", &asks, &asked, StatusCode::OK).await;
        assert!(about(computed, 20), "{computed}");
        let stored = least("/infer", &asks, &asked, StatusCode::CREATED).await;
        let documents = "SELECT (SELECT sum(length(document)) FROM estimates) + (SELECT sum(length(document)) FROM price_sheets)";
        let bytes = usize::try_from(database.number(documents).await).unwrap() / TRIES;
        let expected = 20 + u32::try_from(bytes.div_ceil(4096)).unwrap();
        assert!(about(stored, expected), "{stored} points for {bytes} bytes");
        // What is known takes no further byte, and a price is none of a question.
        let known = least("/infer", &asks, &asked, StatusCode::OK).await;
        assert!(about(known, 20), "{known}");
        let price = least("/infer", &desk, &named("price"), StatusCode::CREATED).await;
        assert!(about(price, 20), "{price}");
    })
    .await;
}

#[tokio::test]
async fn a_client_without_a_key_stores_so_many_bytes_a_day_and_no_more() {
    on_each_database(async |database| {
        let limits = Limits {
            anonymous_bytes: NonZeroU32::new(50_000),
            ..Limits::default()
        };
        let (api, store) = service_within(database, Some(Scope::Ask), limits).await;
        let path = "/infer?store=true";
        let mut stored = 0;
        let refused = loop {
            let reply = api
                .post(path, sheet_of(&format!("m-{stored}")).to_string())
                .await;
            if reply.status != StatusCode::CREATED {
                break reply;
            }
            // The same again stores nothing.
            let again = api
                .post(path, sheet_of(&format!("m-{stored}")).to_string())
                .await;
            assert_eq!(again.status, StatusCode::OK, "{}", again.text());
            stored += 1;
        };
        assert!((1..8).contains(&stored), "{stored}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(wait > 60, "{wait}");
        let problem = refused.problem(429);
        assert!(problem["detail"].as_str().unwrap().contains("in a day"));
        assert!(problem["hint"].as_str().unwrap().contains("store=false"));
        assert_eq!(
            database.number("SELECT count(*) FROM estimates").await,
            stored
        );
        let page = try_sheet(&api, &sheet_of("m-page"), true).await;
        assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
        // It is still answered, and a key is not limited by it.
        assert_eq!(api.infer(&sheet_of("more")).await.status, StatusCode::OK);
        let asks = key(&store, "asks", Scope::Ask).await;
        assert_eq!(
            post(&api, "/infer", &asks, &sheet_of("more")).await.status,
            201
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_deletes_the_answer_to_a_question_and_no_estimate_of_a_price() {
    on_each_database(async |database: &TestDatabase| {
        let (api, store) = service(database, Some(Scope::Ask)).await;
        let admin = key(&store, "the admin", Scope::Admin).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let stored = api.post("/infer?store=true", sheet().to_string()).await;
        let id = stored.id();
        let price = post(&api, "/infer", &desk, &sheet_of("priced")).await.id();
        delete(&api, &id, &desk).await.problem(403);
        let problem = delete(&api, &price, &admin).await.problem(409);
        assert!(
            problem["detail"].as_str().unwrap().contains("acme/priced"),
            "{problem}"
        );
        let tag = api
            .get("/estimates")
            .await
            .header("etag")
            .unwrap()
            .to_owned();
        assert_eq!(delete(&api, &id, &admin).await.status, 204);
        delete(&api, &id, &admin).await.problem(404);
        api.get(&format!("/estimates/{id}")).await.problem(404);
        let listed = api.get("/estimates").await;
        assert_ne!(listed.header("etag"), Some(tag.as_str()));
        assert_eq!(listed.rows().len(), 1);
        let row = &get(&api, "/audit?limit=1", &admin).await.rows()[0];
        assert_eq!(row["action"], "estimate.deleted");
        assert_eq!(
            [&row["subject"], &row["subject_id"]],
            [&json!("acme/m-1"), &json!(id)]
        );
        assert_eq!(row["name"], "the admin");
        // On the command line likewise.
        let again = api.post("/infer?store=true", sheet().to_string()).await;
        assert_eq!((again.status.as_u16(), again.id()), (201, id.clone()));
        let command = |id: &str| run(&["estimates", "delete", id, "--database-url", &database.url]);
        let refused = command(&price);
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains("acme/priced"), "{}", refused.err);
        let deleted = command(&id);
        assert_eq!(deleted.code, Some(0), "{}", deleted.err);
        assert_eq!(command(&id).code, Some(1));
        assert_eq!(
            database.number("SELECT count(*) FROM price_sheets").await,
            1
        );
        let row = &get(&api, "/audit?limit=1", &admin).await.rows()[0];
        assert_eq!(
            [&row["action"], &row["caller"]],
            ["estimate.deleted", "command_line"]
        );
    })
    .await;
}

//! Prices that are announced, and what is asked for as of a time.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{from, history, priced, seen, written};
use crate::support::{TestDatabase, on_each_database, with};

#[tokio::test(flavor = "multi_thread")]
async fn every_read_can_be_asked_as_of_a_time() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let first = seen(&api, &priced("1"), "2026-03-01T00:00:00Z").await;
        let second = seen(&api, &priced("2"), "2026-06-01T00:00:00Z").await;
        let announced = seen(
            &api,
            &from(priced("3"), "2027-01-01T00:00:00Z"),
            "2026-11-01T00:00:00Z",
        )
        .await;
        assert_eq!(
            written(&history(&api).await),
            [
                "1.0 2026-03-01..2026-06-01",
                "2.0 2026-06-01..2027-01-01",
                "3.0 2027-01-01.."
            ]
        );
        let in_force = [
            // Before anything is known; as dashboards write times.
            ("2026-02-28T23:59:59.999Z", None),
            ("1772323200000", Some(&first)),
            ("2026-05-31T23:59:59Z", Some(&first)),
            ("2026-06-01T00:00:00Z", Some(&second)),
            ("2026-12-31T23:59:59Z", Some(&second)),
            ("2027-01-01T00:00:00Z", Some(&announced)),
        ];
        for (at, expected) in in_force {
            let sheets = api.get(&format!("/price-sheets?as_of={at}")).await.rows();
            let ids: Vec<&Value> = sheets.iter().map(|row| &row["id"]).collect();
            assert_eq!(
                ids,
                expected
                    .iter()
                    .map(|id| json!(id))
                    .collect::<Vec<_>>()
                    .iter()
                    .collect::<Vec<_>>(),
                "{at}"
            );
            for list in ["/estimates", "/estimates/latest"] {
                let rows = api.get(&format!("{list}?as_of={at}")).await.rows();
                assert_eq!(rows.len(), usize::from(expected.is_some()), "{list} {at}");
            }
            let rows = api
                .get(&format!("/offers/acme/m-1/history?as_of={at}"))
                .await;
            match expected {
                None => drop(rows.problem(404)),
                Some(id) => assert_eq!(rows.rows().last().unwrap()["sheet_id"], json!(id)),
            }
            for id in [&first, &second, &announced] {
                let status = api
                    .get(&format!("/price-sheets/{id}?as_of={at}"))
                    .await
                    .status;
                assert_eq!(status == 200, Some(id) == expected, "{at}");
            }
        }
        // Without a time: what is in force now, and no announcement.
        let latest = api.get("/estimates/latest").await.rows();
        assert_eq!(latest.len(), 1);
        let estimate = api
            .get(&format!(
                "/estimates/{}?as_of=2026-11-01T00:00:00Z",
                latest[0]["id"].as_str().unwrap()
            ))
            .await;
        assert_eq!(estimate.json()["price_sheets"][0]["id"], json!(second));
        api.get("/estimates?as_of=yesterday").await.problem(400);
        let now = api.get("/price-sheets?as_of=now").await;
        assert_eq!(now.status, StatusCode::OK, "{}", now.text());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_can_be_cut_by_when_a_row_was_stored() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for (price, at) in [
            ("1", "2026-03-01T00:00:00Z"),
            ("2", "2026-06-01T00:00:00Z"),
            ("3", "2026-09-01T00:00:00Z"),
        ] {
            seen(&api, &priced(price), at).await;
        }
        for (query, count) in [
            ("from=2026-06-01T00:00:00Z", 2),
            ("to=2026-06-01T00:00:00Z", 1),
            ("from=2026-06-01T00:00:00Z&to=2026-09-01T00:00:00Z", 1),
            // 2026-06-01 in milliseconds.
            ("from=1780272000000", 2),
            ("from=1780272000001", 1),
        ] {
            for list in ["/estimates", "/price-sheets"] {
                assert_eq!(
                    api.get(&format!("{list}?{query}")).await.rows().len(),
                    count,
                    "{list}?{query}"
                );
            }
        }
        for wrong in [
            "from=",
            "from=2026-06-01",
            "to=-1",
            "from=99999999999999999",
            "to=1969-12-31T23:59:59Z",
        ] {
            api.get(&format!("/estimates?{wrong}")).await.problem(400);
        }
        // The future cannot be observed.
        api.post(
            "/infer?observed_at=2030-01-01T00:00:00Z",
            priced("9").to_string(),
        )
        .await
        .problem(400);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_is_back_is_a_third_row_and_a_request_sent_again_is_none() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        seen(&api, &priced("1"), "2026-03-01T00:00:00Z").await;
        seen(&api, &priced("2"), "2026-06-01T00:00:00Z").await;
        // A client that lost the response sends the first one again.
        assert_eq!(api.infer(&priced("1")).await.status, 200);
        assert_eq!(
            written(&history(&api).await),
            ["1.0 2026-03-01..2026-06-01", "2.0 2026-06-01.."]
        );
        seen(&api, &priced("1"), "2026-09-01T00:00:00Z").await;
        let rows = history(&api).await;
        assert_eq!(written(&rows)[2], "1.0 2026-09-01..");
        assert!(
            rows[2]["difference"]
                .as_str()
                .unwrap()
                .starts_with("input 2 → 1 $/Mtok, output unchanged")
        );
        assert_eq!(rows[2]["estimate_id"], rows[0]["estimate_id"]);
        assert_eq!(
            api.get("/estimates/latest").await.rows()[0]["id"],
            rows[0]["estimate_id"]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_that_disagree_are_reported_until_they_agree() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let listed = async |catalog: Value, at: &str| {
            let format = if catalog["m-1"].is_object() { "litellm" } else { "models.dev" };
            let path = format!("/catalogs?observed_at={at}&format={format}");
            let reply = api.post(&path, catalog.to_string()).await;
            assert!(reply.text().contains("\"type\":\"done\""), "{}", reply.text());
        };
        let litellm = |input: &str| {
            json!({"m-1": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": input,
                           "output_cost_per_token": "1e-5"}})
        };
        let models_dev = |input: f64| {
            json!({"acme": {"id": "acme", "name": "Acme", "models": {"m-1": {
                "id": "m-1", "name": "m-1", "cost": {"input": input, "output": 10}}}}})
        };
        listed(litellm("1e-6"), "2026-03-01T00:00:00Z").await;
        listed(models_dev(1.5), "2026-03-01T12:00:00Z").await;
        let rows = api.get("/disagreements").await.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["catalog"], "litellm");
        assert_eq!(rows[0]["other_catalog"], "models.dev");
        assert_eq!(rows[0]["differences"], "input 1 against 1.5 $/Mtok");
        assert_eq!(rows[0]["largest_factor"], 1.5);
        // The price stays that of the catalog that stated it first.
        assert_eq!(written(&history(&api).await), ["1.0 2026-03-01.."]);
        assert_eq!(
            api.get("/disagreements?provider=other").await.rows().len(),
            0
        );
        listed(litellm("1.5e-6"), "2026-05-01T00:00:00Z").await;
        assert_eq!(api.get("/disagreements").await.rows().len(), 0);
        for (at, count) in [("2026-04-01T00:00:00Z", 1), ("2026-05-01T00:00:00Z", 0)] {
            let rows = api.get(&format!("/disagreements?as_of={at}")).await.rows();
            assert_eq!(rows.len(), count, "{at}");
        }
        // A sheet that was posted does not displace what a catalog lists, whatever it says of itself.
        seen(&api, &priced("1.25"), "2026-06-01T00:00:00Z").await;
        assert_eq!(
            written(&history(&api).await),
            ["1.0 2026-03-01..2026-05-01", "1.5 2026-05-01.."]
        );
        let rows = api.get("/disagreements").await.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["other_catalog"], "posted");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_is_read_page_by_page_with_the_same_differences() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for month in 1..=5 {
            let price = format!("{month}");
            seen(
                &api,
                &priced(&price),
                &format!("2026-0{month}-01T00:00:00Z"),
            )
            .await;
        }
        let whole = history(&api).await;
        let mut pages = Vec::new();
        let mut cursor = String::new();
        for _ in 0..5 {
            let page = api
                .get(&format!("/offers/acme/m-1/history?limit=2{cursor}"))
                .await
                .json();
            pages.extend(page["data"].as_array().unwrap().clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(pages, whole);
        assert_eq!(pages.len(), 5);
        // A name with a slash is written with %2F.
        seen(
            &api,
            &with(priced("1"), "/model", json!("lab/m-9")),
            "2026-01-01T00:00:00Z",
        )
        .await;
        assert_eq!(
            api.get("/offers/acme/lab%2Fm-9/history").await.rows().len(),
            1
        );
        api.get("/offers/acme/unknown/history").await.problem(404);
    })
    .await;
}

//! Changes by day, and the refused entries of imports.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use super::page;
use crate::changes::webhooks::Hand;
use crate::models::{hosted, observe};
use crate::support::{Api, TestDatabase, on_each_database};
use unroof_edge::Limits;
use unroof_jobs::Refresh;
use unroof_server::App;

#[tokio::test]
async fn the_refresh_that_the_page_of_catalogs_names_is_one_that_the_service_takes() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api.get("/ui/catalogs").await;
    let page = page(&reply, StatusCode::OK);
    let (_, rest) = page.split_once("unroof serve --refresh ").unwrap();
    let (refresh, _) = rest.split_once("</code>").unwrap();
    let taken: Result<Refresh, _> = refresh.parse();
    assert!(taken.is_ok(), "{refresh}");
}

#[tokio::test]
async fn the_largest_moves_are_first_and_new_offers_are_counted() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (provider, before, after) in [("acme", "10.00", "9.00"), ("beta", "10.00", "2.00")] {
            observe(
                &api,
                &hosted(provider, "1.00", before),
                "2026-11-19T00:00:00Z",
            )
            .await;
            observe(
                &api,
                &hosted(provider, "1.00", after),
                "2026-11-20T00:00:00Z",
            )
            .await;
        }
        let reply = api.get("/ui/changes").await;
        let text = page(&reply, StatusCode::OK);
        assert!(
            text.contains("2 prices of 2 offers have changed and 2 offers were added in 7 days"),
            "{text}"
        );
        assert!(
            text.contains("5 times as cheap") && text.contains("-10 %"),
            "{text}"
        );
        let day = text.split("datetime=\"2026-11-20\"").nth(1).unwrap();
        let place = |host: &str| day.find(&format!("at {host}")).unwrap();
        assert!(place("beta") < place("acme"), "{day}");
        assert!(
            text.contains("kind=offer.added") && text.contains("Offers seen for the first time: 2")
        );
        let reply = api
            .get("/ui/changes?kind=price.changed&provider=acme")
            .await;
        let filtered = page(&reply, StatusCode::OK);
        assert!(
            filtered.contains("/changes.atom?kind=price.changed&amp;provider=acme"),
            "{filtered}"
        );
        assert!(!filtered.contains("at beta"), "{filtered}");
        let reply = api.get("/ui/changes?kind=price").await;
        assert!(page(&reply, StatusCode::BAD_REQUEST).contains("a kind from the list"));
    })
    .await;
}

#[tokio::test]
async fn the_last_import_of_a_source_has_what_it_refused() {
    on_each_database(async |database| {
        let api = database.api().await;
        let reply = api.get("/ui/catalogs").await;
        let text = page(&reply, StatusCode::OK);
        assert!(text.contains("No catalog was imported yet"));
        assert!(!text.contains("Where catalogs disagree"), "{text}");
        let with = |mode: &str| {
            json!({
                "acme/good": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 3e-6},
                "acme/too": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 3e-6},
                "acme/<i>": {"litellm_provider": "acme", "mode": mode, "output_cost_per_image": 0.04},
            })
        };
        let import = async || {
            let catalog = with("image_generation").to_string();
            let reply = api.post("/catalogs?format=litellm", catalog).await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        };
        import().await;
        let reply = api.get("/ui/catalogs").await;
        let text = page(&reply, StatusCode::OK);
        assert!(
            text.contains("Every catalog was read in the last 36 hours"),
            "{text}"
        );
        assert!(
            text.contains("litellm: 1 of 3 entries") && text.contains("acme/&lt;i&gt;"),
            "{text}"
        );
        import().await;
        let kept = database.number("SELECT count(*) FROM imports WHERE refusals IS NOT NULL").await;
        assert_eq!(kept, 1, "an earlier import of the source forgets what it refused");
    })
    .await;
}

#[tokio::test]
async fn the_page_of_catalogs_begins_with_what_is_held_and_how_to_end_that() {
    let (database, hand) = (TestDatabase::sqlite(), Hand::new());
    let app = App::new(database.store().await, hand.clock(), Limits::default());
    let api = Api::new(app);
    let entry = |model: usize| {
        let entry = json!({"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 3e-6});
        (format!("acme/m-{model}"), entry)
    };
    for models in [12, 3] {
        let catalog: serde_json::Value = (0..models).map(entry).collect();
        let reply = api.post("/catalogs", catalog.to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        hand.advance(Duration::from_secs(1));
    }
    let held = api.get("/imports?outcome=held").await.rows();
    let id = held[0]["id"].as_str().unwrap();
    let reply = api.get("/ui/catalogs").await;
    let text = page(&reply, StatusCode::OK);
    let (_, text) = text.split_once("<h1>").unwrap();
    assert!(
        text.starts_with("Held until you decide: an import of litellm"),
        "{text}"
    );
    for part in [
        "+0 −9 ~0",
        &format!("unroof imports accept {id}"),
        &format!("unroof imports discard {id}"),
    ] {
        assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
    }
}

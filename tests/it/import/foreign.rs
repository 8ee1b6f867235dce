//! Documents of another format than the stated or the supposed one.

use super::lines;
use crate::support::{TestDatabase, on_each_database};

/// The list of another seller, whose prices have other names.
const VERCEL: &str = r#"{"object": "list", "data": [
    {"id": "anthropic/claude-opus-5", "object": "model", "type": "language", "context_window": 1000000,
        "pricing": {"input": "0.000005", "output": "0.000025", "input_cache_read": "0.0000005"}},
    {"id": "openai/gpt-5.6-luna", "object": "model", "type": "language",
        "pricing": {"input": "0.0000002", "output": "0.0000012"}}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_vercel_is_a_catalog_of_its_own_and_ends_no_offer_of_openrouter() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let models = r#"{"data": [{"id": "anthropic/claude-opus-5",
            "pricing": {"prompt": "0.000005", "completion": "0.000025"}}]}"#;
        let read = lines(&api.post("/catalogs", models.to_owned()).await);
        assert_eq!(read[0]["format"], "openrouter");
        let refused = api.post("/catalogs?format=openrouter", VERCEL.to_owned()).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with("the document is no catalog of openrouter: none of its 2 entries has `pricing/prompt` or `pricing/completion`; it is a catalog of vercel"),
            "{detail}"
        );
        let read = lines(&api.post("/catalogs", VERCEL.to_owned()).await);
        assert_eq!(read[0]["format"], "vercel");
        assert_eq!(read[0]["sheets"], 2);
        let offers = api.get("/estimates/latest").await.rows();
        let mut providers: Vec<&str> = offers
            .iter()
            .map(|offer| offer["provider"].as_str().unwrap())
            .collect();
        providers.sort_unstable();
        assert_eq!(providers, ["openrouter", "vercel", "vercel"]);
    })
    .await;
}

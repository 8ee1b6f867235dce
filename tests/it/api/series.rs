//! `/models/{author}/{model}/series`: steps of the prices and of the estimate.

use serde_json::{Value, json};

use crate::models::{estimate_models, hosted, observe};
use crate::support::{on_each_database, with};

const SERIES: &str = "/models/acme/m-1/series";
const MARCH: &str = "2026-03-01T00:00:00Z";
const APRIL: &str = "2026-04-01T00:00:00Z";
const JUNE: &str = "2026-06-01T00:00:00Z";

#[tokio::test(flavor = "multi_thread")]
async fn prices_and_estimates_are_steps_with_the_time_at_which_the_older_was_last_seen() {
    on_each_database(async |database| {
        let api = database.api().await;
        api.get(SERIES).await.problem(404);
        let first = hosted("acme", "0.15", "0.6");
        observe(&api, &first, MARCH).await;
        estimate_models(database).await;
        // The same prices with another context are the same step.
        let wider = with(first.clone(), "/limits", json!({"context": 200_000}));
        observe(&api, &wider, APRIL).await;
        observe(&api, &hosted("acme", "0.1", "0.4"), JUNE).await;
        observe(&api, &hosted("beta", "0.2", "0.8"), JUNE).await;
        estimate_models(database).await;
        let series = api.get(SERIES).await.json();
        assert_eq!(series["canonical_model"], "acme/m-1");
        let prices = series["prices"].as_array().unwrap();
        let steps: Vec<(&Value, &Value)> = prices
            .iter()
            .map(|step| (&step["provider"], &step["input_per_mtok"]))
            .collect();
        let expected = [("acme", 0.15), ("acme", 0.1), ("beta", 0.2)];
        assert_eq!(steps.len(), 3, "{series}");
        for ((provider, input), (host, price)) in steps.iter().zip(expected) {
            assert_eq!((*provider, *input), (&json!(host), &json!(price)));
        }
        assert_eq!(prices[0]["to"], prices[1]["from"]);
        assert!(
            prices[0]["from"]
                .as_str()
                .unwrap()
                .starts_with("2026-03-01")
        );
        assert!(
            prices[1]["not_before"]
                .as_str()
                .unwrap()
                .starts_with("2026-04-01")
        );
        assert!(prices[1]["to"].is_null() && prices[0]["ending"] == "replaced");
        let estimates = series["estimates"].as_array().unwrap();
        assert_eq!(estimates.len(), 2, "{series}");
        assert_eq!(estimates[0]["to"], estimates[1]["from"]);
        let model = api.get("/models/acme/m-1").await.json();
        assert_eq!(estimates[1]["id"], model["id"]);
        let active = &estimates[1]["quantities"][0];
        assert_eq!(active["quantity"], "active_parameters");
        let own = &model["quantities"]["active_parameters"];
        assert_eq!(active["median"], own["median"]);
        assert_eq!(active["interval_90"], own["interval_90"]);
        // As it was in May.
        let may = format!("{SERIES}?as_of=2026-05-01T00:00:00Z");
        let may = api.get(&may).await.json();
        assert_eq!(may["prices"].as_array().unwrap().len(), 1);
        assert_eq!(may["estimates"].as_array().unwrap().len(), 1);
        api.get("/models/acme/m-1%00/series").await.problem(404);
    })
    .await;
}

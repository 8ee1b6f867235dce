//! One pricing decision is estimated once for all its sellers.

use serde_json::{Value, json};
use unroof_store::{ChangeFilter, ChangeKind};

use super::{catalog, entry, import, outcomes, summary};
use crate::support::{TestDatabase, on_each_database};

#[tokio::test(flavor = "multi_thread")]
async fn every_entry_is_reported_and_duplicates_share_the_estimate_of_their_decision() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let lines = import(&api, "", &catalog()).await;
        assert_eq!(
            lines[0],
            json!({"type": "started", "format": "litellm", "entries": 8, "sheets": 6})
        );
        let expected = [
            ("acme/free", "not_identifiable"),
            ("acme/picture", "refused"),
            ("acme/wrong", "refused"),
            ("claude-sonnet-4-5", "estimated"),
            ("claude-sonnet-4-5-20250929", "duplicate"),
            ("deepseek/deepseek-v4-pro", "estimated"),
            ("openrouter/anthropic/claude-sonnet-4.5", "duplicate"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "duplicate"),
        ];
        assert_eq!(
            outcomes(&lines),
            expected
                .map(|(key, outcome)| (key.to_owned(), outcome.to_owned()))
                .into()
        );
        let author = entry(&lines, "claude-sonnet-4-5");
        for (key, outcome) in expected {
            let line = entry(&lines, key);
            let reason = line["reason"].as_str();
            match outcome {
                "duplicate" => {
                    assert_eq!(reason, Some("duplicate of anthropic/claude-sonnet-4-5"));
                    assert_eq!(line["duplicate_of"], author["sheet_id"]);
                    assert_eq!(line["estimate_id"], author["estimate_id"]);
                    assert_eq!(
                        line["canonical_model"], "anthropic/claude-sonnet-4-5",
                        "{key}"
                    );
                }
                "estimated" => assert_eq!(reason, None),
                _ => assert!(reason.is_some_and(|reason| reason.len() > 20), "{line}"),
            }
        }
        assert!(
            entry(&lines, "acme/free")["reason"]
                .as_str()
                .unwrap()
                .contains("prices are 0")
        );
        assert!(
            entry(&lines, "acme/picture")["reason"]
                .as_str()
                .unwrap()
                .contains("mode is `image_generation`")
        );
        let sum = summary(&lines);
        assert_eq!(
            [
                &sum["estimated"],
                &sum["duplicates"],
                &sum["not_identifiable"],
                &sum["refused"]
            ],
            [2, 3, 1, 2]
        );
        let unmatched = lines
            .iter()
            .find(|line| line["type"] == "unmatched_names")
            .unwrap();
        assert_eq!(unmatched["names"], json!(["acme/free"]));
        // Three estimates, six rows.
        assert_eq!(database.number("SELECT count(*) FROM estimates").await, 3);
        let rows = api.get("/estimates?provider=openrouter").await.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["id"], author["estimate_id"]);
        assert_eq!(rows[0]["duplicate_of"], author["sheet_id"]);
        assert_eq!(rows[0]["model"], "anthropic/claude-sonnet-4.5");
        let joined = api
            .get("/estimates/latest?canonical_model=anthropic/claude-sonnet-4-5")
            .await
            .rows();
        assert_eq!(joined.len(), 4);
        // Each is what a request of its own gives, byte for byte.
        for key in ["claude-sonnet-4-5", "deepseek/deepseek-v4-pro", "acme/free"] {
            let alone = api
                .post(
                    &format!("/infer?format=litellm&model={key}&observe=false"),
                    catalog()[key].to_string(),
                )
                .await;
            assert_eq!(json!(alone.id()), entry(&lines, key)["estimate_id"]);
            let stored = api.get(&format!("/estimates/{}", alone.id())).await;
            assert_eq!(stored.text(), alone.stored_body(), "{key}");
        }
    })
    .await;
}

/// Dated names of one model: all of them share one estimate.
#[tokio::test(flavor = "multi_thread")]
async fn of_three_thousand_entries_three_wrong_ones_are_refused_by_name_and_all_others_stored() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let wrong = [7, 1_500, 3_029];
        let key = |number: i64| {
            let day = jiff::civil::date(2017, 1, 1) + jiff::Span::new().days(number);
            format!("claude-sonnet-4-5-{}", day.strftime("%Y%m%d"))
        };
        let entry = |number: i64| {
            let input = if wrong.contains(&number) { -1.0 } else { 3e-6 };
            json!({"litellm_provider": "anthropic", "mode": "chat",
                "input_cost_per_token": input, "output_cost_per_token": 1.5e-5})
        };
        let entries = (0..3_030).map(|number| (key(number), entry(number)));
        let lines = import(&api, "", &Value::Object(entries.collect())).await;
        let outcomes = outcomes(&lines);
        assert_eq!(outcomes.len(), 3_030);
        let refused: Vec<&String> = outcomes
            .iter()
            .filter(|(_, outcome)| *outcome == "refused")
            .map(|(key, _)| key)
            .collect();
        assert_eq!(refused, wrong.map(key).iter().collect::<Vec<_>>());
        let reported = lines.iter().filter(|line| line["type"] == "entry");
        assert_eq!(reported.count(), 3_030);
        let stored = database.number("SELECT count(*) FROM price_sheets").await;
        assert_eq!(stored, 3_027, "{}", database.name);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_a_catalog_again_changes_nothing_and_a_changed_price_is_one_change() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "?observed_at=2026-10-01T00:00:00Z", &catalog()).await;
        let store = database.store().await;
        let version = store.version().await.unwrap();
        let again = import(&api, "?observed_at=2026-10-02T00:00:00Z", &catalog()).await;
        assert_eq!(summary(&again)["unchanged"], 6);
        assert_eq!(
            store.version().await.unwrap(),
            version,
            "nothing was written"
        );
        let mut changed = catalog();
        changed["deepseek/deepseek-v4-pro"]["output_cost_per_token"] = json!(2.64e-6);
        let lines = import(
            &api,
            "?observed_at=2026-10-03T00:00:00Z&only_changed=true",
            &changed,
        )
        .await;
        assert_eq!(summary(&lines)["unchanged"], 5);
        let reported = outcomes(&lines);
        assert_eq!(
            reported.get("deepseek/deepseek-v4-pro").map(String::as_str),
            Some("estimated")
        );
        assert_eq!(
            reported.len(),
            3,
            "the refused ones and the changed one: {reported:?}"
        );
        let feed = store
            .changes(&ChangeFilter::default(), version, 10)
            .await
            .unwrap();
        assert_eq!(feed.len(), 1, "{feed:?}");
        assert_eq!(feed[0].kind, ChangeKind::PriceChanged);
        assert_eq!(
            feed[0].summary,
            "output 3.96 → 2.64 $/Mtok, input and cache read unchanged"
        );
        let history = api
            .get("/offers/deepseek/deepseek-v4-pro/history")
            .await
            .rows();
        assert_eq!(history[0]["valid_to"], "2026-10-03T00:00:00Z");
        // A price that is back is a change as well.
        let back = import(&api, "?observed_at=2026-10-04T00:00:00Z", &catalog()).await;
        assert_eq!(summary(&back)["unchanged"], 5);
        assert_eq!(
            api.get("/offers/deepseek/deepseek-v4-pro/history")
                .await
                .rows()
                .len(),
            3
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_learns_of_a_release_or_corrects_it_changes_no_price() {
    let catalog = |released: Option<&str>, output: f64| {
        let mut model = json!({
            "id": "m-1", "limit": {"context": 200_000}, "cost": {"input": 1, "output": output},
            "modalities": {"input": ["text"], "output": ["text"]},
        });
        if let Some(day) = released {
            model["release_date"] = json!(day);
        }
        json!({"acme": {"id": "acme", "npm": "@ai-sdk/acme", "models": {"m-1": model}}})
    };
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for (day, released) in [(1, None), (2, Some("2026-01")), (3, Some("2026-01-15"))] {
            let query = format!("?format=models.dev&observed_at=2026-10-0{day}T00:00:00Z");
            import(&api, &query, &catalog(released, 4.0)).await;
        }
        let history = api.get("/offers/acme/m-1/history").await.rows();
        assert_eq!(history.len(), 1, "{history:?}");
        assert_eq!(history[0]["valid_to"], json!(null));
        // The latest sheet is shown, with what the catalog says now.
        let shown = history[0]["sheet_id"].as_str().unwrap();
        let sheet = api.get(&format!("/price-sheets/{shown}")).await.json();
        assert_eq!(sheet["released"], "2026-01-15");
        let store = database.store().await;
        let feed = store
            .changes(&ChangeFilter::default(), 0, 100)
            .await
            .unwrap();
        let changed = feed
            .iter()
            .filter(|change| change.kind == ChangeKind::PriceChanged);
        assert_eq!(changed.count(), 0, "{feed:?}");
        let query = "?format=models.dev&observed_at=2026-10-04T00:00:00Z";
        import(&api, query, &catalog(Some("2026-01-15"), 3.0)).await;
        let history = api.get("/offers/acme/m-1/history").await.rows();
        assert_eq!(history.len(), 2, "{history:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_stores_nothing_and_a_provider_is_picked() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let dry = import(&api, "?dry_run=true", &catalog()).await;
        assert_eq!(summary(&dry)["estimated"], 2);
        for table in ["price_sheets", "estimates", "imports", "changes"] {
            let count = match table {
                "price_sheets" => "SELECT count(*) FROM price_sheets",
                "estimates" => "SELECT count(*) FROM estimates",
                "imports" => "SELECT count(*) FROM imports",
                _ => "SELECT count(*) FROM changes",
            };
            assert_eq!(database.number(count).await, 0, "{table}");
        }
        let one = import(&api, "?provider=deepseek", &catalog()).await;
        assert_eq!(
            outcomes(&one).into_keys().collect::<Vec<_>>(),
            ["deepseek/deepseek-v4-pro"]
        );
        let runs = api.get("/imports").await.rows();
        assert_eq!(runs.len(), 1);
        assert_eq!(
            (&runs[0]["source"], &runs[0]["outcome"]),
            (&json!("request"), &json!("done"))
        );
        assert_eq!(
            (&runs[0]["entries"], &runs[0]["estimated"]),
            (&json!(1), &json!(1))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_a_catalog_prices_twice_is_priced_by_its_first_entry() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let entry_of = |provider: &str, price: f64| {
            json!({"litellm_provider": provider, "input_cost_per_token": price, "output_cost_per_token": 1e-5})
        };
        let twice = json!({"azure/echo-1": entry_of("azure", 2e-6), "azure_ai/echo-1": entry_of("azure_ai", 3e-6)});
        for run in 0..2 {
            let lines = import(&api, "", &twice).await;
            let refused = entry(&lines, "azure_ai/echo-1");
            assert_eq!(refused["outcome"], "refused");
            assert_eq!(
                refused["reason"],
                "the catalog prices azure/echo-1 twice: `input` is 2 in the entry `azure/echo-1`, which is used, and 3 in `azure_ai/echo-1`"
            );
            assert_eq!(summary(&lines)["unchanged"], run);
        }
        assert_eq!(api.get("/offers/azure/echo-1/history").await.rows().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_one_offer_that_contradict_each_other_in_nothing_are_one_sheet_with_the_prices_of_all()
 {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let entry_of = |provider: &str, price: &str, value: f64| {
            json!({"litellm_provider": provider, "input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5,
                price: value})
        };
        let parts = json!({
            "azure/echo-1": entry_of("azure", "input_cost_per_token_batches", 1e-6),
            "azure_ai/echo-1": entry_of("azure_ai", "cache_read_input_token_cost", 2e-7),
            "azure_text/echo-1": entry_of("azure_text", "cache_read_input_token_cost", 3e-7),
            "echo-1": entry_of("azure", "regional_processing_uplift_multiplier_eu", 1.1),
        });
        for run in [0, 3] {
            let lines = import(&api, "", &parts).await;
            assert_eq!(summary(&lines)["unchanged"], run);
            let refused = entry(&lines, "azure_text/echo-1");
            assert_eq!(
                refused["reason"],
                "the catalog prices azure/echo-1 twice: `cache read` is 0.2 in the entry `azure_ai/echo-1`, which is used, and 0.3 in `azure_text/echo-1`"
            );
        }
        let sheets = api.get("/price-sheets?provider=azure").await.rows();
        assert_eq!(sheets.len(), 1);
        let id = sheets[0]["id"].as_str().unwrap();
        let sheet = api.get(&format!("/price-sheets/{id}")).await.json();
        let base = &sheet["rates"][0];
        assert_eq!((&base["cache_read"], &sheet["rates"][1]["input"]), (&json!("0.2"), &json!("1")));
        assert_eq!(sheet["modifiers"][0]["multiplier"], "1.1");
        assert_eq!(sheet["sources"].as_array().unwrap().len(), 3);
    })
    .await;
}

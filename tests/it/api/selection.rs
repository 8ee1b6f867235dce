//! Lists as a page asks for them: several names at once, beginnings of names, orders, chosen fields, and names to complete.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use unroof_store::{ImportOrder, ImportOutcome, ImportRow, ImportSelection};
use uuid::Uuid;

use crate::support::{Api, TestDatabase, on_each_database, sheet, sheet_of, with};

/// Offers: provider, model, canonical model, price.
const OFFERS: [(&str, &str, Option<&str>, &str); 6] = [
    ("openai", "gpt-5", Some("openai/gpt-5"), "5"),
    (
        "OpenRouter",
        "openai/GPT-5-mini",
        Some("openai/gpt-5-mini"),
        "1",
    ),
    ("deepinfra", "meta/Llama-4", Some("meta/llama-4"), "0.5"),
    ("azure", "gpt-5", Some("openai/gpt-5"), "6"),
    ("acme", "a,b", None, "2"),
    ("acme", "%_'", None, "2"),
];

async fn with_offers(database: &TestDatabase) -> Api {
    let api = database.api().await;
    for (provider, model, canonical, price) in OFFERS {
        let mut sheet = with(sheet_of(model), "/provider", json!(provider));
        if let Some(canonical) = canonical {
            sheet = with(sheet, "/canonical_model", json!(canonical));
        }
        if provider == "azure" {
            sheet = with(sheet, "/aliases", json!(["zeppelin/X-1"]));
        }
        api.store(&with(sheet, "/rates/0/input", json!(price)))
            .await;
    }
    // A sheet without a price of prompt tokens.
    let rates = json!([{"output": "3"}]);
    let free = with(sheet_of("free"), "/rates", rates);
    api.store(&free).await;
    api
}

async fn rows(api: &Api, path: &str) -> Vec<Value> {
    let reply = api.get(path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    reply.rows()
}

/// Models of the rows, in their order.
async fn models(api: &Api, path: &str) -> Vec<String> {
    let rows = rows(api, path).await;
    let model = |row: &Value| row["model"].as_str().unwrap().to_owned();
    rows.iter().map(model).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_takes_several_names_and_names_with_commas() {
    on_each_database(async |database: &TestDatabase| {
        let api = with_offers(database).await;
        for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
            for (query, count) in [
                ("provider=openai", 1),
                ("provider=openai,azure", 2),
                ("provider=openai, azure,nowhere", 2),
                ("provider=openai,azure&model=gpt-5,a", 2),
                ("canonical_model=openai/gpt-5,meta/llama-4", 3),
                (
                    "canonical_model=openai/gpt-5,meta/llama-4&provider=azure,deepinfra",
                    2,
                ),
                ("model=a,b", 1),
                ("model=a,b,gpt-5", 2),
                ("model=", 0),
                ("currency=EUR,USD&region=global,eu", 7),
                ("provider=nowhere", 0),
            ] {
                let path = format!("{list}?{}", query.replace(' ', "%20"));
                let expected = if query == "model=a,b,gpt-5" { 2 } else { count };
                assert_eq!(rows(&api, &path).await.len(), expected, "{path}");
            }
            let many = vec!["x"; 65].join(",");
            let refused = api.get(&format!("{list}?provider={many}")).await;
            refused.problem(400);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q_finds_the_beginning_of_every_name_in_any_case() {
    on_each_database(async |database: &TestDatabase| {
        let api = with_offers(database).await;
        for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
            for (q, expected) in [
                ("gpt-5", vec!["gpt-5", "gpt-5", "openai/GPT-5-mini"]),
                ("GPT-5-M", vec!["openai/GPT-5-mini"]),
                ("open", vec!["gpt-5", "gpt-5", "openai/GPT-5-mini"]),
                ("openrouter", vec!["openai/GPT-5-mini"]),
                ("LLAMA", vec!["meta/Llama-4"]),
                ("Meta/", vec!["meta/Llama-4"]),
                ("%25", vec!["%_'"]),
                ("%25_'", vec!["%_'"]),
                ("_", vec![]),
                ("pt-5", vec![]),
                ("gpt-5&provider=azure,acme", vec!["gpt-5"]),
            ] {
                let mut found = models(&api, &format!("{list}?q={q}")).await;
                found.sort();
                assert_eq!(found, expected, "{list} {q}");
            }
            assert_eq!(rows(&api, &format!("{list}?q=")).await.len(), 7, "{list}");
            api.get(&format!("{list}?q=%00")).await.problem(400);
        }
        assert!(
            rows(&api, "/disagreements?q=gpt&provider=a,b&model=c,d")
                .await
                .is_empty()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sort_is_complete_over_pages_in_both_directions() {
    const LISTS: [(&str, &[&str]); 3] = [
        ("/estimates", &["observed_at", "provider", "model"]),
        ("/estimates/latest", &["provider", "model"]),
        (
            "/price-sheets",
            &[
                "observed_at",
                "provider",
                "model",
                "input_per_mtok",
                "output_per_mtok",
            ],
        ),
    ];
    on_each_database(async |database: &TestDatabase| {
        let api = with_offers(database).await;
        for number in 0..7 {
            let sheet = with(
                sheet_of(&format!("m-{}", number / 2)),
                "/region",
                json!(format!("r-{number}")),
            );
            api.store(&sheet).await;
        }
        for (list, sorts) in LISTS {
            let all = rows(&api, list).await.len();
            assert_eq!(all, 14, "{list}");
            for sort in sorts {
                // One sheet has no price of prompt tokens.
                let all = all - usize::from(*sort == "input_per_mtok");
                let whole = rows(&api, &format!("{list}?sort={sort}&order=asc")).await;
                assert_eq!(whole.len(), all, "{list} {sort}");
                let is_sorted = whole.is_sorted_by(|one, next| match (&one[sort], &next[sort]) {
                    (Value::String(one), Value::String(next)) => one <= next,
                    (one, next) => one.as_f64() <= next.as_f64(),
                });
                assert!(is_sorted, "{list} {sort}");
                for order in ["asc", "desc"] {
                    let first = format!("{list}?sort={sort}&order={order}&limit=3");
                    let (mut paged, mut path) = (Vec::new(), first.clone());
                    loop {
                        let page = api.get(&path).await.json();
                        paged.extend(page["data"].as_array().unwrap().clone());
                        let Some(cursor) = page["next_cursor"].as_str() else {
                            break;
                        };
                        assert!(paged.len() < 20, "{first}");
                        path = format!("{first}&cursor={cursor}");
                    }
                    if order == "desc" {
                        paged.reverse();
                    }
                    assert_eq!(paged, whole, "{first}");
                }
            }
            let default = rows(&api, list).await;
            let first = sorts[0];
            assert_eq!(
                rows(&api, &format!("{list}?sort={first}")).await,
                default,
                "{list}"
            );
        }
        let page = api.get("/price-sheets?limit=1&sort=model").await.json();
        let cursor = page["next_cursor"].as_str().unwrap();
        for other in ["", "&sort=provider", "&sort=model&order=desc"] {
            let path = format!("/price-sheets?limit=1&cursor={cursor}{other}");
            api.get(&path).await.problem(400);
        }
        for wrong in ["sort=price", "order=up", "sort="] {
            api.get(&format!("/price-sheets?{wrong}"))
                .await
                .problem(400);
        }
        let filtered = models(&api, "/price-sheets?sort=input_per_mtok&q=gpt").await;
        assert_eq!(filtered, ["openai/GPT-5-mini", "gpt-5", "gpt-5"]);
    })
    .await;
}

/// Runs: source, format, outcome; each started a minute after the one before.
const RUNS: [(&str, &str, ImportOutcome); 7] = [
    ("https://one/", "litellm", ImportOutcome::Done),
    ("https://two/a,b", "portkey", ImportOutcome::Failed),
    ("request", "litellm", ImportOutcome::Done),
    ("https://one/", "litellm", ImportOutcome::NotModified),
    ("https://one/", "litellm", ImportOutcome::Failed),
    ("request", "models_dev", ImportOutcome::Running),
    ("https://two/a,b", "portkey", ImportOutcome::Done),
];

/// The runs, each with its number of entries.
async fn with_runs(database: &TestDatabase) -> Api {
    let api = database.api().await;
    let store = database.store().await;
    let mut running = Vec::new();
    for (number, (source, catalog, outcome)) in (0..).zip(RUNS) {
        let started_at: Timestamp = format!("2026-11-20T10:0{number}:00Z").parse().unwrap();
        let id = Uuid::new_v4();
        let begun = store.begin_import(
            id,
            source,
            Some(catalog),
            started_at.into(),
            &unroof_store::access::Actor::SERVICE,
        );
        running.push(begun.await.unwrap());
        let all = ImportSelection::default();
        let newest = store.imports(&all, ImportOrder::NEWEST, None, 1).await;
        let run = newest.unwrap().swap_remove(0);
        let run = ImportRow {
            outcome,
            entries: number,
            ..run
        };
        store.end_import(&run).await.unwrap();
    }
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_are_filtered_by_several_names_and_sorted_over_pages() {
    on_each_database(async |database: &TestDatabase| {
        let api = with_runs(database).await;
        let numbers = async |query: &str| -> Vec<i64> {
            let rows = rows(&api, &format!("/imports?{query}")).await;
            let number = |row: &Value| row["entries"].as_i64().unwrap();
            rows.iter().map(number).collect()
        };
        for (query, expected) in [
            ("", vec![6, 5, 4, 3, 2, 1, 0]),
            ("order=asc", vec![0, 1, 2, 3, 4, 5, 6]),
            ("sort=started_at", vec![6, 5, 4, 3, 2, 1, 0]),
            ("sort=source", vec![0, 3, 4, 1, 6, 2, 5]),
            ("sort=source&order=desc", vec![5, 2, 6, 1, 4, 3, 0]),
            ("source=request", vec![5, 2]),
            ("source=request,https://one/", vec![5, 4, 3, 2, 0]),
            ("source=https://two/a,b", vec![6, 1]),
            ("source=", vec![]),
            ("catalog=portkey, models_dev", vec![6, 5, 1]),
            ("outcome=failed", vec![4, 1]),
            ("outcome=not_modified,running", vec![5, 3]),
            ("catalog=litellm&outcome=done&source=request", vec![2]),
            ("outcome=failed,done&sort=source", vec![0, 4, 1, 6, 2]),
        ] {
            let query = query.replace(' ', "%20");
            assert_eq!(numbers(&query).await, expected, "{query}");
            let (mut paged, mut page) = (Vec::new(), format!("{query}&limit=2"));
            loop {
                let reply = api.get(&format!("/imports?{page}")).await.json();
                let rows = reply["data"].as_array().unwrap();
                paged.extend(rows.iter().map(|row| row["entries"].as_i64().unwrap()));
                let Some(cursor) = reply["next_cursor"].as_str() else {
                    break;
                };
                assert!(paged.len() < 20, "{query}");
                page = format!("{query}&limit=2&cursor={cursor}");
            }
            assert_eq!(paged, expected, "{query}");
        }
        let page = api.get("/imports?limit=1&sort=source").await.json();
        let cursor = page["next_cursor"].as_str().unwrap();
        for other in ["", "&sort=source&order=desc"] {
            let path = format!("/imports?cursor={cursor}{other}");
            api.get(&path).await.problem(400);
        }
        for wrong in [
            "outcome=lost",
            "outcome=",
            "outcome=done,",
            "sort=entries",
            "order=up",
            "source=%00",
            "catalog=%00",
        ] {
            api.get(&format!("/imports?{wrong}")).await.problem(400);
        }
    })
    .await;
}

#[tokio::test]
async fn rows_have_the_fields_that_are_named_in_their_order() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&sheet()).await;
    let catalog = json!([sheet_of("m-2")]).to_string();
    api.post("/catalogs", catalog).await;
    let webhook = json!({"url": "https://hooks.example.com/unroof"}).to_string();
    api.post("/webhooks", webhook).await;
    for (path, fields) in [
        ("/estimates", "model,active_parameters_median,id"),
        ("/estimates/latest", "model,provider"),
        ("/price-sheets", "output_per_mtok,model"),
        ("/changes", "kind,sequence"),
        ("/imports", "source,entries"),
        ("/webhooks", "url,id"),
        ("/history?provider=acme&model=m-1", "catalog,difference"),
    ] {
        let and = if path.contains('?') { '&' } else { '?' };
        let chosen = format!("{path}{and}fields={fields}");
        let (all, some) = (rows(&api, path).await, rows(&api, &chosen).await);
        assert!(!all.is_empty(), "{path}");
        assert_eq!(all.len(), some.len(), "{path}");
        for (row, part) in all.iter().zip(&some) {
            let keys: Vec<&String> = part.as_object().unwrap().keys().collect();
            assert_eq!(keys, fields.split(',').collect::<Vec<_>>(), "{path}");
            for key in keys {
                assert_eq!(part[key], row[key], "{path} {key}");
            }
        }
        let csv = api
            .ask(Method::GET, &chosen, &[("accept", "text/csv")])
            .await;
        assert_eq!(csv.text().lines().next(), Some(fields), "{path}");
        assert_eq!(csv.text().lines().count(), 1 + all.len(), "{path}");
        for wrong in ["nothing", "", "id,", "model,Model"] {
            let refused = api.get(&format!("{path}{and}fields={wrong}")).await;
            refused.problem(400);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_by_parameters_is_that_of_the_path() {
    on_each_database(async |database: &TestDatabase| {
        let api = with_offers(database).await;
        let path = api
            .get("/offers/OpenRouter/openai%2FGPT-5-mini/history")
            .await;
        let by_parameters = api
            .get("/history?provider=OpenRouter&model=openai/GPT-5-mini")
            .await;
        assert_eq!(by_parameters.status, StatusCode::OK);
        assert_eq!(by_parameters.text(), path.text());
        assert_eq!(by_parameters.rows().len(), 1);
        let comma = api.get("/history?provider=acme&model=a,b").await;
        assert_eq!(comma.rows().len(), 1);
        api.get("/history?provider=acme&model=nothing")
            .await
            .problem(404);
        for incomplete in ["", "?provider=acme", "?model=a"] {
            api.get(&format!("/history{incomplete}")).await.problem(400);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_completes_names_of_every_kind() {
    on_each_database(async |database: &TestDatabase| {
        let api = with_offers(database).await;
        let found = async |query: &str| -> Vec<(String, String)> {
            let rows = rows(&api, &format!("/search?{query}")).await;
            let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
            rows.iter()
                .map(|row| (text(row, "kind"), text(row, "name")))
                .collect()
        };
        let pair = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        assert_eq!(
            found("q=OPEN").await,
            [
                pair("provider", "openai"),
                pair("provider", "OpenRouter"),
                pair("canonical_model", "openai/gpt-5"),
                pair("canonical_model", "openai/gpt-5-mini"),
                pair("model", "openai/GPT-5-mini"),
            ]
        );
        assert_eq!(
            found("q=gpt-5&kind=model").await,
            [pair("model", "gpt-5"), pair("model", "openai/GPT-5-mini")]
        );
        assert_eq!(found("q=gpt-5&kind=model&limit=1").await.len(), 1);
        for alias in ["ZEPP", "x-1"] {
            assert_eq!(found(&format!("q={alias}")).await, [pair("model", "gpt-5")]);
            let named = models(&api, &format!("/price-sheets?q={alias}")).await;
            assert_eq!(named, ["gpt-5"]);
        }
        assert_eq!(found("q=nothing").await, []);
        assert_eq!(found("q=%25").await, [pair("model", "%_'")]);
        let all = found("").await;
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(all.len(), 5 + 3 + 6, "{all:?}");
        for wrong in ["limit=0", "limit=101", "kind=region", "q=%00", "query=x"] {
            api.get(&format!("/search?{wrong}")).await.problem(400);
        }
        // Every name is a value for the filter of its kind.
        for (kind, name) in all {
            let name = name.replace('%', "%25");
            let path = format!("/price-sheets?{kind}={name}");
            assert!(!rows(&api, &path).await.is_empty(), "{path}");
        }
        // A pooled estimate is found by its model.
        let hosts = ["openai", "azure"].map(|provider| {
            let sheet = with(sheet_of("pool"), "/provider", json!(provider));
            with(sheet, "/canonical_model", json!("org/pool"))
        });
        api.infer(&json!({"price_sheets": hosts})).await;
        assert_eq!(models(&api, "/estimates?q=org/po").await, ["org/pool"]);
    })
    .await;
}

#[tokio::test]
async fn a_table_is_sorted_by_what_has_an_order() {
    let api = TestDatabase::sqlite().api().await;
    let names = async |query: &str| models_of(&api, query).await;
    let ascending = names("sort=sparsity&fields=name").await;
    let mut descending = names("sort=sparsity&order=desc&fields=name").await;
    assert_ne!(ascending, descending);
    descending.sort();
    let mut sorted = ascending;
    sorted.sort();
    assert_eq!(sorted, descending);
    for wrong in ["architecture", "sources", "nothing"] {
        let refused = api
            .get(&format!("/reference/open-models?sort={wrong}"))
            .await;
        let hint = refused.problem(400)["hint"].as_str().unwrap().to_owned();
        assert!(
            hint.contains("sparsity") && !hint.contains("architecture"),
            "{hint}"
        );
    }
}

/// The names of the open-weight models that are asked for.
async fn models_of(api: &Api, query: &str) -> Vec<String> {
    let rows = rows(api, &format!("/reference/open-models?{query}")).await;
    let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
    rows.iter().map(name).collect()
}

//! Lists: what a row holds, which rows there are, JSON and CSV.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    Api, NOW, TestDatabase, examples, on_each_database, repository, sheet, sheet_of, with,
};

const ESTIMATE_COLUMNS: [&str; 18] = [
    "id",
    "provider",
    "model",
    "canonical_model",
    "region",
    "currency",
    "valid_from",
    "valid_to",
    "retires_at",
    "observed_at",
    "observed",
    "duplicate_of",
    "of",
    "engine_version",
    "readings_defined",
    "conflicts",
    "published_active_parameters",
    "published_total_parameters",
];

const SHEET_COLUMNS: [&str; 15] = [
    "id",
    "provider",
    "model",
    "canonical_model",
    "region",
    "currency",
    "valid_from",
    "valid_to",
    "observed_at",
    "input_per_mtok",
    "output_per_mtok",
    "cache_read_per_mtok",
    "retires_at",
    "status",
    "flagged",
];

async fn with_examples(api: &Api) -> Vec<Value> {
    let mut answers = Vec::new();
    for (name, sheet) in examples() {
        let reply = api.infer(&sheet).await;
        assert_eq!(
            reply.status,
            StatusCode::CREATED,
            "{name}: {}",
            reply.text()
        );
        answers.push(reply.json());
    }
    answers
}

async fn csv(api: &Api, path: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let reply = api.ask(Method::GET, path, &[("accept", "text/csv")]).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(
        reply.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let mut reader = csv::Reader::from_reader(&reply.body[..]);
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let header = fields(reader.headers().unwrap());
    let rows = reader.records().map(|record| fields(&record.unwrap()));
    (header, rows.collect())
}

/// Ids of the readings that rows carry, as the API lists them.
async fn scalar_readings(api: &Api) -> Vec<String> {
    let readings = api.get("/reference/readings").await.rows();
    let scalar = readings.iter().filter(|reading| reading["scalar"] == true);
    scalar
        .map(|reading| reading["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The columns of each quantity, as the API lists them.
async fn quantity_columns(api: &Api) -> Vec<String> {
    let reference = api.get("/reference/readings").await.json();
    let quantities = reference["quantities"].as_array().unwrap().iter();
    let columns = |quantity: &Value| {
        let name = quantity["name"].as_str().unwrap();
        ["median", "low_90", "high_90", "identified"].map(|end| format!("{name}_{end}"))
    };
    quantities.flat_map(columns).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_flat_and_hold_the_documented_columns_in_order() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        with_examples(&api).await;
        let readings = scalar_readings(&api).await;
        assert!(readings.len() >= 15, "{readings:?}");
        let quantities = quantity_columns(&api).await;
        assert_eq!(quantities.len(), 44, "{quantities:?}");
        let estimate_columns: Vec<&str> = ESTIMATE_COLUMNS
            .into_iter()
            .chain(quantities.iter().chain(&readings).map(String::as_str))
            .collect();
        let columns_of = [
            ("/estimates", &estimate_columns),
            ("/estimates/latest", &estimate_columns),
            ("/price-sheets", &SHEET_COLUMNS.into()),
        ];
        for (path, columns) in columns_of {
            let reply = api.get(path).await;
            let rows = reply.rows();
            // Some examples are prices of the past.
            let least = if path == "/estimates/latest" { 12 } else { 16 };
            assert!(rows.len() >= least, "{path}: {}", rows.len());
            let first_row = reply
                .text()
                .split_once('{')
                .unwrap()
                .1
                .split_once('{')
                .unwrap()
                .1;
            let places: Vec<Option<usize>> = columns
                .iter()
                .map(|column| first_row.find(&format!("\"{column}\":")))
                .collect();
            assert!(
                places.is_sorted() && places[0].is_some(),
                "{path}: {columns:?} in {first_row}"
            );
            for row in &rows {
                let row = row.as_object().unwrap();
                assert_eq!(row.len(), columns.len(), "{path}");
                for column in columns {
                    let value = &row[*column];
                    assert!(
                        !value.is_object() && !value.is_array(),
                        "{path}: {column} = {value}"
                    );
                    if readings.iter().any(|id| id == column) || column.ends_with("_per_mtok") {
                        assert!(
                            value.is_number() || value.is_null(),
                            "{path}: {column} = {value}"
                        );
                    }
                }
                assert_eq!(row["observed_at"], NOW);
            }
            let (header, csv_rows) = csv(&api, path).await;
            assert_eq!(header, *columns, "{path}");
            let as_text = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let expected: Vec<Vec<String>> = rows
                .iter()
                .map(|row| {
                    columns
                        .iter()
                        .map(|column| as_text(&row[*column]))
                        .collect()
                })
                .collect();
            assert_eq!(csv_rows, expected, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_row_shows_the_standard_tier_the_first_threshold_and_the_shortest_time_to_live() {
    let api = TestDatabase::sqlite().api().await;
    let answers = with_examples(&api).await;
    let rows = api.get("/estimates").await.rows();
    let readings = scalar_readings(&api).await;
    for answer in answers {
        let row = rows.iter().find(|row| row["id"] == answer["id"]).unwrap();
        assert_eq!(row["readings_defined"], answer["readings_defined"]);
        assert_eq!(
            row["conflicts"],
            answer["conflicts"].as_array().unwrap().len()
        );
        for (name, estimate) in answer["quantities"].as_object().unwrap() {
            let interval = &estimate["interval_90"];
            let ends = [&estimate["median"], &interval["low"], &interval["high"]];
            let cells = ["median", "low_90", "high_90"].map(|end| &row[format!("{name}_{end}")]);
            assert_eq!(cells, ends, "{name}");
            assert_eq!(row[format!("{name}_identified")], estimate["identified"]);
        }
        for (name, estimate) in answer["quantities"].as_object().unwrap() {
            let interval = &estimate["interval_90"];
            let ends = [&estimate["median"], &interval["low"], &interval["high"]];
            let cells = ["median", "low_90", "high_90"].map(|end| &row[format!("{name}_{end}")]);
            assert_eq!(cells, ends, "{name}");
            assert_eq!(row[format!("{name}_identified")], estimate["identified"]);
        }
        for id in &readings {
            let entries = answer["readings"].as_array().unwrap();
            let entries: Vec<&Value> = entries.iter().filter(|entry| entry["id"] == **id).collect();
            let input = |entry: &Value, name: &str| {
                let inputs = entry["inputs"].as_array().unwrap();
                inputs
                    .iter()
                    .find(|input| input["name"] == name)
                    .map(|input| input["value"].clone())
            };
            let tier = |entry: &Value| input(entry, "service_tier").unwrap_or(json!("standard"));
            let number = |entry: &Value, name: &str| {
                input(entry, name)
                    .and_then(|value| value.as_f64())
                    .unwrap_or(0.0)
            };
            let of_standard = entries
                .iter()
                .filter(|entry| tier(entry) == "standard" && input(entry, "schedule").is_none());
            // Modes are compared with the standard tier, so they have no standard entry.
            let expected = of_standard
                .min_by(|left, right| {
                    let place = |entry: &Value| {
                        ["min_prompt_tokens", "ttl_seconds", "ttl_short_seconds"]
                            .map(|name| number(entry, name))
                    };
                    place(left).partial_cmp(&place(right)).unwrap()
                })
                .map_or_else(
                    || {
                        entries
                            .iter()
                            .map(|entry| &entry["value"])
                            .find(|value| value.is_number())
                            .unwrap_or(&Value::Null)
                    },
                    |entry| &entry["value"],
                );
            assert_eq!(
                row[id], *expected,
                "{id} of {}",
                answer["price_sheets"][0]["model"]
            );
        }
    }
}

#[tokio::test]
async fn csv_keeps_what_would_break_a_line() {
    let api = TestDatabase::sqlite().api().await;
    let names = ["a,b", "a\"b", "a\u{2028}b", " a", "=1+1"];
    for name in names {
        api.store(&sheet_of(name)).await;
    }
    let (header, rows) = csv(&api, "/estimates").await;
    let model = header.iter().position(|name| name == "model").unwrap();
    let listed: Vec<&str> = rows.iter().rev().map(|row| row[model].as_str()).collect();
    // A spreadsheet would take the last one for a formula.
    assert_eq!(listed, ["a,b", "a\"b", "a\u{2028}b", " a", "'=1+1"]);
    // No rows: the header alone.
    let (header, rows) = csv(&api, "/price-sheets?model=nothing").await;
    assert_eq!((header.len(), rows.len()), (15, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_compare_names_exactly() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let offer = |provider: &str, model: &str, region: &str, currency: &str| {
            let sheet = with(
                with(sheet_of(model), "/provider", json!(provider)),
                "/region",
                json!(region),
            );
            with(
                with(sheet, "/currency", json!(currency)),
                "/canonical_model",
                json!(format!("author/{model}")),
            )
        };
        for sheet in [
            offer("acme", "m", "global", "USD"),
            offer("acme", "m", "eu", "EUR"),
            offer("Acme", "n", "eu", "EUR"),
            offer("b", "m", "eu", "USD"),
        ] {
            api.store(&sheet).await;
        }
        let rows = [
            ("", 4),
            ("provider=acme", 2),
            ("provider=Acme", 1),
            ("provider=ac%25", 0),
            ("provider=", 0),
            ("model=m", 3),
            ("canonical_model=author/m", 3),
            ("region=eu", 3),
            ("currency=EUR", 2),
            ("model=m&region=eu", 2),
            (
                "provider=acme&model=m&canonical_model=author%2Fm&region=eu&currency=EUR",
                1,
            ),
            ("provider=acme&currency=CNY", 0),
            ("provider=%27%20OR%201=1%20--", 0),
        ];
        for (query, count) in rows {
            for path in ["/estimates", "/estimates/latest", "/price-sheets"] {
                assert_eq!(
                    api.get(&format!("{path}?{query}")).await.rows().len(),
                    count,
                    "{path}?{query}"
                );
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn latest_shows_one_row_per_offer_the_newest_without_assumptions() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let price = |sheet, price: &str| with(sheet, "/rates/0/input", json!(price));
        let stating =
            |sheet| json!({"price_sheet": sheet, "assumptions": {"active_parameters": 2e11}});
        api.store(&price(sheet(), "1")).await;
        let newest = api.store(&price(sheet(), "2")).await;
        api.store(&stating(price(sheet(), "2"))).await;
        // A question about a price that is over is not news.
        api.store(&stating(price(sheet(), "1"))).await;
        let eu = api.store(&with(sheet(), "/region", json!("eu"))).await;
        // An offer of which there is only a question has no price in force.
        api.store(&stating(sheet_of("m-2"))).await;
        // All sheets are kept.
        assert_eq!(api.get("/price-sheets?model=m-1").await.rows().len(), 3);
        // A repeat of something older does not make it the newest.
        assert_eq!(api.infer(&price(sheet(), "1")).await.status, StatusCode::OK);
        let ids = async |query: &str| -> Vec<String> {
            let rows = api.get(&format!("/estimates/latest{query}")).await.rows();
            rows.iter()
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(ids("").await, [eu, newest]);
        assert!(ids("?model=m-2").await.is_empty());
        let any = api.get("/estimates/latest?assumptions=any").await;
        any.problem(400);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_sheet_is_served_with_the_sources_of_all_who_sent_it() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let noted = with(
            with(sheet(), "/notes", json!(["kept"])),
            "/rates/0/input",
            json!("1.250"),
        );
        let answer = api.infer(&noted).await.json();
        let path = format!(
            "/price-sheets/{}",
            answer["price_sheets"][0]["id"].as_str().unwrap()
        );
        let before = api.get(&path).await;
        assert_eq!(before.json()["rates"][0]["input"], "1.250");
        let other_source =
            json!([{"url": "https://other.example", "format": "litellm", "locator": "acme/m-1"}]);
        let again = with(
            with(sheet(), "/sources", other_source.clone()),
            "/notes",
            json!(["not kept"]),
        );
        assert_eq!(api.infer(&again).await.status, StatusCode::OK);
        let after = api.get(&path).await;
        let expected = with(before.json(), "/sources/1", other_source[0].clone());
        assert_eq!(after.json(), expected);
        assert_ne!(after.header("etag"), before.header("etag"));
        // The same source at another time is not a new one.
        let read_again = with(again, "/sources/0/retrieved_at", json!("2026-11-22"));
        assert_eq!(api.infer(&read_again).await.status, StatusCode::OK);
        assert_eq!(api.get(&path).await.body, after.body);
        assert_eq!(api.get("/price-sheets").await.rows().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn reference_data_are_served_whole_with_sources() {
    let api = TestDatabase::sqlite().api().await;
    let table_lines = |file: &str| {
        let text =
            std::fs::read_to_string(repository().join("crates/roofline/data").join(file)).unwrap();
        csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes())
            .records()
            .count()
    };
    let accelerators = api.get("/reference/accelerators").await.rows();
    assert_eq!(accelerators.len(), table_lines("accelerators.csv"));
    for row in &accelerators {
        for ratio in row["compute_to_bandwidth"].as_array().unwrap() {
            assert!(ratio["value"].as_f64().unwrap() > 1.0, "{row}");
        }
    }
    let tiers = api.get("/reference/storage-tiers").await.rows();
    assert_eq!(tiers.len(), table_lines("storage_tiers.csv"));
    for row in accelerators.iter().chain(&tiers) {
        let sources: Vec<&String> = row
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| key.contains("source"))
            .collect();
        assert!(!sources.is_empty(), "{row}");
    }
    for reading in api.get("/reference/readings").await.rows() {
        for part in ["id", "clue", "equation", "quantity", "needs", "source"] {
            assert!(
                reading[part].as_str().is_some_and(|text| !text.is_empty()),
                "{part}: {reading}"
            );
        }
    }
}

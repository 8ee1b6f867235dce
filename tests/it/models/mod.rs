//! `/models` and `/vendors`: one estimate per model from all of its sheets, kept up to date as they change.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use unroof_import::ModelEstimator;
use unroof_infer::estimate::Estimator;

use crate::server::{LONGEST_WAIT, Server, client, get, output_of, post, run, unroof};
use crate::support::{Api, TestDatabase, on_each_database, with, without};

/// Estimates the models that are due; how many were.
pub(crate) async fn estimate_models(database: &TestDatabase) -> usize {
    let models = ModelEstimator {
        store: database.store().await,
        estimator: Estimator::default(),
        threads: 2,
    };
    models.estimate_due().await.unwrap()
}

/// A sheet of `acme/m-1` by a host.
pub(crate) fn hosted(provider: &str, input: &str, output: &str) -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": provider,
        "model": "m-1",
        "canonical_model": "acme/m-1",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "rates": [{"input": input, "output": output}],
        "sources": [{"url": "https://example.com/prices", "format": "official"}],
    })
}

pub(crate) async fn observe(api: &Api, sheet: &Value, seen_at: &str) -> Value {
    let path = format!("/infer?observed_at={seen_at}");
    let reply = api.post(&path, sheet.to_string()).await;
    assert!(reply.status.is_success(), "{}", reply.text());
    reply.json()
}

async fn model(api: &Api) -> Value {
    let reply = api.get("/models/acme/m-1").await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

fn active(estimate: &Value) -> f64 {
    estimate["quantities"]["active_parameters"]["median"]
        .as_f64()
        .unwrap()
}

/// Width of the 90 % interval of the active parameters, as a logarithm.
fn width_of_size(estimate: &Value) -> f64 {
    let interval = &estimate["quantities"]["active_parameters"]["interval_90"];
    let end = |name: &str| interval[name].as_f64().unwrap();
    (end("high") / end("low")).ln()
}

const MARCH: &str = "2026-03-01T00:00:00Z";
const JUNE: &str = "2026-06-01T00:00:00Z";

#[tokio::test(flavor = "multi_thread")]
async fn all_hosts_of_a_model_have_one_estimate_and_each_a_margin() {
    on_each_database(async |database| {
        let api = database.api().await;
        let prices = [("acme", "0.6"), ("beta", "0.25"), ("gamma", "0.75")];
        let mut alone = Vec::new();
        for (host, output) in prices {
            let answer = observe(&api, &hosted(host, "0.15", output), MARCH).await;
            alone.push(width_of_size(&answer));
        }
        assert_eq!(estimate_models(database).await, 1);
        let estimate = model(&api).await;
        assert_eq!(estimate["of"], "model");
        assert_eq!(estimate["canonical_model"], "acme/m-1");
        assert_eq!(estimate["decisions"], 3);
        let sheets = estimate["price_sheets"].as_array().unwrap();
        assert_eq!(sheets.len(), 3);
        assert_eq!(sheets[0]["provider"], "acme");
        let own = width_of_size(&estimate);
        assert!(alone.iter().all(|alone| own < *alone), "{own} of {alone:?}");
        let margins: Vec<f64> = estimate["offers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|offer| offer["output_margin"]["median"].as_f64().unwrap())
            .collect();
        assert_eq!(margins.len(), 3);
        assert!(
            margins[1] < margins[0] && margins[0] < margins[2],
            "{margins:?}"
        );
        let cost = &estimate["quantities"]["cost_output_usd_per_mtok"]["median"];
        let expected = 1.0 - cost.as_f64().unwrap() / 0.6;
        assert!((margins[0] - expected).abs() < 1e-6);
        // The same by its id, without the offers.
        let id = estimate["id"].as_str().unwrap();
        let by_id = api.get(&format!("/estimates/{id}")).await.json();
        assert_eq!(by_id["quantities"], estimate["quantities"]);
        assert_eq!(by_id.get("offers"), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_estimated_when_a_sheet_arrives_and_then_no_more() {
    on_each_database(async |database| {
        let api = database.api().await;
        observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        assert_eq!(estimate_models(database).await, 1);
        let first = model(&api).await;
        assert_eq!(estimate_models(database).await, 0);
        // The same sheet again, and a question about another price, are not news for the model.
        observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        let question = json!({
            "price_sheet": hosted("beta", "9", "36"),
            "assumptions": {"accelerator": "h100-sxm"},
        });
        assert_eq!(api.infer(&question).await.status, StatusCode::CREATED);
        estimate_models(database).await;
        assert_eq!(model(&api).await["id"], first["id"]);
        observe(&api, &hosted("beta", "0.3", "1.2"), MARCH).await;
        assert_eq!(estimate_models(database).await, 1);
        let second = model(&api).await;
        assert_ne!(second["id"], first["id"]);
        assert_eq!(second["price_sheets"].as_array().unwrap().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_sheets_model_has_the_figures_of_its_answer() {
    on_each_database(async |database| {
        let api = database.api().await;
        let answer = observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        estimate_models(database).await;
        let estimate = model(&api).await;
        assert_eq!(estimate["quantities"], answer["quantities"]);
        assert_eq!(estimate["misfit"], answer["misfit"]);
        assert_ne!(estimate["id"], answer["id"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repricing_changes_a_margin_and_hardly_the_architecture() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (host, input, output) in [
            ("acme", "0.15", "0.6"),
            ("beta", "0.12", "0.5"),
            ("gamma", "0.2", "0.75"),
            ("delta", "0.1", "0.45"),
        ] {
            observe(&api, &hosted(host, input, output), MARCH).await;
        }
        estimate_models(database).await;
        let before = model(&api).await;
        observe(&api, &hosted("beta", "0.06", "0.27"), JUNE).await;
        assert_eq!(estimate_models(database).await, 1);
        let after = model(&api).await;
        assert_eq!(after["price_sheets"].as_array().unwrap().len(), 5);
        assert_eq!(after["offers"].as_array().unwrap().len(), 4);
        let moved = (active(&after) / active(&before)).ln().abs();
        let repriced = (0.5_f64 / 0.27).ln();
        assert!(moved < 0.5 * repriced, "{moved}");
        let margin = |estimate: &Value| {
            let offer = &estimate["offers"][1];
            assert_eq!(offer["provider"], "beta");
            offer["output_margin"]["median"].as_f64().unwrap()
        };
        assert!(margin(&after) < margin(&before));
        let news = api.get("/changes?kind=estimate.updated").await.rows();
        for change in &news {
            assert_eq!(change["provider"], "model");
            assert_eq!(change["model"], "acme/m-1");
            assert_eq!(change["estimate_id"], after["id"]);
        }
        assert_eq!(news.len(), 1, "{news:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn as_of_answers_from_the_sheets_that_were_seen_by_then() {
    on_each_database(async |database| {
        let api = database.api().await;
        observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        estimate_models(database).await;
        let first = model(&api).await;
        observe(&api, &hosted("acme", "0.05", "0.2"), JUNE).await;
        estimate_models(database).await;
        let now = model(&api).await;
        assert_ne!(now["id"], first["id"]);
        assert_eq!(now["offers"][0]["output_per_mtok"], 0.2);
        let at = |time: &str| format!("/models/acme/m-1?as_of={time}");
        let then = api.get(&at("2026-04-01T00:00:00Z")).await.json();
        assert_eq!(then["id"], first["id"]);
        assert_eq!(then["offers"][0]["output_per_mtok"], 0.6);
        let later = api.get(&at("2026-07-01T00:00:00Z")).await.json();
        assert_eq!(later["id"], now["id"]);
        let problem = api.get(&at("2026-01-01T00:00:00Z")).await.problem(404);
        assert!(problem["detail"].as_str().unwrap().contains("at that time"));
        let rows = api.get("/models?as_of=2026-04-01T00:00:00Z").await.rows();
        assert_eq!(rows[0]["id"], first["id"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_sheet_leaves_the_estimate_and_the_last_one_takes_it_along() {
    on_each_database(async |database| {
        let api = database.api().await;
        observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        estimate_models(database).await;
        let first = model(&api).await;
        let wrong = observe(&api, &hosted("beta", "15", "60"), MARCH).await;
        estimate_models(database).await;
        assert_ne!(model(&api).await["id"], first["id"]);
        let withdraw = async |sheet: &Value| {
            let path = format!("/price-sheets/{}/withdraw", sheet.as_str().unwrap());
            let reply = api
                .post(&path, json!({"reason": "misprint"}).to_string())
                .await;
            assert!(reply.status.is_success(), "{}", reply.text());
            estimate_models(database).await;
        };
        withdraw(&wrong["price_sheets"][0]["id"]).await;
        // The sheets are those of before, and so is the id.
        assert_eq!(model(&api).await["id"], first["id"]);
        withdraw(&first["price_sheets"][0]["id"]).await;
        api.get("/models/acme/m-1").await.problem(404);
        assert!(api.get("/models").await.rows().is_empty());
        let latest = api.get("/estimates/latest").await.rows();
        assert!(latest.iter().all(|row| row["of"] != "model"), "{latest:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_name_is_split_by_date_before_it_is_pooled() {
    on_each_database(async |database| {
        let api = database.api().await;
        let chat = |from: &str, output: &str| {
            let sheet = hosted("deepseek", "0.27", output);
            let sheet = with(sheet, "/model", json!("deepseek-chat"));
            let sheet = without(sheet, "/canonical_model");
            with(sheet, "/valid_from", json!(from))
        };
        observe(&api, &chat("2025-02-08T16:00:00Z", "1.10"), MARCH).await;
        observe(&api, &chat("2025-09-05T16:00:00Z", "1.68"), MARCH).await;
        observe(&api, &chat("2025-12-02T00:00:00Z", "0.42"), MARCH).await;
        assert_eq!(estimate_models(database).await, 3);
        let rows = api.get("/models?author=deepseek").await.rows();
        let names: Vec<&str> = rows
            .iter()
            .map(|row| row["canonical_model"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "deepseek/deepseek-v3",
                "deepseek/deepseek-v3.1",
                "deepseek/deepseek-v3.2"
            ]
        );
        assert!(rows.iter().all(|row| row["sheets"] == 1), "{rows:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_by_name_in_pages_and_as_csv() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (author, number) in [("acme", 1), ("acme", 2), ("zeta", 3)] {
            let name = format!("m-{number}");
            let sheet = with(hosted(author, "1", "4"), "/model", json!(name));
            let sheet = with(sheet, "/canonical_model", json!(format!("{author}/{name}")));
            observe(&api, &sheet, MARCH).await;
        }
        assert_eq!(estimate_models(database).await, 3);
        let names = |rows: Vec<Value>| -> Vec<String> {
            let name = |row: Value| row["canonical_model"].as_str().unwrap().to_owned();
            rows.into_iter().map(name).collect()
        };
        let first = api.get("/models?limit=2").await;
        assert_eq!(names(first.rows()), ["acme/m-1", "acme/m-2"]);
        let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
        let rest = api.get(&format!("/models?limit=2&cursor={cursor}")).await;
        assert_eq!(names(rest.rows()), ["zeta/m-3"]);
        assert_eq!(
            names(api.get("/models?author=zeta").await.rows()),
            ["zeta/m-3"]
        );
        assert_eq!(names(api.get("/models?q=M-2").await.rows()), ["acme/m-2"]);
        let of = api.get("/models?canonical_model=acme/m-1,zeta/m-3").await;
        assert_eq!(names(of.rows()), ["acme/m-1", "zeta/m-3"]);
        let fields = api
            .get("/models?fields=canonical_model,active_parameters_median")
            .await;
        assert_eq!(fields.rows()[0].as_object().unwrap().len(), 2);
        let csv = [("accept", "text/csv")];
        let csv = api.ask(axum::http::Method::GET, "/models", &csv).await;
        let lines: Vec<&str> = csv.text().lines().collect();
        assert!(
            lines[0].starts_with("canonical_model,author,id,"),
            "{}",
            lines[0]
        );
        assert_eq!(lines.len(), 4);
        for query in ["surprise=1", "limit=0", "cursor=AAAAAAAAAAAA", "as_of=soon"] {
            api.get(&format!("/models?{query}")).await.problem(400);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn latest_estimates_say_whether_they_are_of_a_sheet_or_of_a_model() {
    on_each_database(async |database| {
        let api = database.api().await;
        observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        let pool =
            json!({"price_sheets": [hosted("acme", "0.15", "0.6"), hosted("beta", "0.3", "1")]});
        assert_eq!(api.infer(&pool).await.status, StatusCode::CREATED);
        estimate_models(database).await;
        let rows = api.get("/estimates/latest").await.rows();
        let of = |provider: &str| {
            let row = rows.iter().find(|row| row["provider"] == provider);
            row.unwrap_or_else(|| panic!("no {provider}: {rows:?}"))["of"].clone()
        };
        assert_eq!(of("acme"), "sheet");
        assert_eq!(of("pooled"), "pool");
        assert_eq!(of("model"), "model");
        let row = rows.iter().find(|row| row["of"] == "model").unwrap();
        assert_eq!(row["id"], model(&api).await["id"]);
        assert_eq!(row["canonical_model"], "acme/m-1");
        let listed = api.get("/estimates?provider=model").await.rows();
        assert_eq!(listed.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_links_to_its_models_estimate_and_says_where_they_differ() {
    on_each_database(async |database| {
        let api = database.api().await;
        let first = api.infer(&hosted("acme", "0.15", "0.6")).await;
        assert_eq!(first.header("link"), None);
        assert_eq!(first.json().get("model_estimate"), None);
        for host in ["beta", "gamma", "delta"] {
            api.infer(&hosted(host, "0.14", "0.55")).await;
        }
        estimate_models(database).await;
        let dear = api.infer(&hosted("epsilon", "9", "36")).await;
        let expected = "</models/acme/m-1>; rel=\"related\"; title=\"estimate of the model\"";
        assert_eq!(dear.header("link"), Some(expected));
        let linked = &dear.json()["model_estimate"];
        assert_eq!(linked["path"], "/models/acme/m-1");
        assert_eq!(linked["id"], model(&api).await["id"]);
        let differences = linked["differences"].as_array().unwrap();
        let of_size = differences
            .iter()
            .find(|one| one["quantity"] == "active_parameters");
        assert!(of_size.unwrap()["factor"].as_f64().unwrap() > 2.0);
        // What is stored depends on the request alone.
        let again = api.infer(&hosted("acme", "0.15", "0.6")).await;
        assert_eq!(again.stored_body(), first.stored_body());
        let stored = api.get(&format!("/estimates/{}", dear.id())).await;
        assert_eq!(stored.json().get("model_estimate"), None);
        let unstored = api.post(
            "/infer?store=false",
            hosted("acme", "0.15", "0.6").to_string(),
        );
        assert_eq!(unstored.await.json().get("model_estimate"), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendors_models_have_a_markup_in_common() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (name, input, output) in [
            ("large", "5", "25"),
            ("middle", "3", "15"),
            ("small", "1", "5"),
        ] {
            let sheet = with(hosted("acme", input, output), "/model", json!(name));
            let sheet = with(sheet, "/canonical_model", json!(format!("acme/{name}")));
            observe(&api, &sheet, MARCH).await;
        }
        let elsewhere = with(
            hosted("beta", "2", "8"),
            "/canonical_model",
            json!("acme/other"),
        );
        observe(&api, &elsewhere, MARCH).await;
        estimate_models(database).await;
        let vendor = api.get("/vendors/acme").await.json();
        assert_eq!(vendor["vendor"], "acme");
        assert_eq!(vendor["left_out"], json!(["acme/other"]));
        let together = &vendor["together"];
        assert_eq!(together["models"].as_array().unwrap().len(), 3);
        let width = |span: &Value| {
            let end = |name: &str| span["interval_90"][name].as_f64().unwrap();
            (end("high") / end("low")).ln()
        };
        for ratio in together["ratios"].as_array().unwrap() {
            let common = width(&ratio["active_parameters"]);
            assert!(common < width(&ratio["active_parameters_alone"]), "{ratio}");
            for model in together["models"].as_array().unwrap() {
                assert!(common < 2.0 * width(&model["active_parameters"]));
            }
        }
        let problem = api.get("/vendors/unknown").await.problem(404);
        assert!(problem["hint"].as_str().unwrap().contains("GET /models"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_open_models_are_ranked_by_what_they_ask_over_the_cost() {
    on_each_database(async |database| {
        let api = database.api().await;
        let open = |provider: &str, output: &str| {
            let name = json!("openai/gpt-oss-120b");
            with(hosted(provider, "0.3", output), "/canonical_model", name)
        };
        for sheet in [open("acme", "0.03"), open("beta", "3"), open("openai", "1")] {
            observe(&api, &sheet, MARCH).await;
        }
        // A model whose architecture is not published has no cost.
        observe(&api, &hosted("gamma", "1", "4"), MARCH).await;
        estimate_models(database).await;
        let table = api.get("/margins").await.json();
        let hosts = table["data"].as_array().unwrap();
        let names: Vec<&str> = hosts
            .iter()
            .map(|host| host["provider"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["beta", "openai", "acme"]);
        let output = |host: usize, field: &str| hosts[host]["output"][field].as_f64().unwrap();
        assert!((output(0, "price_over_cost") / output(2, "price_over_cost") - 100.0).abs() < 1e-6);
        assert!(output(0, "price_over_usual") > 1.0 && output(2, "price_over_usual") < 1.0);
        assert_eq!(
            (output(0, "below_cost"), output(2, "below_cost")),
            (0.0, 1.0)
        );
        assert_eq!(hosts[1]["own_models"], 1);

        let path = "/margins/openai/gpt-oss-120b";
        let model = api.get(path).await.json();
        let sellers = model["data"].as_array().unwrap();
        assert_eq!(sellers.len(), 3);
        assert_eq!(
            (&sellers[0]["provider"], &sellers[0]["kind"]),
            (&json!("acme"), &json!("host"))
        );
        assert_eq!(
            (&sellers[1]["provider"], &sellers[1]["kind"]),
            (&json!("openai"), &json!("author"))
        );
        let cost = model["output_cost"]["median"].as_f64().unwrap();
        let margin = sellers[2]["output"]["margin"]["median"].as_f64().unwrap();
        assert!((margin - (1.0 - cost / 3.0)).abs() < 1e-6);
        // The cost is of the architecture: a price does not change it.
        observe(&api, &open("delta", "30"), MARCH).await;
        assert_eq!(
            api.get(path).await.json()["output_cost"],
            model["output_cost"]
        );

        let closed = api.get("/margins/acme/m-1").await.problem(404);
        assert!(
            closed["detail"]
                .as_str()
                .unwrap()
                .contains("is not published"),
            "{closed}"
        );
        api.get("/margins/acme/m-9").await.problem(404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_is_a_problem_with_a_hint() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    for path in [
        "/models/acme/m-9",
        "/models/acme/m%2F9",
        "/models/a%00b/c",
        "/vendors/a%00b",
    ] {
        let problem = api.get(path).await.problem(404);
        assert!(
            problem["hint"].as_str().unwrap().contains("/models"),
            "{problem}"
        );
    }
    api.get("/models/acme/m-9?surprise=1").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_a_catalog_marks_its_models_once() {
    on_each_database(async |database| {
        let api = database.api().await;
        let price = |input: f64| {
            json!({"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": input,
                "output_cost_per_token": 8.0 * input, "max_input_tokens": 400_000})
        };
        let catalog = json!({"gpt-5": price(1.25e-6), "azure/gpt-5": price(1.25e-6), "gpt-5-mini": price(2.5e-7)});
        let path = format!("/catalogs?format=litellm&observed_at={MARCH}");
        let reply = api.post(&path, catalog.to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        assert_eq!(estimate_models(database).await, 2);
        assert_eq!(api.get("/models?author=openai").await.rows().len(), 2);
        // Read again later and unchanged, it changes no model.
        let path = format!("/catalogs?format=litellm&observed_at={JUNE}");
        api.post(&path, catalog.to_string()).await;
        assert_eq!(estimate_models(database).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_estimates_models_by_itself_unless_it_is_to_skip_them() {
    let database = TestDatabase::sqlite();
    let client = client();
    let mut command = unroof(&[
        "serve",
        "--database-url",
        &database.url,
        "--listen",
        "127.0.0.1:0",
    ]);
    command.env_remove("UNROOF_SKIP_MODELS");
    let server = Server::spawn(command);
    let at = |path: &str| format!("{}{path}", server.address);
    let (status, _) = post(&client, &at("/infer"), &hosted("acme", "0.15", "0.6")).unwrap();
    assert_eq!(status, 201);
    let began = Instant::now();
    while get(&client, &at("/models/acme/m-1")).0 == 404 {
        assert!(began.elapsed() < LONGEST_WAIT, "{}", server.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(server);
    // The command reads the same estimate.
    let printed = output_of(&["model", "acme/m-1", "--database-url", &database.url]);
    assert!(printed.contains("active parameters"), "{printed}");
    assert!(printed.contains("acme/m-1   0.15"), "{printed}");
    let json = output_of(&[
        "model",
        "acme/m-1",
        "--json",
        "--database-url",
        &database.url,
    ]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["canonical_model"], "acme/m-1");
    assert_eq!(json["offers"].as_array().unwrap().len(), 1);
    let unknown = run(&["model", "acme/m-9", "--database-url", &database.url]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown
            .err
            .contains("there is no model, offer or estimate `acme/m-9`"),
        "{}",
        unknown.err
    );
}

//! `POST /layout`: the lecture's rack, other racks, the series, and what is refused.

use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, Reply, TestDatabase, faults};

async fn api() -> Api {
    TestDatabase::sqlite().api().await
}

async fn ask(api: &Api, body: &Value) -> Reply {
    api.post("/layout", body.to_string()).await
}

async fn answer(api: &Api, body: &Value) -> Value {
    let reply = ask(api, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

async fn series_as_csv(api: &Api, path: &str, body: &str) -> Reply {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("accept", "text/csv");
    api.send(request.body(body.to_owned().into()).unwrap())
        .await
}

/// Origin of a value.
fn from<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let inputs = answer["inputs"].as_array().unwrap();
    let input = inputs.iter().find(|input| input["name"] == name);
    &input.unwrap_or_else(|| panic!("no {name}: {answer}"))["from"]
}

#[tokio::test]
async fn an_empty_request_is_the_rack_of_the_lecture() {
    let api = api().await;
    let reply = ask(&api, &json!({})).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let answer = answer(&api, &json!({})).await;
    let experts = &answer["experts"];
    assert_eq!(experts["experts_per_chip"], 4.0);
    assert_eq!(experts["divides_evenly"], true);
    assert_eq!(experts["scale_up_domains"], 1);
    assert_eq!(answer["all_to_all"]["bytes_leaving_domain"], 0.0);
    assert_eq!(answer["memory"]["fits"], true);
    assert_eq!(answer["not_defined"], json!([]));
    assert_eq!(from(&answer, "machine.accelerator"), "default");
    assert_eq!(from(&answer, "machine.capacity_bytes"), "reference");
    assert_eq!(from(&answer, "layout.expert_parallel_chips"), "derived");
    // A text that has defaults next to it is the same question.
    let stated = json!({"machine": "gb200-nvl72", "model": {"experts": {"routed": 256}}, "load": {"batch": 5}});
    let said = self::answer(&api, &stated).await;
    assert_eq!(said["series"], answer["series"]);
    assert_eq!(from(&said, "model.experts.routed"), "stated");
    assert_eq!(from(&said, "load.batch"), "unused");
}

#[tokio::test]
async fn every_equation_says_which_values_it_gives() {
    let answer = answer(&api().await, &json!({})).await;
    for equation in answer["equations"].as_array().unwrap() {
        assert_ne!(equation["source"], "", "{equation}");
        for value in equation["gives"].as_array().unwrap() {
            let pointer = format!("/{}", value.as_str().unwrap().replace('.', "/"));
            assert!(answer.pointer(&pointer).is_some(), "{pointer}");
        }
    }
}

#[tokio::test]
async fn racks_that_are_too_small_send_experts_over_the_slow_network() {
    let api = api().await;
    let request = json!({"machine": "h100-sxm", "layout": {"expert_parallel_chips": 16}});
    let answer = answer(&api, &request).await;
    assert_eq!(answer["experts"]["share_leaving_domain"], 0.5);
    let sent = &answer["all_to_all"];
    assert_eq!(sent["bytes_inside_domain"], sent["bytes_leaving_domain"]);
    let bytes = sent["bytes_leaving_domain"].as_f64().unwrap();
    assert_eq!(sent["seconds"].as_f64(), Some(bytes / 5e10));
    let uneven = json!({"layout": {"expert_parallel_chips": 72}});
    let placed = &self::answer(&api, &uneven).await["experts"];
    assert_eq!(placed["divides_evenly"], false);
    assert_eq!(placed["experts_per_chip_rounded_up"], 4);
}

#[tokio::test]
async fn what_does_not_fit_says_how_much_is_missing() {
    let request = json!({"machine": {"accelerator": "h100-sxm", "capacity_bytes": 8e10},
        "layout": {"pipeline_stages": 1, "sequences_per_micro_batch": 1}});
    let memory = &answer(&api().await, &request).await["memory"];
    assert_eq!(memory["fits"], false);
    let missing = memory["missing_bytes_per_chip"].as_f64().unwrap();
    let total = memory["total_bytes_per_chip"].as_f64().unwrap();
    assert!((missing - (total - 8e10)).abs() < 1.0, "{memory}");
    // DeepSeek V3 in fp8 is larger than eight H800.
    let weights = memory["weights_bytes_per_chip"].as_f64().unwrap();
    assert!((weights * 8.0 - 671e9).abs() < 1.0, "{memory}");
}

#[tokio::test]
async fn what_is_not_known_is_null_and_says_what_to_state() {
    let api = api().await;
    let silent = answer(&api, &json!({"machine": "trainium3"})).await;
    assert_eq!(silent["all_to_all"]["seconds_at_scale_out"], Value::Null);
    assert_eq!(silent["pipeline"]["free_across_racks"], Value::Null);
    let reason = silent["not_defined"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("`machine.scale_out_bytes_per_second`"),
        "{reason}"
    );
    // Nothing leaves the rack, so the time is known all the same.
    assert!(silent["all_to_all"]["seconds"].is_number(), "{silent}");
    let stated = json!({"machine": {"accelerator": "mi455x", "scale_out_bytes_per_second": 1e11}});
    assert_eq!(answer(&api, &stated).await["not_defined"], json!([]));
    let dense = json!({"model": "Llama-3.1-70B"});
    let dense = answer(&api, &dense).await;
    assert_eq!(dense["largest_expert_layer"]["experts"], Value::Null);
}

#[tokio::test]
async fn the_series_is_csv_for_those_who_ask_for_it() {
    let api = api().await;
    let body = json!({"layout": {"pipeline_stages_grid": [1, 2, 4]}});
    let reply = series_as_csv(&api, "/layout", &body.to_string()).await;
    assert_eq!(
        reply.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    assert_eq!(reply.header("vary"), Some("accept"));
    let rows = answer(&api, &body).await["series"].clone();
    let mut reader = csv::Reader::from_reader(reply.text().as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(columns.iter().collect::<Vec<_>>(), names);
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 3);
    let column = |name: &str| {
        let at = columns.iter().position(|column| column == name).unwrap();
        lines
            .iter()
            .map(|line| line[at].parse().unwrap())
            .collect::<Vec<f64>>()
    };
    // P cancels at a fixed micro-batch and does not at a fixed batch.
    let cache = column("kv_bytes_per_chip");
    assert!(
        cache
            .iter()
            .all(|bytes| (bytes / cache[0] - 1.0).abs() < 1e-12),
        "{cache:?}"
    );
    let fixed = column("kv_bytes_per_chip_at_fixed_batch");
    assert!((fixed[1] / fixed[0] - 0.5).abs() < 1e-12, "{fixed:?}");
    let times = column("seconds_per_token");
    assert!(
        times
            .iter()
            .all(|time| (time / times[0] - 1.0).abs() < 1e-12),
        "{times:?}"
    );
}

#[tokio::test]
async fn every_fault_is_reported_with_its_place_and_a_hint() {
    let api = api().await;
    let rows = [
        (
            json!("blackwell"),
            "expected an object with named fields, found a text",
        ),
        (json!([]), "expected an object with named fields"),
        (
            json!({"modle": {}}),
            "/modle: `modle` is not a known field (did you mean `model`?",
        ),
        (
            json!({"machine": "blackwell-72"}),
            "/machine: `blackwell-72` is not a known accelerator (write `gb200-nvl72`",
        ),
        (
            json!({"machine": {"accelerator": "h100"}}),
            "/machine/accelerator: `h100` is not a known accelerator (did you mean `h100-",
        ),
        (
            json!({"machine": 72}),
            "/machine: expected an object with named fields, found a number",
        ),
        (
            json!({"machine": {"hbm_bytes": 1}}),
            "/machine/hbm_bytes: `hbm_bytes` is not a known field (write `capacity_bytes` instead",
        ),
        (
            json!({"machine": {"capacity_bytes": -1}}),
            "/machine/capacity_bytes: -1 is not a number from 1e-6 to 1e24",
        ),
        (
            json!({"model": {"experts": {"routed": 0}}}),
            "/model/experts/routed: `0` is not a whole number from 2 to 16777216",
        ),
        (
            json!({"model": {"experts": {"routed": 4, "active": 8}}}),
            "/model/experts/routed: 8 of 4 experts per token cannot make",
        ),
        (
            json!({"model": {"layers": 4, "experts": {"layers": 8}}}),
            "/model/experts/layers: 8 layers have experts and the model has 4",
        ),
        (
            json!({"model": {"total_parameters": "671e9"}}),
            "/model/total_parameters: expected a number, found a text",
        ),
        (
            json!({"layout": {"pipeline_stages": 62}}),
            "/layout/pipeline_stages: 62 stages need a layer each and the model has 61",
        ),
        (
            json!({"layout": {"pipeline_stages_grid": []}}),
            "/layout/pipeline_stages_grid: a list of 0 values",
        ),
        (
            json!({"layout": {"pipeline_stages_grid": [1, 99]}}),
            "/layout/pipeline_stages_grid/1: `99` is not a whole number from 1 to 61",
        ),
    ];
    for (body, expected) in rows {
        let problem = ask(&api, &body).await.problem(422);
        let reported = faults(&problem);
        assert!(reported.contains(expected), "{body}: {reported}");
    }
    let many = json!({"machine": {"accelerator": "x", "capacity_bytes": 0}, "model": {"experts": {"routed": -1}, "layers": 1.5}, "layout": []});
    let problem = ask(&api, &many).await.problem(422);
    assert_eq!(problem["errors"].as_array().unwrap().len(), 5, "{problem}");
    api.post("/layout", "{").await.problem(400);
    api.post("/layout", r#"{"model": {"experts": 1e400}}"#)
        .await
        .problem(400);
    api.post("/layout?stages=1", "{}").await.problem(400);
    api.get("/layout").await.problem(405);
}

#[tokio::test]
async fn the_largest_numbers_that_may_be_stated_have_finite_answers() {
    let body = json!({
        "machine": {"scale_up_bytes_per_second": 1e24, "scale_out_bytes_per_second": 1e-6, "capacity_bytes": 1e-6,
            "bandwidth_bytes_per_second": 1e-6},
        "model": {"experts": {"routed": 16_777_216, "active": 1}, "hidden_dimension": 16_777_216, "layers": 16_777_216,
            "total_parameters": 1e16, "active_parameters": 1e10, "kv_bytes_per_token_stored": 1e12},
        "precision": {"weight_bytes_per_parameter": 4},
        "load": {"context_tokens": 1e9},
        "layout": {"expert_parallel_chips": 1_000_000, "pipeline_stages": 10_000, "chips_per_stage": 1, "sequences_per_micro_batch": 1e9},
    });
    let text = ask(&api().await, &body).await;
    assert_eq!(text.status, StatusCode::OK, "{}", text.text());
    assert!(
        text.json()["memory"]["missing_bytes_per_chip"].is_number(),
        "{}",
        text.text()
    );
    let answered = text.json();
    let series = answered["series"].as_array().unwrap();
    assert!(
        series
            .iter()
            .all(|row| row["seconds_per_token"].is_number())
    );
}

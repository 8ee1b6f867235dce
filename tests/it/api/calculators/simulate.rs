//! `POST /simulate`: models, machines, operating points, grids, offers, and what is refused.

use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, Reply, TestDatabase, faults};

async fn api() -> Api {
    TestDatabase::sqlite().api().await
}

async fn ask(api: &Api, body: &Value) -> Reply {
    api.post("/simulate", body.to_string()).await
}

pub(super) async fn answer(body: &Value) -> Value {
    let reply = ask(&api().await, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

/// Rows of an engine that reads more slowly and waits longer than others.
async fn rows_of_a_slow_engine(api: &Api) -> Vec<Value> {
    let mut rows = Vec::new();
    for batch in [1, 8, 64, 256] {
        let reply = ask(api, &json!({
            "model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
            "load": {"batch": batch, "context_tokens": 6_000},
            "efficiencies": {"decode_bandwidth": 0.6, "seconds_per_stage": 2e-5, "seconds_per_exchange": 2e-5},
        }))
        .await
        .json();
        rows.push(json!({
            "concurrency": batch, "input_tokens": 1_000, "output_tokens": 10_000,
            "time_per_output_token_seconds": number(&reply, "/decode/time/total_seconds"),
        }));
    }
    rows
}

#[tokio::test]
async fn rows_of_ones_own_benchmark_move_the_answer_and_narrow_its_intervals() {
    let api = api().await;
    let rows = rows_of_a_slow_engine(&api).await;
    let asked = |measured: Option<&[Value]>| {
        let mut body = json!({
            "model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
            "load": {"batch": 32, "context_tokens": 6_000},
        });
        if let Some(rows) = measured {
            body["measured"] = json!(rows);
        }
        body
    };
    let truth = json!({
        "model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
        "load": {"batch": 32, "context_tokens": 6_000},
        "efficiencies": {"decode_bandwidth": 0.6, "seconds_per_stage": 2e-5, "seconds_per_exchange": 2e-5},
    });
    let time = |answer: &Value| number(answer, "/decode/time/total_seconds");
    let width = |answer: &Value| {
        let intervals = answer["intervals"].as_array().unwrap();
        let of = intervals
            .iter()
            .find(|of| of["figure"] == "decode.time.total_seconds")
            .unwrap();
        number(of, "/high_80") / number(of, "/low_80")
    };
    let without = ask(&api, &asked(None)).await.json();
    let one = ask(&api, &asked(Some(&rows[..1]))).await.json();
    let all = ask(&api, &asked(Some(&rows))).await.json();
    let truth = time(&ask(&api, &truth).await.json());
    let off = |answer: &Value| (time(answer) / truth).ln().abs();
    assert!(
        off(&all) < 0.05 && off(&all) < off(&one) && off(&one) < off(&without),
        "{}",
        off(&all)
    );
    assert!(width(&all) < width(&one) && width(&all) < width(&without));
    assert!(without.get("learned").is_none());
    let learned = &all["learned"];
    assert_eq!(learned["rows"], 4);
    assert!(number(learned, "/error_after") < number(learned, "/error_before") / 3.0);
    assert!(number(learned, "/bandwidth/after") < number(learned, "/bandwidth/before"));
    assert!(
        number(learned, "/seconds_per_stage/after") > number(learned, "/seconds_per_stage/before")
    );
}

#[tokio::test]
async fn result_files_of_benchmarks_are_rows() {
    let api = api().await;
    let plain = json!([{
        "concurrency": 32, "input_tokens": 1_024, "output_tokens": 128, "output_tokens_per_second": 1_600,
    }]);
    let vllm = json!({
        "date": "20260801-101010", "backend": "vllm", "max_concurrency": 32, "completed": 320, "duration": 25.6,
        "total_input_tokens": 327_680, "total_output_tokens": 40_960, "output_throughput": 1_600.0,
        "mean_ttft_ms": 300.0, "mean_tpot_ms": 17.8,
    });
    let average = |value: f64| json!({"unit": "tokens", "avg": value, "p50": value});
    let aiperf = json!([{
        "input_config": {"loadgen": {"concurrency": 32, "request_count": 320}},
        "output_token_throughput": average(1_600.0), "input_sequence_length": average(1_024.0),
        "output_sequence_length": average(128.0), "inter_token_latency": average(17.8),
    }]);
    let learned = async |measured: &Value| {
        let body = json!({
            "model": "Llama-3.1-8B", "machine": {"accelerator": "h100-sxm", "chips": 1}, "measured": measured,
        });
        ask(&api, &body).await.json()["learned"].clone()
    };
    let of_plain = learned(&plain).await;
    assert_eq!(of_plain["rows"], 1);
    assert_eq!(learned(&vllm).await, of_plain);
    assert_eq!(learned(&aiperf).await, of_plain);
    for (measured, expected) in [
        (json!([]), "0 rows are not 1 to 100"),
        (
            json!([{"concurrency": 1, "input_tokens": 10, "output_tokens": 10}]),
            "neither throughput nor time",
        ),
        (
            json!({"output_throughput": 10, "completed": 0}),
            "/measured/completed",
        ),
        (
            json!([{"concurrency": "many", "input_tokens": 10, "output_tokens": 10}]),
            "/measured/0/concurrency",
        ),
    ] {
        let refused = faults(&ask(&api, &json!({"measured": measured})).await.problem(422));
        assert!(refused.contains(expected), "{refused}");
    }
}

pub(super) async fn refusal(body: &Value) -> String {
    faults(&ask(&api().await, body).await.problem(422))
}

pub(super) fn number(answer: &Value, pointer: &str) -> f64 {
    let value = answer.pointer(pointer).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer}: {answer}"))
}

fn close(computed: f64, expected: f64) -> bool {
    (computed - expected).abs() <= 1e-12 * expected.abs()
}

/// Llama 70B as its configuration describes it.
pub(super) fn llama() -> Value {
    json!({
        "total_parameters": 70_600_000_000_u64, "layers": 80, "hidden_dimension": 8_192,
        "input_embedding_parameters": 1_050_673_152,
        "attention": [{"kind": "grouped_query", "layers": 80, "query_heads": 64, "kv_heads": 8,
            "key_dimension": 128, "value_dimension": 128}],
    })
}

#[tokio::test]
async fn nothing_stated_is_answered_with_defaults_that_are_named() {
    let answer = answer(&json!({})).await;
    assert!(number(&answer, "/decode/time/total_seconds") > 0.0);
    assert!(number(&answer, "/prefill/tokens_per_second_per_chip") > 0.0);
    assert_eq!(
        answer["not_defined"][0]["value"],
        "roofline.optimal_batch_at_context"
    );
    let inputs = answer["inputs"].as_array().unwrap();
    let from = |name: &str| {
        let input = inputs.iter().find(|input| input["name"] == name);
        input.unwrap_or_else(|| panic!("no {name}"))["from"].clone()
    };
    assert_eq!(from("model.name"), "default");
    assert_eq!(from("machine.chips"), "reference");
    assert_eq!(from("load.batch"), "derived");
    assert_eq!(from("efficiencies.decode_bandwidth"), "default");
}

#[tokio::test]
async fn a_model_by_name_and_its_architecture_are_one_model() {
    let with = |model: Value| {
        json!({"model": model, "machine": {"accelerator": "h100-sxm"},
            "precision": {"weight_bytes_per_parameter": 2}, "load": {"batch": 8}})
    };
    let named = answer(&with(json!("llama-3.1-70b"))).await;
    for same in [json!({"name": "Llama-3.1-70B"}), llama()] {
        let same = answer(&with(same)).await;
        for part in ["roofline", "memory", "decode", "prefill", "series"] {
            assert_eq!(same[part], named[part], "{part}");
        }
    }
}

#[tokio::test]
async fn a_chip_of_ones_own_multiplies_at_its_own_rate_everywhere() {
    let answer = answer(&json!({
        "machine": {"flops_per_second": 1e14, "bandwidth_bytes_per_second": 1e12, "capacity_bytes": 2e11, "chips": 16},
        "precision": {"kv_bytes_per_element": 1}, "efficiencies": "peak",
        "load": {"batch": 256, "context_tokens": 30_000},
    }))
    .await;
    let attention = 256.0 * 30_000.0 * 8_495_104.0 / (16.0 * 0.5e14);
    assert!(close(
        number(&answer, "/decode/time/attention_compute_seconds"),
        attention
    ));
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("those of gb200-nvl72"), "{caveats}");
}

#[tokio::test]
async fn every_open_model_is_listed_and_simulated() {
    let api = api().await;
    let models = api.get("/reference/open-models").await.json();
    let models = models["data"].as_array().unwrap();
    assert_eq!(models.len(), 183);
    for model in models {
        let precision = json!({"kv_bytes_per_element": 2, "index_bytes_per_element": 2});
        let body = json!({"model": model["name"], "precision": precision, "price_sheet": {}});
        let reply = ask(&api, &body).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        let answer = reply.json();
        // A widening of all elements of the cache is all that lies between the list and the answer.
        let stored = number(&answer, "/roofline/kv_bytes_per_token_stored");
        let listed = number(model, "/kv_bytes_per_token_stored");
        assert!(close(stored, listed * 2.0), "{}", model["name"]);
    }
}

#[tokio::test]
async fn a_model_too_large_for_its_chips_says_what_is_missing_and_how_many_hold_it() {
    let request = |chips: f64| {
        json!({"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": chips}, "spread": "tensor",
            "load": {"batch": 1, "context_tokens": 0}, "efficiencies": "peak"})
    };
    let memory = answer(&request(8.0)).await["memory"].clone();
    assert_eq!(memory["largest_batch"], Value::Null);
    let missing = number(&memory, "/does_not_fit/missing_bytes");
    assert!(close(missing, 671e9 - 640e9), "{memory}");
    let fewest = number(&memory, "/does_not_fit/fewest_chips");
    assert!(close(fewest, 9.0), "{memory}");
    let memory = answer(&request(fewest)).await["memory"].clone();
    assert_eq!(memory["does_not_fit"], Value::Null);
}

#[tokio::test]
async fn where_no_token_is_kept_no_batch_is_the_largest_and_the_answer_says_so() {
    let answer = answer(&json!({"model": "Llama-3.1-70B", "load": {"context_tokens": 0}})).await;
    assert_eq!(answer["memory"]["largest_batch"], Value::Null);
    let reasons = answer["not_defined"].as_array().unwrap();
    let reason = reasons
        .iter()
        .find(|reason| reason["value"] == "memory.largest_batch");
    assert!(reason.is_some(), "{}", answer["not_defined"]);
}

#[tokio::test]
async fn the_largest_batch_fits_and_one_more_does_not() {
    let request = |batch: f64| {
        json!({"model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm"},
            "load": {"batch": batch, "context_tokens": 8_192}})
    };
    let largest = number(&answer(&request(1.0)).await, "/memory/largest_batch");
    assert_eq!(
        answer(&request(largest)).await["memory"]["does_not_fit"],
        Value::Null
    );
    let beyond = answer(&request(largest + 1.0)).await;
    assert!(number(&beyond, "/memory/does_not_fit/missing_bytes") > 0.0);
    assert!(
        beyond["caveats"][0]
            .as_str()
            .unwrap()
            .contains("do not fit")
    );
}

#[tokio::test]
async fn peak_is_one_word_away_and_faster() {
    let request =
        |efficiencies: Value| json!({"efficiencies": efficiencies, "load": {"batch": 64}});
    let fitted = answer(&request(json!("fitted"))).await;
    let peak = answer(&request(json!("peak"))).await;
    assert_eq!(
        number(&peak, "/decode/time/communication_seconds").to_bits(),
        0.0_f64.to_bits()
    );
    let ratio =
        number(&fitted, "/decode/time/total_seconds") / number(&peak, "/decode/time/total_seconds");
    assert!(ratio > 1.5, "{ratio}");
    assert!(
        peak["caveats"][0]
            .as_str()
            .unwrap()
            .contains("peak rooflines")
    );
    // Both forms of overlap, at peak: E1 ≤ E1' ≤ 2·E1.
    let apart = answer(&request(
        json!({"name": "peak", "overlap": "attention_apart"}),
    ))
    .await;
    let (apart, full) = (
        number(&apart, "/decode/time/total_seconds"),
        number(&peak, "/decode/time/total_seconds"),
    );
    assert!(full <= apart && apart <= 2.0 * full);
}

#[tokio::test]
async fn speculative_decoding_reads_once_and_computes_every_draft() {
    let request = |drafted: u32, accepted: f64| {
        json!({"efficiencies": "peak", "load": {"batch": 16,
            "drafted_tokens": drafted, "accepted_tokens_per_step": accepted}})
    };
    let (plain, drafting) = (
        answer(&request(0, 1.0)).await,
        answer(&request(3, 2.5)).await,
    );
    let ratio = |pointer: &str| number(&drafting, pointer) / number(&plain, pointer);
    assert!(close(ratio("/decode/time/kv_memory_seconds"), 1.0));
    assert!(close(ratio("/decode/time/weight_compute_seconds"), 4.0));
    assert!(close(ratio("/roofline/optimal_batch"), 0.25));
    assert!(close(
        ratio("/roofline/memory_time_over_compute_time"),
        0.25
    ));
    let said = refusal(&request(3, 4.5)).await;
    assert!(said.contains("/load/accepted_tokens_per_step"), "{said}");
}

#[tokio::test]
async fn the_series_are_the_boards_of_the_lecture() {
    let latency = answer(&json!({
        "model": llama(), "machine": {"accelerator": "h100-sxm"}, "efficiencies": "peak",
        "load": {"context_tokens": 0},
        "grid": {"batch": {"from": 1, "to": 4_096, "points": 13}},
    }))
    .await;
    let rows = latency["series"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    let batch = |row: &Value| row["batch"].as_f64().unwrap();
    assert!(rows.iter().all(|row| batch(row).fract() == 0.0));
    for row in rows {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(close(
            of("step_seconds"),
            of("compute_seconds").max(of("memory_seconds"))
        ));
        assert!(
            of("cost_output_usd_per_mtok") >= of("cost_compute_limit_usd_per_mtok") * (1.0 - 1e-12)
        );
    }
    assert_eq!(rows[0]["bound"], "memory");
    assert_eq!(rows[12]["bound"], "compute");
    let cost = |row: &Value| row["cost_output_usd_per_mtok"].as_f64().unwrap();
    assert!(rows.is_sorted_by(|left, right| cost(left) >= cost(right) * (1.0 - 1e-12)));
    // The operating point's own row is the answer itself.
    let point = answer(&json!({"grid": {"batch": [7]}, "load": {"batch": 7}})).await;
    assert_eq!(
        point["series"][0]["step_seconds"],
        point["decode"]["time"]["total_seconds"]
    );
}

#[tokio::test]
async fn cost_over_context_has_its_kink_among_its_points() {
    let answer = answer(&json!({
        "model": llama(), "machine": {"accelerator": "h100-sxm"}, "efficiencies": "peak",
        "precision": {"weight_bytes_per_parameter": 2, "attention_bytes_per_element": 2},
        "load": {"batch": 100_000},
        "grid": {"context_tokens": {"from": 1, "to": 100_000, "points": 20}},
    }))
    .await;
    let rows = answer["series"].as_array().unwrap();
    assert_eq!(rows.len(), 21);
    let kink = rows.iter().find(|row| row["is_kink"] == true).unwrap();
    let (memory, compute) = (
        number(kink, "/memory_seconds"),
        number(kink, "/compute_seconds"),
    );
    assert!((memory - compute).abs() <= 1e-9 * memory, "{kink}");
}

#[tokio::test]
async fn the_series_comes_as_csv_with_the_columns_of_its_rows() {
    let body = json!({"grid": {"batch": [1, 2], "context_tokens": [10, 20, 30]}});
    let api = api().await;
    let request = Request::post("/simulate")
        .header("content-type", "application/json")
        .header("accept", "text/csv");
    let reply = api
        .send(request.body(body.to_string().into()).unwrap())
        .await;
    assert_eq!(
        reply.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let mut reader = csv::Reader::from_reader(reply.text().as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let json = ask(&api, &body).await.json();
    let series = json["series"].as_array().unwrap();
    assert_eq!((rows.len(), series.len()), (6, 6));
    for (row, expected) in rows.iter().zip(series) {
        for (name, field) in columns.iter().zip(row) {
            let expected = match &expected[name] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(field, expected, "{name}");
        }
    }
}

#[tokio::test]
async fn the_front_of_speed_against_cost_leaves_out_what_is_beaten() {
    let answer =
        answer(&json!({"grid": {"batch": {"from": 1, "to": 1_000_000, "points": 60}}})).await;
    let rows = answer["series"].as_array().unwrap();
    let on_front = |row: &&Value| row["on_speed_cost_front"] == true;
    let front: Vec<&Value> = rows.iter().filter(on_front).collect();
    assert!(front.len() > 2 && front.len() < rows.len());
    for point in &front {
        assert_eq!(point["fits"], true);
        let beats = |other: &&Value| {
            number(other, "/tokens_per_second_per_user")
                > number(point, "/tokens_per_second_per_user")
                && number(other, "/cost_output_usd_per_mtok")
                    < number(point, "/cost_output_usd_per_mtok")
        };
        assert!(!front.iter().any(beats));
    }
}

#[tokio::test]
async fn the_implied_sheet_is_a_request_for_infer_and_covers_every_length_at_no_margin() {
    let api = api().await;
    for (model, efficiencies, margin) in [
        ("Llama-3.1-70B", "peak", 0.0),
        ("Llama-3.1-70B", "fitted", 0.0),
        ("DeepSeek-V3", "fitted", 0.25),
        ("Gemma-3-27B", "fitted", 0.0),
        ("Qwen3-Next-80B-A3B", "fitted", -0.5),
    ] {
        let mut body = json!({
            "model": model, "machine": {"accelerator": "h200-sxm", "chips": 8}, "load": {"batch": 64},
            "efficiencies": efficiencies,
            "price_sheet": {"input_margin": margin, "output_margin": margin,
                "thresholds_tokens": [8_000, 32_000], "longest_context_tokens": 128_000},
        });
        let simulated = ask(&api, &body).await.json();
        let request = &simulated["price_sheet"]["infer_request"];
        let reply = api.infer(request).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        let rates = request["price_sheet"]["rates"].as_array().unwrap();
        let of_tier = |rate: &&Value| rate["service_tier"] == "standard";
        let standard: Vec<&Value> = rates.iter().filter(of_tier).collect();
        assert_eq!(standard.len(), 3);
        let price =
            |rate: &Value, name: &str| -> f64 { rate[name].as_str().unwrap().parse().unwrap() };
        let lengths = [
            [128, 4_000, 8_000],
            [8_001, 20_000, 32_000],
            [32_001, 64_000, 128_000],
        ];
        for (rate, lengths) in standard.iter().zip(lengths) {
            body["grid"] = json!({"batch": [64], "context_tokens": lengths});
            let series = ask(&api, &body).await.json()["series"].clone();
            for row in series.as_array().unwrap() {
                for (cost, name) in [
                    ("/cost_output_usd_per_mtok", "output"),
                    ("/cost_input_usd_per_mtok", "input"),
                ] {
                    let covered = price(rate, name) * (1.0 - margin) * (1.0 + 1e-9);
                    assert!(
                        number(row, cost) <= covered,
                        "{model}: {name} above {covered}: {row}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn prompts_may_be_computed_on_other_chips() {
    let request = |prefill_chips: u32| {
        json!({"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144}, "prefill_machine": {"chips": prefill_chips},
            "precision": {"kv_bytes_per_element": 2}, "load": {"batch_per_chip": 88}, "price_sheet": {}})
    };
    let (same, apart) = (answer(&request(144)).await, answer(&request(32)).await);
    assert_eq!(same["decode"], apart["decode"]);
    let throughput = |answer: &Value| number(answer, "/prefill/tokens_per_second_per_chip");
    assert!(throughput(&apart) > throughput(&same));
    // 32 chips are what the published figure of 7,839 is from.
    assert!(
        (throughput(&apart) / 7_839.0 - 1.0).abs() < 0.35,
        "{}",
        throughput(&apart)
    );
    let factor =
        |answer: &Value| number(answer, "/price_sheet/all_in_efficiencies/input_cost_factor");
    assert!(factor(&apart) < factor(&same));
    let rent = 2.0 / 3_600.0 * 1e6;
    let cost = number(&apart, "/prefill/cost_usd_per_mtok");
    assert!(close(cost, rent / throughput(&apart)));
}

#[tokio::test]
async fn cache_offers_of_every_tier_are_listed_and_one_is_the_cheapest() {
    let simulated = answer(&json!({"price_sheet": {"cache_ttls_seconds": [300, 86_400]}})).await;
    let offers = simulated["price_sheet"]["cache_offers"].as_array().unwrap();
    for ttl in [300, 86_400] {
        let of_ttl: Vec<&Value> = offers
            .iter()
            .filter(|offer| offer["ttl_seconds"] == ttl)
            .collect();
        assert_eq!(of_ttl.len(), 8, "{offers:?}");
        let cheapest: Vec<&&Value> = of_ttl
            .iter()
            .filter(|offer| offer["is_cheapest"] == true)
            .collect();
        assert_eq!(cheapest.len(), 1);
        let least = number(cheapest[0], "/cache_write_usd_per_mtok");
        assert!(
            of_ttl
                .iter()
                .all(|offer| number(offer, "/cache_write_usd_per_mtok") >= least)
        );
    }
}

#[tokio::test]
async fn what_is_not_rented_has_times_but_no_prices() {
    let simulated = answer(&json!({"machine": {"accelerator": "mi455x"}, "price_sheet": {}})).await;
    assert_eq!(simulated["decode"]["cost_usd_per_mtok"], Value::Null);
    assert!(simulated.get("price_sheet").is_none());
    let reasons = simulated["not_defined"].to_string();
    assert!(reasons.contains("machine.rental_usd_per_hour"), "{reasons}");
    let rented =
        json!({"machine": {"accelerator": "mi455x", "rental_usd_per_hour": 2}, "price_sheet": {}});
    assert!(answer(&rented).await["price_sheet"].is_object());
}

//! The forward model against published figures: cache sizes, another roofline, measurements; and its price sheet, read
//! back.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use unroof_base::units::{Seconds, UsdPerHour};
use unroof_dev::efficiencies::{
    Report, RowKind, Scored, at_peak, kernel_serving, peer_markdown, predict,
};
use unroof_infer::estimate::{Format, Textbook, read_request, textbook};
use unroof_roofline::calculator::simulate::simulate;
use unroof_roofline::forward::{KvCache, PromptTokens, optimal_batch, throughput};
use unroof_roofline::reference::measurement::{Measure, MeasuredPhase, Purpose};
use unroof_roofline::reference::{fitted_attainment, kernel_times, open_model, open_models};

use super::{EXACT, ROUND_TRIP};
use crate::support::repository;

fn simulated(request: &Json) -> Json {
    let answer = simulate(request.to_string().as_bytes());
    let answer = answer.unwrap_or_else(|error| panic!("{request}: {error:?}"));
    serde_json::to_value(answer).expect("an answer serialises")
}

fn number(answer: &Json, pointer: &str) -> f64 {
    let value = answer.pointer(pointer).and_then(Json::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer}: {answer}"))
}

fn assert_near(what: &str, computed: f64, expected: f64, tolerance: f64) {
    let agrees = (computed - expected).abs() <= tolerance * expected.abs();
    assert!(agrees, "{what}: computed {computed}, expected {expected}");
}

#[test]
fn the_cache_of_every_open_model_has_its_published_size() {
    let text = include_str!("kv_cache_sizes.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 80);
    for row in &rows {
        let model = open_model(&row[0]).unwrap();
        let cache = KvCache::new(&model.architecture);
        let computed = [
            cache.stored_elements_per_token(),
            cache.read_elements_per_token(),
            cache.stored_elements(8_192.0) / 8_192.0,
            cache.stored_elements(65_536.0) / 65_536.0,
            cache.state_per_sequence().0,
            cache.picked_elements(),
            cache.decode_macs_per_token(),
            cache.prefill_macs_per_token(),
        ];
        for (index, computed) in computed.into_iter().enumerate() {
            let expected: f64 = row[index + 1].parse().unwrap();
            let what = format!("{}: {}", model.name, &columns[index + 1]);
            assert_near(&what, computed, expected, EXACT);
        }
    }
}

#[test]
fn attention_over_a_prompt_is_that_of_its_tokens_one_by_one() {
    for model in open_models() {
        let cache = KvCache::new(&model.architecture);
        let prompt = |fresh: f64, cached: f64| cache.prefill_macs(PromptTokens { fresh, cached });
        // In two parts or in one, a prompt takes the same.
        let whole = prompt(300_000.0, 0.0);
        let parts = prompt(1_000.0, 0.0) + prompt(299_000.0, 1_000.0);
        assert_near(&model.name, parts, whole, 1e-9);
        // At long context only what grows with it is left, and that rises evenly.
        // Both contexts are whole numbers of chunks.
        let (short, long) = (134_217_728.0, 268_435_456.0);
        let slope = (prompt(1.0, long) - prompt(1.0, short)) / short;
        assert_near(&model.name, slope, cache.prefill_macs_per_token(), 1e-6);
    }
}

#[test]
fn llama_70b_on_eight_h100_takes_5_24_ms() {
    let answer = simulated(&json!({
        "model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
        "precision": {"weight_bytes_per_parameter": 2, "kv_bytes_per_element": 2},
        "load": {"batch": 1, "context_tokens": 4_096}, "efficiencies": "peak",
    }));
    let step_ms = number(&answer, "/decode/time/total_seconds") * 1e3;
    assert_near("step", step_ms, 5.24, 0.01);
}

#[test]
fn at_peak_dense_decoding_is_what_another_roofline_says_less_the_exchanges() {
    for time in kernel_times() {
        let serving = kernel_serving(time, fitted_attainment()).unwrap();
        let step = at_peak(&serving).decode(time.batch, time.context_tokens);
        let ratio = step.total.0 * 1e3 / time.speed_of_light_ms;
        let what = format!(
            "{} at batch {} on {} chips",
            time.model, time.batch, time.chips
        );
        if time.is_reference {
            assert!((0.95..=1.01).contains(&ratio), "{what}: {ratio}");
        } else {
            assert!((0.75..1.0).contains(&ratio), "{what}: {ratio}");
        }
    }
}

#[test]
fn latent_attention_is_bound_by_memory_or_arithmetic_chip_by_chip_and_format_by_format() {
    let cases = [
        ("h100-sxm", 2.0, 2.0, "memory"),
        ("h800", 2.0, 2.0, "memory"),
        ("h200-sxm", 2.0, 2.0, "compute"),
        ("h100-sxm", 1.0, 2.0, "compute"),
        ("h800", 1.0, 2.0, "compute"),
        ("h200-sxm", 1.0, 2.0, "compute"),
        ("h200-sxm", 1.0, 1.0, "compute"),
        ("h100-sxm", 1.0, 1.0, "memory"),
    ];
    for (accelerator, cache, attention, bound) in cases {
        let answer = simulated(&json!({
            "model": "DeepSeek-V3", "machine": {"accelerator": accelerator},
            "precision": {"kv_bytes_per_element": cache, "attention_bytes_per_element": attention},
        }));
        let of_attention = &answer["roofline"]["attention"];
        let what = format!("{accelerator}, cache {cache}, arithmetic {attention}: {of_attention}");
        assert_eq!(of_attention["bound"], bound, "{what}");
        let flop_per_byte = if cache > 1.0 { 242.0 } else { 484.0 };
        assert_near(
            &what,
            number(of_attention, "/flop_per_kv_byte"),
            flop_per_byte,
            0.002,
        );
    }
}

fn deepseek_in_production() -> Json {
    simulated(&json!({
        "model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144},
        "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 2},
        "load": {"batch_per_chip": 88, "context_tokens": 4_989},
    }))
}

#[test]
fn the_published_service_closes() {
    // H22: tokens per second of a GPU, over those of a user, are the sequences on it.
    let (per_gpu, per_user) = (14.8e3 / 8.0, 21.0);
    let sequences = 88.1;
    assert_near(
        "H22",
        throughput(sequences, Seconds(1.0 / per_user)),
        per_gpu,
        1e-3,
    );
    let optimal = optimal_batch(295.2, 671.0 / 37.0);
    for (speed, expected) in [(21.0, 2.37), (22.0, 2.26), (20.0, 2.49)] {
        let batch = per_gpu / speed * 144.0;
        assert_near("H22", batch / optimal, expected, 3e-3);
    }
    // H23
    let answer = deepseek_in_production();
    let cache_gb = number(&answer, "/memory/kv_bytes") / 144.0 / 1e9;
    assert_near("H23", cache_gb, 88.0 * 4_989.0 * 70_272.0 / 1e9, EXACT);
    assert_near("H23", cache_gb, 30.85, 1e-4);
    // H17
    let node = UsdPerHour(2.0 * 8.0);
    let day_usd = node.usd_per_second() * 86_400.0 * 226.75;
    assert_near("H17", day_usd, 87_072.0, EXACT);
    // H20
    let output = node.usd_per_second() / 14.8e3;
    let with_hits = node.usd_per_second() / 73.7e3;
    let fresh = with_hits * 608.0 / 266.0;
    assert_near("H20", output / fresh, 2.18, 1e-3);
    assert_near("H20", output / with_hits, 4.98, 1e-3);
}

#[test]
fn the_published_service_is_simulated_at_its_speed_and_cost() {
    let answer = deepseek_in_production();
    let speed = number(&answer, "/decode/tokens_per_second_per_user");
    assert!(
        (18.0..=24.0).contains(&speed),
        "{speed} tokens per second and user"
    );
    let cost = number(&answer, "/decode/cost_usd_per_mtok");
    assert_near("cost of generated tokens", cost, 0.300, 0.25);
}

fn report() -> &'static Report {
    Report::shared().expect("the measurements can be fitted")
}

#[test]
fn the_shipped_efficiencies_and_their_report_are_those_of_the_measurements() {
    let report = report();
    let (fitted, shipped) = (&report.fitted, fitted_attainment());
    let fields = |attainment| match serde_json::to_value(attainment).unwrap() {
        Json::Object(fields) => fields,
        other => panic!("{other}"),
    };
    let names = fitted.generations.iter().map(|own| own.generation.as_str());
    for generation in names.chain(["of none"]) {
        let shipped = fields(shipped.of(generation));
        for (what, fitted) in fields(fitted.of(generation)) {
            let number = |value: &Json| value.as_f64().unwrap();
            let what = format!("{generation}: {what}");
            let field = what.rsplit(' ').next().unwrap();
            assert_near(&what, number(&shipped[field]), number(&fitted), 0.01);
        }
    }
    let written = std::fs::read_to_string(repository().join("docs/model/measurements.md")).unwrap();
    assert!(
        written.contains(report.markdown().trim_end()),
        "docs/model/measurements.md is out of date; run: unroof-dev fit --write"
    );
    let errors = std::fs::read_to_string(repository().join("docs/model/errors.md")).unwrap();
    assert!(
        errors == report.errors_markdown(),
        "docs/model/errors.md is out of date; run: unroof-dev fit --write"
    );
    let page = std::fs::read_to_string(repository().join("docs/VALIDATION.md")).unwrap();
    assert!(
        page.contains(peer_markdown(&report.fitted).trim_end()),
        "docs/VALIDATION.md is out of date; run: unroof-dev fit --write"
    );
}

#[test]
fn benchmarks_that_the_fit_has_not_seen_are_predicted() {
    let report = report();
    let count = |kind| report.of_kind(kind).count();
    for (kind, rows, most) in [
        (RowKind::Decode, 15, 0.16),
        (RowKind::Prefill, 11, 0.25),
        (RowKind::SharedDense, 36, 0.12),
        (RowKind::SharedExperts, 82, 0.15),
    ] {
        assert_eq!(count(kind), rows, "{kind:?}");
        let error = report.median_error(kind);
        assert!(error <= most, "{kind:?}: {error}");
    }
    for (kind, rows, most, most_bias) in [
        (RowKind::Decode, 447, 0.17, 0.08),
        (RowKind::SharedDense, 1_176, 0.11, 0.05),
        (RowKind::SharedExperts, 2_192, 0.19, 0.04),
    ] {
        let of_kind = report.with_logs().filter(|(row, _)| row.kind() == kind);
        let of_kind = of_kind.filter(|(row, _)| row.measured.purpose == Purpose::Fit);
        let mut logs: Vec<f64> = of_kind.map(|(_, log)| log).collect();
        assert_eq!(logs.len(), rows, "{kind:?}");
        #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        assert!(
            mean.abs() < most_bias,
            "{kind:?} is off in one direction: {mean}"
        );
        logs.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
        let error = logs[logs.len() / 2].abs();
        assert!(error <= most, "{kind:?}: {error}");
    }
    let far_off = |row: &&Scored| {
        row.kind() != RowKind::AtSpeed
            && row.left_out_log().is_some_and(|log| log.abs() > 3_f64.ln())
    };
    let far_off: Vec<&Scored> = report.shown().filter(far_off).collect();
    assert!(far_off.len() <= 5);
    assert!(far_off.iter().all(|row| !row.measured.note.is_empty()));
}

#[test]
fn slopes_of_one_sequence_are_fitted() {
    let slopes: Vec<&Scored> = report()
        .rows
        .iter()
        .filter(|row| row.measured.purpose == Purpose::Slope)
        .collect();
    assert_eq!(slopes.len(), 4);
    for row in slopes {
        assert_eq!(row.measured.measure, Measure::MillisecondsPerContextToken);
        let most = if row.measured.kv_bytes_per_element > 1.0 {
            0.2
        } else {
            0.30
        };
        let error = (row.fitted.unwrap() / row.measured.value - 1.0).abs();
        assert!(error <= most, "row {}: {error}", row.measured.id);
    }
}

#[test]
fn deepseek_on_h800_is_predicted_by_a_fit_that_has_not_seen_it() {
    let report = report();
    let is_fitted_h800 =
        |row: &&Scored| row.measured.accelerator == "h800" && row.measured.purpose == Purpose::Fit;
    let mut seen = 0;
    for row in report.rows.iter().filter(is_fitted_h800) {
        let predicted = predict(row.measured, &report.without_h800).unwrap();
        let (off, most) = match row.measured.phase {
            // Step time is the inverse of throughput.
            MeasuredPhase::Decode => (row.measured.value / predicted - 1.0, 0.21),
            _ => (predicted / row.measured.value - 1.0, 0.20),
        };
        assert!(off.abs() <= most, "row {}: {off}", row.measured.id);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn tensor_parallelism_beyond_the_kv_heads_copies_the_cache_and_peak_does_not() {
    let bytes = |model: &str, chips: u32, efficiencies: &str| {
        let answer = simulated(&json!({
            "model": model, "machine": {"accelerator": "b200-sxm", "chips": chips}, "spread": "tensor",
            "load": {"batch": 1, "context_tokens": 1_000}, "efficiencies": efficiencies,
        }));
        number(&answer, "/memory/kv_bytes")
    };
    // Eight KV heads; one latent.
    for (model, chips, copies) in [
        ("Llama-3.1-70B", 8, 1.0),
        ("Llama-3.1-70B", 16, 2.0),
        ("DeepSeek-V3", 8, 8.0),
    ] {
        let once = bytes(model, chips, "peak");
        assert_near(model, bytes(model, chips, "fitted") / once, copies, EXACT);
        assert_near(model, once, bytes(model, 1, "peak"), EXACT);
    }
}

#[test]
fn four_bit_weights_multiply_in_bf16_on_hopper_and_in_four_bits_on_blackwell() {
    let rate = |accelerator: &str, weight_bytes: f64| {
        let answer = simulated(&json!({
            "model": "Llama-3.1-70B", "machine": {"accelerator": accelerator, "chips": 8},
            "precision": {"weight_bytes_per_parameter": weight_bytes}, "efficiencies": "peak",
            "load": {"batch": 64, "context_tokens": 0},
        }));
        1.0 / number(&answer, "/decode/time/weight_compute_seconds")
    };
    assert_near("H100", rate("h100-sxm", 0.5), rate("h100-sxm", 2.0), EXACT);
    assert_near(
        "B200",
        rate("b200-sxm", 0.562_5),
        4.0 * rate("b200-sxm", 2.0),
        EXACT,
    );
}

#[test]
fn a_serving_engine_leaves_a_tenth_of_memory_free() {
    let memory = |efficiencies: &str| {
        simulated(&json!({
            "model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
            "load": {"context_tokens": 8_192}, "efficiencies": efficiencies,
        }))
    };
    let fitted = memory("fitted");
    let used = number(&fitted, "/memory/used_bytes") / number(&fitted, "/memory/capacity_bytes");
    assert!(used <= 0.9, "{used}");
    let reserved = number(&memory("peak"), "/memory/reserved_bytes");
    assert_eq!(reserved.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn the_lectures_own_mixture_is_accepted_at_equality() {
    let answer = simulated(&json!({
        "model": {"total_parameters": 8e11, "active_parameters": 1e11, "layers": 61, "hidden_dimension": 7_168,
            "experts": {"routed": 256, "active": 32},
            "attention": [{"kind": "grouped_query", "layers": 61, "query_heads": 64, "kv_heads": 8,
                "key_dimension": 128, "value_dimension": 128}]},
        "efficiencies": "peak",
    }));
    assert_near(
        "sparsity",
        number(&answer, "/roofline/sparsity"),
        8.0,
        EXACT,
    );
}

/// A dense or sparse model with attention of one kind, and of a second kind unless it is the only one.
fn architectures(is_alone: bool) -> impl Strategy<Value = Json> {
    let grouped = (8..120_u32, 1..9_u32, 0..4_u32, 64..256_u32).prop_map(
        |(layers, kv_heads, group, dimension)| {
            json!({"kind": "grouped_query", "layers": layers, "query_heads": kv_heads << group,
                "kv_heads": kv_heads, "key_dimension": dimension, "value_dimension": dimension})
        },
    );
    let latent = (8..120_u32, 1..256_u32).prop_map(|(layers, heads)| {
        json!({"kind": "latent", "layers": layers, "query_heads": heads, "kv_lora_rank": 512,
            "rope_dimension": 64, "nope_dimension": 128, "value_dimension": 128})
    });
    let windowed = (1..60_u32, 128..4_096_u32).prop_map(|(layers, window)| {
        json!({"kind": "grouped_query", "layers": layers, "query_heads": 16, "kv_heads": 8,
            "key_dimension": 64, "value_dimension": 64, "window": window})
    });
    let linear = (1..60_u32)
        .prop_map(|layers| json!({"kind": "linear", "layers": layers, "state_elements": 524_288}));
    let others = prop_oneof![Just(Json::Null), windowed, linear];
    let second = others.prop_map(move |group| if is_alone { Json::Null } else { group });
    let sizes = (9.0..12.0_f64, 1.05..30.0_f64, any::<bool>());
    (
        prop_oneof![grouped, latent],
        second,
        sizes,
        1_024..16_384_u32,
    )
        .prop_map(|(first, second, (active, sparsity, is_sparse), hidden)| {
            let active = 10.0_f64.powf(active);
            let total = if is_sparse { active * sparsity } else { active };
            let attention: Vec<Json> = [first, second]
                .into_iter()
                .filter(|group| !group.is_null())
                .collect();
            let mut architecture = json!({"total_parameters": total, "active_parameters": active,
                "layers": 64, "hidden_dimension": hidden, "attention": attention});
            if is_sparse {
                // So many experts that the active ones explain no more than half of what is active.
                let routed = (4.0 * sparsity).ceil() * 2.0;
                architecture["experts"] = json!({"routed": routed, "active": 1});
            }
            architecture
        })
}

/// A machine, how it is run, and the terms on which it is offered; the batch is small enough to wait for memory.
fn offers(is_alone: bool) -> impl Strategy<Value = Json> {
    let accelerators = prop_oneof![
        Just("h100-sxm"),
        Just("h200-sxm"),
        Just("gb200-nvl72"),
        Just("mi300x"),
        Just("tpu-v6e")
    ];
    let widths = prop_oneof![Just(0.5), Just(1.0), Just(2.0)];
    let shares = (0.2..1.0_f64, 0.2..1.0_f64, 0.2..1.0_f64);
    let terms = (
        0.0..0.8_f64,
        0.0..0.8_f64,
        4_000..300_000_u32,
        2..12_u32,
        1.5..20.0_f64,
    );
    let tiers = prop_oneof![
        Just("host-dram"),
        Just("flash-tlc"),
        Just("disk"),
        Just("hbm-rented")
    ];
    (
        architectures(is_alone),
        (accelerators, 1..100_u32, widths, 1.0..8.0_f64),
        (0.01..0.9_f64, shares),
        terms,
        tiers,
    )
        .prop_map(|(architecture, machine, run, terms, tier)| {
            let (accelerator, chips, weight_bytes, rental) = machine;
            let (batch, (prefill, bandwidth, compute)) = run;
            let (input_margin, output_margin, threshold, longest, fast) = terms;
            json!({
                "model": architecture,
                "machine": {"accelerator": accelerator, "chips": chips, "rental_usd_per_hour": rental},
                "precision": {"weight_bytes_per_parameter": weight_bytes, "kv_bytes_per_element": 1,
                    "attention_bytes_per_element": 2},
                "load": {"batch_over_optimal_batch": batch},
                "efficiencies": {"prefill": prefill, "decode_bandwidth": bandwidth, "decode_compute": compute},
                "price_sheet": {"input_margin": input_margin, "output_margin": output_margin,
                    "thresholds_tokens": [threshold], "longest_context_tokens": threshold * longest,
                    "fast_mode_batch_ratio": fast, "cache_storage_tier": tier},
            })
        })
}

/// Value of a reading, or of a detail of it, in the cell that an entry names.
fn read_back(answer: &Textbook, entry: &Json) -> Option<f64> {
    let id = entry["reading"].as_str()?;
    let tier = if id.starts_with("fast_mode") {
        "fast"
    } else {
        "standard"
    };
    let threshold = number(entry, "/min_prompt_tokens");
    let reading = answer.readings.iter().find(|reading| {
        reading.id.name() == id
            && reading.label("service_tier") == Some(tier)
            && reading.input("min_prompt_tokens") == Some(threshold)
    })?;
    match entry["detail"].as_str() {
        None => reading.value.as_ref()?.number(),
        Some(name) => {
            let mut details = reading.details.iter();
            details.find(|detail| detail.name == name)?.value.number()
        }
    }
}

proptest! {
    #[test]
    fn reading_the_sheet_that_a_machine_implies_gives_the_machine_back(request in offers(false)) {
        let simulated = simulated(&request);
        let sheet = &simulated["price_sheet"];
        prop_assume!(!sheet.is_null());
        let question = read_request(sheet["infer_request"].to_string().as_bytes(), &Format::Canonical);
        let question = question.unwrap_or_else(|error| panic!("{sheet}: {error:?}"));
        let answer = textbook(&question);
        let entries = sheet["reads_back"].as_array().expect("a list");
        prop_assert!(!entries.is_empty());
        for entry in entries {
            // L0 is not a reading of its own; it follows from k_bw, which is.
            if entry["quantity"].as_str().is_some_and(|quantity| quantity.starts_with("L0")) {
                continue;
            }
            if entry["value"].is_null() {
                prop_assert!(entry["not_read"].is_string(), "{entry}");
                continue;
            }
            let expected = number(entry, "/value");
            let Some(found) = read_back(&answer, entry) else {
                return Err(TestCaseError::fail(format!("{entry} is not read: {request}")));
            };
            let agrees = (found - expected).abs() <= ROUND_TRIP * expected.abs();
            prop_assert!(agrees, "{entry}: read {found:e}, {request}");
        }
    }

    #[test]
    fn without_windows_and_state_what_is_read_back_is_the_machines_own(request in offers(true)) {
        let simulated = simulated(&request);
        let roofline = &simulated["roofline"];
        let entries = simulated["price_sheet"]["reads_back"].as_array().expect("a list");
        let entry = |quantity: &str| {
            let of_quantity = |entry: &&Json| entry["quantity"].as_str().is_some_and(|name| name.starts_with(quantity));
            entries.iter().find(of_quantity).and_then(|entry| entry["value"].as_f64())
        };
        let active = number(&request, "/model/active_parameters");
        let batch = number(roofline, "/batch_over_optimal_batch");
        let crossover = number(roofline, "/crossover_context_tokens");
        let threshold = number(&request, "/price_sheet/thresholds_tokens/0");
        let attention = number(roofline, "/attention_macs_per_token_prefill") / active;
        let expected = [
            ("r =", 1.0 / batch + threshold / crossover),
            ("x", crossover / batch),
            ("k_bw", number(roofline, "/kv_bytes_per_token_read_slope")),
            ("L0", crossover),
            ("a_pre/N_a", attention),
            ("y", batch * threshold / crossover),
            ("k_st", number(roofline, "/kv_bytes_per_token_stored")),
        ];
        for (quantity, expected) in expected {
            if let Some(found) = entry(quantity) {
                let agrees = (found - expected).abs() <= ROUND_TRIP * expected.abs();
                prop_assert!(agrees, "{quantity} {found:e}, expected {expected:e}: {request}");
            }
        }
    }
}

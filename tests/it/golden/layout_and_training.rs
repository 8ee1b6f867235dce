//! Golden numbers of `/layout` and `/training`, asked as a client asks.

use serde_json::{Value as Json, json};
use unroof_roofline::calculator::layout::layout;
use unroof_roofline::calculator::simulate::simulate;
use unroof_roofline::calculator::training::training;

use super::EXACT;

/// The rows of the table in `docs/MODEL.md` that are checked here.
const IDS: [&str; 7] = ["G10", "G11", "G12", "G14", "G15", "G16", "G17"];

/// Printed answer of a calculator.
fn laid_out(request: &Json) -> Json {
    let answer = layout(request.to_string().as_bytes()).unwrap();
    serde_json::to_value(answer).unwrap()
}

fn trained(request: &Json) -> Json {
    let answer = training(request.to_string().as_bytes()).unwrap();
    serde_json::to_value(answer).unwrap()
}

fn number(answer: &Json, pointer: &str) -> f64 {
    let value = answer.pointer(pointer).and_then(Json::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer}: {answer}"))
}

fn assert_golden(id: &str, computed: f64, expected: f64) {
    assert!(IDS.contains(&id));
    let agrees = (computed - expected).abs() <= EXACT * expected.abs();
    assert!(agrees, "{id}: computed {computed}, expected {expected}");
}

#[test]
fn experts_on_gpus_and_stages_on_racks_come_out() {
    let placed = laid_out(
        &json!({"model": {"experts": {"routed": 256}}, "layout": {"expert_parallel_chips": 64}}),
    );
    assert_golden("G10", number(&placed, "/experts/experts_per_chip"), 4.0);
    let links = json!({"scale_up_bytes_per_second": 8e11, "scale_out_bytes_per_second": 1e11});
    let staged = laid_out(&json!({
        "machine": links,
        "model": {"experts": {"active": 8}, "layers": 8},
        "layout": {"pipeline_stages": 8},
    }));
    let ratio = number(&staged, "/pipeline/expert_time_over_hand_over_time");
    assert_golden("G11", ratio, 2.0);
    assert_eq!(staged["pipeline"]["free_across_racks"], json!(true));
}

#[test]
fn twice_the_stages_halve_the_weights_and_leave_the_cache() {
    let memory =
        |stages: u32| laid_out(&json!({"layout": {"pipeline_stages": stages}}))["memory"].clone();
    for stages in [1, 2, 4, 8] {
        let (once, twice) = (memory(stages), memory(2 * stages));
        let ratio = |name: &str| number(&twice, name) / number(&once, name);
        assert_golden("G12", ratio("/weights_bytes_per_chip"), 0.5);
        assert_golden("G12", ratio("/kv_bytes_per_chip"), 1.0);
    }
}

#[test]
fn a_few_milliseconds_per_hop_turn_20_ms_into_30_and_the_network_adds_microseconds() {
    // A batch whose reads take 20 ms on one rack, over four racks.
    let pipeline = |hop_seconds: Option<f64>| {
        let mut request = json!({
            "load": {"context_tokens": 0},
            "machine": {"bandwidth_bytes_per_second": 671e9 / 64.0 / 0.02},
            "layout": {"pipeline_stages": 4, "expert_parallel_chips": 64},
        });
        if let Some(hop_seconds) = hop_seconds {
            request["layout"]["hop_seconds"] = json!(hop_seconds);
        }
        laid_out(&request)["pipeline"].clone()
    };
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-3;
    let stated = pipeline(Some(2.5e-3));
    assert!(near(number(&stated, "/seconds_per_token"), 20e-3));
    assert!(near(number(&stated, "/seconds_per_token_with_hops"), 30e-3));
    let of_network = pipeline(None);
    let hops = number(&of_network, "/seconds_per_token_with_hops")
        - number(&of_network, "/seconds_per_token");
    assert!((1e-5..1e-3).contains(&hops), "{hops}");
}

#[test]
fn a_model_has_the_same_defaults_laid_out_and_simulated() {
    for name in [
        "DeepSeek-V3",
        "Kimi-K2.6",
        "gpt-oss-120b",
        "Qwen3-235B-A22B",
    ] {
        let laid = laid_out(&json!({"model": {"name": name}}));
        let simulated = simulate(json!({"model": name}).to_string().as_bytes()).unwrap();
        let simulated = serde_json::to_value(simulated).unwrap();
        let input = |answer: &Json, name: &str| {
            let inputs = answer["inputs"].as_array().unwrap();
            let input = inputs.iter().find(|input| input["name"] == name);
            input.unwrap()["value"].as_f64().unwrap()
        };
        for (left, right) in [
            (
                input(&laid, "precision.weight_bytes_per_parameter"),
                input(&simulated, "precision.weight_bytes_per_parameter"),
            ),
            (
                number(&laid, "/series/0/kv_bytes_per_token_and_stage"),
                number(&simulated, "/roofline/kv_bytes_per_token_stored"),
            ),
            (
                input(&laid, "model.total_parameters"),
                number(&simulated, "/architecture/total_parameters"),
            ),
        ] {
            assert!(
                (left / right - 1.0).abs() < EXACT,
                "{name}: {left}, {right}"
            );
        }
    }
    let kv = |request: Json| number(&laid_out(&request), "/memory/kv_bytes_per_chip");
    let nothing_stated = kv(json!({}));
    let named = kv(json!({"model": {"name": "DeepSeek-V3"}}));
    assert!((nothing_stated / named - 1.0).abs() < EXACT);
}

#[test]
fn traffic_and_lifetime_give_the_tokens_of_the_talk() {
    let tokens = |tokens_per_second: f64| {
        let request = json!({"load": {"tokens_per_second": tokens_per_second},
            "service": {"lifetime_days": 60, "model_share": 1}});
        number(&trained(&request), "/phases/2/tokens")
    };
    assert_golden("G14", tokens(500e6), 2.592e15);
    assert_golden("G15", tokens(50e6), 2.592e14);
    let trained =
        trained(&json!({"model": {"active_parameters": 1e11}, "tokens": {"pretraining": 2e14}}));
    assert_golden("G16", number(&trained, "/overtraining/overtraining"), 100.0);
}

#[test]
fn a_chance_of_never_being_served_derates_all_three_phases() {
    let tokens = |probability: f64, phase: usize| {
        let trained = trained(&json!({"service": {"served_probability": probability}}));
        number(&trained, &format!("/phases/{phase}/tokens"))
    };
    for phase in 0..3 {
        let ratio = tokens(0.25, phase) / tokens(1.0, phase);
        assert!((ratio - 0.25).abs() < EXACT, "{ratio}");
    }
}

#[test]
fn half_of_the_compute_for_training_is_half_of_each_phase_of_it() {
    let trained = trained(&json!({}));
    let phase = |phase: usize, name: &str| number(&trained, &format!("/phases/{phase}/{name}"));
    let flop = |index: usize| {
        phase(index, "tokens_of_equal_halves") * phase(index, "compute_flop")
            / phase(index, "tokens")
    };
    let (training, inference) = (flop(0) + flop(1), flop(2));
    assert!((training / inference - 1.0).abs() < EXACT);
}

#[test]
fn the_best_model_for_the_same_compute_has_less_loss_than_equal_costs() {
    let trained = trained(&json!({}));
    let laws = trained["optimum"].as_array().unwrap();
    assert_eq!(laws.len(), 2);
    for law in laws {
        assert!(
            number(law, "/loss") <= number(law, "/loss_of_request"),
            "{law}"
        );
        let (size, tokens) = (
            number(law, "/parameters"),
            number(law, "/pretraining_tokens"),
        );
        let inference = number(law, "/inference_share") * number(law, "/compute_flop");
        let spent = 6.0 * size * tokens + inference;
        assert!(
            (spent / number(law, "/compute_flop") - 1.0).abs() < 1e-9,
            "{law}"
        );
    }
}

#[test]
fn equal_costs_give_one_to_two_thirds_to_one() {
    let costs =
        json!({"reinforcement_flops_per_parameter": 3, "relative_decode_utilisation": 1.0 / 3.0});
    for request in [json!({}), json!({"costs": costs})] {
        let answer = trained(&request);
        let ratio =
            |phase: usize| number(&answer, &format!("/phases/{phase}/tokens_over_pretraining"));
        for (phase, expected) in [1.0, 2.0 / 3.0, 1.0].into_iter().enumerate() {
            assert_golden("G17", ratio(phase), expected);
            let share = number(&answer, &format!("/phases/{phase}/share_of_compute"));
            assert_golden("G17", share, 1.0 / 3.0);
        }
    }
}

#[test]
fn the_all_to_all_of_deepseek_v3_is_the_published_one() {
    let request = json!({"machine": "h800", "load": {"batch_per_chip": 88}, "layout": {"expert_parallel_chips": 144}});
    let answer = laid_out(&request);
    let bytes = number(&answer, "/all_to_all/bytes_per_chip_and_step");
    assert!((bytes - 878_051_328.0).abs() < 1e-3, "{bytes}");
    let seconds = number(&answer, "/all_to_all/seconds_at_scale_out");
    assert!((seconds - 0.0176).abs() < 5e-5, "{seconds}");
    // Eighteen racks of eight: all but an eighteenth leaves.
    let share = number(&answer, "/experts/share_leaving_domain");
    assert!((share - 17.0 / 18.0).abs() < EXACT, "{share}");
}

#[test]
fn the_document_of_the_model_has_every_golden_number_of_layout_and_training() {
    let document = include_str!("../../../docs/MODEL.md");
    for id in IDS {
        let row = format!("| {id} |");
        assert!(document.contains(&row), "docs/MODEL.md has no row for {id}");
    }
}

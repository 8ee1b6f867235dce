//! Speeds that are sold: what no listed machine reaches, and modes that are not points of one batch curve.

use super::sheets::*;
use serde_json::{Value as Json, json};
use unroof_infer::estimate::{Answer, Conflict, Format, infer, read_request};
use unroof_infer::evidence::clue_table::ReadingId;

/// A sheet of one price for input and output, with a promised speed.
fn sold(input: &str, output: &str, tokens_per_second: f64) -> Json {
    let slo = json!({"output_tokens_per_second_min": tokens_per_second});
    sheet(json!({
        "service_tiers": {"standard": {"slo": slo}},
        "rates": [{"input": input, "output": output}],
    }))
}

fn joint_answer(sheet: &Json) -> Answer {
    let body = json!({"price_sheet": sheet, "assumptions": {}}).to_string();
    let request = read_request(body.as_bytes(), &Format::Canonical);
    infer(&request.unwrap_or_else(|error| panic!("{error:?}\n{body}")))
}

fn impossible(answer: &Answer) -> Option<&Conflict> {
    let mut conflicts = answer.textbook.conflicts.iter();
    conflicts.find(|conflict| conflict.between == [ReadingId::OutputSpeedWeightBytes])
}

#[test]
fn no_listed_machine_sells_2500_tokens_per_second_of_70_billion_parameters_and_some_do_of_one_billion()
 {
    let large = joint_answer(&sold("0.60", "0.80", 2_500.0));
    let conflict = impossible(&large).expect("a conflict");
    assert_eq!(conflict.quantity, "active_parameters");
    assert_eq!(conflict.sides()[1], "the joint estimate");
    let [largest_that_reaches, smallest_by_prices] = conflict.values;
    assert!(largest_that_reaches < smallest_by_prices, "{conflict:?}");
    for said in [
        "2,500 tokens/s",
        "not an accelerator of this list, or a smaller model",
    ] {
        assert!(conflict.why.contains(said), "{}", conflict.why);
    }
    assert_eq!(
        impossible(&joint_answer(&sold("0.60", "0.80", 100.0))),
        None
    );
    assert_eq!(
        impossible(&joint_answer(&sold("0.02", "0.03", 2_500.0))),
        None
    );
}

fn off_the_curve(answer: &unroof_infer::estimate::Textbook) -> Vec<&Conflict> {
    let conflicts = answer.conflicts.iter();
    let said = "other hardware, speculation or another model";
    conflicts
        .filter(|conflict| conflict.why.contains(said))
        .collect()
}

#[test]
fn gpt_6_astra_sells_eight_times_the_speed_where_priority_allows_four() {
    let astra = include_str!("../../../examples/openai_gpt-6-astra.json");
    let mut astra: Json = serde_json::from_str(astra).expect("an example");
    let textbook = answer(&astra, &json!({}));
    let [conflict] = off_the_curve(&textbook)[..] else {
        panic!("{:?}", textbook.conflicts);
    };
    assert_eq!(conflict.between, [ReadingId::FastModeMaxSpeedup; 2]);
    assert_near_values(conflict.values, [4.0, 8.0]);
    assert!(
        conflict
            .why
            .contains("priority (2× the price, 2.5× the speed)"),
        "{}",
        conflict.why
    );
    // At 4 times the speed it is a point of the curve.
    astra["service_tiers"]["ultrafast"]["speed_multiplier"]["value"] = json!("4");
    assert_eq!(off_the_curve(&answer(&astra, &json!({}))).len(), 0);
}

#[test]
fn a_batch_tier_beyond_the_amortisation_of_the_fast_mode_is_off_the_curve() {
    let modes = |batch_output: &str| {
        sheet(json!({
            "service_tiers": {"fast": {"speed_multiplier": {"value": "2.5", "metric": "output_tokens_per_second"}}},
            "rates": [
                {"input": "1", "output": "4"},
                {"service_tier": "fast", "input": "2", "output": "8"},
                {"service_tier": "batch", "input": "1", "output": batch_output},
            ],
        }))
    };
    // y = 3: no batch makes output more than 4/3 times cheaper.
    let beyond = answer(&modes("1"), &json!({}));
    let [conflict] = off_the_curve(&beyond)[..] else {
        panic!("{:?}", beyond.conflicts);
    };
    assert_near_values(conflict.values, [4.0 / 3.0, 4.0]);
    assert_eq!(off_the_curve(&answer(&modes("3"), &json!({}))).len(), 0);
}

fn assert_near_values(found: [f64; 2], expected: [f64; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected}");
    }
}

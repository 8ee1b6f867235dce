//! The day that DeepSeek published, from what the disclosure states as inputs alone.

use crate::plan::{ServingKind, plan};

/// Stated: architecture, chip, rent, tokens of the day, mean context, speed per user, list prices.
const DAY: &str = r#"{
    "model": "DeepSeek-V3",
    "machine": {"accelerator": "h800", "rental_usd_per_hour": 2},
    "precision": {"kv_bytes_per_element": 2},
    "load": {"tokens_per_day":
        {"input_tokens": 608e9, "cached_input_tokens": 342e9, "output_tokens": 168e9, "mean_context_tokens": 4989}},
    "limits": {"time_per_output_token_seconds": 0.047619, "percentile": "p50"},
    "layouts": {"units": "average"},
    "prices": {"input_usd_per_mtok": 0.55, "cached_input_usd_per_mtok": 0.14, "output_usd_per_mtok": 2.19}
}"#;

const USD: f64 = 87_072.0;
/// 608 billion tokens over 73,700 per second and node, and 168 billion over 14,800: together 226.9, disclosed 226.75.
const PREFILL_NODES: f64 = 608e9 / 86_400.0 / 73_700.0;
const DECODE_NODES: f64 = 168e9 / 86_400.0 / 14_800.0;
const REVENUE: f64 = 562_027.0;

fn assert_within(computed: f64, disclosed: f64, tolerance: f64, what: &str) {
    let ratio = computed / disclosed;
    assert!(
        (ratio - 1.0).abs() <= tolerance,
        "{what}: {computed}, disclosed {disclosed}"
    );
}

#[test]
fn a_published_day_follows_from_architecture_chip_and_tokens() {
    let answer = plan(DAY.as_bytes()).unwrap();
    let best = &answer.plans[0];
    assert_eq!(best.serving, ServingKind::Disaggregated);
    let day = best.day.unwrap();
    assert_within(day.revenue_usd, REVENUE, 1e-3, "revenue");
    assert_within(day.cost_usd.unwrap(), USD, 0.15, "USD");
    let prefill = best.prefill.as_ref().unwrap();
    assert_within(prefill.nodes, PREFILL_NODES, 0.15, "prefill nodes");
    assert_within(best.decode.nodes, DECODE_NODES, 0.15, "decode nodes");
    assert_within(best.nodes, 226.75, 0.15, "nodes");
    let margin = day.profit_over_cost.unwrap();
    assert!((4.6..=6.6).contains(&margin), "{margin}");
}

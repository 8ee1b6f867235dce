//! Rules of the arithmetic, on sheets in canonical form.

use serde_json::{Value, json};

use super::{lines, priced, reasons};
use crate::support::{example, sheet, with};

const NOON: &str = "2026-11-20T12:00:00Z";

/// The sheet with these cells.
fn with_rates(rates: Value) -> Value {
    with(sheet(), "/rates", rates)
}

#[test]
fn a_meter_without_a_price_is_a_line_without_an_amount_and_no_total() {
    let usage = json!({"input_tokens": 1_000, "cached_input_tokens": 400, "output_tokens": 10});
    let cost = priced(&sheet(), &usage, NOON);
    assert_eq!(cost["total"], Value::Null);
    assert_eq!(cost["priced"], "0.00085");
    assert_eq!(
        lines(&cost),
        [
            "cache_read 400 × ? = ?",
            "input 600 × 1.25 = 0.00075",
            "output 10 × 10.00 = 0.0001",
        ]
    );
    assert_eq!(reasons(&cost).len(), 1);
    assert!(
        cost["lines"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("cached_input_tokens")
    );
    // A stated price of 0 is a price.
    let free = with(sheet(), "/rates/0/cache_read", json!("0"));
    assert_eq!(priced(&free, &usage, NOON)["total"], "0.00085");
    // Meters that are not used need no price.
    let usage = json!({"input_tokens": 1_000});
    assert_eq!(
        priced(&with_rates(json!([{"input": "1"}])), &usage, NOON)["total"],
        "0.001"
    );
}

#[test]
fn a_tier_that_the_sheet_does_not_have_prices_nothing() {
    let usage = json!({"input_tokens": 1_000, "output_tokens": 1, "service_tier": "flexx"});
    let cost = priced(&example("openai_gpt-6-sol.json"), &usage, NOON);
    assert_eq!(
        (&cost["total"], &cost["priced"]),
        (&Value::Null, &json!("0"))
    );
    assert_eq!(reasons(&cost), ["the sheet has no service tier `flexx`"; 2]);
    assert!(
        cost["lines"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("did you mean `flex`?")
    );
    // An alias, and the name that requests select the standard tier by.
    for (name, tier) in [("fast", "priority"), ("default", "standard")] {
        let usage = with(usage.clone(), "/service_tier", json!(name));
        let cost = priced(&example("openai_gpt-6-sol.json"), &usage, NOON);
        assert_eq!(cost["tariff"]["service_tier"], tier);
        assert!(cost["total"].is_string(), "{cost}");
    }
}

#[test]
fn thresholds_are_exclusive_unless_the_sheet_says_otherwise_and_reprice_everything() {
    let rates = |inclusive: bool| {
        json!([
            {"input": "1", "output": "2"},
            {"input": "3", "output": "5", "context_tier": {"min_prompt_tokens": 1_000, "inclusive": inclusive}}
        ])
    };
    let total = |inclusive, tokens: u32| {
        let usage = json!({"input_tokens": tokens, "output_tokens": 100});
        priced(&with_rates(rates(inclusive)), &usage, NOON)["total"].clone()
    };
    assert_eq!(total(false, 1_000), "0.0012");
    assert_eq!(total(false, 1_001), "0.003503");
    assert_eq!(total(true, 999), "0.001199");
    assert_eq!(total(true, 1_000), "0.0035");
}

#[test]
fn marginal_tiers_price_each_token_by_its_place() {
    let rates = json!([
        {"input": "1", "output": "2", "cache_read": "0.5"},
        {"input": "3", "output": "5", "cache_read": "0.7", "context_tier": {"min_prompt_tokens": 1_000}}
    ]);
    let sheet = with(
        with_rates(rates),
        "/context_tier_semantics",
        json!("marginal"),
    );
    let usage = json!({"input_tokens": 1_500, "cached_input_tokens": 1_200, "output_tokens": 10});
    let cost = priced(&sheet, &usage, NOON);
    assert_eq!(
        lines(&cost),
        [
            "cache_read 1000 × 0.5 = 0.0005",
            "cache_read 200 × 0.7 = 0.00014",
            "input 300 × 3 = 0.0009",
            "output 10 × 5 = 0.00005",
        ]
    );
    assert_eq!(cost["total"], "0.00159");
    // Where the answer counts too, its tokens come behind the prompt.
    let sheet = with(
        sheet,
        "/context_tier_measure",
        json!("prompt_plus_output_tokens"),
    );
    let usage = json!({"input_tokens": 990, "output_tokens": 30});
    // 990 × 1 + 10 × 2 + 20 × 5
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.00111");
}

#[test]
fn the_answer_counts_towards_a_threshold_where_the_sheet_says_so() {
    let rates = json!([{"input": "1", "output": "1"}, {"input": "2", "output": "2", "context_tier": {"min_prompt_tokens": 1_000}}]);
    let usage = json!({"input_tokens": 990, "output_tokens": 20, "session_tokens": 5_000});
    let total = |measure: &str| {
        let sheet = with(
            with_rates(rates.clone()),
            "/context_tier_measure",
            json!(measure),
        );
        priced(&sheet, &usage, NOON)["total"].clone()
    };
    assert_eq!(total("prompt_tokens"), "0.00101");
    assert_eq!(total("prompt_plus_output_tokens"), "0.00202");
    assert_eq!(total("session"), "0.00202");
    assert_eq!(total("unknown"), "0.00101");
    let sheet = with(with_rates(rates), "/context_tier_measure", json!("session"));
    let cost = priced(&sheet, &json!({"input_tokens": 1}), NOON);
    assert!(
        cost["notes"][0]
            .as_str()
            .unwrap()
            .contains("session_tokens"),
        "{cost}"
    );
}

#[test]
fn cache_writes_are_priced_by_their_time_to_live() {
    let rates = json!([{"input": "4", "output": "20", "cache_write": [
        {"ttl_seconds": 300, "price": "5"}, {"ttl_seconds": 3_600, "price": "8"}]}]);
    let write = |ttl: Value| {
        let mut write = json!({"tokens": 1_000});
        if !ttl.is_null() {
            write["ttl_seconds"] = ttl;
        }
        priced(
            &with_rates(rates.clone()),
            &json!({"cache_writes": [write]}),
            NOON,
        )
    };
    assert_eq!(write(json!(300))["total"], "0.005");
    assert_eq!(write(json!(3_600))["total"], "0.008");
    let shortest = write(Value::Null);
    assert_eq!(shortest["total"], "0.005");
    assert_eq!(shortest["notes"].as_array().unwrap().len(), 1);
    let unknown = write(json!(1_800));
    assert_eq!(unknown["total"], Value::Null);
    assert_eq!(
        unknown["lines"][0]["hint"],
        "it states prices for 300 s, 3600 s"
    );
}

#[test]
fn billing_says_what_a_write_costs_where_it_has_no_price() {
    let usage = json!({"cache_writes": [{"tokens": 1_000, "ttl_seconds": 300}]});
    let cost = |billing: &str| {
        priced(
            &with(sheet(), "/cache_write_billing", json!(billing)),
            &usage,
            NOON,
        )
    };
    assert_eq!(
        lines(&cost("as_input")),
        ["cache_write 1000 300s as input × 1.25 = 0.00125"]
    );
    assert_eq!(cost("not_published")["total"], Value::Null);
    assert_eq!(cost("priced")["total"], Value::Null);
}

#[test]
fn storage_is_billed_for_the_time_to_live_or_for_the_stated_time() {
    let gemini = example("google_gemini-2.5-pro.json");
    let cost = |usage: Value| priced(&gemini, &usage, NOON);
    let write = json!([{"tokens": 100_000, "ttl_seconds": 5_400}]);
    // 100,000 × 1.25, and 100,000 × 1.5 h × 4.50
    let held = cost(json!({"cache_writes": write}));
    assert_eq!(
        lines(&held),
        [
            "cache_write 100000 5400s as input × 1.25 = 0.125",
            "cache_storage 100000 5400s × 4.50 = 0.675",
        ]
    );
    assert_eq!(held["total"], "0.8");
    let deleted = cost(
        json!({"cache_writes": write, "cache_storage": [{"tokens": 100_000, "seconds": 1_800}]}),
    );
    assert_eq!(deleted["total"], "0.35");
    assert_eq!(
        cost(json!({"cache_writes": write, "cache_storage": []}))["total"],
        "0.125"
    );
    let unknown = cost(json!({"cache_writes": [{"tokens": 100_000}]}));
    assert_eq!(unknown["total"], Value::Null);
    assert!(reasons(&unknown)[0].contains("ttl_seconds"), "{unknown}");
    // A third has digits without end.
    let rounded = cost(json!({"cache_storage": [{"tokens": 1, "seconds": 7}]}));
    assert_eq!(rounded["total"], "0.00000000875");
    let rounded = cost(json!({"cache_storage": [{"tokens": 1, "seconds": 1}]}));
    assert_eq!(
        (&rounded["total"], &rounded["is_rounded"]),
        (&json!("0.00000000125"), &json!(false))
    );
    let third = with(
        gemini.clone(),
        "/rates/0/cache_storage_per_hour",
        json!("1"),
    );
    let third = priced(
        &third,
        &json!({"cache_storage": [{"tokens": 1, "seconds": 1_200}]}),
        NOON,
    );
    assert_eq!(
        (&third["total"], &third["is_rounded"]),
        (&json!("0.000000333333333333333333333333"), &json!(true))
    );
}

#[test]
fn schedules_follow_the_clock_of_their_zone() {
    let rates =
        json!([{"input": "2", "output": "2"}, {"input": "1", "output": "1", "schedule": "night"}]);
    let schedules = json!({"night": {"timezone": "America/New_York", "windows": [{"start": "22:00", "end": "06:00"}]}});
    let sheet = with(with_rates(rates), "/schedules", schedules);
    let total = |at: &str| priced(&sheet, &json!({"input_tokens": 1_000}), at)["total"].clone();
    // Winter: UTC−5; summer: UTC−4.
    assert_eq!(total("2026-01-10T02:59:59Z"), "0.002");
    assert_eq!(total("2026-01-10T03:00:00Z"), "0.001");
    assert_eq!(total("2026-07-10T02:00:00Z"), "0.001");
    assert_eq!(total("2026-07-10T10:00:00Z"), "0.002");
    let sheet = with(sheet, "/schedules/night/except_calendar", json!("US"));
    let cost = priced(&sheet, &json!({"input_tokens": 1}), "2026-01-10T03:00:00Z");
    assert!(
        cost["notes"][0].as_str().unwrap().contains("`US`"),
        "{cost}"
    );
}

#[test]
fn two_schedules_at_once_and_hours_without_a_price_have_no_cost() {
    let rates = json!([
        {"input": "2", "schedule": "night"}, {"input": "1", "schedule": "weekend"}]);
    let schedules = json!({
        "night": {"timezone": "UTC", "windows": [{"start": "22:00", "end": "06:00"}]},
        "weekend": {"timezone": "UTC", "windows": [{"days": [6, 7], "start": "00:00", "end": "24:00"}]}});
    let sheet = with(with_rates(rates), "/schedules", schedules);
    let cost = |at: &str| priced(&sheet, &json!({"input_tokens": 1_000}), at);
    assert_eq!(cost("2026-11-20T23:00:00Z")["total"], "0.002");
    assert_eq!(cost("2026-11-21T12:00:00Z")["total"], "0.001");
    let both = cost("2026-11-21T23:00:00Z");
    assert_eq!(
        reasons(&both),
        ["the schedules night and weekend apply at once"]
    );
    let none = cost("2026-11-20T12:00:00Z");
    assert_eq!((&none["total"], reasons(&none).len()), (&Value::Null, 1));
}

#[test]
fn a_multiplier_stays_off_storage_and_a_modifier_keeps_to_its_meters() {
    let sheet = with_rates(
        json!([{"input": "1.25", "output": "10", "cache_read": "0.125", "cache_storage_per_hour": "4.5"}]),
    );
    let sheet = with(
        sheet,
        "/service_tiers",
        json!({"priority": {"price_multiplier": "1.75", "aliases": ["fast"]}}),
    );
    let sheet = with(
        sheet,
        "/modifiers",
        json!([
        {"name": "eu", "multiplier": "1.1", "applies_to": ["input"]}, {"name": "all", "multiplier": "2"}]),
    );
    let usage = json!({
        "input_tokens": 2_000, "cached_input_tokens": 1_000, "cache_storage": [{"tokens": 1_000, "seconds": 3_600}],
        "output_tokens": 10, "service_tier": "fast", "modifiers": ["eu"]});
    let cost = priced(&sheet, &usage, NOON);
    assert_eq!(
        lines(&cost),
        [
            "cache_read 1000 × 0.125 × 1.75 = 0.00021875",
            "input 1000 × 1.25 × 1.75 × 1.1 = 0.00240625",
            "output 10 × 10 × 1.75 = 0.000175",
            "cache_storage 1000 3600s × 4.5 = 0.0045",
        ]
    );
    assert_eq!(cost["modifiers_left_out"], json!(["all"]));
    let usage = with(usage, "/modifiers", json!(["us"]));
    assert!(reasons(&priced(&sheet, &usage, NOON))[0].contains("no modifier `us`"));
}

#[test]
fn another_currency_stays_what_it_is() {
    let sheet = with(sheet(), "/currency", json!("CNY"));
    let cost = priced(&sheet, &json!({"input_tokens": 1_000_000}), NOON);
    assert_eq!(
        (&cost["total"], &cost["currency"]),
        (&json!("1.25"), &json!("CNY"))
    );
}

#[test]
fn usages_that_the_limits_rule_out_are_noted() {
    let limits = json!({"context": 1_000, "max_output": 10, "cache_min_tokens": 512});
    let rates = json!([{"input": "1", "output": "1", "cache_read": "0.1"}]);
    let sheet = with(with_rates(rates), "/limits", limits);
    let usage = json!({"input_tokens": 500, "cached_input_tokens": 100, "output_tokens": 501});
    let cost = priced(&sheet, &usage, NOON);
    assert!(cost["total"].is_string());
    let notes: Vec<_> = cost["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap())
        .collect();
    assert_eq!(
        notes,
        [
            "The usage has cached tokens in a prompt of 500 tokens; the provider caches from 512 tokens on.",
            "The prompt and output has 1001 tokens; the provider's limit is 1000.",
            "The output has 501 tokens; the provider's limit is 10.",
        ]
    );
}

#[test]
fn an_answer_has_the_cells_it_used() {
    let cost = priced(
        &example("openai_gpt-6-sol.json"),
        &json!({"input_tokens": 300_000, "output_tokens": 100}),
        NOON,
    );
    let cells = cost["tariff"]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1);
    let index = usize::try_from(cells[0]["index"].as_u64().unwrap()).unwrap();
    let rate = &example("openai_gpt-6-sol.json")["rates"][index];
    assert_eq!(rate["context_tier"]["min_prompt_tokens"], 272_000);
    assert_eq!(cells[0]["rate"]["input"], rate["input"]);
    assert_eq!(cost["tariff"]["context_tokens"], 300_000);
    assert!(
        cost["lines"]
            .as_array()
            .unwrap()
            .iter()
            .all(|line| line["cell"] == index)
    );
}

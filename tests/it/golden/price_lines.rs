//! Readings of tariffs with more lines than input and output: bands of context, reasoning, schedules, capacity by the hour.

use super::sheets::*;
use super::{ROUND_TRIP, TEXTBOOK_MODEL, TEXTBOOK_UNIT, at};
use serde_json::{Value as Json, json};
use unroof_base::units::BytesPerToken;
use unroof_infer::estimate::Textbook;
use unroof_infer::evidence::clue_table::ReadingId;
use unroof_infer::evidence::reading::{Kind, NotDefined, Reason};
use unroof_roofline::forward::{Model, cost_per_generated_token};

fn assert_close(what: &str, computed: f64, expected: f64) {
    let agrees = (computed - expected).abs() <= ROUND_TRIP * expected.abs();
    assert!(agrees, "{what}: computed {computed}, expected {expected}");
}

fn assert_lacks(answer: &Textbook, id: &str, said: &str) {
    let NotDefined { reason, detail, .. } = not_defined(answer, id);
    assert_eq!(*reason, Reason::SheetLacks, "{id}");
    assert!(detail.contains(said), "{id}: {detail}");
}

fn assert_no_solution(answer: &Textbook, id: &str, said: &str) {
    let NotDefined { reason, detail, .. } = not_defined(answer, id);
    assert_eq!(*reason, Reason::NoSolution, "{id}");
    assert!(detail.contains(said), "{id}: {detail}");
}

/// Output prices of bands that end at these contexts; the last is the longest prompt.
fn banded(bands: &[(u32, &str)]) -> Json {
    let mut from = 0;
    let mut rates = Vec::new();
    for (longest, output) in bands {
        rates.push(
            json!({"context_tier": {"min_prompt_tokens": from}, "input": "1", "output": output}),
        );
        from = *longest;
    }
    sheet(json!({"limits": {"max_input": from}, "rates": rates}))
}

const BANDS: [&str; 2] = ["context_bands_line", "context_bands_kv_bytes"];

#[test]
fn bands_priced_at_the_cost_of_their_longest_contexts_give_the_cache_back() {
    let model = Model {
        kv_bytes_per_token: BytesPerToken(10_000.0),
        ..TEXTBOOK_MODEL
    };
    // 2.5 times the optimal batch of 2,400; beyond 20,000 tokens decoding waits for memory.
    let price = |context: u32| {
        let point = at(6_000.0, f64::from(context));
        let usd = cost_per_generated_token(&model, &TEXTBOOK_UNIT, &point);
        format!("{:.12}", 1e6 * usd)
    };
    let prices = [32_000, 128_000, 512_000].map(|context| (context, price(context)));
    let bands = prices
        .each_ref()
        .map(|(context, price)| (*context, price.as_str()));
    let answer = answer(&banded(&bands), &json!({}));
    assert_close("x", value(&answer, BANDS[0]), 40_000.0 / 3.0);
    assert_close("k_bw", value(&answer, BANDS[1]), 10_000.0);
    let kv_bytes = reading(&answer, BANDS[1]);
    assert_close("L0", detail(kv_bytes, "crossover_context"), 100_000.0 / 3.0);
    assert!(detail(kv_bytes, "relative_residual") < ROUND_TRIP);
}

#[test]
fn bands_off_a_line_have_the_least_squares_and_show_what_is_left() {
    let answer = answer(
        &banded(&[(100_000, "4"), (200_000, "5"), (500_000, "7")]),
        &json!({}),
    );
    let line = reading(&answer, BANDS[0]);
    assert_close(
        "a",
        line.input("price_intercept").unwrap_or(f64::NAN),
        44.0 / 13.0,
    );
    assert_close(
        "b",
        line.input("price_slope").unwrap_or(f64::NAN),
        19.0 / 2_600_000.0,
    );
    assert_close("x", numeric(line), 8_800_000.0 / 19.0);
    assert_close(
        "residual",
        detail(line, "relative_residual"),
        0.024_656_073_885_162_13,
    );
    assert_eq!(line.unit, "tokens");
}

#[test]
fn two_bands_are_no_line_and_a_line_needs_a_fixed_part_and_a_slope() {
    let of = |bands: &[(u32, &str)]| answer(&banded(bands), &json!({}));
    let one_tier = of(&[(100_000, "4"), (200_000, "5")]);
    let flat = of(&[(100_000, "4"), (200_000, "4"), (500_000, "4")]);
    let steep = of(&[(100_000, "1"), (200_000, "5"), (500_000, "20")]);
    let mut unlimited = banded(&[(100_000, "4"), (200_000, "5"), (500_000, "7")]);
    unlimited["limits"] = json!({});
    let unlimited = answer(&unlimited, &json!({}));
    for id in BANDS {
        assert_lacks(&one_tier, id, "no offer with two or more context tiers");
        assert_lacks(&unlimited, id, "no longest prompt");
        assert_no_solution(&flat, id, "does not rise");
        assert_no_solution(&steep, id, "nothing is left for the fixed part");
    }
}

#[test]
fn a_reasoning_price_bounds_the_context_of_thinking_and_fixes_it_where_the_plain_one_is_stated() {
    let sheet = sheet(json!({"rates": [{"input": "0.15", "output": "0.6", "reasoning": "3.6"}]}));
    let id = "reasoning_context_ratio";
    let silent = answer(&sheet, &json!({}));
    let bound = reading(&silent, id);
    assert_close("ratio", numeric(bound), 6.0);
    assert_eq!((bound.kind, bound.details.len()), (Kind::Lower, 0));
    assert_eq!(bound.working.as_deref(), Some("≥ 3.6/0.6 = 6"));
    // L0 = 1e11/(300·10,000) = 100,000/3 tokens, so x = 40,000/3.
    let stated = json!({"kv_bytes_per_token_read": 1e4, "mean_decode_context_tokens": 5_000});
    let stated = answer(&sheet, &stated);
    let point = reading(&stated, id);
    let thinking = 6.0 * (40_000.0 / 3.0 + 5_000.0) - 40_000.0 / 3.0;
    assert_close("tokens", detail(point, "thinking_context_tokens"), thinking);
    let over_crossover = detail(point, "thinking_context_over_crossover");
    assert_close("over L0", over_crossover, thinking * 3.0 / 100_000.0);
    assert!(thinking / 5_000.0 > 6.0);
}

#[test]
fn a_reasoning_price_that_is_the_output_price_says_nothing() {
    for reasoning in ["0.6", "0.3"] {
        let sheet =
            sheet(json!({"rates": [{"input": "0.15", "output": "0.6", "reasoning": reasoning}]}));
        let answer = answer(&sheet, &json!({}));
        assert_no_solution(
            &answer,
            "reasoning_context_ratio",
            "no higher than the output price",
        );
    }
}

const SCHEDULE: &str = "peak_schedule_utilisation";

/// Base prices and those of a schedule.
fn scheduled(name: &str, base: [&str; 2], other: [&str; 2]) -> Json {
    let mut schedules = json!({});
    schedules[name] = json!({"timezone": "UTC", "windows": [{"start": "16:30", "end": "00:30"}]});
    sheet(json!({"schedules": schedules, "rates": [
        {"input": base[0], "output": base[1]},
        {"schedule": name, "input": other[0], "output": other[1]},
    ]}))
}

#[test]
fn a_discount_off_peak_is_a_ratio_of_utilisations_whichever_hours_have_the_schedule() {
    let sheets = [
        scheduled("off_peak", ["0.5", "2"], ["0.25", "0.5"]),
        scheduled("peak", ["0.25", "0.5"], ["0.5", "2"]),
        scheduled("night", ["0.5", "2"], ["0.25", "0.5"]),
        scheduled("daytime", ["0.25", "0.5"], ["0.5", "2"]),
    ];
    for sheet in sheets {
        let answer = answer(&sheet, &json!({}));
        let utilisation = reading(&answer, SCHEDULE);
        assert_close("U_peak/U_off", numeric(utilisation), 0.5);
        assert_close("output", detail(utilisation, "output_price_ratio"), 0.25);
        assert_close("U_peak", detail(utilisation, "peak_utilisation"), 0.5);
        let conflicts = answer.conflicts.iter();
        assert!(
            conflicts
                .clone()
                .all(|of| of.between[0] != ReadingId::PeakScheduleUtilisation)
        );
    }
    assert_lacks(
        &answer(&plain("1", "5"), &json!({})),
        SCHEDULE,
        "no prices for other hours",
    );
}

#[test]
fn a_peak_that_costs_less_than_the_other_hours_is_a_conflict() {
    for sheet in [
        scheduled("peak", ["1", "4"], ["0.25", "1"]),
        scheduled("Off-Peak", ["0.25", "1"], ["1", "4"]),
    ] {
        let answer = answer(&sheet, &json!({}));
        assert_close("U_peak/U_off", value(&answer, SCHEDULE), 4.0);
        let bound = detail(reading(&answer, SCHEDULE), "peak_utilisation");
        assert!(bound.is_nan(), "{bound}");
        let mut conflicts = answer.conflicts.iter();
        let conflict = conflicts
            .find(|of| of.between == [ReadingId::PeakScheduleUtilisation; 2])
            .expect("a conflict");
        assert_close("what the hours say", conflict.values[1], 4.0);
        assert!(
            conflict.why.contains("cost 4 times as much"),
            "{}",
            conflict.why
        );
    }
}

const CAPACITY: [&str; 2] = ["capacity_full_load_cost", "capacity_break_even_utilisation"];

/// Token prices next to one unit sold by the hour.
fn with_capacity(offer: &Json) -> Json {
    sheet(json!({"rates": [{"input": "1", "output": "4"}], "capacity_offers": [offer]}))
}

#[test]
fn capacity_by_the_hour_costs_at_full_load_and_breaks_even_with_tokens() {
    let offer = json!({"name": "unit", "price_per_hour": "36", "input_tokens_per_second": 6_000, "output_tokens_per_second": 4_000});
    let sheet = with_capacity(&offer);
    let dollars = answer(&sheet, &json!({}));
    // 36 million tokens an hour for 36 USD; by the token they cost 3,600 s · (6,000·1 + 4,000·4)/1e6 = 79.2 USD.
    assert_close("USD/Mtok", value(&dollars, CAPACITY[0]), 1.0);
    let share = reading(&dollars, CAPACITY[1]);
    assert_close("U", numeric(share), 36.0 / 79.2);
    assert_close(
        "input",
        detail(share, "input_cost_at_full_load"),
        36.0 / 79.2,
    );
    assert_close(
        "output",
        detail(share, "output_cost_at_full_load"),
        144.0 / 79.2,
    );
    assert_eq!(share.label("capacity_offer"), Some("unit"));

    let mut yuan = sheet;
    yuan["currency"] = json!("CNY");
    let unstated = answer(&yuan, &json!({}));
    assert_eq!(
        not_defined(&unstated, CAPACITY[0]).reason,
        Reason::AssumptionMissing
    );
    assert_close(
        "a ratio needs no rate",
        value(&unstated, CAPACITY[1]),
        36.0 / 79.2,
    );
    let stated = answer(&yuan, &json!({"usd_per_currency_unit": 0.125}));
    assert_close("USD/Mtok", value(&stated, CAPACITY[0]), 0.125);
}

#[test]
fn a_unit_that_promises_output_alone_is_compared_with_the_output_price() {
    let dear = json!({"name": "gpu", "price_per_hour": "7.2", "output_tokens_per_second": 250});
    let answer = answer(&with_capacity(&dear), &json!({}));
    assert_close("USD/Mtok", value(&answer, CAPACITY[0]), 8.0);
    let share = reading(&answer, CAPACITY[1]);
    assert_close("U", numeric(share), 2.0);
    assert_close("output", detail(share, "output_cost_at_full_load"), 8.0);
    assert!(detail(share, "input_cost_at_full_load").is_nan());
    assert!(
        share
            .caveats
            .iter()
            .any(|caveat| caveat.starts_with("above 1")),
        "{share:?}"
    );
}

#[test]
fn capacity_without_a_promise_a_price_or_prices_of_tokens_gives_no_value() {
    let of = |offer: &Json| answer(&with_capacity(offer), &json!({}));
    let unpromised = of(&json!({"name": "gpu", "price_per_hour": "7.2"}));
    let free = of(&json!({"name": "gpu", "price_per_hour": "0", "output_tokens_per_second": 250}));
    let none = answer(&plain("1", "5"), &json!({}));
    for id in CAPACITY {
        assert_lacks(&unpromised, id, "promises no tokens per second");
        assert_no_solution(&free, id, "the price of the unit is 0");
        assert_lacks(&none, id, "no capacity sold by the hour");
    }
    let mut alone = with_capacity(
        &json!({"name": "gpu", "price_per_hour": "7.2", "output_tokens_per_second": 250}),
    );
    alone["rates"] = json!([{}]);
    let alone = answer(&alone, &json!({}));
    assert_close("USD/Mtok", value(&alone, CAPACITY[0]), 8.0);
    assert_lacks(&alone, CAPACITY[1], "states no output price");
}

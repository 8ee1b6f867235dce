//! Values that a sheet cannot hold, each refused at its place.

use serde_json::json;

use super::faults::assert_refused;
use crate::support::{sheet, with, without};

#[tokio::test]
async fn prices_are_texts_of_digits() {
    let form = "write a text such as \"1.25\": up to 12 digits before the point and 18 after it, no sign and no exponent";
    let refused = [
        (json!(1.25), "put the number in quotes: \"1.25\""),
        (json!(0), "put the number in quotes: \"0\""),
        (json!(true), form),
        (json!(null), form),
        (json!({"usd": "1.25"}), form),
        (json!(["1.25"]), form),
        (json!("1e-6"), form),
        (json!("1E6"), form),
        (json!("NaN"), form),
        (json!("Infinity"), form),
        (json!("+1"), form),
        (json!(""), form),
        (json!(" 1"), "write \"1\""),
        (json!("1,25"), "write \"1.25\""),
        (
            json!("$1.25"),
            "write \"1.25\"; the currency is a field of the sheet",
        ),
        (json!(".5"), form),
        (json!("1."), form),
        (json!("0x10"), form),
        (json!("١"), form),
        (json!("1234567890123"), form),
        (json!("1.1234567890123456789"), form),
        (json!("-1"), "`-1` is negative"),
        (json!("-0.5"), "`-0.5` is negative"),
    ];
    for name in [
        "input",
        "output",
        "reasoning",
        "cache_read",
        "cache_read_explicit",
        "cache_storage_per_hour",
    ] {
        let pointer = format!("/rates/0/{name}");
        let rows = refused.iter().map(|(price, words)| {
            let body = with(sheet(), &pointer, price.clone());
            (body, pointer.as_str(), *words)
        });
        assert_refused(rows).await;
    }
}

#[tokio::test]
async fn values_out_of_range_are_refused_at_their_place() {
    let tier = |value| {
        with(
            sheet(),
            "/rates/0/context_tier",
            json!({"min_prompt_tokens": value}),
        )
    };
    let write = |write| with(sheet(), "/rates/0/cache_write", json!([write]));
    let context = |value| with(sheet(), "/limits", json!({"context": value}));
    let schedule = |schedule| with(sheet(), "/schedules", json!({"night": schedule}));
    let validity = |from, to| {
        with(
            with(sheet(), "/valid_from", json!(from)),
            "/valid_to",
            json!(to),
        )
    };
    let windows = json!([{"start": "16:30", "end": "00:30"}]);
    assert_refused([
        (tier(json!(-1)), "/rates/0/context_tier/min_prompt_tokens", "`-1` is not a whole number from 0 to 2147483647"),
        (tier(json!(0.5)), "/rates/0/context_tier/min_prompt_tokens", "not a whole number"),
        (tier(json!("200k")), "/rates/0/context_tier/min_prompt_tokens", "expected a number, found a text"),
        (with(sheet(), "/rates/0/context_tier", json!({})), "/rates/0/context_tier", "`min_prompt_tokens` is missing"),
        (with(sheet(), "/rates/0/context_tier", json!(200_000)), "/rates/0/context_tier", "expected an object"),
        (write(json!({"ttl_seconds": 0, "price": "1"})), "/rates/0/cache_write/0/ttl_seconds", "from 1 to 2147483647"),
        (write(json!({"ttl_seconds": 300})), "/rates/0/cache_write/0", "`price` is missing"),
        (write(json!("1")), "/rates/0/cache_write/0", "expected an object"),
        (with(sheet(), "/rates/0/cache_write", json!(false)), "/rates/0/cache_write", "expected a list"),
        (
            with(sheet(), "/rates/0/cache_write", json!([{"price": "1"}, {"price": "2", "ttl_seconds": null}])),
            "/rates/0/cache_write/1",
            "a second price for the same time to live",
        ),
        (context(json!(0)), "/limits/context", "`0` is not a whole number from 1 to 2147483647"),
        (context(json!(2_147_483_648_u64)), "/limits/context", "`2147483648` is not"),
        (context(json!(9_007_199_254_740_993_u64)), "/limits/context", "`9007199254740993` is not"),
        (context(json!(1.5)), "/limits/context", "`1.5` is not"),
        (context(json!(-1)), "/limits/context", "`-1` is not"),
        (context(json!(true)), "/limits/context", "expected a number, found true or false"),
        (with(sheet(), "/rates/1", json!({"output": "9"})), "/rates/1", "a second cell for the same service tier, context tier and schedule"),
        (
            with(sheet(), "/rates/1", json!({"context_tier": {"min_prompt_tokens": 0, "inclusive": true}})),
            "/rates/1",
            "a second cell",
        ),
        (with(sheet(), "/rates", json!([])), "/rates", "list 1 to 128 rate cells"),
        (with(sheet(), "/sources", json!([])), "/sources", "list 1 to 64 sources"),
        (with(sheet(), "/rates/0/source", json!(1)), "/rates/0/source", "`1` is not a whole number from 0 to 0"),
        (with(sheet(), "/rates/0/source", json!(-1)), "/rates/0/source", "not a whole number"),
        (with(sheet(), "/rates/0/schedule", json!("night")), "/rates/0/schedule", "the schedule `night` is not defined"),
        (schedule(json!({"timezone": "Mars/Olympus", "windows": windows})), "/schedules/night/timezone", "`Mars/Olympus` is not a time zone"),
        (schedule(json!({"timezone": "UTC", "windows": []})), "/schedules/night/windows", "list at least one window"),
        (
            schedule(json!({"timezone": "UTC", "windows": [{"start": "25:00", "end": "00:30"}]})),
            "/schedules/night/windows/0/start",
            "`25:00` is not a time of day",
        ),
        (
            schedule(json!({"timezone": "UTC", "windows": [{"start": "16:30", "end": "00:30", "days": [8]}]})),
            "/schedules/night/windows/0/days/0",
            "`8` is not a whole number from 1 to 7",
        ),
        (validity("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"), "/valid_to", "`valid_to` is not after `valid_from`"),
        (validity("2026-02-01T00:00:00Z", "2026-02-01T01:00:00+01:00"), "/valid_to", "is not after"),
        (with(sheet(), "/valid_from", json!("2026-02-30T00:00:00Z")), "/valid_from", "is not a date and time"),
        (with(sheet(), "/valid_from", json!("2026-02-01")), "/valid_from", "with its offset"),
        (with(sheet(), "/valid_from", json!("1969-12-31T23:59:59Z")), "/valid_from", "between 1970 and 9999"),
        (with(sheet(), "/valid_from", json!(1_790_000_000)), "/valid_from", "expected a text, found a number"),
        (with(sheet(), "/currency", json!("XYZ")), "/currency", "`XYZ` is not a currency"),
        (with(sheet(), "/currency", json!("usd")), "/currency", "`usd` is not a currency"),
        (without(sheet(), "/currency"), "", "`currency` is missing"),
        (without(sheet(), "/unit"), "", "`unit` is missing"),
        (with(sheet(), "/unit", json!("per_token")), "/unit", "`per_token` is not known here"),
        (with(sheet(), "/model", json!("x".repeat(256))), "/model", "write 1 to 255 characters"),
        (with(sheet(), "/model", json!("  ")), "/model", "write 1 to 255 characters"),
        (with(sheet(), "/model", json!("a\u{7}b")), "/model", "control characters"),
        (with(sheet(), "/service_tiers", json!({"fast": {"slo": {"percentile": 101}}})), "/service_tiers/fast/slo/percentile", "101 is out of range"),
    ])
    .await;
}

#[tokio::test]
async fn lists_are_not_taken_for_objects() {
    assert_refused([
        (
            json!({"price_sheet": ["pricesheet/v1", "acme"]}),
            "/price_sheet",
            "expected an object with named fields, found a list",
        ),
        (
            json!({"price_sheet": sheet(), "assumptions": [1e11]}),
            "/assumptions",
            "found a list",
        ),
        (
            json!({"price_sheet": sheet(), "assumptions": {"accelerator": [300]}}),
            "/assumptions/accelerator",
            "found a list",
        ),
        (
            json!({"price_sheet": sheet(), "assumptions": {"chips": [1, 2]}}),
            "/assumptions/chips",
            "expected a number or a range, found a list",
        ),
        (
            with(sheet(), "/rates/0", json!(["1.25", "10.00"])),
            "/rates/0",
            "found a list",
        ),
        (
            with(sheet(), "/limits", json!([400_000])),
            "/limits",
            "found a list",
        ),
        (
            with(sheet(), "/service_tiers", json!(["fast"])),
            "/service_tiers",
            "found a list",
        ),
        (
            with(
                sheet(),
                "/sources/0",
                json!(["https://acme.example", "official"]),
            ),
            "/sources/0",
            "found a list",
        ),
        (
            with(sheet(), "/unmapped", json!([1])),
            "/unmapped",
            "found a list",
        ),
        (
            with(sheet(), "/rates", json!({"input": "1.25"})),
            "/rates",
            "expected a list, found an object",
        ),
    ])
    .await;
}

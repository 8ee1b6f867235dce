//! Entries that are refused, each with its one reason.

use super::{CATALOG, refusal};
use crate::catalog::testing;

#[test]
fn what_cannot_be_read_is_refused_with_one_reason() {
    let cases = [
        ("{}", ": the entry has no token price, nor any other price"),
        ("[]", ": expected an object, found a list"),
        (
            r#"{"prices": null}"#,
            ": the entry has no token price, nor any other price",
        ),
        (
            r#"{"prices": []}"#,
            ": the entry has no token price, nor any other price",
        ),
        (
            r#"{"prices": 7}"#,
            "/prices: expected an object, found a number",
        ),
        (
            r#"{"prices": {"audio_hours": 0.1}}"#,
            ": the entry has no token price; it is priced by audio",
        ),
        (
            r#"{"prices": {"input_mtok": -1}}"#,
            "/prices/input_mtok: `input_mtok` is negative: -1",
        ),
        (
            r#"{"prices": {"input_mtok": ""}}"#,
            "/prices/input_mtok: `input_mtok` is not a number",
        ),
        (
            r#"{"prices": {"input_mtok": 1e13}}"#,
            "/prices/input_mtok: `input_mtok` is out of range: 1e13",
        ),
        (
            r#"{"prices": {"input_mtok": 1, "web_searches_kcount": []}}"#,
            "/prices/web_searches_kcount: `web_searches_kcount` is a list, not a number",
        ),
        (
            r#"{"prices": {"input_mtok": {}}}"#,
            "/prices/input_mtok: the field `base` is missing",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1}}}"#,
            "/prices/input_mtok: the field `tiers` is missing",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": {}}}}"#,
            "/prices/input_mtok/tiers: expected a list, found an object",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 0, "price": 2}]}}}"#,
            "/prices/input_mtok/tiers/0/start: `0` is not a whole number from 1 to 2147483647",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 1, "price": 2}]}}}"#,
            "/prices/input_mtok/tiers/0: a second price from 0 prompt tokens on",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 199999, "price": 2}, {"start": 200000, "price": 3}]}}}"#,
            "/prices/input_mtok/tiers/1: a second price from 200000 prompt tokens on",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 199999, "price": 2}]},
                "output_mtok": {"base": 1, "tiers": [{"start": 200000, "price": 2}]}}}"#,
            ": two prices for the service tier `standard` from 200000 prompt tokens on",
        ),
        (
            r#"{"prices": [7]}"#,
            "/prices/0: expected an object with named fields, found a number",
        ),
        (
            r#"{"prices": [{}]}"#,
            "/prices/0: the field `prices` is missing",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {}}]}"#,
            "/prices/0/constraint: the constraint is neither a start date nor a pair of times",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_date": "2026-01-01", "start_time": "01:00"}}]}"#,
            "/prices/0/constraint: the constraint is neither a start date nor a pair of times",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_date": "soon"}}]}"#,
            "/prices/0/constraint/start_date: expected a date, found `soon`",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_date": "1969-12-31"}}]}"#,
            "/prices/0/constraint/start_date: expected a date, found `1969-12-31`",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_date": 20260101}}]}"#,
            "/prices/0/constraint/start_date: expected a date, found a number",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_date": "2026-01-01", "weekdays": [1]}}]}"#,
            "/prices/0/constraint/weekdays: `weekdays` is not a known field",
        ),
        (
            r#"{"prices": {"input_mtok": {"base": 1, "tiers": [], "per": "day"}}}"#,
            "/prices/input_mtok/per: `per` is not a known field",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_time": "25:00", "end_time": "01:00"}}]}"#,
            "/prices/0/constraint/start_time: expected a time of day in whole minutes, found `25:00`",
        ),
        (
            r#"{"prices": [{"prices": {}, "constraint": {"start_time": "01:00", "end_time": "01:00Z"}}]}"#,
            "/prices/0/constraint/end_time: start and end of the hours are equal",
        ),
        (
            r#"{"prices": [{"prices": {"input_mtok": 1}, "constraint": {"start_time": "01:00", "end_time": "02:00"}}]}"#,
            ": every price is limited to some hours",
        ),
        (
            r#"{"prices": {"input_mtok": 1}, "price_variants": {}}"#,
            "/price_variants: expected a list, found an object",
        ),
        (
            r#"{"prices": {"input_mtok": 1}, "price_variants": [{"prices": {"input_mtok": 1}}]}"#,
            "/price_variants/0: the field `when` is missing",
        ),
        (
            r#"{"prices": {"input_mtok": 1}, "price_variants": [{"when": {}, "prices": {"input_mtok": 1}}]}"#,
            "/price_variants/0/when: the variant has no condition",
        ),
        (
            r#"{"prices": {"input_mtok": 1}, "price_variants": [{"when": {"a": 7}, "prices": {"input_mtok": 1}}]}"#,
            "/price_variants/0/when/a: expected a text, found a number",
        ),
    ];
    for (entry, reason) in cases {
        assert_eq!(refusal(entry), reason, "{entry}");
    }
    let reason = testing::refusal(&CATALOG, "gpt-5.4", "{}");
    assert_eq!(reason, ": `gpt-5.4` names no provider and model");
    let key = format!("huggingface_novita/{}", "x".repeat(250));
    let reason = testing::refusal(&CATALOG, &key, "{}");
    assert!(reason.contains("too long"), "{reason}");
}

#[test]
fn more_than_a_sheet_holds_is_refused() {
    let tiers: Vec<_> = (1..=128)
        .map(|n| format!(r#"{{"start": {n}000, "price": 2}}"#))
        .collect();
    let entry = format!(
        r#"{{"prices": {{"input_mtok": {{"base": 1, "tiers": [{}]}}}}}}"#,
        tiers.join(", ")
    );
    assert_eq!(refusal(&entry), ": the entry has 129 rate cells");
    let dated = |count: usize| {
        let prices: Vec<_> = (0..count)
            .map(|n| {
                format!(
                    r#"{{"constraint": {{"start_date": "{}-01-01"}}, "prices": {{"input_mtok": {n}.5}}}}"#,
                    2_000 + n
                )
            })
            .collect();
        prices.join(", ")
    };
    let entry = format!(r#"{{"prices": [{}]}}"#, dated(65));
    assert_eq!(refusal(&entry), "/prices: a list of 65 prices");
    let variants = dated(64).replace(r#"{"constraint""#, r#"{"when": {"a": "b"}, "constraint""#);
    let entry = format!(
        r#"{{"prices": [{}], "price_variants": [{}]}}"#,
        dated(64),
        variants.replace("-01-01", "-07-01")
    );
    assert_eq!(refusal(&entry), ": the prices change on 128 days");
    let others: Vec<_> = (0..65).map(|n| format!(r#""m{n}_mtok": 1"#)).collect();
    let entry = format!(
        r#"{{"prices": {{"input_mtok": 1, {}}}}}"#,
        others.join(", ")
    );
    assert_eq!(refusal(&entry), ": the entry has 65 other meters");
}

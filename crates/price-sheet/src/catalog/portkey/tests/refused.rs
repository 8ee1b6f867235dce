//! Entries and documents that are refused, each with its one reason.

use super::{CATALOG, by_length, list, named, prices, refusal, sheet};
use crate::catalog::testing::{catalog_refusal, is_catalog};

#[test]
fn another_currency_is_kept_and_an_unknown_one_refused() {
    let entry = |currency: &str| {
        format!(
            r#"{{"pricing_config": {{"pay_as_you_go": {{{}}}, "currency": {currency}}}}}"#,
            prices("1e-4", "2e-4")
        )
    };
    assert_eq!(sheet("minimax/m3", &entry(r#""CNY""#)).currency, "CNY");
    assert_eq!(sheet("minimax/m3", &entry("null")).currency, "USD");
    for wrong in [r#""cents""#, r#""""#, "7", "{}"] {
        let reason = refusal("minimax/m3", &entry(wrong));
        assert!(reason.starts_with("/pricing_config/currency: "), "{reason}");
    }
}

#[test]
fn an_entry_without_a_token_price_says_by_what_it_is_priced() {
    let image = list(
        r#""image": {"default": {"default": {"price": 4}}}, "additional_units": {"web_search": {"price": 1}}"#,
    );
    assert_eq!(
        refusal("fal-ai/flux", &image),
        ": the entry has no token price; it is priced by image, web_search"
    );
    assert_eq!(
        refusal("azure-ai/code-davinci-002", r#"{"pricing_config": null}"#),
        ": the entry has no token price, nor any other price"
    );
}

#[test]
fn hostile_entries_have_one_fault_each() {
    let deep = format!("{}1{}", "[".repeat(26), "]".repeat(26));
    let custom = |field: &str| format!(r#"{{"pricing_config": null, "custom_pricing": {field}}}"#);
    let entries = [
        "[]".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        r#"{"pricing_config": []}"#.to_owned(),
        r#"{"pricing_config": {"pay_as_you_go": 7}}"#.to_owned(),
        r#"{"pricing_config": {"pay_as_you_go": {}, "fixed_cost": 1}}"#.to_owned(),
        list(r#""request_token": 0.1"#),
        list(r#""request_token": {}"#),
        list(r#""request_token": []"#),
        list(r#""request_token": {"price": null}"#),
        list(r#""request_token": {"price": -1}"#),
        list(r#""request_token": {"price": "-1"}"#),
        list(r#""request_token": {"price": ""}"#),
        list(r#""request_token": {"price": "1e-99999999"}"#),
        list(r#""request_token": {"price": 1e300}"#),
        list(r#""request_token": {"price": true}, "response_token": {"price": false}"#),
        list(&format!(r#""request_token": {{"price": {deep}}}"#)),
        list(r#""additional_units": 5"#),
        list(r#""additional_units": {"web_search": 5}"#),
        list(r#""additional_units": {"cache_write_1h": {"price": []}}"#),
        custom("[]"),
        custom(r#"{"regions": []}"#),
        custom(r#"{"regions": {"default": 4}}"#),
        custom(r#"{"regions": {"default": {"execution_modes": 4}}}"#),
        custom(r#"{"regions": {"default": {"execution_modes": {"": {}}}}}"#),
        custom(
            r#"{"regions": {"default": {"execution_modes": {"standard": {"context_tiers": []}}}}}"#,
        ),
        custom(r#"{"regions": {"": {}}}"#),
        custom(r#"{"context_tier_map": []}"#),
        custom(r#"{"context_tier_map": {"many": "gt-1k"}}"#),
        custom(r#"{"context_tier_map": {"-1": "gt-1k"}}"#),
        custom(r#"{"context_tier_map": {"1": 5}}"#),
    ];
    for entry in &entries {
        assert!(!refusal("openai/gpt-5.4", entry).ends_with(": "));
    }
    for key in [
        "",
        "gpt-5.4",
        "openai/",
        "/gpt-5.4",
        "openai/\n",
        &"x/".repeat(200),
        "openai/default",
    ] {
        refusal(key, &list(r#""request_token": {"price": 1e-4}"#));
    }
    let tier = |n| named(&format!("gt-{n}k"), &format!("{n}e-4"));
    let tiers: Vec<_> = (1..=129).map(tier).collect();
    assert_eq!(
        refusal("openai/gpt-5.4", &by_length(&tiers)),
        ": the entry has 129 rate cells"
    );
}

#[test]
fn documents_of_other_kinds_are_not_recognised() {
    let entry = list(&prices("1e-4", "2e-4"));
    for other in [
        "[]",
        "{}",
        "7",
        r#"{"gpt-5.4": {"litellm_provider": "openai"}}"#,
        r#"{"data": [{"pricing": {"prompt": "1"}}]}"#,
        r#"{"openai": {"models": {"gpt-5.4": {"cost": {"input": 1}}}}}"#,
        &entry,
        r#"{"pricing_config": {}, "x": {"pricing_config": {}}}"#,
    ] {
        assert!(!is_catalog(&CATALOG, other), "{other}");
    }
    let catalog = format!(r#"{{"a/b": {{"c": {entry}}}}}"#);
    assert!(is_catalog(&CATALOG, &catalog));
    catalog_refusal(&CATALOG, &catalog);
}

//! Entries of models.dev's `api.json`.

use unroof_price_sheet::sheet::CacheWriteBilling;

use super::read_catalog;

#[test]
fn every_entry_of_models_dev_gives_a_sheet_or_one_reason() {
    let Some(outcome) = read_catalog("models.dev", "models.dev.json") else {
        return;
    };
    // 8,337 models, of which 7,914 have a cost.
    assert!(outcome.sheets.len() >= 7_900, "{}", outcome.sheets.len());
    let refused: usize = outcome.refusals.values().sum();
    assert_eq!(outcome.refusals.len(), 1, "{:?}", outcome.refusals);
    assert_eq!(outcome.sheets.len() + refused, 8_337);
    let with_tiers = outcome.sheets().filter(|sheet| {
        sheet
            .rates
            .iter()
            .any(|rate| rate.context_tier.min_prompt_tokens > 0)
    });
    assert!(with_tiers.count() >= 600);
    let with_modes = outcome
        .sheets()
        .filter(|sheet| !sheet.service_tiers.is_empty());
    assert!(with_modes.count() >= 50);
    let joined = outcome
        .sheets()
        .filter(|sheet| sheet.canonical_model.is_some());
    assert!(joined.count() >= 5_000);
    let released = outcome.sheets().filter(|sheet| sheet.released.is_some());
    assert_eq!(released.count(), outcome.sheets.len());
    let with_storage: Vec<_> = outcome
        .sheets()
        .filter(|sheet| sheet.rates[0].cache_storage_per_hour.is_some())
        .collect();
    assert!(with_storage.len() >= 100, "{}", with_storage.len());
    assert!(
        with_storage
            .iter()
            .all(|sheet| sheet.cache_write_billing == CacheWriteBilling::AsInput)
    );
    let as_input = outcome
        .sheets()
        .filter(|sheet| sheet.cache_write_billing == CacheWriteBilling::AsInput);
    assert!(as_input.count() >= 200);
    assert!(!outcome.unmapped.contains_key("cost/context_over_000k"));
    let grok = outcome.only("xai/grok-4.6");
    assert!(grok.rates[1].context_tier.inclusive);
    let claude = outcome.only("amazon-bedrock/us.anthropic.claude-opus-5");
    assert_eq!(claude.region, "us");
}

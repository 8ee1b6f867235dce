//! Storage tiers against what vendors write about their caches.

use super::storage_tiers::OfferTiers;
use super::{Format, infer, read_request};
use crate::evidence::clue_table::ClueKind;
use unroof_roofline::reference::{StorageClass, cache_documents, storage_tiers};

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {[$(
        include_str!(concat!("../../../../examples/", $name, ".json"))
    ),+]};
}

/// Sheets of the vendors whose documents name a medium.
const SHEETS: [&str; 9] = examples![
    "anthropic_claude-opus-4-6",
    "anthropic_claude-opus-5-5",
    "anthropic_claude-sonnet-4-5",
    "openai_gpt-5.4",
    "google_gemini-2.5-pro",
    "google_gemini-3.1-pro",
    "deepseek_deepseek-chat_v3.0",
    "deepseek_deepseek-chat_v3.1",
    "deepseek_deepseek-v4-pro",
];

fn offers(sheet: &str) -> Vec<OfferTiers> {
    let request = read_request(sheet.as_bytes(), &Format::Canonical).unwrap();
    infer(&request).joint.storage_tiers
}

fn tier_class(id: &str) -> StorageClass {
    let row = storage_tiers().iter().find(|row| row.id == id);
    row.unwrap().tier.class()
}

/// Probability of a class without the vendor's document.
fn without(offer: &OfferTiers, class: StorageClass) -> f64 {
    let all = offer.probability_without_document.as_ref().unwrap();
    let of_class = all.iter().filter(|(id, _)| tier_class(id) == class);
    of_class.map(|(_, probability)| probability).sum()
}

/// Per documented offer: provider, name, and the mean over sheets of the probability that its class has without it.
fn scores() -> Vec<(String, String, f64)> {
    let answers: Vec<OfferTiers> = SHEETS.iter().flat_map(|sheet| offers(sheet)).collect();
    let documented = cache_documents()
        .iter()
        .filter_map(|row| Some((row, row.class()?)));
    documented
        .map(|(row, class)| {
            let is_it =
                |offer: &&OfferTiers| offer.provider == row.provider && offer.name == row.name;
            let found: Vec<f64> = answers
                .iter()
                .filter(is_it)
                .map(|offer| without(offer, class))
                .collect();
            #[expect(clippy::cast_precision_loss, reason = "a handful of sheets")]
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            (row.provider.clone(), row.offer.clone(), mean)
        })
        .collect()
}

#[test]
fn the_documented_class_is_found_without_the_document_and_the_page_says_how_well() {
    let page = include_str!("../../../../docs/model/storage-tiers.md");
    let scores = scores();
    assert_eq!(scores.len(), 6);
    let likely = scores.iter().filter(|(_, _, share)| *share >= 0.5).count();
    assert!(likely >= 4, "{scores:?}");
    for (provider, offer, share) in &scores {
        assert!(*share >= 0.15, "{scores:?}");
        let row = format!("| {provider}: {offer} |");
        let line = page.lines().find(|line| line.starts_with(&row));
        let cell = line
            .and_then(|line| line.split('|').nth(3))
            .unwrap_or_default();
        let shown: f64 = cell.trim().trim_end_matches('%').trim().parse().unwrap();
        // Rounded to whole points.
        assert!(
            (shown - 100.0 * share).abs() < 0.6,
            "{row} {shown}: {scores:?}"
        );
    }
}

#[test]
fn a_document_excludes_tiers_and_an_undocumented_seller_of_the_same_prices_excludes_none() {
    let opus = offers(SHEETS[0]);
    assert_eq!(opus.len(), 2);
    for offer in &opus {
        let document = offer.document.as_ref().unwrap();
        assert!(document.promised && document.class == Some(StorageClass::Memory));
        for (id, probability) in &offer.probabilities {
            let is_memory = tier_class(id) == StorageClass::Memory;
            assert!(is_memory || *probability == 0.0, "{id}: {offer:?}");
        }
        assert!(without(offer, StorageClass::LocalFlash) > 0.05);
        assert!(offer.rests_on.contains(&"documented medium".to_owned()));
    }
    let names: Vec<&str> = opus.iter().map(|offer| &*offer.name).collect();
    assert_eq!(names, ["cache write, 5 minutes", "cache write, 1 hour"]);
    let resold = SHEETS[0].replace("\"provider\": \"anthropic\"", "\"provider\": \"acme\"");
    assert_ne!(resold, SHEETS[0]);
    for offer in offers(&resold) {
        assert!(offer.document.is_none() && offer.probability_without_document.is_none());
        assert!(offer.probabilities["flash-tlc"] > 0.0);
    }
}

#[test]
fn memory_for_an_hour_means_lighter_tokens_and_a_limit_under_eviction_means_nothing() {
    let factor = |sheet: &str| {
        let request = read_request(sheet.as_bytes(), &Format::Canonical).unwrap();
        let stored = infer(&request).joint.quantities.kv_bytes_per_token_stored;
        let moves = stored.moved_by.into_iter();
        let by_document = moves.filter(|step| step.clue == ClueKind::CacheTtl);
        by_document.map(|step| step.factor).product::<f64>()
    };
    assert!(factor(SHEETS[0]) < 0.95);
    let resold = SHEETS[0].replace("\"anthropic\"", "\"acme\"");
    // A product over no move is 1: those below 3 % are left out.
    for sheet in [resold.as_str(), SHEETS[3], SHEETS[4], SHEETS[6]] {
        assert!((factor(sheet) - 1.0).abs() < f64::EPSILON);
    }
}

#[test]
fn implicit_and_explicit_caches_of_one_sheet_have_their_documented_lifetimes() {
    let gemini = offers(SHEETS[4]);
    let each: Vec<_> = gemini
        .iter()
        .map(|offer| (&*offer.name, offer.document.as_ref().unwrap()))
        .collect();
    let [("implicit cache", implicit), ("explicit cache", explicit)] = each[..] else {
        panic!("{each:?}");
    };
    assert_eq!(implicit.lifetime, "up to 86400 s");
    assert!(!implicit.promised && implicit.class == Some(StorageClass::Memory));
    assert!(explicit.promised && explicit.class.is_none() && explicit.medium.is_none());
    let two: Vec<String> = offers(SHEETS[3])
        .into_iter()
        .map(|offer| offer.name)
        .collect();
    assert_eq!(
        two,
        ["implicit cache, in memory", "implicit cache, extended"]
    );
}

//! Rules common to all catalogs: thresholds, known errors, and requirements on entries.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::CatalogEntry;
use super::entry::Entry;
use super::names::{is_gemini, model_key};
use super::values::is_name;
use crate::sheet::{
    CacheWriteBilling, ContextTier, JsonObject, MOST_RATE_CELLS, PriceSheet, RateCell, ServiceTier,
};
use unroof_base::input::body::MOST_ENTRIES;
use unroof_base::input::cursor::{Cursor, LONGEST_NAME, one_of_hint, shortened};
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;

/// Note on a sheet whose input and output prices are both 0.
pub(super) const FREE: &str =
    "Input and output are stated as 0: free, run locally, billed by a plan, or unknown.";

/// Note on the tokenizer change between generations of Claude.
pub(super) fn tokenizer_note(model: &str) -> Option<String> {
    const NOTE: &str = "From Claude 4.7 on the same text is about 30 % more tokens; prices per token do not compare with those of earlier generations.";
    let key = model_key(model);
    let mut words = key
        .strip_prefix("claude-")?
        .split('-')
        .map(str::parse::<u32>);
    // `claude-opus-4-7` and `claude-3-5-sonnet`.
    let major = words.find_map(Result::ok)?;
    let minor = words.next().and_then(Result::ok).unwrap_or(0);
    ((major, minor) >= (4, 7)).then(|| NOTE.to_owned())
}

/// The tier that begins at a threshold. Catalogs with only "more than" write 199,999 for "200,000 or more"; those with only
/// "from" write 200,001 for "more than 200,000".
pub(super) fn context_tier(threshold: u32) -> ContextTier {
    let (min_prompt_tokens, inclusive) = match threshold % 1_000 {
        999 => (threshold + 1, true),
        1 => (threshold - 1, false),
        _ => (threshold, false),
    };
    ContextTier {
        min_prompt_tokens,
        inclusive: inclusive && min_prompt_tokens > 0,
    }
}

/// The tier of a provider's threshold: xAI's higher rates apply from the threshold on, all others above it.
pub(super) fn context_tier_of(provider: &str, threshold: u32) -> ContextTier {
    let tier = context_tier(threshold);
    ContextTier {
        inclusive: tier.inclusive || (provider == "xai" && tier.min_prompt_tokens > 0),
        ..tier
    }
}

/// Replaces a cache write cheaper than input by the storage fee per hour: it is that fee for five minutes.
fn undo_misfiled_storage(rates: &mut [RateCell]) -> bool {
    let mut undone = false;
    for rate in rates {
        let Some(input) = &rate.input else { continue };
        let misfiled = rate
            .cache_write
            .iter()
            .position(|write| write.price < *input);
        let Some(place) = misfiled else { continue };
        let write = rate.cache_write.remove(place);
        if let Ok((fee, _)) = Decimal::from_catalog(&write.price.to_string(), 12) {
            rate.cache_storage_per_hour = Some(fee);
            undone = true;
        }
    }
    undone
}

/// Keeps Gemini's cache writes above the input price under `place`: they include the storage fee of five minutes or of an
/// hour, and the catalog does not state which.
fn set_dear_writes_aside(entry: &mut Entry<'_>, place: &str, rates: &mut [RateCell]) {
    for rate in rates {
        let Some(input) = &rate.input else { continue };
        let dear = rate
            .cache_write
            .extract_if(.., |write| write.price > *input);
        for write in dear {
            let (tier, tokens) = (&rate.service_tier, rate.context_tier.min_prompt_tokens);
            entry.keep_value(
                &format!("{place}cache_write/{tier}/{tokens}"),
                write.price.to_string().into(),
            );
            entry.note("A cache write above the input price includes Gemini's storage fee, of five minutes or of an hour; it is kept under `unmapped`.");
        }
    }
}

/// Billing of cache writes, and whether a write price of 0 was listed beside a priced write. A write price of 0 beside a
/// priced input means that writes are billed as input.
fn settle_cache_writes(rates: &mut [RateCell]) -> (CacheWriteBilling, bool) {
    let mut has_zeros = false;
    for rate in &mut *rates {
        if rate.input.as_ref().is_some_and(|input| !input.is_zero()) {
            let count = rate.cache_write.len();
            rate.cache_write.retain(|write| !write.price.is_zero());
            has_zeros |= rate.cache_write.len() < count;
        }
    }
    if rates.iter().any(|rate| !rate.cache_write.is_empty()) {
        (CacheWriteBilling::Priced, has_zeros)
    } else if has_zeros {
        (CacheWriteBilling::AsInput, false)
    } else {
        (CacheWriteBilling::NotPublished, false)
    }
}

/// Notes that input and output of the base cell both have the price 0.
pub(super) fn note_free(entry: &mut Entry<'_>, rates: &[RateCell]) {
    let is_base = |rate: &&RateCell| {
        rate.service_tier == RateCell::STANDARD
            && rate.schedule.is_none()
            && rate.context_tier.min_prompt_tokens == 0
    };
    let is_zero = |price: &Option<Decimal>| price.as_ref().is_some_and(Decimal::is_zero);
    let is_free = |base: &RateCell| is_zero(&base.input) && is_zero(&base.output);
    if rates.iter().find(is_base).is_some_and(is_free) {
        entry.note(FREE);
    }
}

/// Sorts the cells; a fault is recorded for duplicates.
pub(super) fn put_in_order(cursor: &Cursor<'_>, rates: &mut [RateCell]) -> bool {
    rates.sort_by(|left, right| left.key().cmp(&right.key()));
    let twice = rates
        .windows(2)
        .find(|pair| pair[0].key() == pair[1].key())
        .map(|pair| &pair[0]);
    if let Some(cell) = twice {
        cursor.fault(
            format!(
                "two prices for the service tier `{}` from {} prompt tokens on",
                shortened(&cell.service_tier),
                cell.context_tier.min_prompt_tokens
            ),
            "keep one price per service tier and threshold",
        );
    }
    twice.is_none()
}

/// Records a fault if a sheet exceeds the format's limits.
pub(super) fn has_room(cursor: &Cursor<'_>, sheet: &PriceSheet) -> bool {
    let parts = [
        ("service tiers", sheet.service_tiers.len()),
        ("schedules", sheet.schedules.len()),
        ("other meters", sheet.other_meters.len()),
        ("remarks", sheet.notes.len()),
    ];
    let crowded = parts.into_iter().find(|(_, count)| *count > MOST_ENTRIES);
    if let Some((what, count)) = crowded {
        cursor.fault(
            format!("the entry has {count} {what}"),
            format!("write up to {MOST_ENTRIES} {what}"),
        );
    }
    crowded.is_none()
}

/// The entries of a catalog, each key once: an equal copy is left out, and of others the first is marked as contradicted.
pub(super) fn unique(entries: Vec<CatalogEntry<'_>>) -> Vec<CatalogEntry<'_>> {
    unique_by(entries, Json::is_same_as)
}

/// The entries of a catalog, each key once, where copies may differ in what states no price.
pub(super) fn unique_by(
    entries: Vec<CatalogEntry<'_>>,
    is_copy: impl Fn(&Json, &Json) -> bool,
) -> Vec<CatalogEntry<'_>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<CatalogEntry<'_>> = Vec::new();
    for entry in entries {
        if let Some(place) = places.get(&entry.key) {
            let first = &mut kept[*place];
            first.is_contradicted |= !is_copy(first.cursor.json, entry.cursor.json);
        } else {
            places.insert(entry.key.clone(), kept.len());
            kept.push(entry);
        }
    }
    kept
}

/// Provider and model of a key such as `openai/gpt-5.4`; else a fault is recorded.
pub(super) fn split_key<'k>(cursor: &Cursor<'_>, key: &'k str) -> Option<(&'k str, &'k str)> {
    let split = key
        .split_once('/')
        .filter(|(provider, model)| is_name(provider) && is_name(model));
    if split.is_none() {
        cursor.fault(
            format!("`{}` names no provider and model", shortened(key)),
            format!(
                "name the entry as provider/model, each in 1 to {LONGEST_NAME} characters, such as openai/gpt-5.4"
            ),
        );
    }
    split
}

/// Midnight UTC at the start of a day, from 1970; a fault is recorded if the text is not a date.
pub(super) fn start_of_day(field: &Cursor<'_>) -> Option<Timestamp> {
    let text = match field.json {
        Json::Text(text) => text,
        _ => "",
    };
    let start = day(text);
    if start.is_none() {
        field.fault(
            format!("expected a date, found {}", described(field.json)),
            "write a day between 1970 and 9999, such as \"2026-03-13\"",
        );
    }
    start
}

/// Takes out the day of an announced retirement; what is not a day is kept.
pub(super) fn take_retirement(entry: &mut Entry<'_>, name: &str) -> Option<Timestamp> {
    entry.take_read(name, |json| day(json.as_text()?))
}

/// Midnight UTC at the start of a day, from 1970.
fn day(text: &str) -> Option<Timestamp> {
    let start = text.parse::<Date>().ok().filter(|_| text.len() == 10)?;
    let start = start.to_zoned(TimeZone::UTC).ok()?.timestamp();
    (start >= Timestamp::UNIX_EPOCH).then_some(start)
}

/// Records a fault for fields other than these. Elsewhere unknown fields are kept, but here one could change the meaning of
/// a price.
pub(super) fn has_only(object: &Cursor<'_>, names: &[&str]) -> Option<()> {
    let unknown = object
        .entries()?
        .into_iter()
        .find(|(name, _)| !names.contains(name));
    if let Some((name, field)) = unknown {
        return field.refuse(
            format!("`{}` is not a known field", shortened(name)),
            one_of_hint(name, names),
        );
    }
    Some(())
}

/// A value as shown in messages.
pub(super) fn described(json: &Json) -> String {
    match json {
        Json::Text(text) => format!("`{}`", shortened(text)),
        other => other.kind().to_owned(),
    }
}

/// Records a fault if the entry has no or too many rates, unless one of its values is already invalid. `other_prices` has
/// the names of the other priced items.
pub(super) fn is_usable(
    cursor: &Cursor<'_>,
    entry: &Entry<'_>,
    rates: &[RateCell],
    other_prices: &[&str],
) -> bool {
    if entry.has_faults() {
        return false;
    }
    if rates.len() > MOST_RATE_CELLS {
        cursor.fault(
            format!("the entry has {} rate cells", rates.len()),
            format!("write up to {} rate cells", MOST_RATE_CELLS),
        );
        return false;
    }
    if !rates.iter().any(RateCell::prices_tokens) {
        cursor.fault_without_price(
            format!("the entry has no token price{}", listed(other_prices)),
            "write the price of a token, in the unit and under the names of the catalog",
        );
        return false;
    }
    true
}

fn listed(names: &[&str]) -> String {
    const MOST_NAMES: usize = 6;
    const LONGEST_NAME_SHOWN: usize = 60;
    if names.is_empty() {
        return ", nor any other price".to_owned();
    }
    let shown = names
        .iter()
        .take(MOST_NAMES)
        .map(|name| name.chars().take(LONGEST_NAME_SHOWN).collect::<String>());
    let more = if names.len() > MOST_NAMES {
        " and more"
    } else {
        ""
    };
    format!(
        "; it is priced by {}{more}",
        shown.collect::<Vec<_>>().join(", ")
    )
}

/// Undoes [`undo_misfiled_storage`] where `OpenRouter` lists the fee for five minutes as Gemini's cache write.
pub(super) fn undo_slip_of_router(
    entry: &mut Entry<'_>,
    provider: &str,
    model: &str,
    rates: &mut [RateCell],
) -> bool {
    let is_undone =
        provider == "openrouter" && model.contains("gemini") && undo_misfiled_storage(rates);
    if is_undone {
        entry.note("OpenRouter lists five minutes of Gemini's storage fee as a cache write; read as a fee per hour.");
    }
    is_undone
}

/// Corrects cache writes and returns their billing.
pub(super) fn settle_writes(
    entry: &mut Entry<'_>,
    model: &str,
    place: &str,
    rates: &mut [RateCell],
) -> CacheWriteBilling {
    let is_gemini = is_gemini(model);
    if is_gemini {
        set_dear_writes_aside(entry, place, rates);
    }
    let (billing, has_zero) = settle_cache_writes(rates);
    if has_zero {
        entry.note("A cache write of 0 beside a priced one is left out.");
    }
    if is_gemini && undo_misfiled_storage(rates) {
        entry.note("Five minutes of Gemini's storage fee are listed as a cache write; read as a fee per hour.");
        return CacheWriteBilling::AsInput;
    }
    billing
}

/// The service tier that Anthropic calls fast.
pub(super) fn fast_mode() -> ServiceTier {
    ServiceTier {
        request: object(json!({"speed": "fast"})),
        ..ServiceTier::default()
    }
}

/// `OpenAI` renamed its priority tier to fast; catalogs read the same rates for both.
pub(super) fn name_priority(
    tiers: &mut BTreeMap<String, ServiceTier>,
    rates: &[RateCell],
    provider: &str,
) {
    let is_sold = |name: &str| rates.iter().any(|rate| rate.service_tier == name);
    let has_fast = is_sold("fast") || tiers.contains_key("fast");
    if provider == "openai" && is_sold("priority") && !has_fast {
        let tier = ServiceTier {
            aliases: vec!["fast".to_owned()],
            ..ServiceTier::default()
        };
        tiers.insert("priority".to_owned(), tier);
    }
}

/// The fields of an object written in code.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokenizer_that_changed_under_the_price_is_noted() {
        for name in [
            "claude-opus-4-7",
            "us.anthropic.claude-opus-5-20260901-v1:0",
            "anthropic/claude-fable-5.1",
            "claude-haiku-5-5",
        ] {
            assert!(
                tokenizer_note(name).is_some_and(|note| note.contains("30 %")),
                "{name}"
            );
        }
        for name in [
            "claude-sonnet-4-6",
            "claude-3-5-sonnet-20241022",
            "claude-instant",
            "gpt-5.4",
            "",
        ] {
            assert_eq!(tokenizer_note(name), None, "{name}");
        }
    }
}

//! The rates of a sheet: one cell per service tier, context tier and schedule.

use std::collections::{BTreeMap, BTreeSet};

use super::{COUNT, MOST_ENTRIES, at_most};
use crate::input::cursor::Cursor;
use crate::sheet::{Basis, CacheWrite, ContextTier, PriceSheet, RateCell, Schedule};

pub(super) fn read_rates(
    rates: &Cursor<'_>,
    schedules: &BTreeMap<String, Schedule>,
    sources: usize,
) -> Option<Vec<RateCell>> {
    let items = rates.items()?;
    if items.is_empty() || items.len() > PriceSheet::MOST_RATE_CELLS {
        rates.fault(
            format!("a list of {} rate cells", items.len()),
            format!("list 1 to {} rate cells", PriceSheet::MOST_RATE_CELLS),
        );
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut cells = Vec::with_capacity(items.len());
    for item in items {
        let Some(cell) = read_rate(&item, schedules, sources) else {
            continue;
        };
        let key = (
            cell.service_tier.clone(),
            cell.schedule.clone(),
            cell.context_tier.min_prompt_tokens,
        );
        if !seen.insert(key) {
            item.fault(
                "a second cell for the same service tier, context tier and schedule",
                "merge the two cells, or distinguish them by service_tier, context_tier.min_prompt_tokens or schedule",
            );
        }
        cells.push(cell);
    }
    Some(cells)
}

fn read_rate(
    rate: &Cursor<'_>,
    schedules: &BTreeMap<String, Schedule>,
    sources: usize,
) -> Option<RateCell> {
    let fields = rate.fields()?;
    let price = |name| fields.get(name).and_then(|field| field.decimal());
    let schedule = fields.get("schedule").and_then(|field| {
        let name = field.name()?;
        if !schedules.contains_key(&name) {
            field.fault(
                format!("the schedule `{name}` is not defined"),
                "define it under `schedules`, or leave it out",
            );
        }
        Some(name)
    });
    let source = fields.get("source").and_then(|field| {
        let most = u32::try_from(sources.saturating_sub(1)).unwrap_or(0);
        field.whole_number(0..=most)
    });
    let cell = RateCell {
        service_tier: fields
            .get("service_tier")
            .and_then(|field| field.name())
            .unwrap_or_else(|| RateCell::STANDARD.to_owned()),
        context_tier: fields
            .get("context_tier")
            .and_then(|field| read_context_tier(&field))
            .unwrap_or_default(),
        schedule,
        input: price("input"),
        output: price("output"),
        reasoning: price("reasoning"),
        cache_read: price("cache_read"),
        cache_read_explicit: price("cache_read_explicit"),
        cache_write: fields
            .get("cache_write")
            .and_then(|field| read_cache_writes(&field))
            .unwrap_or_default(),
        cache_storage_per_hour: price("cache_storage_per_hour"),
        basis: fields
            .get("basis")
            .and_then(|field| {
                field.one_of(&[("stated", Basis::Stated), ("computed", Basis::Computed)])
            })
            .unwrap_or_default(),
        source,
    };
    fields.refuse_unknown();
    Some(cell)
}

fn read_context_tier(tier: &Cursor<'_>) -> Option<ContextTier> {
    let fields = tier.fields()?;
    let min_prompt_tokens = fields
        .required(
            "min_prompt_tokens",
            "write the threshold in prompt tokens, such as 200000",
        )
        .and_then(|field| field.whole_number(0..=*COUNT.end()));
    let inclusive = fields
        .get("inclusive")
        .and_then(|field| field.truth())
        .unwrap_or_default();
    fields.refuse_unknown();
    Some(ContextTier {
        min_prompt_tokens: min_prompt_tokens?,
        inclusive,
    })
}

fn read_cache_writes(writes: &Cursor<'_>) -> Option<Vec<CacheWrite>> {
    let mut seen = BTreeSet::new();
    let mut read = Vec::new();
    for write in at_most(writes, MOST_ENTRIES, writes.items()?)? {
        let Some(fields) = write.fields() else {
            continue;
        };
        let ttl_seconds = fields
            .get_or_null("ttl_seconds")
            .and_then(|field| field.whole_number(COUNT));
        let price = fields
            .required("price", "write the full price of a written token")
            .and_then(|field| field.decimal());
        fields.refuse_unknown();
        if !seen.insert(ttl_seconds) {
            write.fault(
                "a second price for the same time to live",
                "keep one price per `ttl_seconds`",
            );
        }
        read.extend(price.map(|price| CacheWrite { ttl_seconds, price }));
    }
    Some(read)
}

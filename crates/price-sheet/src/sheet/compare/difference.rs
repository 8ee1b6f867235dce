//! Differences between two sheets of an offer, as data and in words.
//!
//! ```
//! use unroof_price_sheet::sheet::compare::difference::in_words;
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let sheet = |input: &str, output: &str| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//!     PriceSheet::new("acme", "m-1", vec![cell])
//! };
//! assert_eq!(in_words(&sheet("2", "12"), &sheet("2.0", "10.00")), "output 12 → 10 $/Mtok, input unchanged");
//! ```

use std::fmt::Write;

use super::cells::{CellName, named_prices};
use crate::sheet::{Limits, PriceSheet, RateCell};
use unroof_base::units::Decimal;

/// Place of a price in its sheet, by the names of rate cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricePlace {
    /// Field of the cell, such as `input` or `cache_write`.
    pub meter: &'static str,
    /// Time to live of a cache write, if stated.
    pub ttl_seconds: Option<u32>,
    /// Service tier of the cell.
    pub service_tier: String,
    /// Threshold of the cell in prompt tokens.
    pub min_prompt_tokens: u32,
    /// Schedule of the cell, if it has one.
    pub schedule: Option<String>,
}

/// One price of two sheets.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceDifference {
    /// Name of the price: `output`, `batch cache read above 200000 tokens`.
    pub price: String,
    /// Place of the price; none for what is not a price.
    pub place: Option<PricePlace>,
    /// Price on the first sheet, if stated.
    pub before: Option<Decimal>,
    /// Price on the second sheet, if stated.
    pub after: Option<Decimal>,
}

impl PriceDifference {
    fn new(name: &CellName, before: Option<&Decimal>, after: Option<&Decimal>) -> Self {
        Self {
            price: words(name),
            place: Some(PricePlace::of(name)),
            before: before.cloned(),
            after: after.cloned(),
        }
    }

    /// Whether both prices are equal.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.normalized() == after.normalized(),
            (before, after) => before.is_none() && after.is_none(),
        }
    }

    /// Whether both sheets state a price, with different values.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        self.before.is_some() && self.after.is_some() && !self.is_unchanged()
    }

    /// Larger price divided by the smaller one, if both are stated and not 0.
    #[must_use]
    pub fn factor(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        if before.is_zero() || after.is_zero() {
            return None;
        }
        Some(after.over(before).max(before.over(after)))
    }
}

/// Every price of either sheet, base prices first.
#[must_use]
pub fn price_differences(before: &PriceSheet, after: &PriceSheet) -> Vec<PriceDifference> {
    let (before, mut after) = (named_prices(before), named_prices(after));
    let all_after = after.clone();
    let place = |prices: &[(CellName, &Decimal)], name: &CellName| {
        prices.iter().position(|(known, _)| known.is_same(name))
    };
    let mut differences = Vec::new();
    for (name, price) in &before {
        // A second name counts where neither sheet states both.
        let other = name
            .other()
            .filter(|other| place(&before, other).is_none() && place(&all_after, name).is_none());
        let found = place(&after, name).or_else(|| place(&after, &other?));
        let found = found.map(|place| after.remove(place).1);
        differences.push(PriceDifference::new(name, Some(price), found));
    }
    let new = after.into_iter();
    differences.extend(new.map(|(name, price)| PriceDifference::new(&name, None, Some(price))));
    differences
}

/// The prices that both sheets state with different values.
#[must_use]
pub fn contradictions(left: &PriceSheet, right: &PriceSheet) -> Vec<PriceDifference> {
    if left.currency != right.currency {
        return Vec::new();
    }
    let mut differences = price_differences(left, right);
    differences.retain(PriceDifference::is_contradiction);
    differences
}

/// Most prices listed individually.
pub(super) const MOST_NAMED: usize = 8;

/// Changes from one sheet to the next: `output 12 → 10 $/Mtok, input and cache read unchanged`.
#[must_use]
pub fn in_words(before: &PriceSheet, after: &PriceSheet) -> String {
    let differences = price_differences(before, after);
    let unit = unit(after);
    let mut parts: Vec<String> = Vec::new();
    if before.currency != after.currency {
        parts.push(format!("currency {} → {}", before.currency, after.currency));
    }
    let changed: Vec<&PriceDifference> = differences
        .iter()
        .filter(|difference| !difference.is_unchanged())
        .collect();
    parts.extend(
        changed
            .iter()
            .take(MOST_NAMED)
            .map(|difference| change(difference, &unit)),
    );
    if changed.len() > MOST_NAMED {
        parts.push(format!(
            "{} more price{} changed",
            changed.len() - MOST_NAMED,
            if changed.len() == MOST_NAMED + 1 {
                ""
            } else {
                "s"
            }
        ));
    }
    let unchanged: Vec<&str> = differences
        .iter()
        .filter(|difference| difference.is_unchanged())
        .map(|difference| difference.price.as_str())
        .filter(|price| ["input", "output", "cache read"].contains(price))
        .collect();
    if changed.is_empty() {
        parts.push("prices unchanged".to_owned());
    } else if !unchanged.is_empty() {
        parts.push(format!("{} unchanged", unchanged.join(" and ")));
    }
    parts.extend(limit_changes(&before.limits, &after.limits));
    parts.join(", ")
}

/// The base prices of a first sheet: `input 1.25, output 10 $/Mtok`.
#[must_use]
pub fn first_words(sheet: &PriceSheet) -> String {
    let unit = unit(sheet);
    let prices = sheet.base_rate().map(RateCell::prices).unwrap_or_default();
    let prices: Vec<String> = prices
        .iter()
        .take(MOST_NAMED)
        .map(|(name, price)| format!("{name} {}", price.normalized()))
        .collect();
    if prices.is_empty() {
        return "listed".to_owned();
    }
    format!("{} {unit}", prices.join(", "))
}

/// Contradictions in words: `input 1.25 here, 1.5 there $/Mtok`.
#[must_use]
pub fn contradiction_words(contradictions: &[PriceDifference], sheet: &PriceSheet) -> String {
    let unit = unit(sheet);
    let shown = contradictions
        .iter()
        .take(MOST_NAMED)
        .filter_map(|difference| {
            let (here, there) = (difference.before.as_ref()?, difference.after.as_ref()?);
            Some(format!(
                "{} {} against {}",
                difference.price,
                here.normalized(),
                there.normalized()
            ))
        });
    let mut words = format!("{} {unit}", shown.collect::<Vec<_>>().join(", "));
    if contradictions.len() > MOST_NAMED {
        let more = contradictions.len() - MOST_NAMED;
        let _ = write!(words, ", and {more} more");
    }
    words
}

/// The unit of the prices of a sheet.
pub(super) fn unit(sheet: &PriceSheet) -> String {
    match sheet.currency.as_str() {
        "USD" => "$/Mtok".to_owned(),
        currency => format!("{currency}/Mtok"),
    }
}

fn change(difference: &PriceDifference, unit: &str) -> String {
    let price = &difference.price;
    match (&difference.before, &difference.after) {
        (Some(before), Some(after)) => {
            format!(
                "{price} {} → {} {unit}",
                before.normalized(),
                after.normalized()
            )
        }
        (None, Some(after)) => format!("{price} {} {unit} new", after.normalized()),
        _ => format!("{price} no longer listed"),
    }
}

fn limit_changes(before: &Limits, after: &Limits) -> Vec<String> {
    let limits = [
        ("context", before.context, after.context),
        ("longest prompt", before.max_input, after.max_input),
        ("longest answer", before.max_output, after.max_output),
        (
            "shortest cached prefix",
            before.cache_min_tokens,
            after.cache_min_tokens,
        ),
    ];
    let changed = limits
        .into_iter()
        .filter(|(_, before, after)| before != after);
    changed
        .map(|(name, before, after)| match (before, after) {
            (Some(before), Some(after)) => format!("{name} {before} → {after} tokens"),
            (None, Some(after)) => format!("{name} {after} tokens new"),
            (_, None) => format!("{name} no longer stated"),
        })
        .collect()
}

/// A price in words, such as `batch input above 200000 tokens`.
fn words(CellName(tier, schedule, meter, threshold): &CellName) -> String {
    let mut words = String::new();
    if !tier.is_empty() {
        words.push_str(tier);
        words.push(' ');
    }
    words.push_str(meter);
    if *threshold > 0 {
        let _ = write!(words, " above {threshold} tokens");
    }
    if !schedule.is_empty() {
        let _ = write!(words, " ({schedule})");
    }
    words
}

/// The field of a rate cell that a price is from, with the time to live of a cache write.
fn field_of(name: &str) -> (&'static str, Option<u32>) {
    match name {
        "input" => ("input", None),
        "output" => ("output", None),
        "reasoning" => ("reasoning", None),
        "cache read" => ("cache_read", None),
        "explicit cache read" => ("cache_read_explicit", None),
        "cache storage" => ("cache_storage_per_hour", None),
        write => {
            let seconds = write.strip_prefix("cache write for ");
            let seconds = seconds.and_then(|seconds| seconds.strip_suffix(" s"));
            (
                "cache_write",
                seconds.and_then(|seconds| seconds.parse().ok()),
            )
        }
    }
}

impl PricePlace {
    fn of(CellName(tier, schedule, meter, threshold): &CellName) -> Self {
        let (meter, ttl_seconds) = field_of(meter);
        let tier = Some(tier.as_str()).filter(|tier| !tier.is_empty());
        Self {
            meter,
            ttl_seconds,
            service_tier: tier.unwrap_or(RateCell::STANDARD).to_owned(),
            min_prompt_tokens: *threshold,
            schedule: Some(schedule.clone()).filter(|schedule| !schedule.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::CacheWrite;

    fn price(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn sheet(input: &str, output: &str, cache_read: &str) -> PriceSheet {
        let mut cell = RateCell::new(
            RateCell::STANDARD,
            crate::sheet::ContextTier::default(),
            None,
        );
        cell.input = Some(price(input));
        cell.output = Some(price(output));
        cell.cache_read = Some(price(cache_read));
        PriceSheet::new("acme", "m", vec![cell])
    }

    #[test]
    fn a_change_names_both_prices_and_what_stayed() {
        let words = in_words(&sheet("2", "12", "0.20"), &sheet("2.0", "10.00", "0.2"));
        assert_eq!(
            words,
            "output 12 → 10 $/Mtok, input and cache read unchanged"
        );
    }

    #[test]
    fn prices_that_come_and_go_and_limits_are_named() {
        let before = sheet("2", "12", "0.2");
        let mut after = sheet("2", "12", "0.2");
        after.rates[0].cache_read = None;
        let mut batch = after.rates[0].clone();
        batch.service_tier = "batch".to_owned();
        batch.input = Some(price("1"));
        batch.output = None;
        after.rates.push(batch);
        after.limits.context = Some(200_000);
        assert_eq!(
            in_words(&before, &after),
            "cache read no longer listed, batch input 1 $/Mtok new, input and output unchanged, context 200000 tokens new"
        );
        assert_eq!(in_words(&before, &before), "prices unchanged");
    }

    #[test]
    fn an_unstated_time_to_live_is_no_other_price() {
        let writing = |writes: &[(Option<u32>, &str)]| {
            let mut sheet = sheet("2", "12", "0.2");
            let writes = writes.iter().map(|(ttl_seconds, written)| CacheWrite {
                ttl_seconds: *ttl_seconds,
                price: price(written),
            });
            sheet.rates[0].cache_write = writes.collect();
            sheet
        };
        let (plain, five) = (writing(&[(None, "3")]), writing(&[(Some(300), "3")]));
        assert_eq!(in_words(&plain, &five), "prices unchanged");
        assert_eq!(in_words(&five, &plain), "prices unchanged");
        let both = writing(&[(None, "4"), (Some(300), "3")]);
        assert_eq!(
            in_words(&both, &five),
            "cache write no longer listed, input and output and cache read unchanged"
        );
    }

    #[test]
    fn only_what_both_state_can_contradict_and_never_across_currencies() {
        let (left, mut right) = (sheet("2", "12", "0.2"), sheet("3", "12", "0.2"));
        right.rates[0].cache_read = None;
        let found = contradictions(&left, &right);
        assert_eq!(found.len(), 1);
        assert!((found[0].factor().unwrap() - 1.5).abs() < 1e-12);
        assert_eq!(
            contradiction_words(&found, &left),
            "input 2 against 3 $/Mtok"
        );
        right.currency = "CNY".to_owned();
        assert_eq!(contradictions(&left, &right), []);
    }
}

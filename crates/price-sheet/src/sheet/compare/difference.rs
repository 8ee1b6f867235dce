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

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cells::other_name;
use super::decision::{field_of, is_same_threshold, prices_of};
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
    let (before, mut after) = (Lines::of(before), Lines::of(after));
    let all_after = after.clone();
    let mut differences = Vec::new();
    for (line, price) in &before.0 {
        differences.push(PriceDifference {
            price: line.words(),
            place: Some(line.place()),
            before: Some((*price).clone()),
            after: after
                .take(line)
                .or_else(|| after.take(&line.other_name(&before, &all_after)?))
                .cloned(),
        });
    }
    differences.extend(after.0.into_iter().map(|(line, price)| PriceDifference {
        price: line.words(),
        place: Some(line.place()),
        before: None,
        after: Some(price.clone()),
    }));
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
    let prices = sheet.base_rate().map(prices_of).unwrap_or_default();
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

/// Name of a price, ordered for display.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Line<'a> {
    is_other_tier: bool,
    service_tier: &'a str,
    schedule: Option<&'a str>,
    threshold: u32,
    /// Position of the meter in its cell.
    place: usize,
    meter: String,
}

impl Line<'_> {
    fn words(&self) -> String {
        let mut words = String::new();
        if self.is_other_tier {
            words.push_str(self.service_tier);
            words.push(' ');
        }
        words.push_str(&self.meter);
        if self.threshold > 0 {
            let _ = write!(words, " above {} tokens", self.threshold);
        }
        if let Some(schedule) = self.schedule {
            let _ = write!(words, " ({schedule})");
        }
        words
    }

    fn place(&self) -> PricePlace {
        let (meter, ttl_seconds) = field_of(&self.meter);
        PricePlace {
            meter,
            ttl_seconds,
            service_tier: self.service_tier.to_owned(),
            min_prompt_tokens: self.threshold,
            schedule: self.schedule.map(str::to_owned),
        }
    }

    /// Whether the other is the same price, up to the notation of the threshold.
    fn is_same(&self, other: &Self) -> bool {
        self.service_tier == other.service_tier
            && self.schedule == other.schedule
            && self.meter == other.meter
            && is_same_threshold(self.threshold, other.threshold)
    }

    /// Second name of the line, where neither sheet states both: a cache write without a time to live is one for five minutes.
    fn other_name(&self, own: &Lines<'_>, others: &Lines<'_>) -> Option<Self> {
        let other = Self {
            meter: other_name(&self.meter)?.to_owned(),
            ..self.clone()
        };
        (!own.has(&other) && !others.has(self)).then_some(other)
    }
}

#[derive(Clone)]
struct Lines<'a>(BTreeMap<Line<'a>, &'a Decimal>);

impl<'a> Lines<'a> {
    fn of(sheet: &'a PriceSheet) -> Self {
        let mut lines = BTreeMap::new();
        for cell in &sheet.rates {
            for (place, (name, price)) in prices_of(cell).into_iter().enumerate() {
                let line = Line {
                    is_other_tier: cell.service_tier != RateCell::STANDARD,
                    service_tier: &cell.service_tier,
                    schedule: cell.schedule.as_deref(),
                    threshold: cell.context_tier.min_prompt_tokens,
                    place,
                    meter: name,
                };
                lines.insert(line, price);
            }
        }
        Self(lines)
    }

    fn has(&self, line: &Line<'_>) -> bool {
        self.0.keys().any(|known| known.is_same(line))
    }

    fn take(&mut self, line: &Line<'_>) -> Option<&'a Decimal> {
        let found = self.0.keys().find(|known| known.is_same(line)).cloned()?;
        self.0.remove(&found)
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

//! Sources that state an offer for the first time, in words.
//!
//! ```
//! use unroof_price_sheet::sheet::compare::new_source::new_source_in_words;
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let sheet = |input: &str| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     cell.input = input.parse().ok();
//!     PriceSheet::new("acme", "m-1", vec![cell])
//! };
//! let words = new_source_in_words(&sheet("2.5"), &sheet("3"));
//! assert!(words.contains("input 3 $/Mtok where a posted sheet states 2.5"));
//! ```

use std::fmt::Write;

use super::difference::{MOST_NAMED, PriceDifference, price_differences, unit};
use crate::sheet::{PriceSheet, SourceFormat};
use unroof_base::units::Decimal;

/// Differences of a source that states an offer for the first time from another one:
/// `first observation by litellm: states input 3 $/Mtok where models.dev states 2.5; adds batch input 1 $/Mtok`.
#[must_use]
pub fn new_source_in_words(known: &PriceSheet, new: &PriceSheet) -> String {
    let (source, other) = (source_name(new), source_name(known));
    let differences = price_differences(known, new);
    let stated = |price: &Decimal, unit: &str| format!("{} {unit}", price.normalized());
    let (old_unit, new_unit) = (unit(known), unit(new));
    let (mut contradicted, mut added, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let has_other_unit = old_unit != new_unit;
    let differ = |one: &&PriceDifference| has_other_unit || !one.is_unchanged();
    for difference in differences.iter().filter(differ) {
        let name = &difference.price;
        match (&difference.before, &difference.after) {
            (Some(before), Some(after)) => {
                let after = stated(after, &new_unit);
                let before = if has_other_unit {
                    stated(before, &old_unit)
                } else {
                    before.normalized().to_string()
                };
                contradicted.push(format!("{name} {after} where {other} states {before}"));
            }
            (None, Some(after)) => added.push(format!("{name} {}", stated(after, &new_unit))),
            _ => left_out.push(name.clone()),
        }
    }
    let lists = [
        ("states", contradicted),
        ("adds", added),
        ("leaves out", left_out),
    ];
    let lists = lists.iter().filter(|(_, prices)| !prices.is_empty());
    let parts: Vec<String> = lists
        .map(|(verb, prices)| format!("{verb} {}", named(prices)))
        .collect();
    if parts.is_empty() {
        return format!(
            "first observation by {source}: the same prices as {other}, with other limits"
        );
    }
    format!("first observation by {source}: {}", parts.join("; "))
}

/// The name of the catalog that states a sheet.
fn source_name(sheet: &PriceSheet) -> &str {
    match sheet.sources.first().map(|source| source.format) {
        None | Some(SourceFormat::Manual) => "a posted sheet",
        Some(SourceFormat::Official) => "the provider's page",
        Some(catalog) => catalog.name(),
    }
}

/// A few prices by name, and the number of the others.
fn named(prices: &[String]) -> String {
    let mut words = prices[..prices.len().min(MOST_NAMED)].join(", ");
    if prices.len() > MOST_NAMED {
        let _ = write!(words, " and {} more", prices.len() - MOST_NAMED);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{ContextTier, RateCell};

    fn sheet(prices: [Option<&str>; 3]) -> PriceSheet {
        let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
        let [input, output, cache_read] =
            prices.map(|price| price.map(|price| price.parse().unwrap()));
        (cell.input, cell.output, cell.cache_read) = (input, output, cache_read);
        PriceSheet::new("acme", "m", vec![cell])
    }

    #[test]
    fn prices_of_a_new_source_are_stated_added_or_left_out() {
        let known = sheet([Some("2.5"), Some("10"), None]);
        let new = sheet([Some("3"), None, Some("0.30")]);
        assert_eq!(
            new_source_in_words(&known, &new),
            "first observation by a posted sheet: states input 3 $/Mtok where a posted sheet states 2.5; adds cache read 0.3 $/Mtok; \
             leaves out output"
        );
        let mut yuan = known.clone();
        yuan.currency = "CNY".to_owned();
        assert!(
            new_source_in_words(&known, &yuan)
                .contains("input 2.5 CNY/Mtok where a posted sheet states 2.5 $/Mtok")
        );
        assert_eq!(
            new_source_in_words(&known, &known),
            "first observation by a posted sheet: the same prices as a posted sheet, with other limits"
        );
    }
}

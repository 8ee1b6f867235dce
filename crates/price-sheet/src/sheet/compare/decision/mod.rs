//! Pricing decisions: recognises sheets of a model that are duplicates or resellers' markups.
//!
//! ```
//! use unroof_price_sheet::sheet::compare::decision::{Likeness, Prices};
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let sheet = |seller: &str, input: &str, output: &str| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//!     PriceSheet::new(seller, "m-1", vec![cell])
//! };
//! let author = Prices::of(&sheet("acme", "3.00", "15.00"));
//! let likeness = |other: &PriceSheet| author.likeness(&Prices::of(other));
//! assert_eq!(likeness(&sheet("host", "3.00", "15.00")), Some(Likeness::OneDecision));
//! assert_eq!(likeness(&sheet("reseller", "4.50", "22.50")), Some(Likeness::OneRatio));
//! ```

mod index;

pub use index::Index;

use std::collections::BTreeSet;

use crate::sheet::PriceSheet;
use unroof_base::units::Decimal;

/// Similarity of the prices of two sheets of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// One decision: all shared prices are equal up to a common factor of duplicates.
    OneDecision,
    /// A reseller's markup: the same ratios with another factor.
    OneRatio,
}

/// A pricing decision among the sheets of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Index of the sheet that stands for it.
    pub sheet: usize,
    /// Number of further sellers with a copy of it.
    pub copies: usize,
}

/// Price factors between duplicates: equal, and the ten percent surcharge of regional endpoints.
const COPY_FACTORS: [f64; 2] = [1.0, 1.1];
/// Coarsest rounding of published prices: 0.3 in a catalog means 0.30.
const CENT: f64 = 0.01;
/// Relative difference up to which thresholds are equal: 32,000 and 32,001, 512,000 and 524,288.
const SAME_THRESHOLD: f64 = 0.03;

/// The decisions behind the sheets of a model, grouped by equal price ratios. The sheet of the author of the model stands for
/// its copies, else that of the first seller by name: the order of the sheets changes nothing.
#[must_use]
pub fn decisions(
    sheets: &[&PriceSheet],
    is_author: impl Fn(&PriceSheet) -> bool,
) -> Vec<Vec<Decision>> {
    let prices: Vec<Prices> = sheets.iter().map(|sheet| Prices::of(sheet)).collect();
    let mut order: Vec<usize> = (0..sheets.len()).collect();
    order.sort_by_cached_key(|index| {
        let sheet = sheets[*index];
        (!is_author(sheet), sheet.provider.clone(), sheet.id())
    });
    // The sheets that stand for decisions, each with its sellers.
    let mut groups: Vec<Vec<(usize, BTreeSet<&str>)>> = Vec::new();
    for index in order {
        let seller = sheets[index].provider.as_str();
        let alike = |known: usize| prices[known].likeness(&prices[index]);
        let mut known = groups.iter_mut().flatten();
        let same = known.find(|(known, _)| alike(*known) == Some(Likeness::OneDecision));
        if let Some((_, sellers)) = same {
            sellers.insert(seller);
            continue;
        }
        let decision = (index, BTreeSet::from([seller]));
        let mut known = groups.iter_mut();
        match known.find(|group| alike(group[0].0) == Some(Likeness::OneRatio)) {
            Some(group) => group.push(decision),
            None => groups.push(vec![decision]),
        }
    }
    let decision = |(sheet, sellers): (usize, BTreeSet<&str>)| Decision {
        sheet,
        copies: sellers.len() - 1,
    };
    groups
        .into_iter()
        .map(|group| group.into_iter().map(decision).collect())
        .collect()
}

/// The prices of a sheet, prepared for comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Prices sorted by key; those with one key are in the order of the sheet.
    stated: Box<[Price<Box<str>>]>,
    /// Rounding step of the published prices.
    step: f64,
    currency: Box<str>,
    /// Factors on prices that the sheet states.
    multipliers: Box<[f64]>,
}

#[derive(Debug, Clone, PartialEq)]
struct Price<Key> {
    /// Service tier, schedule and meter, or their number among all.
    key: Key,
    /// Prompt length from which it applies.
    threshold: u32,
    value: f64,
}

impl Prices {
    /// The prices of a sheet.
    #[must_use]
    pub fn of(sheet: &PriceSheet) -> Self {
        let mut step = CENT;
        let mut prices: Vec<Price<Box<str>>> = Vec::new();
        for cell in &sheet.rates {
            for (name, price) in cell.prices() {
                step = step.min(last_digit(price));
                prices.push(Price {
                    key: format!("{} {:?} {name}", cell.service_tier, cell.schedule).into(),
                    threshold: cell.context_tier.min_prompt_tokens,
                    value: price.to_f64(),
                });
            }
        }
        prices.sort_by(|left, right| left.key.cmp(&right.key));
        let multipliers = sheet.modifiers.iter();
        Self {
            stated: prices.into(),
            step,
            currency: sheet.currency.as_str().into(),
            multipliers: multipliers
                .map(|modifier| modifier.multiplier.to_f64())
                .collect(),
        }
    }

    /// Number of prices that are compared.
    #[must_use]
    pub fn count(&self) -> usize {
        self.stated.len()
    }

    /// Similarity; None for separate decisions.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> Option<Likeness> {
        let pairs = self.beside(other)?;
        if self.is_copy(other, &pairs) {
            return Some(Likeness::OneDecision);
        }
        // A single price has no ratio.
        let (left, right) = pairs
            .iter()
            .copied()
            .max_by(|one, other| one.0.total_cmp(&other.0))?;
        let factor = right / left;
        let step = other.step + factor * self.step;
        let same_ratios = pairs.len() > 1
            && pairs
                .iter()
                .all(|(left, right)| is_rounded(left * factor, *right, step));
        same_ratios.then_some(Likeness::OneRatio)
    }

    /// Whether both are one decision.
    #[must_use]
    pub fn is_one_decision(&self, other: &Self) -> bool {
        self.beside(other)
            .is_some_and(|pairs| self.is_copy(other, &pairs))
    }

    fn is_copy(&self, other: &Self, pairs: &[(f64, f64)]) -> bool {
        let stated = self.multipliers.iter().chain(&other.multipliers).copied();
        let factors = COPY_FACTORS.into_iter().chain(stated);
        // The same digits in two currencies are two prices.
        self.currency == other.currency
            && is_copy(|| pairs.iter().copied(), factors, [self.step, other.step])
    }

    /// Pairs of shared non-zero prices; None if there are none, or if only one of a pair is zero.
    fn beside(&self, other: &Self) -> Option<Vec<(f64, f64)>> {
        let shared = shared(&self.stated, &other.stated)?.into_iter();
        Some(shared.map(|(_, pair)| pair).collect())
    }
}

/// The non-zero prices that both state, each with its place among the first ones; None if there are none, or if only one of a pair
/// is zero.
fn shared<Key: Ord>(own: &[Price<Key>], other: &[Price<Key>]) -> Option<Vec<(usize, (f64, f64))>> {
    let mut shared = Vec::new();
    let mut rest = other;
    for (place, price) in own.iter().enumerate() {
        while rest.first().is_some_and(|first| first.key < price.key) {
            rest = &rest[1..];
        }
        let mut of_key = rest.iter().take_while(|found| found.key == price.key);
        let is_same = |found: &&Price<Key>| is_same_threshold(price.threshold, found.threshold);
        let Some(found) = of_key.find(is_same) else {
            continue;
        };
        if (price.value == 0.0) != (found.value == 0.0) {
            return None;
        }
        if price.value > 0.0 {
            shared.push((place, (price.value, found.value)));
        }
    }
    (!shared.is_empty()).then_some(shared)
}

/// Whether all prices on one side are those on the other times one of the factors, as published with these rounding steps.
fn is_copy<Pairs: Iterator<Item = (f64, f64)>>(
    pairs: impl Fn() -> Pairs,
    mut factors: impl Iterator<Item = f64>,
    [left_step, right_step]: [f64; 2],
) -> bool {
    factors.any(|factor| {
        pairs().all(|(left, right)| is_rounded(left * factor, right, right_step))
            || pairs().all(|(left, right)| is_rounded(right * factor, left, left_step))
    })
}

/// Whether a published price equals an exact one after rounding.
fn is_rounded(exact: f64, published: f64, step: f64) -> bool {
    (exact - published).abs() <= half(step)
}

/// Half a rounding step, plus floating-point tolerance.
fn half(step: f64) -> f64 {
    0.5 * step * (1.0 + 1e-9)
}

/// 0.01 for a price with two decimals.
fn last_digit(price: &Decimal) -> f64 {
    let written = price.normalized().to_string();
    let decimals = written
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX))
}

/// Whether two thresholds are equal up to notation.
pub(super) fn is_same_threshold(left: u32, right: u32) -> bool {
    f64::from(left.abs_diff(right)) <= SAME_THRESHOLD * f64::from(left.max(right))
}

/// A context tier as decided by the model's author, for all providers that list it.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextTierDecision {
    /// The author's family of models.
    pub family: String,
    /// First threshold of the tiers, in tokens.
    pub threshold_tokens: u32,
    /// Ratios of the input and output prices above and below the threshold.
    pub multipliers: [f64; 2],
}

impl ContextTierDecision {
    /// Tolerance of equal multipliers.
    const SAME_MULTIPLIER: f64 = 0.01;

    /// Whether both are one decision.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.family == other.family
            && is_same_threshold(self.threshold_tokens, other.threshold_tokens)
            && self
                .multipliers
                .iter()
                .zip(other.multipliers)
                .all(|(left, right)| (left / right).ln().abs() < Self::SAME_MULTIPLIER)
    }
}

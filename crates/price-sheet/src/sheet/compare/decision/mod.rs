//! Pricing decisions: recognises sheets of a model that are duplicates or resellers' markups.
//!
//! ```
//! use unroof_price_sheet::sheet::compare::decision::{Likeness, likeness};
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let sheet = |seller: &str, input: &str, output: &str| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//!     PriceSheet::new(seller, "m-1", vec![cell])
//! };
//! let author = sheet("acme", "3.00", "15.00");
//! assert_eq!(likeness(&author, &sheet("host", "3.00", "15.00")), Some(Likeness::OneDecision));
//! assert_eq!(likeness(&author, &sheet("reseller", "4.50", "22.50")), Some(Likeness::OneRatio));
//! ```

mod index;

pub use index::Index;

use std::collections::BTreeSet;

use crate::sheet::{PriceSheet, RateCell};
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
    let mut groups: Vec<Vec<Counted>> = Vec::new();
    for index in order {
        let seller = sheets[index].provider.as_str();
        let alike = |known: usize| prices[known].likeness(&prices[index]);
        let mut counted = groups.iter_mut().flatten();
        if let Some(same) = counted.find(|known| alike(known.sheet) == Some(Likeness::OneDecision))
        {
            same.sellers.insert(seller);
            continue;
        }
        let decision = Counted {
            sheet: index,
            sellers: BTreeSet::from([seller]),
        };
        match groups
            .iter_mut()
            .find(|group| alike(group[0].sheet) == Some(Likeness::OneRatio))
        {
            Some(group) => group.push(decision),
            None => groups.push(vec![decision]),
        }
    }
    groups
        .into_iter()
        .map(|group| group.iter().map(Counted::decision).collect())
        .collect()
}

/// A decision with its sellers.
struct Counted<'a> {
    sheet: usize,
    sellers: BTreeSet<&'a str>,
}

impl Counted<'_> {
    fn decision(&self) -> Decision {
        Decision {
            sheet: self.sheet,
            copies: self.sellers.len() - 1,
        }
    }
}

/// Similarity of the prices of two sheets of a model; None for separate decisions.
#[must_use]
pub fn likeness(left: &PriceSheet, right: &PriceSheet) -> Option<Likeness> {
    Prices::of(left).likeness(&Prices::of(right))
}

/// The prices of a sheet, prepared for comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Prices sorted by key; those with one key are in the order of the sheet.
    stated: Box<[Price]>,
    /// Rounding step of the published prices.
    step: f64,
    currency: Box<str>,
    /// Factors on prices that the sheet states.
    multipliers: Box<[f64]>,
}

#[derive(Debug, Clone, PartialEq)]
struct Price {
    /// Service tier, schedule and meter.
    key: Box<str>,
    /// Prompt length from which it applies.
    threshold: u32,
    value: f64,
}

impl Prices {
    /// The prices of a sheet.
    #[must_use]
    pub fn of(sheet: &PriceSheet) -> Self {
        let mut step = CENT;
        let mut prices = Vec::new();
        for cell in &sheet.rates {
            for (name, price) in prices_of(cell) {
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
        let mut factors = COPY_FACTORS.into_iter().chain(stated);
        // The same digits in two currencies are two prices.
        self.currency == other.currency
            && factors.any(|factor| {
                let up = pairs
                    .iter()
                    .all(|(left, right)| is_rounded(left * factor, *right, other.step));
                up || pairs
                    .iter()
                    .all(|(left, right)| is_rounded(right * factor, *left, self.step))
            })
    }

    /// Pairs of shared non-zero prices; None if there are none, or if only one of a pair is zero.
    fn beside(&self, other: &Self) -> Option<Vec<(f64, f64)>> {
        let mut pairs = Vec::new();
        let mut rest = &*other.stated;
        for price in &self.stated {
            while rest.first().is_some_and(|first| first.key < price.key) {
                rest = &rest[1..];
            }
            let of_key = rest.iter().take_while(|found| found.key == price.key);
            let mut same =
                of_key.filter(|found| is_same_threshold(price.threshold, found.threshold));
            let Some(found) = same.next() else {
                continue;
            };
            if (price.value == 0.0) != (found.value == 0.0) {
                return None;
            }
            if price.value > 0.0 {
                pairs.push((price.value, found.value));
            }
        }
        (!pairs.is_empty()).then_some(pairs)
    }
}

/// Whether a published price equals an exact one after rounding.
fn is_rounded(exact: f64, published: f64, step: f64) -> bool {
    (exact - published).abs() <= half(step)
}

/// Half a rounding step, plus floating-point tolerance.
fn half(step: f64) -> f64 {
    0.5 * step * (1.0 + 1e-9)
}

/// The prices of a cell by meter.
pub(super) fn prices_of(cell: &RateCell) -> Vec<(String, &Decimal)> {
    let single = [
        ("input", &cell.input),
        ("output", &cell.output),
        ("reasoning", &cell.reasoning),
        ("cache read", &cell.cache_read),
        ("explicit cache read", &cell.cache_read_explicit),
        ("cache storage", &cell.cache_storage_per_hour),
    ];
    let single = single
        .into_iter()
        .filter_map(|(name, price)| Some((name.to_owned(), price.as_ref()?)));
    let writes = cell.cache_write.iter().map(|write| {
        let name = match write.ttl_seconds {
            Some(seconds) => format!("cache write for {seconds} s"),
            None => "cache write".to_owned(),
        };
        (name, &write.price)
    });
    single.chain(writes).collect()
}

/// The field of a rate cell that a price is from, with the time to live of a cache write.
pub(super) fn field_of(name: &str) -> (&'static str, Option<u32>) {
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

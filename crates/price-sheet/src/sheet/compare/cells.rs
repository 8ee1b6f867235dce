//! The priced cells of a sheet as facts that are compared without the sheet.

use serde::{Deserialize, Serialize};

use super::decision::is_same_threshold;
use crate::sheet::{PriceSheet, RateCell};
use unroof_base::units::Decimal;

/// Time to live of a cache write that is meant where a catalog states none: five minutes.
const UNSTATED_TTL: &str = "cache write for 300 s";
/// A cache write without a stated time to live.
const PLAIN_WRITE: &str = "cache write";

/// Name of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellName(
    /// Service tier; empty for the standard one.
    pub(super) String,
    /// Schedule; empty without one.
    pub(super) String,
    /// Meter of the price.
    pub(super) String,
    /// Threshold in prompt tokens.
    pub(super) u32,
);

impl CellName {
    /// Whether it is the input or output price of a plain request.
    fn is_base(&self) -> bool {
        let Self(tier, schedule, meter, above) = self;
        tier.is_empty()
            && schedule.is_empty()
            && *above == 0
            && ["input", "output"].contains(&meter.as_str())
    }

    /// Whether both are of the same price, up to the notation of the threshold.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.0, &self.1, &self.2) == (&other.0, &other.1, &other.2)
            && is_same_threshold(self.3, other.3)
    }

    /// Second name of the cell: a cache write without a time to live is one for five minutes.
    pub(super) fn other(&self) -> Option<Self> {
        let meter = match self.2.as_str() {
            PLAIN_WRITE => UNSTATED_TTL,
            UNSTATED_TTL => PLAIN_WRITE,
            _ => return None,
        };
        let mut other = self.clone();
        meter.clone_into(&mut other.2);
        Some(other)
    }
}

/// The prices of a sheet by their names, base prices first.
pub(super) fn named_prices(sheet: &PriceSheet) -> Vec<(CellName, &Decimal)> {
    let mut cells: Vec<&RateCell> = sheet.rates.iter().collect();
    cells.sort_by(|left, right| left.key().cmp(&right.key()));
    let named = |cell: &'_ RateCell, meter: String| {
        let tier = match cell.service_tier.as_str() {
            RateCell::STANDARD => "",
            tier => tier,
        };
        let schedule = cell.schedule.clone().unwrap_or_default();
        let above = cell.context_tier.min_prompt_tokens;
        CellName(tier.to_owned(), schedule, meter, above)
    };
    let prices = cells.into_iter().flat_map(|cell| {
        let prices = cell.prices().into_iter();
        prices.map(move |(meter, price)| (named(cell, meter), price))
    });
    prices.collect()
}

/// The priced cells of a sheet, each with its exact price.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cells {
    currency: String,
    prices: Vec<(CellName, Decimal)>,
}

impl Cells {
    /// The cells of a sheet.
    #[must_use]
    pub fn of(sheet: &PriceSheet) -> Self {
        let named = named_prices(sheet).into_iter();
        let mut prices: Vec<_> = named
            .map(|(name, price)| (name, price.normalized()))
            .collect();
        prices.sort_by(|left, right| left.0.cmp(&right.0));
        Self {
            currency: sheet.currency.clone(),
            prices,
        }
    }

    /// Number of priced cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prices.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// Price of a cell of that name, up to the notation of its threshold.
    fn named(&self, name: &CellName) -> Option<&Decimal> {
        let mut prices = self.prices.iter();
        let found = prices.find(|(own, _)| own.is_same(name));
        found.map(|(_, price)| price)
    }

    /// Price of a cell, even under its other name.
    #[must_use]
    pub fn price(&self, name: &CellName) -> Option<&Decimal> {
        self.named(name).or_else(|| self.named(&name.other()?))
    }

    /// Price of a cell that another sheet states: under its other name only where that one does not state both.
    fn price_like(&self, name: &CellName, other: &Self) -> Option<&Decimal> {
        let unless_both = || {
            let name = name.other().filter(|name| other.named(name).is_none())?;
            self.named(&name)
        };
        self.named(name).or_else(unless_both)
    }

    /// The cells that another sheet states as well, each with both prices.
    fn common<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'a CellName, &'a Decimal, &'a Decimal)> {
        let is_comparable = self.currency == other.currency;
        let own = self.prices.iter().filter(move |_| is_comparable);
        own.filter_map(move |(name, price)| Some((name, price, other.price_like(name, self)?)))
    }

    /// Whether both state a cell, and no cell differently. Prices in two currencies have nothing in common.
    #[must_use]
    pub fn agree(&self, other: &Self) -> bool {
        let mut common = self.common(other).peekable();
        common.peek().is_some() && common.all(|(_, own, others)| own == others)
    }

    /// The cells that another sheet states otherwise: all of them where it has another currency.
    pub fn contradicted_by<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a CellName> {
        let is_foreign = self.currency != other.currency;
        let foreign = self.prices.iter().filter(move |_| is_foreign);
        let differing = self.common(other).filter(|(_, own, others)| own != others);
        differing
            .map(|(name, _, _)| name)
            .chain(foreign.map(|(name, _)| name))
    }

    /// Whether another sheet contradicts it in none of some cells.
    #[must_use]
    pub fn is_same_in(&self, cells: &[&CellName], other: &Self) -> bool {
        self.currency == other.currency
            && cells.iter().all(|name| {
                let prices = self.price(name).zip(other.price(name));
                prices.is_none_or(|(own, others)| own == others)
            })
    }

    /// Largest factor between its price of a cell and that of another sheet; infinite where one of them is zero. None where no
    /// cell has two prices.
    #[must_use]
    pub fn largest_factor(&self, other: &Self) -> Option<f64> {
        let factor = |own: f64, others: f64| match own.min(others) {
            least if least > 0.0 => own.max(others) / least,
            _ => f64::INFINITY,
        };
        let differing = self.common(other).filter(|(_, own, others)| own != others);
        let factors = differing.map(|(_, own, others)| factor(own.to_f64(), others.to_f64()));
        factors.reduce(f64::max)
    }

    /// Whether it has the input and output prices of plain requests that another sheet has.
    #[must_use]
    pub fn has_base_of(&self, other: &Self) -> bool {
        let mut base = other.prices.iter().filter(|(name, _)| name.is_base());
        base.all(|(name, _)| self.named(name).is_some())
    }

    /// The text that is stored.
    #[must_use]
    pub fn to_text(&self) -> String {
        let prices: Vec<(&CellName, String)> = self
            .prices
            .iter()
            .map(|(name, price)| (name, price.to_string()))
            .collect();
        serde_json::to_string(&(&self.currency, prices)).expect("texts and numbers serialise")
    }

    /// The cells of a stored text; none where it is damaged.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let (currency, prices): (String, Vec<(CellName, String)>) =
            serde_json::from_str(text).ok()?;
        let read = |(name, price): (CellName, String)| {
            let price: Decimal = price.parse().ok()?;
            Some((name, price.normalized()))
        };
        let prices = prices.into_iter().map(read);
        Some(Self {
            currency,
            prices: prices.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{CacheWrite, ContextTier};

    fn cell(tier: &str, above: u32, input: &str, output: Option<&str>) -> RateCell {
        let threshold = ContextTier {
            min_prompt_tokens: above,
            inclusive: false,
        };
        let mut cell = RateCell::new(tier, threshold, None);
        cell.input = Some(input.parse().unwrap());
        cell.output = output.map(|output| output.parse().unwrap());
        cell
    }

    fn cells(rates: Vec<RateCell>) -> Cells {
        Cells::of(&PriceSheet::new("acme", "m", rates))
    }

    fn with_writes(writes: &[(Option<u32>, &str)]) -> Cells {
        let mut base = cell("standard", 0, "1", None);
        base.cache_write = writes
            .iter()
            .map(|(ttl_seconds, price)| CacheWrite {
                ttl_seconds: *ttl_seconds,
                price: price.parse().unwrap(),
            })
            .collect();
        cells(vec![base])
    }

    #[test]
    fn sheets_agree_that_state_nothing_differently_and_something_in_common() {
        let rich = cells(vec![
            cell("standard", 0, "1.0", Some("4")),
            cell("standard", 200_001, "2", Some("6")),
            cell("batch", 0, "0.5", Some("2")),
        ]);
        let poor = cells(vec![cell("standard", 0, "1", Some("4.00"))]);
        assert!(rich.agree(&poor) && poor.agree(&rich));
        assert!(rich.has_base_of(&poor) && poor.has_base_of(&rich));
        assert_eq!((rich.len(), poor.len()), (6, 2));
        let notation = cells(vec![cell("standard", 200_000, "3", None)]);
        let contradicted: Vec<_> = rich.contradicted_by(&notation).collect();
        assert_eq!(contradicted.len(), 1);
        assert!(!rich.agree(&notation) && !notation.has_base_of(&rich));
        assert!(!rich.is_same_in(&contradicted, &notation));
        assert!(rich.is_same_in(&contradicted, &poor));
        assert!(!poor.agree(&cells(vec![cell("batch", 0, "1", None)])));
    }

    #[test]
    fn prices_in_two_currencies_never_agree() {
        let dollars = cells(vec![cell("standard", 0, "1", Some("4"))]);
        let yuan = Cells {
            currency: "CNY".to_owned(),
            ..dollars.clone()
        };
        assert!(!dollars.agree(&yuan));
        assert_eq!(dollars.contradicted_by(&yuan).count(), 2);
    }

    #[test]
    fn an_unstated_time_to_live_is_five_minutes_unless_both_are_stated() {
        let plain = with_writes(&[(None, "1.25")]);
        let five = with_writes(&[(Some(300), "1.25"), (Some(3600), "2")]);
        assert!(plain.agree(&five) && five.agree(&plain));
        assert_eq!(
            five.contradicted_by(&with_writes(&[(None, "1.5")])).count(),
            1
        );
        let both = with_writes(&[(None, "9"), (Some(300), "1.25")]);
        assert!(both.agree(&five) && five.agree(&both));
        assert!(!both.agree(&plain));
    }

    #[test]
    fn cells_are_stored_as_a_text() {
        let stated = with_writes(&[(None, "1.25"), (Some(300), "0.000001")]);
        let text = stated.to_text();
        assert_eq!(Cells::of_text(&text), Some(stated));
        assert_eq!(Cells::of_text("[]"), None);
    }
}

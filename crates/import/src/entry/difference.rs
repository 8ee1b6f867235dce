//! Difference between a catalog and its offers so far, by which an import is held before it records anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use super::listed::Listed;
use unroof_base::input::text::printable;
use unroof_price_sheet::sheet::compare::Cells;
use unroof_store::{ListedOffer, ListedSheet, SheetFacts, StoredPrices};

/// One in so many offers may end, or have a far other price.
const ONE_IN: usize = 5;
/// Fewest offers for which an import is held: a small catalog loses one or two of its models on an ordinary day.
const FEWEST: usize = 3;
/// Largest factor between two prices of an offer that is ordinary.
const ORDINARY_FACTOR: f64 = 3.0;
/// Most names of each kind that are said.
const MOST_NAMES: usize = 5;

/// Difference between a catalog and its offers so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Number of offers that the catalog listed before, where it says something about them.
    before: usize,
    added: BTreeSet<String>,
    ended: BTreeSet<String>,
    changed: BTreeSet<String>,
    /// Number of offers with a price that is far from the one before.
    far: usize,
}

/// The prices of an offer that count: those of its last sheet.
struct LastPrices {
    valid_from: Option<Timestamp>,
    price_id: Uuid,
    cells: Arc<Cells>,
}

impl LastPrices {
    fn listed(sheets: &[SheetFacts]) -> Option<Self> {
        let last = sheets.iter().max_by_key(|sheet| sheet.valid_from)?;
        Some(Self {
            valid_from: last.valid_from,
            price_id: last.price_id,
            cells: Arc::clone(&last.cells),
        })
    }

    fn stored(row: &StoredPrices) -> Option<Self> {
        Some(Self {
            valid_from: row.valid_from.map(Into::into),
            price_id: row.price_id,
            cells: Arc::new(Cells::of_text(&row.cells)?),
        })
    }
}

impl Difference {
    /// Difference to some offers, of which those that end are known.
    pub(crate) fn new(before: &[&ListedSheet], ended: &BTreeSet<Uuid>) -> Self {
        let offers: BTreeSet<Uuid> = before.iter().map(|sheet| sheet.offer_id).collect();
        let gone = before
            .iter()
            .filter(|sheet| ended.contains(&sheet.offer_id));
        Self {
            before: offers.len(),
            ended: gone
                .map(|sheet| name(&sheet.provider, &sheet.model))
                .collect(),
            ..Self::default()
        }
    }

    /// Adds the offers that are new, by their names in the catalog.
    pub(crate) fn add_new(&mut self, sheets: &[Listed], known: &BTreeMap<Uuid, BTreeSet<Uuid>>) {
        let new = sheets
            .iter()
            .filter(|one| !known.contains_key(&one.offer_id()));
        let names = new.map(|one| name(&one.sheet.provider, &one.sheet.model));
        self.added.extend(names);
    }

    /// Adds the offers whose prices differ from the stored ones.
    pub(crate) fn add_changed<'a>(
        &mut self,
        offers: impl Iterator<Item = (&'a ListedOffer, &'a ListedSheet)>,
        stored: &[StoredPrices],
    ) {
        let mut last: HashMap<Uuid, LastPrices> = HashMap::new();
        for row in stored {
            let Some(prices) = LastPrices::stored(row) else {
                continue;
            };
            let known = last.get(&row.offer_id);
            if known.is_none_or(|known| known.valid_from <= prices.valid_from) {
                last.insert(row.offer_id, prices);
            }
        }
        for (offer, before) in offers {
            let prices = last
                .get(&offer.offer_id)
                .zip(LastPrices::listed(&offer.sheets));
            let Some((was, is)) = prices.filter(|(was, is)| was.price_id != is.price_id) else {
                continue;
            };
            self.changed.insert(name(&before.provider, &before.model));
            let factor = was.cells.largest_factor(&is.cells);
            self.far += usize::from(factor.is_some_and(|factor| factor > ORDINARY_FACTOR));
        }
    }

    /// Whether the import is held until a person has looked at it.
    pub(crate) fn is_held(&self) -> bool {
        let is_many = |count: usize| count >= FEWEST && count * ONE_IN > self.before;
        is_many(self.ended.len()) || is_many(self.far)
    }

    /// The numbers of offers that are new, end and change, and the first of each by name: `+12 −361 ~0; ends acme/m-1, …`.
    pub(crate) fn words(&self) -> String {
        let Self {
            added,
            ended,
            changed,
            ..
        } = self;
        let mut words = format!("+{} −{} ~{}", added.len(), ended.len(), changed.len());
        if self.far > 0 {
            // Writing to a text does not fail.
            let _ = write!(words, " ({} by more than a factor of three)", self.far);
        }
        for (verb, names) in [("ends", ended), ("changes", changed), ("adds", added)] {
            let first: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
            if !first.is_empty() {
                let _ = write!(words, "; {verb} {}", first.join(", "));
            }
            if names.len() > MOST_NAMES {
                let _ = write!(words, " and {} more", names.len() - MOST_NAMES);
            }
        }
        words
    }
}

fn name(provider: &str, model: &str) -> String {
    printable(&format!("{provider}/{model}")).into_owned()
}

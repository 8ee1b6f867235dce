//! Index that finds the first sheet of a model with the same pricing decision, without a linear search.
//!
//! Sheets with the same priced items form a group, in which every price is a sorted column. In a duplicate, each shared
//! price is near one of a few multiples of the other. The column with the fewest such values gives the candidates, and
//! each candidate is compared by the exact rule.

use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::{COPY_FACTORS, Price, Prices, half, is_copy, shared};
use unroof_base::input::cancel::{CancelToken, Cancelled};

/// Tolerance far above floating-point errors; it only adds candidates.
const SLACK: f64 = 1e-9;

/// Sheets of one model, in an order.
#[derive(Debug)]
pub struct Index<'p> {
    contents: Vec<&'p Prices>,
    /// Prices of each sheet, by place.
    placed: Vec<Vec<Placed>>,
    /// Index of the first sheet with equal prices.
    first_equal: Vec<usize>,
    groups: Vec<Group>,
}

/// A price under the number of its key.
type Placed = Price<usize>;

/// Sheets that state the same prices, published to the same digit, with the same multipliers.
#[derive(Debug)]
struct Group {
    step: f64,
    multipliers: Vec<f64>,
    members: Vec<usize>,
    /// Per price, the sorted values of all members with their indices.
    columns: Vec<Vec<(f64, u32)>>,
}

impl Eq for Price<Box<str>> {}

impl Hash for Price<Box<str>> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.key, self.threshold, self.value.to_bits()).hash(state);
    }
}

impl Eq for Prices {}

impl Hash for Prices {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.stated, self.step.to_bits(), &self.currency).hash(state);
    }
}

impl<'p> Index<'p> {
    /// Sorts the prices of sheets into groups.
    ///
    /// # Errors
    /// The search was cancelled.
    pub fn new(contents: Vec<&'p Prices>, wanted: &CancelToken) -> Result<Self, Cancelled> {
        let keys = numbered_keys(&contents);
        let mut seen = HashMap::new();
        let mut index = Self {
            placed: Vec::with_capacity(contents.len()),
            first_equal: Vec::with_capacity(contents.len()),
            groups: Vec::new(),
            contents,
        };
        let mut groups: HashMap<_, usize> = HashMap::new();
        for (number, prices) in index.contents.iter().enumerate() {
            wanted.check()?;
            let first = *seen.entry(*prices).or_insert(number);
            let placed = prices.stated.iter().map(|price| Placed {
                key: keys[&*price.key],
                threshold: price.threshold,
                value: price.value,
            });
            let placed: Vec<Placed> = placed.collect();
            index.first_equal.push(first);
            if first == number {
                let shape = Shape::of(prices, &placed);
                let group = *groups.entry(shape).or_insert_with(|| {
                    index.groups.push(Group::new(prices));
                    index.groups.len() - 1
                });
                index.groups[group].members.push(number);
            }
            index.placed.push(placed);
        }
        for group in &mut index.groups {
            wanted.check()?;
            group.fill(&index.placed);
        }
        Ok(index)
    }

    /// The first of sheets with prices equal to those of this one.
    #[must_use]
    pub fn first_equal(&self, sheet: usize) -> usize {
        self.first_equal[sheet]
    }

    /// The first original with the same decision as this sheet. Of originals with equal prices only the first counts.
    #[must_use]
    pub fn first_leader(&self, sheet: usize, is_leader: &[bool]) -> Option<usize> {
        let prices = self.contents[sheet];
        let mut first: Option<usize> = None;
        for group in &self.groups {
            let is_earlier = |member: usize| first.is_none_or(|first| member < first);
            // The members of a group are in their order.
            if !group
                .members
                .first()
                .is_some_and(|member| is_earlier(*member))
                || self.contents[group.members[0]].currency != prices.currency
            {
                continue;
            }
            let first_member = &self.placed[group.members[0]];
            let Some(beside) = Beside::of(group, first_member, prices, &self.placed[sheet]) else {
                continue;
            };
            for member in beside.candidates() {
                let is_earlier = first.is_none_or(|first| member < first);
                if is_earlier && is_leader[member] && beside.is_copy(&self.placed[member]) {
                    first = Some(member);
                }
            }
        }
        first
    }
}

/// Numbers of the price keys, in order.
fn numbered_keys<'p>(contents: &[&'p Prices]) -> HashMap<&'p str, usize> {
    let prices = contents.iter().flat_map(|prices| &prices.stated);
    let keys: BTreeSet<&str> = prices.map(|price| &*price.key).collect();
    let numbered = keys.into_iter().enumerate();
    numbered.map(|(number, key)| (key, number)).collect()
}

/// Common properties of a group's members.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    currency: Box<str>,
    step: u64,
    multipliers: Vec<u64>,
    /// Key and threshold of each price, and whether it is 0.
    places: Vec<(usize, u32, bool)>,
}

impl Shape {
    fn of(prices: &Prices, placed: &[Placed]) -> Self {
        Self {
            currency: prices.currency.clone(),
            step: prices.step.to_bits(),
            multipliers: sorted(prices)
                .iter()
                .map(|factor| factor.to_bits())
                .collect(),
            places: placed
                .iter()
                .map(|price| (price.key, price.threshold, price.value == 0.0))
                .collect(),
        }
    }
}

fn sorted(prices: &Prices) -> Vec<f64> {
    let mut multipliers = prices.multipliers.to_vec();
    multipliers.sort_unstable_by(f64::total_cmp);
    multipliers.dedup();
    multipliers
}

impl Group {
    fn new(prices: &Prices) -> Self {
        Self {
            step: prices.step,
            multipliers: sorted(prices),
            members: Vec::new(),
            columns: Vec::new(),
        }
    }

    fn fill(&mut self, placed: &[Vec<Placed>]) {
        let count = placed[self.members[0]].len();
        let columns = (0..count).map(|place| {
            let values = self.members.iter().map(|member| {
                let number = u32::try_from(*member).unwrap_or(u32::MAX);
                (placed[*member][place].value, number)
            });
            let mut column: Vec<(f64, u32)> = values.collect();
            column.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
            column
        });
        self.columns = columns.collect();
    }
}

/// A sheet compared with the members of a group.
struct Beside<'i> {
    group: &'i Group,
    /// Shared non-zero prices: place in the group, and the sheet's price.
    shared: Vec<(usize, f64)>,
    factors: Vec<f64>,
    step: f64,
}

impl<'i> Beside<'i> {
    /// None if no price is shared with the first member, or one is 0 on one side only.
    fn of(group: &'i Group, member: &[Placed], prices: &Prices, placed: &[Placed]) -> Option<Self> {
        let shared = shared(member, placed)?.into_iter();
        let stated = group.multipliers.iter().chain(&prices.multipliers).copied();
        Some(Self {
            group,
            shared: shared.map(|(column, (_, value))| (column, value)).collect(),
            factors: COPY_FACTORS.into_iter().chain(stated).collect(),
            step: prices.step,
        })
    }

    /// Possible duplicates: near values in the most selective column.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        let near = self.shared.iter().map(|(column, value)| {
            let column = &self.group.columns[*column];
            let ranges = self.ranges(*value).map(|range| {
                let start = column.partition_point(|(value, _)| *value < range.start);
                let end = column.partition_point(|(value, _)| *value <= range.end);
                &column[start..end.max(start)]
            });
            ranges.collect::<Vec<_>>()
        });
        let fewest =
            near.min_by_key(|ranges| ranges.iter().map(|range| range.len()).sum::<usize>());
        let members = fewest.into_iter().flatten().flatten();
        members.map(|(_, member)| *member as usize)
    }

    /// Ranges of a duplicate's price: this price times or divided by a factor, with rounding.
    fn ranges(&self, value: f64) -> impl Iterator<Item = Range<f64>> {
        let wide = |middle: f64, reach: f64| {
            let slack = SLACK * (middle + reach);
            middle - reach - slack..middle + reach + slack
        };
        // A non-zero price never rounds to 0.
        let factors = self.factors.iter().filter(|factor| **factor > 0.0);
        factors.flat_map(move |factor| {
            let up = wide(value / factor, half(self.step) / factor);
            [up, wide(value * factor, half(self.group.step))]
        })
    }

    /// Whether a member is one decision with the sheet: the same rule as that of two sheets.
    fn is_copy(&self, member: &[Placed]) -> bool {
        let pairs = || {
            let shared = self.shared.iter();
            shared.map(|(column, value)| (member[*column].value, *value))
        };
        let factors = self.factors.iter().copied();
        is_copy(pairs, factors, [self.group.step, self.step])
    }
}

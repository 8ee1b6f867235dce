//! Queries of lists: constant texts with the conditions that a request states and no others, so that each has a
//! plan, and an index, of its own.

use serde::{Deserialize, Serialize};

use crate::connect::query::Query;
use crate::connect::value::Value;
use crate::{DbTime, Times};

/// The time at which a price is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The state recorded at a given time.
    Time(DbTime),
    /// Now. What was recorded as in force is so, also where the clock that recorded it was ahead of this one.
    Now(DbTime),
}

impl AsOf {
    /// The time.
    #[must_use]
    pub fn time(self) -> DbTime {
        match self {
            Self::Time(at) | Self::Now(at) => at,
        }
    }

    /// A given time, up to which the newest is sought; none where that is the newest of all.
    #[must_use]
    pub fn given(self) -> Option<DbTime> {
        match self {
            Self::Time(at) => Some(at),
            Self::Now(_) => None,
        }
    }
}

/// Restricts a list to offers: of every list of names one, or any name where the list is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Providers that bill; all where it is empty.
    pub provider: Vec<String>,
    /// Model names as the providers spell them.
    pub model: Vec<String>,
    /// Canonical names, `author/model`; all where it is empty.
    pub canonical_model: Vec<String>,
    /// Regions in which the model is served.
    pub region: Vec<String>,
    /// Currencies, ISO 4217 codes; all where it is empty.
    pub currency: Vec<String>,
    /// Prefix of a name of the offer.
    pub prefix: Option<NamePrefix>,
}

impl Selection {
    /// Whether it has a name that few offers have.
    fn names_offers(&self) -> bool {
        let names = [&self.canonical_model, &self.provider, &self.model];
        self.prefix.is_some() || names.into_iter().any(|names| !names.is_empty())
    }
}

/// Beginning of a name, without regard to case: the keys from its own to before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePrefix {
    from: String,
    to: String,
}

impl NamePrefix {
    /// The prefix as it was typed.
    #[must_use]
    pub fn new(typed: &str) -> Self {
        // The databases lower the letters of ASCII alone. No name has the last character of all.
        let from = typed.to_ascii_lowercase();
        let to = format!("{from}{}", char::MAX);
        Self { from, to }
    }
}

/// Sort key of a list. Rows of equal value are in the order of storing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortKey {
    /// The order of storing alone.
    #[default]
    Stored,
    /// Name of the provider.
    Provider,
    /// Name of the model.
    Model,
    /// Price of a prompt token; only rows that have one.
    InputPrice,
    /// Price of a generated token; only rows that have one.
    OutputPrice,
}

impl SortKey {
    /// The column, unless it is the sequence number, and whether it has prices: these may be null.
    fn column(self) -> (Option<&'static str>, bool) {
        match self {
            Self::Stored => (None, false),
            Self::Provider => (Some("provider"), false),
            Self::Model => (Some("model"), false),
            Self::InputPrice => (Some("input_price"), true),
            Self::OutputPrice => (Some("output_price"), true),
        }
    }
}

/// Order of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    /// Sort key of the rows.
    pub by: SortKey,
    /// Whether the last one comes first.
    pub is_descending: bool,
}

impl Order {
    /// The last stored first.
    pub const NEWEST: Self = Self {
        by: SortKey::Stored,
        is_descending: true,
    };

    fn is_after(self) -> &'static str {
        if self.is_descending { " < " } else { " > " }
    }

    pub(crate) fn direction(self) -> &'static str {
        if self.is_descending { " DESC" } else { "" }
    }
}

/// Place in a list: the values that it is sorted by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Place {
    /// Sequence number in the order of storing.
    Stored(i64),
    /// Name and sequence number.
    Named(String, i64),
    /// Price and sequence number.
    Priced(f64, i64),
}

impl Place {
    /// Whether it is a place in this order.
    #[must_use]
    pub fn is_in(&self, order: Order) -> bool {
        match self {
            Self::Stored(_) => order.by == SortKey::Stored,
            Self::Named(..) => [SortKey::Provider, SortKey::Model].contains(&order.by),
            Self::Priced(..) => [SortKey::InputPrice, SortKey::OutputPrice].contains(&order.by),
        }
    }
}

/// Rows of a block of the table `stored_times`.
const ROWS_OF_BLOCK: i64 = 4096;

/// Part of a list in the order of storing: the numbers between two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) above: i64,
    pub(crate) below: i64,
}

impl Stretch {
    pub(crate) const ALL: Self = Self {
        above: -1,
        below: i64::MAX,
    };
    pub(crate) const NONE: Self = Self {
        above: -1,
        below: 0,
    };

    /// The rows of some blocks of the table `stored_times`.
    pub(crate) fn of_blocks(oldest: i64, newest: i64) -> Self {
        Self {
            above: oldest * ROWS_OF_BLOCK - 1,
            below: (newest + 1) * ROWS_OF_BLOCK,
        }
    }

    /// The part of it that comes after a place in an order of storing.
    pub(crate) fn after(self, place: Option<&Place>, order: Order) -> Self {
        match place {
            Some(Place::Stored(sequence)) if order.is_descending => Self {
                below: self.below.min(*sequence),
                ..self
            },
            Some(Place::Stored(sequence)) => Self {
                above: self.above.max(*sequence),
                ..self
            },
            _ => self,
        }
    }
}

/// Whether the clock that recorded an offer last had seen the start of a period of it.
const RECORDED_BY_THEN: &str = "
    OR starts_at <= (
        SELECT recorded_at FROM price_intervals AS recorded
        WHERE recorded.sequence = period.sequence AND recorded.part = period.part))";

impl<'a> Query<'a> {
    /// A condition on a value, if there is one: the text ends before the value.
    pub(crate) fn and(self, condition: &'static str, value: Option<impl Into<Value<'a>>>) -> Self {
        match value {
            Some(value) => self.text(" AND ").text(condition).value(value),
            None => self,
        }
    }

    /// A condition on several values at once, if they are given: the text ends before the values.
    pub(crate) fn and_all(self, condition: &'static str, values: Option<Vec<Value<'a>>>) -> Self {
        let Some(values) = values else { return self };
        self.text(" AND ").text(condition).values(values)
    }

    /// A list of values.
    fn values(mut self, values: impl IntoIterator<Item = Value<'a>>) -> Self {
        for (index, value) in values.into_iter().enumerate() {
            self = self.text(if index == 0 { "(" } else { ", " }).value(value);
        }
        self.text(")")
    }

    /// The names of offers. SQLite, which has no statistics, takes an index for the names that are compared by `=`:
    /// those by which the fewest rows are found. The others are compared as a range of one value.
    pub(crate) fn names(self, selection: &'a Selection, order: Order) -> Self {
        let has_key = selection.names_offers() || order.by != SortKey::Stored;
        let region = (has_key, "region");
        let currency = (has_key || !selection.region.is_empty(), "currency");
        self.names_beside_keys(selection, region, currency)
    }

    /// Filter by names for rows that are joined with others by their sheet, which is a better key than a region or a currency.
    pub(crate) fn names_of_joined(self, selection: &'a Selection) -> Self {
        self.names_beside_keys(selection, (true, "region"), (true, "currency"))
    }

    /// Filter by names for estimates of several sheets, which have indexes of their own: SQLite would take one of all estimates for
    /// a region or a currency. They are never null.
    pub(crate) fn names_of_pools(self, selection: &'a Selection) -> Self {
        let (region, currency) = ("coalesce(region, '')", "coalesce(currency, '')");
        self.names_beside_keys(selection, (true, region), (true, currency))
    }

    /// Regions and currencies by these columns, and whether there is a better key.
    fn names_beside_keys(
        self,
        selection: &'a Selection,
        region: (bool, &'static str),
        currency: (bool, &'static str),
    ) -> Self {
        let is_canonical = !selection.canonical_model.is_empty();
        let names = [
            ((false, "canonical_model"), &selection.canonical_model),
            ((is_canonical, "provider"), &selection.provider),
            ((is_canonical, "model"), &selection.model),
            (region, &selection.region),
            (currency, &selection.currency),
        ];
        names
            .into_iter()
            .fold(self, |query, ((has_key, column), values)| {
                query.name(has_key, column, values)
            })
            .prefix(selection.prefix.as_ref())
    }

    /// The only region, as the key of an index that has no room for long names.
    pub(crate) fn region_key(self, selection: &'a Selection) -> Self {
        match &selection.region[..] {
            [region] if !selection.names_offers() => {
                let key = self.text(" AND substr(region, 1, 64) = substr(");
                key.value(region).text(", 1, 64)")
            }
            _ => self,
        }
    }

    /// A filter by names, if stated. If other columns are the key, each name is compared as a range.
    pub(crate) fn name(
        self,
        has_key: bool,
        column: &'static str,
        values: &'a [impl AsRef<str>],
    ) -> Self {
        match values {
            [] => self,
            values if has_key => self.ranges(column, values),
            [value] => self
                .text(" AND ")
                .text(column)
                .text(" = ")
                .value(value.as_ref()),
            values => {
                let list = self.text(" AND ").text(column).text(" IN ");
                list.values(values.iter().map(|value| Value::from(value.as_ref())))
            }
        }
    }

    fn ranges(mut self, column: &'static str, values: &'a [impl AsRef<str>]) -> Self {
        for (place, value) in values.iter().enumerate() {
            let list = self.text(if place == 0 { " AND (" } else { " OR " });
            let list = list.text(column).text(" BETWEEN ").value(value.as_ref());
            self = list.text(" AND ").value(value.as_ref());
        }
        self.text(")")
    }

    /// A filter by the beginning of a name, if stated.
    pub(crate) fn prefix(self, prefix: Option<&'a NamePrefix>) -> Self {
        let Some(prefix) = prefix else { return self };
        self.text(" AND (provider, model) IN (SELECT provider, model FROM offer_names WHERE ")
            .key_begins(prefix)
            .text(")")
    }

    /// Whether a key has a prefix.
    pub(crate) fn key_begins(self, prefix: &'a NamePrefix) -> Self {
        self.text("name_key >= ")
            .value(&prefix.from)
            .text(" AND name_key < ")
            .value(&prefix.to)
    }

    /// Names of one column, if stated.
    pub(crate) fn any_of(self, column: &'static str, values: &'a [String]) -> Self {
        self.name(false, column, values)
    }

    /// The first condition of a sorted list: what comes after a place, or from the beginning. A list in the order of storing has
    /// the rows of a stretch alone.
    pub(crate) fn sorted(
        self,
        order: Order,
        sequence: &'static str,
        after: Option<&'a Place>,
        stretch: Stretch,
    ) -> Self {
        let (column, is_nullable) = order.by.column();
        let Some(column) = column else {
            let Stretch { above, below } = stretch.after(after, order);
            let list = self.text(sequence).text(" > ").value(above);
            return list.text(" AND ").text(sequence).text(" < ").value(below);
        };
        let Some(place) = after else {
            let is_there = if is_nullable {
                " IS NOT NULL"
            } else {
                " >= ''"
            };
            return self.text(column).text(is_there);
        };
        let list = self.text("(").text(column).text(", ").text(sequence);
        let list = list.text(")").text(order.is_after()).text("(");
        let (list, sequence) = match place {
            Place::Stored(sequence) => (list.text(column), sequence),
            Place::Named(name, sequence) => (list.value(name), sequence),
            Place::Priced(price, sequence) => (list.value(*price), sequence),
        };
        list.text(", ").value(*sequence).text(")")
    }

    /// The end of a sorted list.
    pub(crate) fn sorted_page(self, order: Order, sequence: &'static str, limit: u32) -> Self {
        let list = self.text(" ORDER BY ");
        let list = match order.by.column().0 {
            Some(column) => list.text(column).text(order.direction()).text(", "),
            None => list,
        };
        list.text(sequence).page(order.direction(), limit)
    }

    /// The times between which a row was stored.
    pub(crate) fn stored(self, times: &Times) -> Self {
        self.and("observed_at >= ", times.from)
            .and("observed_at < ", times.to)
    }

    /// Whether a row of `price_intervals` is in force, as recorded at a time or now: the one place that decides it. Only where the
    /// clock that recorded a price was ahead of this one is each offer asked about its last recorded time, which is read from all its
    /// periods.
    pub(crate) fn in_force(self, as_of: AsOf) -> Self {
        let now = match as_of {
            AsOf::Time(at) => {
                let begun = self.text(" period.starts_at <= ").value(at);
                return begun.text(" AND period.until > ").value(at);
            }
            AsOf::Now(now) => now,
        };
        self.text(" period.until > ")
            .value(now)
            .text(" AND CASE WHEN EXISTS (SELECT 1 FROM price_periods WHERE observed_at > ")
            .value(now)
            .text(") OR EXISTS (SELECT 1 FROM price_periods WHERE withdrawn_at > ")
            .value(now)
            .text(") THEN period.until > period.recorded_at AND (period.starts_at <= ")
            .value(now)
            .text(" OR period.starts_at <= period.recorded_at) ELSE period.starts_at <= ")
            .value(now)
            .text(" END")
    }

    /// Only periods of prices that have begun, where a time is given.
    pub(crate) fn has_begun(self, as_of: Option<AsOf>) -> Self {
        let begun = self.and("(starts_at <= ", as_of.map(AsOf::time));
        match as_of {
            Some(AsOf::Time(_)) => begun.text(")"),
            Some(AsOf::Now(_)) => begun.text(RECORDED_BY_THEN),
            None => begun,
        }
    }

    /// A condition on a time, where one is stated, by a text that ends before the comparison of times: without a time there is
    /// less to plan.
    pub(crate) fn was_in_force(self, condition: &'static str, as_of: Option<AsOf>) -> Self {
        match as_of {
            Some(at) => self.text(condition).in_force(at).text(")"),
            None => self,
        }
    }

    /// The end of the query.
    pub(crate) fn page(self, order: &'static str, limit: u32) -> Self {
        self.text(order).text(" LIMIT ").value(i64::from(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_whole_blocks_up_to_the_place_of_a_page() {
        let oldest = Order {
            is_descending: false,
            ..Order::NEWEST
        };
        let blocks = Stretch::of_blocks(1, 2);
        let numbers = |stretch: Stretch| (stretch.above + 1, stretch.below - 1);
        assert_eq!(numbers(blocks), (4096, 12_287));
        let place = Place::Stored(8000);
        let after = |place, order| numbers(blocks.after(place, order));
        assert_eq!(after(Some(&place), Order::NEWEST), (4096, 7999));
        assert_eq!(after(Some(&place), oldest), (8001, 12_287));
        assert_eq!(
            after(Some(&Place::Stored(20_000)), Order::NEWEST),
            (4096, 12_287)
        );
        assert_eq!(after(None, oldest), (4096, 12_287));
    }
}

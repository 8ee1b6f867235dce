//! Queries of lists: constant texts with the conditions that a request states and no others, so that each has a
//! plan, and an index, of its own.

use super::query::Query;
use super::value::Value;
use super::{DbTime, Filter, Times};

impl Filter {
    /// Whether it has a name that few offers have.
    fn names_offers(&self) -> bool {
        self.canonical_model.is_some() || self.provider.is_some() || self.model.is_some()
    }
}

impl<'a> Query<'a> {
    /// A condition on a value, if there is one: the text ends before the value.
    pub(super) fn and(self, condition: &'static str, value: Option<impl Into<Value<'a>>>) -> Self {
        match value {
            Some(value) => self.text(" AND ").text(condition).value(value),
            None => self,
        }
    }

    /// A condition on several values at once, if they are given: the text ends before the values.
    pub(super) fn and_all(self, condition: &'static str, values: Option<Vec<Value<'a>>>) -> Self {
        let Some(values) = values else { return self };
        let mut query = self.text(" AND ").text(condition);
        for (index, value) in values.into_iter().enumerate() {
            query = query.text(if index == 0 { "(" } else { ", " }).value(value);
        }
        query.text(")")
    }

    /// The names of offers. SQLite, which has no statistics, takes an index for the names that are compared by `=`:
    /// those by which the fewest rows are found. The others are compared as a range of one value.
    pub(super) fn names(self, filter: &'a Filter) -> Self {
        let has_key = filter.names_offers() || filter.region.is_some();
        self.names_and_currency(filter, has_key)
    }

    /// The same for rows that are joined with others by their sheet, which is a better key than a currency.
    pub(super) fn names_of_joined(self, filter: &'a Filter) -> Self {
        self.names_and_currency(filter, true)
    }

    fn names_and_currency(self, filter: &'a Filter, has_key: bool) -> Self {
        let is_canonical = filter.canonical_model.is_some();
        let names = [
            (false, "canonical_model", &filter.canonical_model),
            (is_canonical, "provider", &filter.provider),
            (is_canonical, "model", &filter.model),
            (filter.names_offers(), "region", &filter.region),
            (has_key, "currency", &filter.currency),
        ];
        names
            .into_iter()
            .fold(self, |query, (has_key, column, value)| {
                query.name(has_key, column, value.as_deref())
            })
    }

    /// A filter by name, if stated. If other columns are the key, the name is compared as a range.
    fn name(self, has_key: bool, column: &'static str, value: Option<&'a str>) -> Self {
        let Some(value) = value else { return self };
        let list = self.text(" AND ").text(column);
        if has_key {
            list.text(" BETWEEN ")
                .value(value)
                .text(" AND ")
                .value(value)
        } else {
            list.text(" = ").value(value)
        }
    }

    /// The times between which a row was stored.
    pub(super) fn stored(self, times: &Times) -> Self {
        self.and("observed_at >= ", times.from)
            .and("observed_at < ", times.to)
    }

    /// Whether a row of `price_intervals` is in force at a time.
    pub(super) fn in_force(self, at: DbTime) -> Self {
        self.text(" starts_at <= ")
            .value(at)
            .text(" AND until > ")
            .value(at)
    }

    /// The same, for times not before the last recorded time of the offer.
    pub(super) fn in_force_as_recorded(self, at: DbTime) -> Self {
        self.text(" (starts_at <= recorded_at OR starts_at <= ")
            .value(at)
            .text(") AND until > recorded_at AND until > ")
            .value(at)
    }

    /// The end of the query.
    pub(super) fn page(self, order: &'static str, limit: u32) -> Self {
        self.text(order).text(" LIMIT ").value(i64::from(limit))
    }
}

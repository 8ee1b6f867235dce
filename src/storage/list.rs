//! Queries of lists: constant texts with the conditions that a request states and no others, so that each has a plan, and
//! an index, of its own.

use std::fmt::Write as _;

use super::value::Value;
use super::{DbTime, Filter, Times};

/// The query of a list. Its text consists of constants; every value is a parameter.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) sql: String,
    pub(super) values: Vec<Value<'a>>,
}

impl<'a> List<'a> {
    pub(super) fn new(sql: &'static str) -> Self {
        Self {
            sql: sql.to_owned(),
            values: Vec::new(),
        }
    }

    pub(super) fn text(mut self, sql: &'static str) -> Self {
        self.sql.push_str(sql);
        self
    }

    /// A parameter.
    pub(super) fn value(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        // Writing to a text does not fail.
        let _ = write!(self.sql, "${}", self.values.len());
        self
    }

    /// A condition on a value, if there is one: the text ends before the value.
    pub(super) fn and(self, condition: &'static str, value: Option<impl Into<Value<'a>>>) -> Self {
        match value {
            Some(value) => self.text(" AND ").text(condition).value(value),
            None => self,
        }
    }

    /// The names of offers. SQLite, which has no statistics, takes an index for the names that are compared by `=`: those by
    /// which the fewest rows are found. The others are compared as a range of one value.
    pub(super) fn names(self, filter: &'a Filter) -> Self {
        let is_offer_known =
            filter.canonical_model.is_some() || filter.provider.is_some() || filter.model.is_some();
        let has_key = is_offer_known || filter.region.is_some();
        self.names_but_currency(filter)
            .name(has_key, "currency", filter.currency.as_deref())
    }

    /// The same for rows that are joined with others by their sheet, which is a better key than a currency.
    pub(super) fn names_of_joined(self, filter: &'a Filter) -> Self {
        self.names_but_currency(filter)
            .name(true, "currency", filter.currency.as_deref())
    }

    fn names_but_currency(self, filter: &'a Filter) -> Self {
        let is_canonical = filter.canonical_model.is_some();
        let is_offer_known = is_canonical || filter.provider.is_some() || filter.model.is_some();
        self.name(false, "canonical_model", filter.canonical_model.as_deref())
            .name(is_canonical, "provider", filter.provider.as_deref())
            .name(is_canonical, "model", filter.model.as_deref())
            .name(is_offer_known, "region", filter.region.as_deref())
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

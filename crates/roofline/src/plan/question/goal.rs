//! Goal of a search: a rate of requests, or what a number of chips serves; and searches along one number.

use super::request::Limits;

const BISECTIONS: u32 = 40;
/// Most units of a search.
const MOST_UNITS: f64 = 1e7;

/// The rate, the chips and the limits of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    /// Requests per second; none if it is a result.
    pub(crate) rate: Option<f64>,
    /// Greatest number of chips.
    pub(crate) budget: Option<f64>,
    pub(crate) limits: Limits,
    pub(crate) whole_units: bool,
    /// Whether trays are rented whole.
    pub(crate) whole_trays: bool,
}

impl Goal {
    /// Whether this many chips may be used.
    pub(crate) fn allows(&self, chips: f64) -> bool {
        self.budget.is_none_or(|most| chips <= most * (1.0 + 1e-9))
    }
}

/// The largest number between two at which something still holds, if it holds at the lower one; spaced by ratio.
pub(crate) fn bisected(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    bisected_in(BISECTIONS, low, high, holds)
}

/// Number of the same kind, after so many steps of the search.
pub(crate) fn bisected_in(steps: u32, low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(high) {
        return high;
    }
    let (mut low, mut high) = (low, high);
    for _ in 0..steps {
        let middle = (low * high).sqrt();
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The fewest units, whole or on average, at least a load, with which something holds.
pub(crate) fn fewest(load: f64, are_whole: bool, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if are_whole {
        fewest_whole(load, holds)
    } else {
        fewest_on_average(load, holds)
    }
}

fn fewest_whole(load: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let mut low = (load - 1e-9).ceil().max(1.0) - 1.0;
    let (mut high, mut step) = (low + 1.0, 1.0);
    while !holds(high) {
        low = high;
        step *= 2.0;
        high += step;
        if high > MOST_UNITS {
            return None;
        }
    }
    while high - low > 1.5 {
        let middle = f64::midpoint(low, high).floor();
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

fn fewest_on_average(load: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (load, load * 1.05 + 1e-6);
    while !holds(high) {
        low = high;
        high *= 1.5;
        if high > MOST_UNITS {
            return None;
        }
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

//! Rents of accelerators as providers have published them, a dated row each.
//!
//! ```
//! use unroof_roofline::reference::{RentContract, published_rent};
//!
//! let rent = |contract| published_rent("h100-sxm", contract, None).unwrap();
//! let (hourly, spot) = (rent(RentContract::OnDemand), rent(RentContract::Spot));
//! assert!(hourly.providers > 2 && hourly.usd_per_hour > spot.usd_per_hour);
//! // No provider had published one by then.
//! assert!(published_rent("h100-sxm", RentContract::OnDemand, Some("2020-01-01".parse().unwrap())).is_none());
//! ```

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

embedded_tables! {
    /// Published rents, by accelerator and day.
    rents: Rent = "rents.csv";
}

/// Contract of a rent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RentContract {
    /// Until the provider needs the chips itself.
    Spot,
    /// By the hour.
    OnDemand,
    /// For days that are booked ahead.
    CapacityBlock,
    /// Committed for a year.
    OneYear,
    /// Committed for three years.
    ThreeYears,
}

/// A rent that a provider has published.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rent {
    /// Id of the accelerator.
    pub accelerator: String,
    /// Day on which the price was published or seen.
    pub date: Date,
    /// Contract of the rent.
    pub contract: RentContract,
    /// Rent of one chip, with its part of the server.
    pub usd_per_hour: f64,
    /// Provider of the chips.
    pub provider: String,
    /// Source of the price.
    pub source: String,
}

/// The middle of what providers publish.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRent {
    /// Median over the providers of the latest price of each.
    pub usd_per_hour: f64,
    /// Providers that publish one.
    pub providers: usize,
    /// Rows that it is the median of.
    pub rows: Vec<&'static str>,
    /// Day of the latest of them.
    pub latest: Date,
}

/// Rent of an accelerator under a contract: of each provider the latest price that was published by a day, and of these the
/// median.
#[must_use]
pub fn published_rent(
    accelerator: &str,
    contract: RentContract,
    by: Option<Date>,
) -> Option<PublishedRent> {
    let mut latest: BTreeMap<&str, &Rent> = BTreeMap::new();
    let is_meant = |rent: &&Rent| {
        let is_known = by.is_none_or(|day| rent.date <= day);
        rent.accelerator == accelerator && rent.contract == contract && is_known
    };
    for rent in rents().iter().filter(is_meant) {
        let of_provider = latest.entry(&rent.provider).or_insert(rent);
        if of_provider.date <= rent.date {
            *of_provider = rent;
        }
    }
    let mut prices: Vec<f64> = latest.values().map(|rent| rent.usd_per_hour).collect();
    prices.sort_by(f64::total_cmp);
    let middle = prices.len() / 2;
    let upper = *prices.get(middle)?;
    let lower = if prices.len().is_multiple_of(2) {
        prices[middle - 1]
    } else {
        upper
    };
    Some(PublishedRent {
        usd_per_hour: f64::midpoint(lower, upper),
        providers: prices.len(),
        rows: latest.values().map(|rent| rent.source.as_str()).collect(),
        latest: latest.values().map(|rent| rent.date).max()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::accelerator;

    #[test]
    fn every_row_is_of_a_known_accelerator_and_says_whence() {
        assert!(rents().len() > 100);
        for rent in rents() {
            assert!(accelerator(&rent.accelerator).is_some(), "{rent:?}");
            assert!(
                rent.usd_per_hour > 0.1 && rent.usd_per_hour < 40.0,
                "{rent:?}"
            );
            assert!(
                !rent.provider.is_empty() && rent.source.len() > 10,
                "{rent:?}"
            );
        }
    }

    #[test]
    fn a_provider_counts_once_with_its_latest_price() {
        let by = |day: &str| {
            published_rent(
                "h100-sxm",
                RentContract::OneYear,
                Some(day.parse().unwrap()),
            )
            .unwrap()
        };
        let (before, after) = (by("2025-12-31"), by("2026-03-31"));
        assert_eq!((before.providers, before.usd_per_hour), (1, 1.70));
        assert_eq!((after.providers, after.usd_per_hour), (1, 2.35));
    }
}

//! Terms of a model: prices over its hosts, the cost of a token, the margin between the two.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::drawn::Drawn;
use unroof_infer::estimate::margins::ImpliedMargin;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::samples::Spread;
use unroof_store::ModelOfferRow;

/// Prices over the hosts of a model, the cost of a token, and the margins between the two
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Terms {
    /// Providers with a price in US dollars in force.
    pub(crate) hosts: usize,
    /// Longest context that a sheet states; null where none does.
    pub(crate) context_tokens: Option<u32>,
    /// Terms of fresh prompt tokens.
    pub(crate) input: LineTerms,
    /// Terms of generated tokens.
    pub(crate) output: LineTerms,
    /// Prompt tokens found in the cache; null where no host prices them.
    pub(crate) cache_read: Option<PriceRange>,
}

/// A price line of a model
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LineTerms {
    /// Prices; null where no host has one.
    pub(crate) price: Option<PriceRange>,
    /// Cost, USD per million tokens.
    pub(crate) cost_usd_per_mtok: Spread,
    /// 1 − cost ÷ price at the lowest price.
    pub(crate) margin_at_lowest: Option<ImpliedMargin>,
    /// 1 − cost ÷ price at the median price.
    pub(crate) margin_at_median: Option<ImpliedMargin>,
}

/// Prices over the hosts of a model, USD per million tokens; of each provider the lowest, without prices of 0
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(crate) struct PriceRange {
    /// Lowest price of a host.
    pub(crate) lowest: f64,
    /// The median over providers.
    pub(crate) median: f64,
}

impl Terms {
    pub(super) fn new(model: &Drawn) -> Self {
        let offers = model.offers.iter();
        let offers: Vec<&ModelOfferRow> = offers.filter(|offer| offer.currency == "USD").collect();
        let mut hosts: Vec<&str> = offers.iter().map(|offer| offer.provider.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let range = |price: fn(&ModelOfferRow) -> Option<f64>| PriceRange::over(&offers, price);
        let line = |price, cost| LineTerms::new(range(price), model.samples(cost).spread(cost));
        Self {
            hosts: hosts.len(),
            context_tokens: model.context,
            input: line(|offer| offer.input_per_mtok, JointQuantity::CostInput),
            output: line(|offer| offer.output_per_mtok, JointQuantity::CostOutput),
            cache_read: range(|offer| offer.cache_read_per_mtok),
        }
    }
}

impl LineTerms {
    fn new(price: Option<PriceRange>, cost: Spread) -> Self {
        let margin = |price| ImpliedMargin::new(price, cost.median, cost.interval_90);
        Self {
            price,
            cost_usd_per_mtok: cost,
            margin_at_lowest: price.and_then(|price| margin(price.lowest)),
            margin_at_median: price.and_then(|price| margin(price.median)),
        }
    }
}

impl PriceRange {
    fn over(
        offers: &[&ModelOfferRow],
        price: impl Fn(&ModelOfferRow) -> Option<f64>,
    ) -> Option<Self> {
        let mut by_provider: BTreeMap<&str, f64> = BTreeMap::new();
        for offer in offers {
            let Some(price) = price(offer).filter(|price| *price > 0.0) else {
                continue;
            };
            let known = by_provider.entry(&offer.provider).or_insert(price);
            *known = known.min(price);
        }
        let mut prices: Vec<f64> = by_provider.into_values().collect();
        prices.sort_by(f64::total_cmp);
        let (below, above) = (prices.len().checked_sub(1)? / 2, prices.len() / 2);
        Some(Self {
            lowest: prices[0],
            median: f64::midpoint(prices[below], prices[above]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn of_each_provider_the_lowest_price_counts() {
        let offer = |provider: &str, price| ModelOfferRow {
            provider: provider.to_owned(),
            model: "m".to_owned(),
            region: "global".to_owned(),
            currency: "USD".to_owned(),
            price_sheet_id: Uuid::nil(),
            input_per_mtok: price,
            output_per_mtok: None,
            cache_read_per_mtok: None,
        };
        let offers = [
            offer("a", Some(4.0)),
            offer("a", Some(3.0)),
            offer("b", Some(1.0)),
            offer("free", Some(0.0)),
            offer("silent", None),
        ];
        let offers: Vec<&ModelOfferRow> = offers.iter().collect();
        let range = PriceRange::over(&offers, |offer| offer.input_per_mtok);
        let expected = PriceRange {
            lowest: 1.0,
            median: 2.0,
        };
        assert_eq!(range, Some(expected));
        assert_eq!(
            PriceRange::over(&offers, |offer| offer.output_per_mtok),
            None
        );
    }
}

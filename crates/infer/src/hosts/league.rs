//! Prices of open models over the engine's costs, by seller of a model and by host.
//!
//! ```
//! use unroof_infer::hosts::league::{PricedOffer, hosts, sellers_of_model};
//!
//! let offer = |provider: &str, output: f64| PricedOffer {
//!     model: "openai/gpt-oss-120b".to_owned(),
//!     provider: provider.to_owned(),
//!     prices: [Some(0.3), Some(output)],
//! };
//! let offers = [offer("acme", 0.6), offer("beta", 1.2)];
//! let sellers = sellers_of_model("openai/gpt-oss-120b", &offers).unwrap().data;
//! assert_eq!(sellers[0].provider, "acme", "the cheapest output first");
//! // Twice the price at the same cost.
//! let table = hosts(&offers).data;
//! let over_cost = |row: usize| table[row].output.as_ref().unwrap().price_over_cost;
//! assert_eq!(table[0].provider, "beta", "the dearest for its cost first");
//! assert!((over_cost(0) / over_cost(1) - 2.0).abs() < 1e-6);
//! ```

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use statrs::statistics::{Data, OrderStatistics};
use utoipa::ToSchema;

use super::engine_cost::engine_cost;
use super::usual_price::{SellerKind, UsualPrice, usual_prices};
use crate::estimate::margins::{Costs, ImpliedMargin};
use crate::estimate::samples::Spread;
use crate::evidence::open_name::open_model_of;
use crate::evidence::release::years;
use unroof_base::units::{count_f64, significant};
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::OpenModel;
use unroof_roofline::reference::calibration::{Calibration, CostLaw};

/// Prices of one offer in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedOffer {
    /// Canonical name of the model, `author/model`.
    pub model: String,
    /// Billing provider.
    pub provider: String,
    /// Prices of input and of output tokens.
    pub prices: [Option<f64>; 2],
}

/// Prices of the sellers of one open model beside the engine's cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelMargins {
    /// Canonical name of the model.
    #[schema(example = "openai/gpt-oss-120b")]
    pub canonical_model: String,
    /// Name of the model in the reference data.
    #[schema(example = "gpt-oss-120B")]
    pub open_model: String,
    /// Day of its release.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub released: Option<Date>,
    /// Cost of an input token by the engine at the published architecture, USD per million.
    pub input_cost: Spread,
    /// Cost of an output token.
    pub output_cost: Spread,
    /// The law that `usual` follows, with its record.
    pub law: CostLaw,
    /// The sellers, the cheapest output first.
    pub data: Vec<SellerMargin>,
}

/// Prices of one seller of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SellerMargin {
    /// Billing provider.
    pub provider: String,
    /// Whether it made the model.
    pub kind: SellerKind,
    /// Input tokens; null without a price.
    #[schema(required)]
    pub input: Option<PriceOverCost>,
    /// Output tokens.
    #[schema(required)]
    pub output: Option<PriceOverCost>,
}

impl SellerMargin {
    fn has_price(&self) -> bool {
        self.input.is_some() || self.output.is_some()
    }
}

/// A price beside the cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PriceOverCost {
    /// The price, USD per million tokens.
    pub price_usd_per_mtok: f64,
    /// 1 − cost ÷ price.
    pub margin: ImpliedMargin,
    /// The price that is usual for this cost, this release and this kind of seller.
    pub usual: UsualPrice,
}

/// Hosts by what they ask for open models over the engine's cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostTable {
    /// The law of usual prices, with its record.
    pub law: CostLaw,
    /// The hosts, the dearest output for its cost first.
    pub data: Vec<HostMargin>,
}

/// Margins of one host, over its open models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostMargin {
    /// Billing provider.
    pub provider: String,
    /// Open models that it sells.
    pub models: usize,
    /// Number of them that the host made itself.
    pub own_models: usize,
    /// Input tokens; null where no model has a price.
    #[schema(required)]
    pub input: Option<TypicalMargin>,
    /// Output tokens.
    #[schema(required)]
    pub output: Option<TypicalMargin>,
}

/// Medians over the models of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TypicalMargin {
    /// Median of price ÷ cost.
    pub price_over_cost: f64,
    /// 1 − cost ÷ price at that median.
    pub margin: f64,
    /// Median of price ÷ usual price: above 1 it is dear for what it serves.
    pub price_over_usual: f64,
    /// Share of the models whose price is below the engine's cost.
    pub below_cost: f64,
}

/// A model with its costs and its usual prices.
struct Costed {
    open: &'static OpenModel,
    costs: Costs,
    author: String,
    /// Usual prices of its author, and of hosts.
    usual: [[UsualPrice; 2]; 2],
}

impl Costed {
    fn new(model: &str) -> Option<Self> {
        let open = open_model_of(model)?;
        let costs = engine_cost(open)?;
        let calibration = Calibration::shipped();
        let mean_years = calibration.population.dates.mean_years;
        let years = open.released.map_or(0.0, |day| years(day) - mean_years);
        let medians = [costs.input.median, costs.output.median];
        let usual = |kind| usual_prices(&calibration.cost_law, medians, years, kind);
        Some(Self {
            open,
            costs,
            author: vendor(model.split('/').next().unwrap_or(model)),
            usual: [SellerKind::Author, SellerKind::Host].map(usual),
        })
    }

    fn kind(&self, provider: &str) -> SellerKind {
        if vendor(provider) == self.author {
            SellerKind::Author
        } else {
            SellerKind::Host
        }
    }

    fn seller(&self, offer: &PricedOffer) -> SellerMargin {
        let kind = self.kind(&offer.provider);
        let costs = [self.costs.input, self.costs.output];
        let usual = self.usual[kind as usize];
        let [input, output] = [0, 1].map(|line| {
            let (price, cost) = (offer.prices[line]?, costs[line]);
            Some(PriceOverCost {
                price_usd_per_mtok: significant(price),
                margin: ImpliedMargin::new(price, cost.median, cost.interval_90)?,
                usual: usual[line],
            })
        });
        SellerMargin {
            provider: offer.provider.clone(),
            kind,
            input,
            output,
        }
    }
}

/// Prices of the sellers of an open model beside the engine's cost; none of a model whose architecture is not published.
#[must_use]
pub fn sellers_of_model(model: &str, offers: &[PricedOffer]) -> Option<ModelMargins> {
    let costed = Costed::new(model)?;
    let own = offers.iter().filter(|offer| offer.model == model);
    let sellers = own.map(|offer| costed.seller(offer));
    let mut data: Vec<SellerMargin> = sellers.filter(SellerMargin::has_price).collect();
    let price = |seller: &SellerMargin| {
        let lines = [&seller.output, &seller.input];
        lines.map(|line| {
            line.as_ref()
                .map_or(f64::INFINITY, |line| line.price_usd_per_mtok)
        })
    };
    data.sort_by(|left, right| {
        let [left_prices, right_prices] = [price(left), price(right)];
        let order = left_prices[0].total_cmp(&right_prices[0]);
        let order = order.then(left_prices[1].total_cmp(&right_prices[1]));
        order.then_with(|| left.provider.cmp(&right.provider))
    });
    // A price of several regions is listed once.
    data.dedup();
    Some(ModelMargins {
        canonical_model: model.to_owned(),
        open_model: costed.open.name.clone(),
        released: costed.open.released,
        input_cost: costed.costs.input,
        output_cost: costed.costs.output,
        law: Calibration::shipped().cost_law,
        data,
    })
}

/// Every host of open models by what it asks over the engine's cost; of several prices of one model its median counts.
#[must_use]
pub fn hosts(offers: &[PricedOffer]) -> HostTable {
    let mut models: BTreeMap<&str, Option<Costed>> = BTreeMap::new();
    let mut by_host: BTreeMap<&str, BTreeMap<&str, Vec<SellerMargin>>> = BTreeMap::new();
    for offer in offers {
        let costed = models
            .entry(&offer.model)
            .or_insert_with(|| Costed::new(&offer.model));
        let Some(costed) = costed else { continue };
        let seller = costed.seller(offer);
        if seller.has_price() {
            let of_host = by_host.entry(&offer.provider).or_default();
            of_host.entry(&offer.model).or_default().push(seller);
        }
    }
    let mut data: Vec<HostMargin> = by_host.into_iter().map(host).collect();
    let over_cost = |host: &HostMargin| {
        host.output
            .as_ref()
            .map_or(0.0, |line| line.price_over_cost)
    };
    data.sort_by(|left, right| over_cost(right).total_cmp(&over_cost(left)));
    HostTable {
        law: Calibration::shipped().cost_law,
        data,
    }
}

fn host((provider, models): (&str, BTreeMap<&str, Vec<SellerMargin>>)) -> HostMargin {
    let is_own = |sellers: &&Vec<SellerMargin>| sellers[0].kind == SellerKind::Author;
    let line = |of: fn(&SellerMargin) -> Option<&PriceOverCost>| typical(models.values(), of);
    HostMargin {
        provider: provider.to_owned(),
        models: models.len(),
        own_models: models.values().filter(is_own).count(),
        input: line(|seller| seller.input.as_ref()),
        output: line(|seller| seller.output.as_ref()),
    }
}

fn typical<'m>(
    models: impl Iterator<Item = &'m Vec<SellerMargin>>,
    line: impl Fn(&SellerMargin) -> Option<&PriceOverCost>,
) -> Option<TypicalMargin> {
    let of_model = |sellers: &'m Vec<SellerMargin>| {
        let prices: Vec<&PriceOverCost> = sellers.iter().filter_map(&line).collect();
        let over_cost = median(prices.iter().map(|price| 1.0 / (1.0 - price.margin.median)))?;
        let over_usual = prices
            .iter()
            .map(|price| price.price_usd_per_mtok / price.usual.median);
        Some((over_cost, median(over_usual)?))
    };
    let ratios: Vec<(f64, f64)> = models.filter_map(of_model).collect();
    let price_over_cost = median(ratios.iter().map(|ratio| ratio.0))?;
    let below = ratios.iter().filter(|ratio| ratio.0 < 1.0).count();
    Some(TypicalMargin {
        price_over_cost: significant(price_over_cost),
        margin: significant(1.0 - 1.0 / price_over_cost),
        price_over_usual: significant(median(ratios.iter().map(|ratio| ratio.1))?),
        below_cost: significant(count_f64(below) / count_f64(ratios.len())),
    })
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let median = Data::new(values.collect::<Vec<f64>>()).median();
    median.is_finite().then_some(median)
}

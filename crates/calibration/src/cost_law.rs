//! Law of list prices over the engine's costs, and its record on families and sellers that a fit has not seen.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use statrs::statistics::Statistics;

use crate::prices::fit::{Seller, rounded, rows_of, seller, sellers};
use crate::prices::price_law::{self, Regressors, Row, Shown};
use crate::prices::{PricedModel, Settings, count};
use unroof_infer::hosts::engine_cost::engine_cost;
use unroof_infer::hosts::usual_price::{SellerKind, UsualPrice, usual_prices};
use unroof_infer::posterior::Interval;
use unroof_roofline::reference::calibration::{Calibration, CostLaw, CostRecord};
use unroof_roofline::reference::open_models;

/// Parts that families, and sellers, are divided into: a fit leaves out one of each.
const PARTS: u8 = 6;
/// Degrees of freedom of the deviations: few prices lie far off.
const DEGREES_OF_FREEDOM: f64 = 8.0;
/// Spread of the change of prices per year that is expected before any is seen.
const PER_YEAR_SD: f64 = 0.5;

/// A model with the engine's costs.
struct Costed<'m> {
    model: &'m PricedModel,
    costs: [f64; 2],
    years: f64,
}

/// Fits the law to models whose costs are known, and scores it on families and sellers that were left out.
#[must_use]
pub fn fit(models: &[&PricedModel]) -> CostLaw {
    let costed = costed(models);
    let left_out = left_out(&costed);
    let of = |kind| -> Vec<&LeftOut<'_>> {
        let own = left_out.iter().filter(|price| price.kind == kind);
        own.collect()
    };
    let (hosts, authors) = (of(SellerKind::Host), of(SellerKind::Author));
    let law = CostLaw {
        host_scale: scale(&hosts),
        author_scale: scale(&authors),
        ..law(&costed, |_, _| true)
    };
    rounded(&CostLaw {
        hosts: record(&hosts, &law),
        authors: record(&authors, &law),
        ..law
    })
}

fn costed<'m>(models: &[&'m PricedModel]) -> Vec<Costed<'m>> {
    let mean_years = Calibration::shipped().population.dates.mean_years;
    let of = |model: &&'m PricedModel| {
        let open = open_models().iter().find(|open| open.name == model.name)?;
        let costs = engine_cost(open)?;
        Some(Costed {
            model,
            costs: [costs.input.median, costs.output.median],
            years: model.truth.years().map_or(0.0, |years| years - mean_years),
        })
    };
    models.iter().filter_map(of).collect()
}

/// The law of the prices that are wanted, by model and seller.
fn law(costed: &[Costed<'_>], wanted: impl Fn(&PricedModel, &str) -> bool) -> CostLaw {
    let kept: Vec<PricedModel> = costed
        .iter()
        .map(|one| {
            let model = one.model;
            model.with_sheets(|sheet, _| wanted(model, &seller(sheet).name))
        })
        .collect();
    let kept: Vec<&PricedModel> = kept.iter().collect();
    let settings = Settings {
        dense_slope_sd: PER_YEAR_SD,
        ..Settings::default()
    };
    let sellers = sellers(&kept);
    let rows: Vec<Row> = kept
        .iter()
        .enumerate()
        .flat_map(|(place, model)| rows_of(place, model, &sellers, &settings))
        .collect();
    let regressors = |one: &Costed<'_>| Regressors {
        levels: one.costs.map(f64::ln),
        further: one.years,
        years: one.years,
    };
    let regressors: Vec<Regressors> = costed.iter().map(regressors).collect();
    let are_authors: Vec<bool> = sellers.iter().map(|seller| seller.is_author).collect();
    let fitted = price_law::fit(&regressors, &are_authors, &rows, &settings);
    let [
        intercept,
        input_cost,
        output_cost,
        per_year,
        author,
        author_per_year,
    ] = fitted.fixed.map(Into::into);
    CostLaw {
        intercept,
        input_cost,
        output_cost,
        per_year,
        author,
        author_per_year,
        host_scale: [1.0; 2],
        author_scale: [1.0; 2],
        degrees_of_freedom: DEGREES_OF_FREEDOM,
        models: rows
            .iter()
            .map(|row| row.model)
            .collect::<BTreeSet<_>>()
            .len(),
        prices: rows.len(),
        hosts: CostRecord::default(),
        authors: CostRecord::default(),
    }
}

/// A price, and a law that saw neither its family's part nor its seller's.
struct LeftOut<'m> {
    law: CostLaw,
    one: &'m Costed<'m>,
    log_prices: [f64; 2],
    kind: SellerKind,
}

fn left_out<'m>(costed: &'m [Costed<'m>]) -> Vec<LeftOut<'m>> {
    let parts = (0..PARTS).flat_map(|families| (0..PARTS).map(move |sellers| (families, sellers)));
    let mut all = Vec::new();
    for (families, sellers) in parts {
        let law = law(costed, |model, seller| {
            part(&model.family) != families && part(seller) != sellers
        });
        let of_part = costed
            .iter()
            .filter(|one| part(&one.model.family) == families);
        for one in of_part {
            for kind in [SellerKind::Host, SellerKind::Author] {
                let is_author = kind == SellerKind::Author;
                let prices = prices(one, |seller| {
                    seller.is_author == is_author && part(&seller.name) == sellers
                });
                all.extend(prices.into_iter().map(|log_prices| LeftOut {
                    law,
                    one,
                    log_prices,
                    kind,
                }));
            }
        }
    }
    all
}

impl LeftOut<'_> {
    /// The usual prices, by the law with the scales of another.
    fn usual(&self, scales: &CostLaw) -> [UsualPrice; 2] {
        let law = CostLaw {
            host_scale: scales.host_scale,
            author_scale: scales.author_scale,
            ..self.law
        };
        usual_prices(&law, self.one.costs, self.one.years, self.kind)
    }

    /// log(price ÷ usual price) per line.
    fn errors(&self) -> [f64; 2] {
        let usual = self.usual(&self.law);
        [0, 1].map(|line| self.log_prices[line] - usual[line].median.ln())
    }
}

fn rmse(prices: &[&LeftOut<'_>]) -> [f64; 2] {
    [0, 1].map(|line| {
        prices
            .iter()
            .map(|price| price.errors()[line])
            .quadratic_mean()
    })
}

/// Scales with which the Student-t has the spread of prices that were left out.
fn scale(prices: &[&LeftOut<'_>]) -> [f64; 2] {
    let of_variance = ((DEGREES_OF_FREEDOM - 2.0) / DEGREES_OF_FREEDOM).sqrt();
    rmse(prices).map(|error| error * of_variance)
}

fn record(prices: &[&LeftOut<'_>], scales: &CostLaw) -> CostRecord {
    let models: BTreeSet<&str> = prices
        .iter()
        .map(|price| price.one.model.name.as_str())
        .collect();
    let usual: Vec<[UsualPrice; 2]> = prices.iter().map(|price| price.usual(scales)).collect();
    let share = |holds: &dyn Fn(&LeftOut<'_>, &[UsualPrice; 2]) -> bool| {
        let both = prices.iter().zip(&usual);
        count(both.filter(|(price, usual)| holds(price, usual)).count()) / count(prices.len())
    };
    let lines = [0, 1];
    CostRecord {
        prices: prices.len(),
        models: models.len(),
        rmse_log: rmse(prices),
        coverage_90: lines.map(|line| {
            share(&|price, usual| {
                let Interval { low, high } = usual[line].interval_90;
                (low..=high).contains(&price.log_prices[line].exp())
            })
        }),
        below_cost: lines
            .map(|line| share(&|price, _| price.log_prices[line] < price.one.costs[line].ln())),
        below_cost_probability: lines.map(|line| {
            usual
                .iter()
                .map(|usual| usual[line].below_cost_probability)
                .mean()
        }),
    }
}

/// Log prices of both lines of the decisions of some sellers.
fn prices(one: &Costed<'_>, wanted: impl Fn(&Seller) -> bool) -> Vec<[f64; 2]> {
    let own = one.model.with_sheets(|sheet, _| wanted(&seller(sheet)));
    let rows = rows_of(0, &own, &sellers(&[&own]), &Settings::default());
    let both = rows.into_iter().filter_map(|row| match row.shown {
        Shown::Both(prices) => Some([prices[0], prices[1]]),
        Shown::One(..) => None,
    });
    both.collect()
}

/// The part of a family or of a seller, by a hash of its name.
fn part(name: &str) -> u8 {
    Sha256::digest(name)[0] % PARTS
}

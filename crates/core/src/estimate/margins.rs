//! Margin per price line: 1 − cost ÷ price.

use serde::Serialize;
use utoipa::ToSchema;

use super::posterior::{Draws, Interval};
use crate::model::assumptions::Assumptions;
use crate::model::quantity::Quantity;
use crate::model::unknowns::Unknowns;
use crate::sheet::{PriceSheet, RateCell};
use crate::units::{Decimal, significant};

/// Probability that cost exceeds price from which a line has a warning.
const WARNED_FROM: f64 = 0.5;
/// Stride of the draws that are used, of which a few thousand suffice for two digits.
const STRIDE: usize = 5;
/// Published margins to compare with.
const TRUTH: &str = "no public truth except DeepSeek's day: 84.5 % of list prices";
/// Service tier of batches.
const BATCH: &str = "batch";

/// Margin of one price line.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LineMargin {
    /// The price line: a meter with its service tier in front where it is not the standard one.
    pub line: &'static str,
    /// The price, USD per million tokens.
    pub price_usd_per_mtok: f64,
    /// Median of 1 − cost ÷ price.
    pub median: f64,
    /// Interval that contains it with a probability of 90 %.
    pub interval_90: Interval,
    /// Probability that cost exceeds price.
    pub cost_exceeds_price_probability: f64,
    /// A warning where that is at least a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warning: Option<String>,
    /// Public truth about it; without one a margin is never identified.
    pub truth: &'static str,
}

/// A line of a sheet and its cost.
struct Line {
    name: &'static str,
    price: f64,
    log_cost: fn(&Unknowns<'_>) -> f64,
}

/// One of the prices of a rate cell, and the cost of the same.
type Kind = (
    &'static str,
    fn(&RateCell) -> Option<&Decimal>,
    fn(&Unknowns<'_>) -> f64,
);

const STANDARD: [Kind; 3] = [
    (
        "input",
        |rate| rate.input.as_ref(),
        |unknowns| unknowns.log_input_cost(),
    ),
    (
        "output",
        |rate| rate.output.as_ref(),
        |unknowns| unknowns.log_output_cost(),
    ),
    (
        "cached_input",
        |rate| rate.cache_read.as_ref(),
        |unknowns| unknowns.log_cached_input_cost(),
    ),
];

/// Batches run when the units have nothing else to do, so that all of the time that they use is used.
const OF_BATCHES: [Kind; 2] = [
    (
        "batch_input",
        |rate| rate.input.as_ref(),
        |unknowns| unknowns.log_input_cost() + unknowns.log_utilisation,
    ),
    (
        "batch_output",
        |rate| rate.output.as_ref(),
        |unknowns| unknowns.log_output_cost() + unknowns.log_utilisation,
    ),
];

/// Margins of the lines of the first sheet that states an output or an input price.
#[must_use]
pub fn of_lines(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    draws: &Draws<'_>,
) -> Vec<LineMargin> {
    let has_prices = |sheet: &&PriceSheet| {
        sheet
            .base_rate()
            .is_some_and(|rate| rate.input.is_some() || rate.output.is_some())
    };
    let Some(sheet) = contents.iter().find(has_prices) else {
        return Vec::new();
    };
    let Some(usd) = usd_per_unit(sheet, assumptions) else {
        return Vec::new();
    };
    lines(sheet, usd)
        .into_iter()
        .map(|line| margin(&line, draws))
        .collect()
}

/// USD per unit of the sheet's currency, where it is known.
fn usd_per_unit(sheet: &PriceSheet, assumptions: &Assumptions) -> Option<f64> {
    let stated = assumptions.stated(Quantity::UsdPerCurrencyUnit);
    match stated {
        Some(stated) => Some(stated.middle),
        None => (sheet.currency == "USD").then_some(1.0),
    }
}

fn lines(sheet: &PriceSheet, usd: f64) -> Vec<Line> {
    let of = |rate: Option<&RateCell>, kinds: &[Kind]| {
        let priced = |(name, price, log_cost): &Kind| {
            let price = usd * price(rate?)?.to_f64();
            (price > 0.0).then_some(Line {
                name,
                price,
                log_cost: *log_cost,
            })
        };
        kinds.iter().filter_map(priced).collect::<Vec<_>>()
    };
    let mut lines = of(sheet.base_rate(), &STANDARD);
    let batch = sheet
        .rates
        .iter()
        .find(|rate| rate.service_tier == BATCH && rate.context_tier.min_prompt_tokens == 0);
    lines.extend(of(batch, &OF_BATCHES));
    lines
}

fn margin(line: &Line, draws: &Draws<'_>) -> LineMargin {
    let log_price = line.price.ln();
    let mut costs: Vec<(f64, f64)> = draws
        .iter()
        .zip(draws.weights())
        .step_by(STRIDE)
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(unknowns, weight)| ((line.log_cost)(&unknowns) - log_price, *weight))
        .collect();
    costs.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let all: f64 = costs.iter().map(|(_, weight)| weight).sum();
    let at = |probability: f64| {
        let mut below = 0.0;
        let reached = costs.iter().find(|(_, weight)| {
            below += weight;
            below >= probability * all
        });
        let last = costs.last();
        let log = reached.or(last).map_or(0.0, |(log, _)| *log);
        significant(-log.exp_m1())
    };
    let exceeding: f64 = costs
        .iter()
        .filter(|(log, _)| *log > 0.0)
        .map(|(_, weight)| weight)
        .sum();
    let exceeds = (exceeding / all).clamp(0.0, 1.0);
    LineMargin {
        line: line.name,
        price_usd_per_mtok: significant(line.price),
        median: at(0.5),
        interval_90: Interval {
            low: at(0.95),
            high: at(0.05),
        },
        cost_exceeds_price_probability: significant(exceeds),
        warning: (exceeds >= WARNED_FROM).then(|| {
            format!(
                "the cost exceeds the price with a probability of {:.0} %: the machine, its load or the size are likely \
                 other than estimated, or the line is sold below cost",
                100.0 * exceeds
            )
        }),
        truth: TRUTH,
    }
}

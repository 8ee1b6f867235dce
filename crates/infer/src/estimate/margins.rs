//! Margin per price line: 1 − cost ÷ price.
//!
//! ```
//! use unroof_infer::estimate::margins::ImpliedMargin;
//! use unroof_infer::posterior::Interval;
//!
//! // A token that is sold at 10 USD per million and costs 1 to serve, probably between 0.5 and 2.
//! let margin = ImpliedMargin::new(10.0, 1.0, Interval { low: 0.5, high: 2.0 }).unwrap();
//! assert_eq!((margin.interval_90.low, margin.median, margin.interval_90.high), (0.8, 0.9, 0.95));
//! ```

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::quantities::JointQuantity;
use super::samples::{Samples, Spread};
use crate::clue;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity;
use crate::evidence::reading::Reading;
use crate::evidence::release::release;
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::{Running, Unknowns};
use crate::hosts::usual_price::{SellerKind, UsualPrice, usual_prices};
use crate::posterior::{Draws, Interval, summarize};
use unroof_base::units::{Decimal, significant};
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_roofline::reference::calibration::Calibration;

/// Probability that cost exceeds price from which a line has a warning.
const WARNED_FROM: f64 = 0.5;
/// Stride of the draws that are used, of which a few thousand suffice for two digits.
const STRIDE: usize = 5;
/// Published margins to compare with.
const TRUTH: &str = "no public truth except DeepSeek's day: 84.5 % of list prices";
/// Service tier of batches.
const BATCH: &str = "batch";

/// Margin of one price line.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct LineMargin {
    /// The price line: a meter with its service tier in front where it is not the standard one.
    pub line: String,
    /// The price, USD per million tokens.
    pub price_usd_per_mtok: f64,
    /// Median of 1 − cost ÷ price.
    pub median: f64,
    /// Interval that contains it with a probability of 90 %.
    pub interval_90: Interval,
    /// Margin that is usual for tokens of this cost, where sellers of open models give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub usual: Option<UsualMargin>,
    /// Probability that cost exceeds price.
    pub cost_exceeds_price_probability: f64,
    /// A warning where that is at least a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warning: Option<String>,
    /// Public truth about it; without one a margin is never identified.
    pub truth: String,
}

/// Margin that sellers of open models have at some cost, by the law of prices over costs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct UsualMargin {
    /// Kind of the sellers: vendors with models of their own, or hosts of models of others.
    pub of: SellerKind,
    /// Margin at the median price.
    pub median: f64,
    /// Nine of ten margins are within it.
    pub interval_90: Interval,
}

impl UsualMargin {
    fn new(of: SellerKind, cost: f64, price: &UsualPrice) -> Self {
        let margin = |price: f64| significant(1.0 - cost / price);
        Self {
            of,
            median: margin(price.median),
            interval_90: Interval {
                low: margin(price.interval_90.low),
                high: margin(price.interval_90.high),
            },
        }
    }
}

/// Implied margin of a price: 1 − cost ÷ price, with the model's pooled cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImpliedMargin {
    /// Margin at the median of the cost.
    pub median: f64,
    /// At the ends of the 90 % interval of the cost.
    pub interval_90: Interval,
}

impl ImpliedMargin {
    /// The margin of a price in USD per million tokens, from the median and the 90 % interval of the cost, in the same
    /// unit; none of a price of 0.
    #[must_use]
    pub fn new(price: f64, cost: f64, cost_90: Interval) -> Option<Self> {
        let margin = |cost: f64| significant(1.0 - cost / price);
        (price > 0.0).then(|| Self {
            median: margin(cost),
            interval_90: Interval {
                low: margin(cost_90.high),
                high: margin(cost_90.low),
            },
        })
    }

    /// The margin from logarithms of cost over price with their weights.
    fn of_logs(costs: &[(f64, f64)]) -> Self {
        let (logs, weights): (Vec<f64>, Vec<f64>) = costs.iter().copied().unzip();
        let summary = summarize(logs.iter().copied(), &weights);
        let margin = |cost_over_price: f64| significant(1.0 - cost_over_price);
        let Interval { low, high } = summary.interval_90();
        Self {
            median: margin(summary.median()),
            interval_90: Interval {
                low: margin(high),
                high: margin(low),
            },
        }
    }
}

/// A line of a sheet and its cost.
struct Line {
    name: String,
    /// Name of the line without the service tier.
    kind: &'static str,
    price: f64,
    log_cost: LogCost,
    /// log of the standard batch over the batch of the line.
    log_batch_ratio: f64,
}

/// log of USD per million tokens in one draw.
type LogCost = fn(&Unknowns<'_>) -> f64;

/// One of the prices of a rate cell, and the cost of the same.
type Kind = (&'static str, fn(&RateCell) -> Option<&Decimal>, LogCost);

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

/// Modes that are sold faster run smaller batches; a prompt costs what it costs in the standard tier.
const OF_FAST_MODES: [Kind; 2] = [STANDARD[0], STANDARD[1]];

/// Costs of input and output tokens, USD per Mtok.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Cost of a fresh prompt token.
    pub input: Spread,
    /// Cost of a generated token.
    pub output: Spread,
}

impl Costs {
    /// The costs of draws.
    #[must_use]
    pub fn of(samples: &Samples) -> Self {
        Self {
            input: samples.spread(JointQuantity::CostInput),
            output: samples.spread(JointQuantity::CostOutput),
        }
    }
}

/// Margins of the lines of the first sheet that states an output or an input price.
#[must_use]
pub fn of_lines(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    costs: Costs,
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
    let usual = usual_margins(contents, sheet, assumptions, calibration, costs);
    let usual_of = |kind: &str| match kind {
        "input" => Some(usual[0]),
        "output" => Some(usual[1]),
        _ => None,
    };
    let lines = lines(sheet, usd, assumptions).into_iter();
    lines
        .map(|line| LineMargin {
            usual: usual_of(&line.name),
            ..margin(&line, costs, draws)
        })
        .collect()
}

/// Margins on input and output tokens that are usual for these costs, for the release of the model and the kind of its seller.
fn usual_margins(
    contents: &[PriceSheet],
    sheet: &PriceSheet,
    assumptions: &Assumptions,
    calibration: &Calibration,
    costs: Costs,
) -> [UsualMargin; 2] {
    let evidence = |sheet| Evidence { sheet, assumptions };
    let evidence: Vec<Evidence<'_>> = contents.iter().map(evidence).collect();
    let years = release(&evidence, calibration).years;
    let kind = match is_sold_by_author(sheet) {
        Some(true) => SellerKind::Author,
        _ => SellerKind::Host,
    };
    let costs = [costs.input.median, costs.output.median];
    let prices = usual_prices(&calibration.cost_law, costs, years, kind);
    [0, 1].map(|line| UsualMargin::new(kind, costs[line], &prices[line]))
}

/// USD per unit of the sheet's currency, where it is known.
fn usd_per_unit(sheet: &PriceSheet, assumptions: &Assumptions) -> Option<f64> {
    let in_usd = (sheet.currency == "USD").then_some(1.0);
    assumptions.middle(Quantity::UsdPerCurrencyUnit).or(in_usd)
}

fn lines(sheet: &PriceSheet, usd: f64, assumptions: &Assumptions) -> Vec<Line> {
    let of = |rate: &RateCell, prefix: &str, kinds: &[Kind], log_batch_ratio: f64| {
        let priced = |(name, price, log_cost): &Kind| {
            let price = usd * price(rate)?.to_f64();
            (price > 0.0).then(|| Line {
                name: format!("{prefix}{name}"),
                kind: name,
                price,
                log_cost: *log_cost,
                log_batch_ratio,
            })
        };
        kinds.iter().filter_map(priced).collect::<Vec<_>>()
    };
    let base = sheet.base_rate();
    let mut lines = base.map_or_else(Vec::new, |rate| of(rate, "", &STANDARD, 0.0));
    let batch = at_any_length(sheet).find(|rate| rate.service_tier == BATCH);
    lines.extend(batch.map_or_else(Vec::new, |rate| of(rate, "", &OF_BATCHES, 0.0)));
    let readings = clue::readings(sheet, assumptions);
    for (rate, log_batch_ratio) in fast_modes(sheet, &readings) {
        let prefix = format!("{}_", rate.service_tier);
        lines.extend(of(rate, &prefix, &OF_FAST_MODES, log_batch_ratio));
    }
    lines
}

/// The cells of prompts of any length that hold at all times.
fn at_any_length(sheet: &PriceSheet) -> impl Iterator<Item = &RateCell> {
    let cells = sheet.rates.iter();
    cells.filter(|rate| rate.context_tier.min_prompt_tokens == 0 && rate.schedule.is_none())
}

/// The modes whose output costs more than that of the standard tier, with the log of the standard batch over theirs:
/// `m_p`·`m_s`, the point of the batch curve that has their price and speed. A mode without a speed runs the standard batch:
/// nothing says that its own is smaller.
fn fast_modes<'s>(
    sheet: &'s PriceSheet,
    readings: &[Reading],
) -> impl Iterator<Item = (&'s RateCell, f64)> {
    let standard = sheet.base_rate().and_then(|rate| rate.output.as_ref());
    let is_dearer = move |rate: &&RateCell| {
        let output = rate.output.as_ref().zip(standard);
        rate.service_tier != BATCH && output.is_some_and(|(output, standard)| output > standard)
    };
    let log_batch_ratio = |rate: &RateCell| {
        let is_of_mode = |reading: &&Reading| {
            reading.id == ReadingId::FastModeBatchRatio
                && reading.label("service_tier") == Some(&rate.service_tier)
                && reading.input("min_prompt_tokens") == Some(0.0)
        };
        let ratio = readings.iter().find(is_of_mode).and_then(Reading::number);
        ratio.map_or(0.0, f64::ln)
    };
    let dearer = at_any_length(sheet).filter(is_dearer);
    dearer.map(move |rate| (rate, log_batch_ratio(rate)))
}

impl Line {
    /// log of cost over price in a draw.
    fn log_cost_over_price(&self, unknowns: &Unknowns<'_>) -> f64 {
        let unknowns = if self.log_batch_ratio > 0.0 {
            Unknowns {
                log_batch_over_optimal: unknowns.log_batch_over_optimal - self.log_batch_ratio,
                running: Running {
                    log_step_seconds: None,
                    ..unknowns.running
                },
                ..*unknowns
            }
        } else {
            *unknowns
        };
        (self.log_cost)(&unknowns) - self.price.ln()
    }
}

/// The quantity that is the cost of a line, so that both have the same figures.
fn cost_of(line: &Line, costs: Costs) -> Option<Spread> {
    match line.kind {
        "input" => Some(costs.input),
        "output" if line.log_batch_ratio <= 0.0 => Some(costs.output),
        _ => None,
    }
}

fn margin(line: &Line, costs: Costs, draws: &Draws<'_>) -> LineMargin {
    let stated = cost_of(line, costs)
        .and_then(|cost| ImpliedMargin::new(line.price, cost.median, cost.interval_90));
    let over_price: Vec<(f64, f64)> = draws
        .iter()
        .zip(draws.weights())
        .step_by(STRIDE)
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(unknowns, weight)| (line.log_cost_over_price(&unknowns), *weight))
        .collect();
    let all: f64 = over_price.iter().map(|(_, weight)| weight).sum();
    let implied = stated.unwrap_or_else(|| ImpliedMargin::of_logs(&over_price));
    let exceeding: f64 = over_price
        .iter()
        .filter(|(log, _)| *log > 0.0)
        .map(|(_, weight)| weight)
        .sum();
    let exceeds = (exceeding / all).clamp(0.0, 1.0);
    LineMargin {
        line: line.name.clone(),
        price_usd_per_mtok: significant(line.price),
        median: implied.median,
        interval_90: implied.interval_90,
        usual: None,
        cost_exceeds_price_probability: significant(exceeds),
        warning: (exceeds >= WARNED_FROM).then(|| {
            format!(
                "the cost exceeds the price with a probability of {:.0} %: the machine, its load or the size are likely \
                 other than estimated, or the line is sold below cost",
                100.0 * exceeds
            )
        }),
        truth: TRUTH.to_owned(),
    }
}

//! The steps of a tariff against the cost of a token over the length of its context.

use maud::{Markup, html};

use crate::chart::axis::{dollars, short};
use crate::chart::frame::{self, Frame, Plane};
use crate::chart::mark::{Anchor, area, bar, labelled, line, rule, steps, text};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::price_line::PriceLine;
use crate::words::{capital, percent};
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::serving::{CostAt, Serving};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 220.0);
/// Context at which a finding is stated.
const TYPICAL: f64 = 8_192.0;
/// Contexts that are shown of a sheet that states no longest one.
const SHOWN: f64 = 262_144.0;

/// A tariff against costs.
struct TariffAndCost {
    line: PriceLine,
    /// Cost at lengths of context, ascending.
    costs: Vec<CostAt>,
    /// The lengths from which prices hold, ascending, with the prices in USD per million tokens.
    prices: Vec<(f64, f64)>,
    /// The context at which reading the cache takes as long as computing.
    crossover: Option<f64>,
}

/// Chart of the tariff of a sheet against the cost of a token.
#[must_use]
pub fn cost(
    serving: &Serving,
    sheet: Option<&PriceSheet>,
    crossover: Option<f64>,
    line: PriceLine,
) -> Chart {
    let limit = sheet.and_then(|sheet| sheet.limits.max_input);
    let limit = limit.map_or(SHOWN, f64::from).max(TYPICAL * 2.0);
    let costs = line.costs(serving).iter().copied();
    let both = TariffAndCost {
        line,
        costs: costs
            .filter(|cost| cost.context_tokens <= limit * 1.01)
            .collect(),
        prices: sheet.map_or_else(Vec::new, |sheet| tariff(sheet, line)),
        crossover,
    };
    both.chart(&seller(sheet))
}

fn seller(sheet: Option<&PriceSheet>) -> String {
    match sheet {
        Some(sheet) if sheet.currency == "USD" => format!("as {} sells it", sheet.provider),
        Some(sheet) => format!("not drawn, as it is in {}", sheet.currency),
        None => "not drawn, as none is in force".to_owned(),
    }
}

/// The prices of the standard tier by the length from which they hold.
fn tariff(sheet: &PriceSheet, line: PriceLine) -> Vec<(f64, f64)> {
    if sheet.currency != "USD" {
        return Vec::new();
    }
    let of_standard =
        |rate: &&RateCell| rate.service_tier == RateCell::STANDARD && rate.schedule.is_none();
    let step = |rate: &RateCell| {
        let price = line.price(rate)?.to_f64();
        let from = f64::from(rate.context_tier.min_prompt_tokens);
        (price > 0.0).then_some((from, price))
    };
    let rates = sheet.rates.iter().filter(of_standard);
    let mut steps: Vec<(f64, f64)> = rates.filter_map(step).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    steps
}

impl TariffAndCost {
    /// The price at a length.
    fn price_at(&self, tokens: f64) -> Option<f64> {
        let before = self.prices.iter().rev().find(|(from, _)| *from <= tokens);
        let price = before.or_else(|| self.prices.first());
        price.map(|(_, price)| *price)
    }

    fn chart(&self, seller: &str) -> Chart {
        let words = Words {
            title: self.finding(),
            description: format!(
                "Orange: the price by length of the prompt, {seller}. Blue: the cost of a token with its 90\u{a0}% ribbon, at the \
                 drawn batch and rent. Grey: the crossover, above which reading the cache takes longer than computing."
            ),
        };
        let rows = self.costs.iter().map(|cost| {
            let price = self.price_at(cost.context_tokens);
            (cost, price, price.map(|price| 1.0 - cost.median / price))
        });
        let table = Table::of(
            rows,
            &[
                ("context_tokens", |row| row.0.context_tokens.into()),
                ("cost_usd_per_mtok_median", |row| row.0.median.into()),
                ("cost_usd_per_mtok_low_90", |row| {
                    row.0.interval_90.low.into()
                }),
                ("cost_usd_per_mtok_high_90", |row| {
                    row.0.interval_90.high.into()
                }),
                ("price_usd_per_mtok", |row| row.1.into()),
                ("margin_median", |row| row.2.into()),
            ],
        );
        words.chart(FRAME.size(), self.drawing(), table)
    }

    /// The margin at a usual and at the longest context, or the cost if there is no price.
    fn finding(&self) -> String {
        let tokens = self.line.tokens();
        let near = |tokens: f64| {
            let distance = |cost: &&CostAt| (cost.context_tokens / tokens).ln().abs();
            let costs = self.costs.iter();
            costs.min_by(|one, other| distance(one).total_cmp(&distance(other)))
        };
        let (Some(typical), Some(longest)) = (near(TYPICAL), self.costs.last()) else {
            return format!("The cost of {tokens} is not known");
        };
        let level = |cost: &CostAt| Some(level(cost.median, self.price_at(cost.context_tokens)?));
        let (at, last) = (
            compact(typical.context_tokens),
            compact(longest.context_tokens),
        );
        match (level(typical), level(longest)) {
            (Some(first), Some(second)) => format!(
                "{}: {first} at {at} tokens of context, {second} at {last}",
                capital(tokens)
            ),
            _ => format!(
                "A million {tokens} cost ${} at {at} tokens of context and ${} at {last}",
                compact(typical.median),
                compact(longest.median),
            ),
        }
    }

    fn drawing(&self) -> Markup {
        let ends = |of: fn(&CostAt) -> f64| {
            self.costs
                .iter()
                .map(move |cost| (cost.context_tokens, of(cost)))
        };
        let (low, high) = (
            ends(|cost| cost.interval_90.low),
            ends(|cost| cost.interval_90.high),
        );
        let tokens = |cost: Option<&CostAt>| cost.map_or(1.0, |cost| cost.context_tokens);
        let (first, last) = (tokens(self.costs.first()), tokens(self.costs.last()));
        let all = low
            .clone()
            .chain(high.clone())
            .chain(self.prices.iter().copied());
        let plane = Plane {
            frame: FRAME,
            across: Scale::log((first, last), FRAME.across()),
            up: Scale::around(all.map(|(_, usd)| usd), (0.8, 1.25), FRAME.up()),
        };
        let held = self
            .prices
            .iter()
            .map(|(from, price)| (from.max(first), *price));
        let end = self.prices.last().map(|(_, price)| (last, *price));
        html! {
            (plane.axes([short, dollars], ["tokens of context", "USD per million tokens"]))
            (area(Tone::Estimate, &plane.path(low.chain(high.rev())), 0.25))
            (line(Tone::Estimate, &plane.path(ends(|cost| cost.median)), 2.0))
            @if !self.prices.is_empty() { (line(Tone::Series(1), &steps(&plane.path(held.chain(end))), 2.5)) }
            @if let Some(tokens) = self.crossover.filter(|tokens| (first..=last).contains(tokens)) {
                (crossover(tokens, plane.across.at(tokens)))
            }
            @for cost in &self.costs {
                @let x = plane.across.at(cost.context_tokens);
                (labelled(&self.words(cost), &bar(Tone::Estimate, (x - 8.0, FRAME.top), (x + 8.0, FRAME.bottom), 0.0)))
            }
        }
    }

    /// A length in words: its cost, its price and the margin between them.
    fn words(&self, cost: &CostAt) -> String {
        let interval = cost.interval_90;
        let cost_in_words = format!(
            "{} tokens: cost ${} (${} to ${})",
            compact(cost.context_tokens),
            compact(cost.median),
            compact(interval.low),
            compact(interval.high)
        );
        let Some(price) = self.price_at(cost.context_tokens) else {
            return cost_in_words;
        };
        let margin = |cost: f64| percent(1.0 - cost / price);
        format!(
            "{cost_in_words}, price ${}, margin {} ({} to {})",
            readable(price),
            margin(cost.median),
            margin(interval.high),
            margin(interval.low)
        )
    }
}

fn crossover(tokens: f64, x: f64) -> Markup {
    let words = format!(
        "Crossover at {} tokens: from here on reading the cache takes longer than computing",
        compact(tokens)
    );
    let (beside, anchor) = if x > FRAME.width / 2.0 {
        (-5.0, Anchor::End)
    } else {
        (5.0, Anchor::Start)
    };
    html! {
        (labelled(&words, &rule(Tone::Muted, (x, FRAME.top), (x, FRAME.bottom), 1.5)))
        (text(Tone::Muted, (x + beside, FRAME.bottom - 7.0), anchor, "crossover"))
    }
}

/// The margin of a price over a cost, or how far the cost exceeds it.
fn level(cost: f64, price: f64) -> String {
    if cost <= price {
        format!("a margin of {}", percent(1.0 - cost / price))
    } else {
        format!("a cost of {} times the price", compact(cost / price))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_infer::posterior::Interval;

    #[test]
    fn the_margin_at_a_length_is_over_the_price_that_holds_there() {
        let cost = |context_tokens| CostAt {
            context_tokens,
            median: 1.0,
            interval_90: Interval {
                low: 0.5,
                high: 2.0,
            },
        };
        let both = TariffAndCost {
            line: PriceLine::Output,
            costs: vec![cost(1e3), cost(3e5)],
            prices: vec![(0.0, 2.0), (2e5, 4.0)],
            crossover: Some(1e4),
        };
        assert_eq!(both.price_at(2e5), Some(4.0));
        let chart = both.chart("as acme sells it");
        let svg = chart.svg().into_string();
        assert!(
            svg.contains(
                "300k tokens: cost $1.00 ($0.50 to $2.00), price $4, margin 75\u{a0}% (50\u{a0}% to 88\u{a0}%)"
            ),
            "{svg}"
        );
        let csv = String::from_utf8(chart.table.csv().unwrap()).unwrap();
        assert!(csv.contains("1000,1,0.5,2,2,0.5"), "{csv}");
    }
}

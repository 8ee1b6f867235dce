//! The steps of a tariff against the cost of a token over the length of its context.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame;
use crate::chart::frame::{Axis, Frame};
use crate::chart::mark::{Anchor, area, bar, labelled, line, rule, steps, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::{Cell, Table};
use crate::chart::tone::Tone;
use unroof_base::units::{compact, readable};

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 220.0);

/// Cost of a token at a length of context.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Context, in tokens.
    pub tokens: f64,
    /// Median, USD per million tokens.
    pub median: f64,
    /// 90 % interval of the cost, USD per million tokens.
    pub interval_90: (f64, f64),
}

/// A tariff against costs.
#[derive(Debug, Clone)]
pub struct TariffAndCost {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Cost at lengths of context, ascending.
    pub costs: Vec<Cost>,
    /// The lengths from which prices hold, ascending, with the prices in USD per million tokens.
    pub prices: Vec<(f64, f64)>,
    /// The context at which reading the cache takes as long as computing.
    pub crossover: Option<f64>,
}

impl TariffAndCost {
    /// The price at a length.
    #[must_use]
    pub fn price_at(&self, tokens: f64) -> Option<f64> {
        let before = self.prices.iter().rev().find(|(from, _)| *from <= tokens);
        before
            .or_else(|| self.prices.first())
            .map(|(_, price)| *price)
    }

    /// Chart of a tariff against costs.
    pub fn chart(self) -> Chart {
        let all = self
            .costs
            .iter()
            .flat_map(|cost| [cost.interval_90.0, cost.interval_90.1]);
        let all = all.chain(self.prices.iter().map(|(_, price)| *price));
        let (least, greatest) = extent(all);
        let tokens = |cost: Option<&Cost>| cost.map_or(1.0, |cost| cost.tokens);
        let ends = (tokens(self.costs.first()), tokens(self.costs.last()));
        let horizontal = Scale::log(ends, FRAME.across());
        let vertical = Scale::log((least * 0.8, greatest * 1.25), FRAME.up());
        let dollars = |value: f64| format!("${}", short(value));
        let drawing = html! {
            (FRAME.axes(
                &Axis::new(&horizontal, 7, short, "tokens of context"),
                &Axis::new(&vertical, 6, dollars, "USD per million tokens"),
            ))
            (self.drawing(&horizontal, &vertical, ends))
        };
        Chart {
            drawing,
            table: self.table(),
            title: self.title,
            description: self.description,
            width: FRAME.width,
            height: FRAME.height(),
        }
    }

    fn drawing(&self, horizontal: &Scale, vertical: &Scale, ends: (f64, f64)) -> Markup {
        let at = |tokens: f64, cost: f64| (horizontal.at(tokens), vertical.at(cost));
        let lower = self
            .costs
            .iter()
            .map(|cost| at(cost.tokens, cost.interval_90.0));
        let upper = self
            .costs
            .iter()
            .rev()
            .map(|cost| at(cost.tokens, cost.interval_90.1));
        let ribbon: Vec<(f64, f64)> = lower.chain(upper).collect();
        let median: Vec<(f64, f64)> = self
            .costs
            .iter()
            .map(|cost| at(cost.tokens, cost.median))
            .collect();
        let held = self
            .prices
            .iter()
            .map(|(from, price)| at(from.max(ends.0), *price));
        let end = self.prices.last().map(|(_, price)| at(ends.1, *price));
        let prices = steps(&held.chain(end).collect::<Vec<_>>());
        let (bottom, top) = FRAME.up();
        html! {
            (area(Tone::Estimate, &ribbon, 0.25))
            (line(Tone::Estimate, &median, 2.0))
            @if !self.prices.is_empty() { (line(Tone::Series(1), &prices, 2.5)) }
            @if let Some(crossover) = self.crossover.filter(|tokens| (ends.0..=ends.1).contains(tokens)) {
                @let x = horizontal.at(crossover);
                @let words = format!("Crossover at {} tokens: from here on reading the cache takes longer than computing", compact(crossover));
                (labelled(&words, &rule(Tone::Muted, (x, top), (x, bottom), 1.5)))
                @let (beside, anchor) = if x > FRAME.width / 2.0 { (-5.0, Anchor::End) } else { (5.0, Anchor::Start) };
                (text(Tone::Muted, (x + beside, bottom - 7.0), anchor, "crossover"))
            }
            @for cost in &self.costs {
                @let x = horizontal.at(cost.tokens);
                (labelled(&self.words(cost), &bar(Tone::Estimate, (x - 8.0, top), (x + 8.0, bottom), 0.0)))
            }
        }
    }

    /// A length in words: its cost, its price and the margin between them.
    fn words(&self, cost: &Cost) -> String {
        let (low, high) = cost.interval_90;
        let cost_in_words = format!(
            "{} tokens: cost ${} (${} to ${})",
            compact(cost.tokens),
            compact(cost.median),
            compact(low),
            compact(high)
        );
        let Some(price) = self.price_at(cost.tokens) else {
            return cost_in_words;
        };
        let margin = |cost: f64| format!("{:.0}\u{a0}%", 100.0 * (1.0 - cost / price));
        format!(
            "{cost_in_words}, price ${}, margin {} ({} to {})",
            readable(price),
            margin(cost.median),
            margin(high),
            margin(low)
        )
    }

    fn table(&self) -> Table {
        let row = |cost: &Cost| {
            let price = self.price_at(cost.tokens);
            let margin = price.map(|price| 1.0 - cost.median / price);
            vec![
                Cell::from(cost.tokens),
                cost.median.into(),
                cost.interval_90.0.into(),
                cost.interval_90.1.into(),
                price.into(),
                margin.into(),
            ]
        };
        Table {
            columns: vec![
                "context_tokens",
                "cost_usd_per_mtok_median",
                "cost_usd_per_mtok_low_90",
                "cost_usd_per_mtok_high_90",
                "price_usd_per_mtok",
                "margin_median",
            ],
            rows: self.costs.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_at_a_length_is_over_the_price_that_holds_there() {
        let cost = |tokens| Cost {
            tokens,
            median: 1.0,
            interval_90: (0.5, 2.0),
        };
        let both = TariffAndCost {
            title: "t".to_owned(),
            description: "d".to_owned(),
            costs: vec![cost(1e3), cost(3e5)],
            prices: vec![(0.0, 2.0), (2e5, 4.0)],
            crossover: Some(1e4),
        };
        assert_eq!(both.price_at(2e5), Some(4.0));
        let svg = both.clone().chart().svg().into_string();
        assert!(
            svg.contains(
                "300k tokens: cost $1.00 ($0.50 to $2.00), price $4, margin 75\u{a0}% (50\u{a0}% to 88\u{a0}%)"
            ),
            "{svg}"
        );
        let csv = String::from_utf8(both.chart().table.csv().unwrap()).unwrap();
        assert!(csv.contains("1000,1,0.5,2,2,0.5"), "{csv}");
    }
}

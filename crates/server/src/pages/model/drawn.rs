//! The parts that show the draws: densities, cost over context, and the roofline.

use maud::{Markup, html};

use super::{Shown, empty, figures_by_quantity, section};
use crate::charts::estimate::{cost_of, density_of};
use crate::pages::figure::{figure, under_heading};
use crate::pages::words::usual_margin;
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::posterior::Interval;
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::roofline;
use unroof_report::price_line::PriceLine;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table};
use unroof_report::words::spaced;

/// The quantities that are asked for most.
const FIRST: [JointQuantity; 4] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
    JointQuantity::KvBytesRead,
    JointQuantity::CostOutput,
];

/// Width of the interval over that of the prior below which it is narrower.
const LEAST_NARROWED: f64 = 0.9;

/// The reason that there are no draws, and the remedy.
fn no_draws(id: &str, finding: &str) -> Markup {
    let words = html! {
        p { "Another version of the engine, or another calibration, made this estimate, so its draws cannot be made again." }
        p { "The service estimates every model again by itself: come back in a few minutes." }
    };
    section(id, finding, &empty(&words))
}

/// Prior and posterior of every quantity.
pub(super) fn densities(shown: &Shown) -> Markup {
    let Some(drawn) = &shown.drawn else {
        return no_draws("densities", "Densities are not drawn");
    };
    let estimate = &shown.subject.estimate;
    let present = estimate.in_order().map(|(quantity, _)| quantity).collect();
    let draw = |quantity| density_of(&shown.subject, drawn, quantity);
    let (first, others) = figures_by_quantity(shown, "density", &FIRST, present, draw);
    let independent = readable(estimate.diagnostics.effective_sample_size.round());
    let content = html! {
        p.note { "The curves are smoothed from weighted draws that have the information of " (independent) " independent ones." }
        div.columns { @for figure in &first { (figure) } }
        details {
            summary { "The other " (others.len()) " quantities" }
            div.columns { @for figure in &others { (figure) } }
        }
    };
    section("densities", &narrowed(shown), &content)
}

/// The narrowing of the size by the sheets.
fn narrowed(shown: &Shown) -> String {
    let own = shown
        .subject
        .estimate
        .quantity(JointQuantity::ActiveParameters);
    let Some(own) = own else {
        return "Prior and estimate".to_owned();
    };
    let factor = |interval: Interval| interval.high / interval.low;
    let (before, after) = (factor(own.prior.interval_90), factor(own.interval_90));
    let is_narrower = after < LEAST_NARROWED * before;
    let (before, after) = (compact(before), compact(after));
    if is_narrower {
        format!(
            "The prices narrow the active parameters from a factor of {before} to one of {after}"
        )
    } else {
        format!(
            "The prices do not narrow the active parameters: a factor of {after}, before them {before}"
        )
    }
}

/// The tariff against the cost of a token, and the margin of each line.
pub(super) fn costs(shown: &Shown) -> Markup {
    let Some(drawn) = &shown.drawn else {
        return no_draws("cost", "Cost over context is not drawn");
    };
    let charts = [PriceLine::Input, PriceLine::Output].map(|side| {
        (
            cost_of(&shown.subject, drawn, shown.sheet.as_ref(), side),
            side.name(),
        )
    });
    let content = html! {
        div.columns {
            @for (chart, side) in &charts { (figure(chart, "cost", &shown.question.with("side", side).query())) }
        }
        @if shown.subject.estimate.serving().is_some() { p.note { "The costs and margins in words are of the published architecture; the charts are of prices alone." } }
        (margins(shown))
    };
    section("cost", &cost_finding(shown, &charts[1].0), &content)
}

fn cost_finding(shown: &Shown, output: &Chart) -> String {
    let estimate = &shown.subject.estimate;
    estimate.best_spread(JointQuantity::CostOutput).map_or_else(
        || output.title.clone(),
        |cost| {
            format!(
                "A million output tokens cost about ${} to make (${} to ${})",
                compact(cost.median),
                compact(cost.interval_90.low),
                compact(cost.interval_90.high)
            )
        },
    )
}

/// The margin of each line of the tariff.
fn margins(shown: &Shown) -> Markup {
    let estimate = &shown.subject.estimate;
    let margins = estimate.best_margins();
    html! {
        @if margins.is_empty() {
            (empty(&html! {
                p { "No price in US dollars, so there is no margin. State the exchange rate as usd_per_currency_unit in a request to "
                    a href="/docs/" { "/infer" } "." }
            }))
        } @else {
            h3 { "Margin of each line, " @if estimate.serving().is_some() { "of the published architecture" } @else { "without public truth" } }
            p.note {
                "1 − cost ÷ price, at prompts of " (readable(estimate.prompt_tokens)) " tokens. Usual is what sellers of open models have at such a cost. No vendor publishes its margin, except DeepSeek for one day."
            }
            (scrolling("Margins", &table(&[Text("Line"), Number("Price, $/Mtok"), Number("Margin (90\u{a0}%)"), Number("Usual"), Number("Below cost with")], &html! {
                @for margin in margins {
                    tr {
                        th scope="row" { (spaced(&margin.line)) }
                        td.number { (readable(margin.price_usd_per_mtok)) }
                        td.number { (margin_in_words(margin.median, margin.interval_90)) }
                        td.number { (usual_margin(margin)) }
                        td.number { (format!("{:.1}\u{a0}%", 100.0 * margin.cost_exceeds_price_probability)) }
                    }
                }
            })))
        }
    }
}

/// Decoding on the roofline.
pub(super) fn roofline(shown: &Shown) -> Markup {
    let drawn = shown.drawn.as_ref();
    let chart = drawn.and_then(|drawn| roofline::roofline(&drawn.serving.roofline));
    let Some(chart) = chart else {
        return no_draws("roofline", "The roofline is not drawn");
    };
    let content = under_heading(&chart, "roofline", &shown.question.query());
    section("roofline", &chart.title, &content)
}

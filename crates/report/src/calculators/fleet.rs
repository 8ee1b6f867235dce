//! The answer of `/plan`: the cheapest layouts for a load, and the inputs that move their cost.

use maud::{Markup, html};

use super::parts;
use super::parts::bytes as of_bytes;
use crate::tables::Head::{Number, Text};
use crate::tables::{scrolling, table};
use crate::words::{capital, count, or_dash, spaced};
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::listed;
use unroof_roofline::plan::{EngineFlag, Layout, PlanAnswer, PlanItem, ServingKind};
use unroof_roofline::reference::{FigureInterval, INTERVAL_NOTE};

/// Plans that are shown.
const MOST_PLANS: usize = 8;

/// The answer in words.
#[must_use]
pub fn summary(answer: &PlanAnswer) -> Markup {
    let model = answer.model.as_deref().unwrap_or("The stated sizes");
    html! {
        @match answer.plans.first() {
            Some(best) => p.lead data-finding {
                strong { (model) } ": the cheapest of " (count(answer.searched.units)) " ways to serve "
                (readable(best.requests_per_second)) " requests per second takes " strong { (readable(best.chips)) " " (best.decode.accelerator) }
                @if let Some(day) = best.cost.usd_per_day { " and costs $" (ranged(best, "cost.usd_per_day", day)) " a day" }
                (prices(best))
                ". One user gets "
                (ranged(best, "time_per_output_token.tokens_per_second_per_user", best.time_per_output_token.tokens_per_second_per_user))
                " tokens/s"
                @if let Some(first) = best.time_to_first_token.p95_seconds { " after " (compact(first.0)) " s (95 %)" }
                "."
            },
            None => div.empty data-finding {
                p { strong { "No layout keeps these limits." } }
                @for item in &answer.nearest {
                    p {
                        "A plan would need "
                        @match item.input.rsplit_once('.') {
                            Some((_, input)) => { (spaced(input)) " of " (readable(item.would_do)) " instead of " (readable(item.stated)) }
                            None => { "both limits " (readable(item.would_do)) " times as long" }
                        }
                        "."
                    }
                }
                @if answer.nearest.is_empty() {
                    p { "No single change of a limit, the chips or the weights would do." }
                }
            }
        }
        @if answer.plans.iter().any(|plan| !plan.intervals.is_empty()) { p.note { (capital(INTERVAL_NOTE)) "." } }
    }
}

fn ranged(plan: &PlanItem, figure: &str, value: f64) -> String {
    parts::ranged(&plan.intervals, figure, value, compact)
}

fn prices(plan: &PlanItem) -> Markup {
    html! {
        @if let (Some(input), Some(output)) = (plan.cost.input_usd_per_mtok, plan.cost.output_usd_per_mtok) {
            ": $" (ranged(plan, "cost.input_usd_per_mtok", input)) " per million prompt tokens and $"
            (ranged(plan, "cost.output_usd_per_mtok", output)) " per million output tokens"
        }
    }
}

/// The ranking, what moves the cost, and where caches are cheapest.
#[must_use]
pub fn details(answer: &PlanAnswer) -> Markup {
    html! {
        (by_accelerator(answer))
        @if let Some(best) = answer.plans.first() {
            (ranking(&answer.plans))
            (engine_flags(&best.engine_flags))
            div.columns { (sensitivity(answer)) (offload(answer)) }
        }
    }
}

/// The cheapest plan on each accelerator, where all are asked for.
fn by_accelerator(answer: &PlanAnswer) -> Markup {
    let items = &answer.accelerators;
    let number = |value: Option<f64>| or_dash(value, compact);
    html! {
        @if !items.is_empty() {
            h3 { "Accelerators, by the upper end of their cost" }
            (scrolling("Accelerators", &table(&[
                Text("Accelerator"), Number("USD/h"), Number("Rows"), Text("Layout of a unit"), Number("Chips"), Number("USD/Mtok"),
                Number("80 %"),
            ], &html! {
                @for item in items {
                    tr {
                        th scope="row" { (item.accelerator) }
                        td.number { (number(item.usd_per_hour)) }
                        td.number { (item.measured_rows) }
                        td { @if let Some(decode) = &item.decode { (layout(decode)) } @else { "–" } }
                        td.number { (or_dash(item.chips, readable)) }
                        td.number { (number(item.usd_per_mtok)) }
                        td.number {
                            @if let (Some(low), Some(high)) = (item.usd_per_mtok_low_80, item.usd_per_mtok_high_80) {
                                (compact(low)) "–" (compact(high))
                            }
                        }
                    }
                }
            })))
            p.note { "Rows are published measurements of that accelerator behind its times." }
            ul {
                @for (doubt, ids) in answer.doubts() { li { (capital(doubt)) ": " (ids.join(", ")) "." } }
            }
        }
    }
}

/// The cheapest plan as flags of an engine, where one is named.
fn engine_flags(flags: &[EngineFlag]) -> Markup {
    html! {
        @if !flags.is_empty() {
            h3 { "The cheapest plan as flags" }
            (scrolling("Flags", &table(&[Text("Units"), Text("Flag"), Text("Because")], &html! {
                @for flag in flags {
                    tr { th scope="row" { (flag.units.name()) } td { code { (flag.flag) } } td { (flag.reason) } }
                }
            })))
        }
    }
}

fn layout(of: &Layout) -> String {
    let degrees = [
        ("tensor", of.tensor),
        ("expert", of.expert),
        ("data", of.data),
        ("pipeline", of.pipeline),
    ];
    let used: Vec<String> = degrees
        .into_iter()
        .filter(|(_, degree)| *degree > 1)
        .map(|(name, degree)| format!("{name} {degree}"))
        .collect();
    if used.is_empty() {
        "one chip".to_owned()
    } else {
        used.join(", ")
    }
}

fn ranking(plans: &[PlanItem]) -> Markup {
    let number = |value: Option<f64>| or_dash(value, compact);
    html! {
        h3 { "Plans, by the upper end of their cost" }
        (scrolling("Plans", &table(&[
            Text("Prompts"), Text("Layout of a unit"), Number("Chips"), Number("First token, s"), Number("Tokens/s"), Number("USD/Mtok"), Number("80 %"),
            Number("USD/day"), Text("Bound by"),
        ], &html! {
            @for plan in plans.iter().take(MOST_PLANS) {
                tr {
                    th scope="row" { (serving(plan)) }
                    td {
                        @if let Some(prefill) = &plan.prefill { "prompts: " (layout(&prefill.layout)) "; answers: " }
                        (layout(&plan.decode.layout))
                    }
                    td.number { (readable(plan.chips)) }
                    td.number { (number(plan.time_to_first_token.p95_seconds.map(|seconds| seconds.0))) }
                    td.number { (compact(plan.time_per_output_token.tokens_per_second_per_user)) }
                    td.number { (number(plan.cost.usd_per_mtok)) }
                    td.number {
                        @if let Some(interval) = FigureInterval::find(&plan.intervals, "cost.usd_per_mtok") {
                            (compact(interval.low_80)) "–" (compact(interval.high_80))
                        }
                    }
                    td.number { (number(plan.cost.usd_per_day)) }
                    td { (spaced(&listed(&plan.binds))) }
                }
            }
        })))
    }
}

fn serving(plan: &PlanItem) -> &'static str {
    match plan.serving {
        ServingKind::Aggregated => "in passes",
        ServingKind::Chunked => "in chunks",
        ServingKind::Disaggregated => "own chips",
    }
}

fn sensitivity(answer: &PlanAnswer) -> Markup {
    let change = |change: Option<f64>| {
        change.map_or_else(
            || "no plan".to_owned(),
            |change| format!("{:+.1} %", 100.0 * change),
        )
    };
    html! {
        div {
            h3 { "What moves the cost" }
            (table(&[Text("Input"), Number("10 % less"), Number("10 % more")], &html! {
                @for item in &answer.sensitivity {
                    tr {
                        th scope="row" { (spaced(item.input.rsplit('.').next().unwrap_or(item.input))) }
                        td.number { (change(item.cost_change_at_minus_10_percent)) }
                        td.number { (change(item.cost_change_at_plus_10_percent)) }
                    }
                }
            }))
        }
    }
}

fn offload(answer: &PlanAnswer) -> Markup {
    let offload = &answer.offload;
    html! {
        @if !offload.cheapest.is_empty() {
            div {
                h3 { "Where a cached prompt is cheapest" }
                p.note {
                    "A prefix of " (compact(offload.prefix_tokens)) " tokens"
                    @if let Some(bytes) = offload.cache_bytes { ", " (of_bytes(bytes.0)) " of cache" }
                    ", used once after the time in the first column."
                }
                (table(&[Text("Kept for"), Text("On")], &html! {
                    @for tier in &offload.cheapest {
                        tr { th scope="row" { (span(tier.from_seconds.0, tier.to_seconds.map(|end| end.0))) } td { (tier.id) } }
                    }
                }))
            }
        }
    }
}

fn span(from: f64, to: Option<f64>) -> String {
    let time = |seconds: f64| match seconds {
        seconds if seconds >= 5400.0 => format!("{} h", compact(seconds / 3600.0)),
        seconds if seconds >= 90.0 => format!("{} min", compact(seconds / 60.0)),
        seconds => format!("{} s", compact(seconds)),
    };
    match to {
        Some(to) if from <= 0.0 => format!("up to {}", time(to)),
        Some(to) => format!("{} to {}", time(from), time(to)),
        None => format!("{} and more", time(from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_easily() {
        assert_eq!(span(0.0, Some(120.0)), "up to 2.00 min");
        assert_eq!(span(45.0, Some(7200.0)), "45.0 s to 2.00 h");
        assert_eq!(span(7200.0, None), "2.00 h and more");
    }
}

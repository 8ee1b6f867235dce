//! The answer of `/simulate`: time, memory and cost of one machine, and the price sheet that it implies.

use maud::{Markup, html};

use super::form::written;
use crate::chart::mark::bar;
use crate::chart::tone::Tone;
use crate::http::ui::words::percent;
use unroof_core::calculator::simulate::{Bound, ImpliedSheet, SimulationAnswer, Split};
use unroof_core::units::{compact, readable};

/// Width of the bar of a part.
const BAR: f64 = 160.0;
/// Its height.
const HEIGHT: f64 = 12.0;

/// The answer in words.
pub(super) fn summary(answer: &SimulationAnswer) -> Markup {
    let (decode, memory) = (&answer.decode, &answer.memory);
    let waits = match answer.roofline.decode_bound {
        Bound::Memory => "memory",
        Bound::Compute => "arithmetic",
    };
    html! {
        p.lead data-finding {
            strong { (name(answer, "model.name").unwrap_or_else(|| "The stated sizes".to_owned())) } " on "
            (count(answer)) ": "
            (compact(decode.tokens_per_second_per_user)) " tokens/s for one user at a batch of " (compact(decode.batch))
            @if let Some(cost) = decode.cost_usd_per_mtok { "; a million output tokens cost " (usd(cost)) }
            @if let Some(cost) = answer.prefill.cost_usd_per_mtok { ", a million prompt tokens " (usd(cost)) }
            "; decoding waits for " (waits) "; "
            (percent(memory.used_bytes.0 / memory.capacity_bytes.0)) " of the memory is used."
        }
        @if let Some(missing) = &memory.does_not_fit { p.warning { strong { "Does not fit. " } (missing.detail) "." } }
    }
}

fn name(answer: &SimulationAnswer, input: &str) -> Option<String> {
    let used = answer.inputs.iter().find(|used| used.name == input)?;
    Some(written(&used.value))
}

/// The chips.
fn count(answer: &SimulationAnswer) -> String {
    let chips = name(answer, "machine.chips").unwrap_or_default();
    let accelerator = name(answer, "machine.accelerator").unwrap_or_else(|| "chips".to_owned());
    format!("{chips} × {accelerator}")
}

fn usd(amount: f64) -> String {
    format!("${}", compact(amount))
}

/// Time by part, memory, and the prices.
pub(super) fn details(answer: &SimulationAnswer) -> Markup {
    let (decode, prefill, memory) = (&answer.decode, &answer.prefill, &answer.memory);
    html! {
        div.columns {
            (parts("A decode step", &decode.time))
            (parts("A pass of prompts", &prefill.time))
            div {
                h3 { "Memory" }
                dl {
                    dt { "Weights" } dd { (compact(memory.weights_bytes.0)) "B" }
                    dt { "KV cache" } dd { (compact(memory.kv_bytes.0)) "B" }
                    dt { "Capacity" } dd { (compact(memory.capacity_bytes.0)) "B" }
                    @if let Some(batch) = memory.largest_batch { dt { "Largest batch" } dd { (readable(batch)) } }
                }
            }
            div {
                h3 { "Roofline" }
                dl {
                    dt { "Optimal batch" } dd { (compact(answer.roofline.optimal_batch)) " sequences" }
                    @if let Some(tokens) = answer.roofline.crossover_context_tokens { dt { "Crossover" } dd { (compact(tokens)) " tokens" } }
                    dt { "Latency floor" } dd { (time(answer.roofline.latency_floor_seconds.0)) }
                    dt { "Time to first token" } dd { (time(prefill.time_to_first_token_seconds.0)) }
                }
            }
        }
        @if let Some(implied) = &answer.price_sheet { (sheet(implied)) }
    }
}

/// A time in a unit that fits.
fn time(seconds: f64) -> String {
    if seconds < 0.5 {
        format!("{} ms", compact(1e3 * seconds))
    } else {
        format!("{} s", compact(seconds))
    }
}

fn parts(title: &str, split: &Split) -> Markup {
    let total = split.total_seconds.0;
    let parts = [
        ("reading weights", split.weight_memory_seconds.0),
        ("reading the KV cache", split.kv_memory_seconds.0),
        ("multiplying with weights", split.weight_compute_seconds.0),
        (
            "multiplying in attention",
            split.attention_compute_seconds.0,
        ),
        ("exchanges between chips", split.communication_seconds.0),
        ("other traffic, per token", split.token_overhead_seconds.0),
        ("waiting between kernels", split.stage_overhead_seconds.0),
    ];
    let longest = parts
        .iter()
        .map(|(_, seconds)| *seconds)
        .fold(total, f64::max);
    html! {
        div {
            h3 { (title) ": " (time(total)) }
            table.parts {
                tbody {
                    @for (name, seconds) in parts {
                        tr {
                            th scope="row" { (name) }
                            td { (part(seconds / longest)) }
                            td.number { (time(seconds)) }
                        }
                    }
                }
            }
            p.note { "Parts that run at the same time are not added up." }
        }
    }
}

fn part(share: f64) -> Markup {
    html! {
        svg.chart viewBox=(format!("0 0 {BAR} {HEIGHT}")) width=(BAR) height=(HEIGHT) aria-hidden="true" {
            (bar(Tone::Estimate, (0.0, 1.0), (BAR * share, HEIGHT - 1.0), 0.8))
        }
    }
}

/// The price sheet that the machine implies, to be tried.
fn sheet(implied: &ImpliedSheet) -> Markup {
    let rates = implied.infer_request.price_sheet.rates.iter();
    let price = |price: Option<f64>| price.map_or_else(|| "–".to_owned(), compact);
    html! {
        h3 { "The price sheet that this machine implies" }
        div.scroll tabindex="0" role="region" aria-label="Implied prices" {
            table {
                thead { tr {
                    th scope="col" { "Tier" } th.number scope="col" { "From tokens" } th.number scope="col" { "Input" }
                    th.number scope="col" { "Output" } th.number scope="col" { "Cache read" }
                } }
                tbody {
                    @for rate in rates {
                        tr {
                            th scope="row" { (rate.service_tier) }
                            td.number { (readable(rate.context_tier.min_prompt_tokens.into())) }
                            td.number { (price(rate.input.as_ref().map(unroof_core::units::Decimal::to_f64))) }
                            td.number { (price(rate.output.as_ref().map(unroof_core::units::Decimal::to_f64))) }
                            td.number { (price(rate.cache_read.as_ref().map(unroof_core::units::Decimal::to_f64))) }
                        }
                    }
                }
            }
        }
        p.note { "USD per million tokens. The fast tier and the cache offers are as the terms state them." }
        form method="post" action="/ui/try" {
            input type="hidden" name="sheet" value=(serde_json::to_string_pretty(&implied.infer_request.price_sheet).unwrap_or_default());
            button type="submit" { "Read this sheet back" }
        }
    }
}

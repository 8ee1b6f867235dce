//! The answer of `/simulate`: time, memory and cost of one machine, and the price sheet that it implies.

use maud::{Markup, html};

use super::parts::{bars, bytes, input, number, ranged, time, usd};
use crate::tables::Head::{Number, Text};
use crate::tables::{scrolling, table};
use crate::words::{capital, or_dash, percent};
use unroof_base::units::{Decimal, compact, readable};
use unroof_price_sheet::sheet::RateCell;
use unroof_roofline::calculator::simulate::{Bound, ImpliedSheet, SimulationAnswer, Split};
use unroof_roofline::reference::INTERVAL_NOTE;

/// The answer in words.
#[must_use]
pub fn summary(answer: &SimulationAnswer) -> Markup {
    let (decode, memory) = (&answer.decode, &answer.memory);
    let shown = |figure, value, shown| ranged(&answer.intervals, figure, value, shown);
    let waits = match answer.roofline.decode_bound {
        Bound::Memory => "memory",
        Bound::Compute => "arithmetic",
    };
    html! {
        p.lead data-finding {
            strong { (input(&answer.inputs, "model.name").unwrap_or_else(|| "The stated sizes".to_owned())) } " on "
            (chips(answer)) ": "
            (shown("decode.tokens_per_second_per_user", decode.tokens_per_second_per_user, compact))
            " tokens/s for one user at a batch of " (compact(decode.batch))
            @if let Some(cost) = decode.cost_usd_per_mtok {
                "; a million output tokens cost " (shown("decode.cost_usd_per_mtok", cost, usd))
            }
            @if let Some(cost) = answer.prefill.cost_usd_per_mtok {
                ", a million prompt tokens " (shown("prefill.cost_usd_per_mtok", cost, usd))
            }
            "; decoding waits for " (waits) "; "
            (percent(memory.used_bytes.0 / memory.capacity_bytes.0)) " of the memory is used."
        }
        @if !answer.intervals.is_empty() { p.note { (capital(INTERVAL_NOTE)) "." } }
        @if let Some(missing) = &memory.does_not_fit { p.warning { strong { "Does not fit. " } (missing.detail) "." } }
    }
}

/// Number and name of the chips.
fn chips(answer: &SimulationAnswer) -> String {
    let chips = input(&answer.inputs, "machine.chips").unwrap_or_default();
    let accelerator = input(&answer.inputs, "machine.accelerator");
    format!("{chips} × {}", accelerator.as_deref().unwrap_or("chips"))
}

/// Time by part, memory, and the prices.
#[must_use]
pub fn details(answer: &SimulationAnswer) -> Markup {
    let (decode, prefill, memory) = (&answer.decode, &answer.prefill, &answer.memory);
    let intervals = &answer.intervals;
    let first = "prefill.time_to_first_token_seconds";
    html! {
        div.columns {
            (parts("A decode step", &decode.time, &ranged(intervals, "decode.time.total_seconds", decode.time.total_seconds.0, time)))
            (parts("A pass of prompts", &prefill.time, &ranged(intervals, "prefill.time.total_seconds", prefill.time.total_seconds.0, time)))
            div {
                h3 { "Memory" }
                dl {
                    dt { "Weights" } dd { (bytes(memory.weights_bytes.0)) }
                    dt { "KV cache" } dd { (bytes(memory.kv_bytes.0)) }
                    dt { "Capacity" } dd { (bytes(memory.capacity_bytes.0)) }
                    @if let Some(batch) = memory.largest_batch { dt { "Largest batch" } dd { (readable(batch)) } }
                }
            }
            div {
                h3 { "Roofline" }
                dl {
                    dt { "Optimal batch" } dd { (compact(answer.roofline.optimal_batch)) " sequences" }
                    @if let Some(tokens) = answer.roofline.crossover_context_tokens { dt { "Crossover" } dd { (compact(tokens)) " tokens" } }
                    dt { "Latency floor" } dd { (time(answer.roofline.latency_floor_seconds.0)) }
                    dt { "Time to first token" } dd { (ranged(intervals, first, prefill.time_to_first_token_seconds.0, time)) }
                }
            }
        }
        @if let Some(implied) = &answer.price_sheet { (sheet(answer, implied)) }
    }
}

fn parts(title: &str, split: &Split, whole: &str) -> Markup {
    let total = split.total_seconds.0;
    let mut parts = vec![
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
        ("drafting tokens", split.draft_seconds.0),
    ];
    parts.retain(|(name, seconds)| *name != "drafting tokens" || *seconds > 0.0);
    let longest = parts
        .iter()
        .map(|(_, seconds)| *seconds)
        .fold(total, f64::max);
    html! {
        div {
            h3 { (title) ": " (whole) }
            (bars(&parts, longest, time))
            p.note { "Parts that run at the same time are not added up." }
        }
    }
}

/// The price sheet that the machine implies, to be tried.
fn sheet(answer: &SimulationAnswer, implied: &ImpliedSheet) -> Markup {
    let rates = implied.infer_request.price_sheet.rates.iter();
    let price = |price: &Option<Decimal>| or_dash(price.as_ref().map(Decimal::to_f64), compact);
    html! {
        h3 { "The price sheet that this machine implies" }
        @for reason in [Line::output(answer), Line::input(answer)].into_iter().flatten() {
            @if let Some(words) = reason.words(implied) { p { (words) } }
        }
        (scrolling("Implied prices", &table(&[
            Text("Tier"), Number("From tokens"), Number("Input"), Number("Output"), Number("Cache read"),
        ], &html! {
            @for rate in rates {
                tr {
                    th scope="row" { (rate.service_tier) }
                    td.number { (readable(rate.context_tier.min_prompt_tokens.into())) }
                    td.number { (price(&rate.input)) }
                    td.number { (price(&rate.output)) }
                    td.number { (price(&rate.cache_read)) }
                }
            }
        })))
        p.note { "Prices are in US dollars per million tokens. The fast tier and the cache offers are as the terms state them." }
        form method="post" action="/ui/try" {
            input type="hidden" name="sheet" value=(serde_json::to_string_pretty(&implied.infer_request.price_sheet).unwrap_or_default());
            button type="submit" { "Read this sheet back" }
        }
    }
}

/// A line of the implied sheet, beside the cost in the answer.
struct Line {
    name: &'static str,
    margin: f64,
    /// Cost of a million tokens at the length that was asked about.
    cost: f64,
    /// Length that was asked about, in tokens.
    tokens: f64,
    /// Reason that a greater length costs more.
    because: &'static str,
    price: fn(&RateCell) -> Option<&Decimal>,
}

impl Line {
    fn output(answer: &SimulationAnswer) -> Option<Self> {
        Some(Self {
            name: "output",
            margin: number(&answer.inputs, "price_sheet.output_margin")?,
            cost: answer.decode.cost_usd_per_mtok?,
            tokens: number(&answer.inputs, "load.context_tokens")?,
            because: "each step reads the whole cache of every sequence",
            price: |rate| rate.output.as_ref(),
        })
    }

    fn input(answer: &SimulationAnswer) -> Option<Self> {
        Some(Self {
            name: "input",
            margin: number(&answer.inputs, "price_sheet.input_margin")?,
            cost: answer.prefill.cost_usd_per_mtok?,
            tokens: number(&answer.inputs, "load.input_tokens")?,
            because: "every token attends to all tokens before it",
            price: |rate| rate.input.as_ref(),
        })
    }

    /// Derivation of the price from a cost and the margin. It is not the cost that was asked about: a tier has one price, which
    /// no prompt in it may undercut.
    fn words(&self, implied: &ImpliedSheet) -> Option<String> {
        let sheet = &implied.infer_request.price_sheet;
        let mut standard = sheet
            .rates
            .iter()
            .filter(|rate| rate.service_tier == RateCell::STANDARD);
        let first = standard.next()?;
        let longest = standard
            .next()
            .map(|next| next.context_tier.min_prompt_tokens)
            .or(sheet.limits.context)?;
        let price = (self.price)(first)?.to_f64();
        let covered = price * (1.0 - self.margin);
        Some(format!(
            "Price of {name} = cost ÷ (1 − margin) = {covered} ÷ (1 − {margin}) = {price} per million tokens. One price covers every \
             prompt of a tier, so the cost is that of the longest, {longest} tokens, in the fast tier too; the {cost} above is that at \
             {tokens} tokens. A longer prompt costs more: {because}.",
            name = self.name,
            covered = usd(covered),
            margin = readable(self.margin),
            price = usd(price),
            longest = readable(longest.into()),
            cost = usd(self.cost),
            tokens = readable(self.tokens),
            because = self.because,
        ))
    }
}

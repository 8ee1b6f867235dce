//! Requests of a plan: their lengths, hits and rate, or the tokens of a day.

use std::ops::RangeInclusive;

use super::lengths::{Lengths, LengthsKind, MOST_TOKENS};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::Speculation;
use unroof_base::input::body::body;
use unroof_base::input::body::{OneOf, Stated, number, object, value};
use unroof_base::units::readable;

/// Seconds of a day.
pub(crate) const DAY_S: f64 = 86_400.0;
/// Requests per second where neither a rate nor a number of chips is stated.
const DEFAULT_RATE: f64 = 10.0;
/// Standard deviation over mean of the prompts and answers of a day: those of the conversation trace that Mooncake published
/// with its paper (12,031 requests, `FAST25-release/traces/conversation_trace.jsonl` of kvcache-ai/Mooncake).
const INPUT_SPREAD_OF_A_DAY: f64 = 1.313;
const OUTPUT_SPREAD_OF_A_DAY: f64 = 0.729;
/// Tokens of a day.
const TOKENS_OF_A_DAY: RangeInclusive<f64> = 1.0..=1e18;
const ARRIVALS: &[(&str, bool)] = &[("poisson", true), ("steady", false)];

body! {
    /// Requests: lengths and rate, or the tokens of a day.
    pub struct PlannedTraffic {
        /// Tokens of a prompt, those found in the cache included: one number, or lengths with shares.
        input_tokens: Stated<Lengths> = value(LengthsKind).unit("tokens").flag("input"),
        /// Standard deviation over mean of a log-normal spread of prompts around `input_tokens`; 0 if left
        /// out, and 1.313 for the tokens of a day, as in a published trace of conversations.
        input_spread: Stated<f64> = number(0.0..=10.0).flag("input-spread"),
        /// Tokens of an answer: one number, or lengths with shares.
        output_tokens: Stated<Lengths> = value(LengthsKind).unit("tokens").flag("output"),
        /// Standard deviation over mean of answers around `output_tokens`; 0 if left out, and 0.729 for the tokens of a day.
        output_spread: Stated<f64> = number(0.0..=10.0).flag("output-spread"),
        /// Share of the prompt tokens that are found in the cache.
        cache_hit_rate: Stated<f64> = number(0.0..=1.0).flag("hit-rate"),
        /// Requests per second; 10 if left out, or as many as the stated `chips` can serve.
        requests_per_second: Stated<f64> = number(1e-9..=1e12).unit("requests/s").flag("rate"),
        /// `poisson`: requests arrive at random; `steady`: at a steady clock, without a queue. `poisson` if left out.
        arrivals: Stated<bool> = value(OneOf(ARRIVALS)).flag("arrivals"),
        /// γ: tokens drafted per step.
        drafted_tokens: Stated<f64> = number(0.0..=1_000.0).unit("tokens").or(0.0).flag("drafted"),
        /// V: tokens accepted per step, at most γ + 1.
        accepted_tokens_per_step: Stated<f64> = number(1.0..=1_001.0).unit("tokens").or(1.0).flag("accepted"),
        /// The tokens of a day, in place of lengths, hit rate and requests per second.
        tokens_per_day: Stated<PlannedDay> = value(object::<PlannedDay>()),
    }

    /// The tokens of a day. Lengths follow from their ratio and from the mean context: the mean context of a generated
    /// token is the prompt and half of the answer.
    pub struct PlannedDay {
        /// Prompt tokens, those found in the cache included.
        input: Stated<f64> = number(TOKENS_OF_A_DAY).unit("tokens").or(1e9).flag("input-per-day"),
        /// Prompt tokens found in the cache.
        cached_input: Stated<f64> = number(0.0..=1e18).unit("tokens").or(0.0).flag("cached-input-per-day"),
        /// Generated tokens of the day.
        output: Stated<f64> = number(TOKENS_OF_A_DAY).unit("tokens").or(2.5e8).flag("output-per-day"),
        /// L: mean number of tokens in the cache of a sequence, over its generated tokens.
        mean_context_tokens: Stated<f64> = number(2.0..=MOST_TOKENS).unit("tokens").or(4_096.0).flag("mean-context"),
    }
}

/// Requests and their lengths.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    pub(crate) input: Lengths,
    pub(crate) output: Lengths,
    pub(crate) hit_rate: f64,
    /// Requests per second; none if it is a result.
    pub(crate) rate: Option<f64>,
    /// Whether requests arrive at random.
    pub(crate) is_random: bool,
}

impl Traffic {
    /// Takes another share of the prompt tokens from the cache; the last token of a prompt is always computed.
    pub(crate) fn set_hit_rate(&mut self, share: f64) {
        self.hit_rate = share.min(1.0 - 1.0 / self.input.mean()).max(0.0);
    }
}

/// The traffic, and the drafts of decoding.
pub(crate) fn fill_traffic(
    stated: &PlannedTraffic,
    inputs: &Inputs<'_>,
    has_budget: bool,
) -> Option<(Traffic, Speculation)> {
    let is_random = inputs.choice(&stated.arrivals, ARRIVALS, true);
    let speculation = fill_speculation(stated, inputs);
    let traffic = match &stated.tokens_per_day.value {
        Ok(Some(day)) => fill_day(stated, day, inputs),
        Ok(None) => fill_requests(stated, inputs, has_budget),
        Err(_) => None,
    };
    let traffic = Traffic {
        is_random: is_random?,
        ..traffic?
    };
    Some((traffic, speculation?))
}

fn fill_requests(
    stated: &PlannedTraffic,
    inputs: &Inputs<'_>,
    has_budget: bool,
) -> Option<Traffic> {
    let length = |field: &Stated<Lengths>, spread: &Stated<f64>, usual: f64| {
        let lengths = inputs.or(field, Lengths::constant(usual), Origin::Default);
        let deviation = inputs.or(spread, 0.0, Origin::Default);
        let (lengths, deviation) = (lengths?, deviation?);
        if deviation > 0.0 && lengths.points().len() > 1 {
            inputs.fault(
                spread,
                "a list of lengths has a spread of its own",
                "state a mean length with a spread, or a list of lengths",
            );
        }
        Some(lengths.spread(deviation))
    };
    let input = length(&stated.input_tokens, &stated.input_spread, 4_096.0);
    let output = length(&stated.output_tokens, &stated.output_spread, 1_024.0);
    let hit_rate = inputs.or(&stated.cache_hit_rate, 0.0, Origin::Default);
    let rate = if has_budget && !stated.requests_per_second.is_stated() {
        Some(None)
    } else {
        let usual = (DEFAULT_RATE, Origin::Default);
        inputs
            .or_else(&stated.requests_per_second, Some(usual))
            .map(Some)
    };
    let mut traffic = Traffic {
        input: input?,
        output: output?,
        hit_rate: 0.0,
        rate: rate?,
        is_random: true,
    };
    traffic.set_hit_rate(hit_rate?);
    Some(traffic)
}

fn fill_day(stated: &PlannedTraffic, day: &PlannedDay, inputs: &Inputs<'_>) -> Option<Traffic> {
    let are_stated = [
        stated.input_tokens.is_stated(),
        stated.output_tokens.is_stated(),
        stated.cache_hit_rate.is_stated(),
        stated.requests_per_second.is_stated(),
    ];
    if are_stated.contains(&true) {
        inputs.fault(
            &stated.tokens_per_day,
            "the tokens of a day determine lengths, hit rate and requests per second",
            "state either the tokens of a day, or lengths, hit rate and rate",
        );
    }
    let input = inputs.or_default(&day.input);
    let cached = inputs.or_default(&day.cached_input);
    let output = inputs.or_default(&day.output);
    let context = inputs.or_default(&day.mean_context_tokens);
    let input_spread = inputs.or(&stated.input_spread, INPUT_SPREAD_OF_A_DAY, Origin::Default)?;
    let output_spread = inputs.or(
        &stated.output_spread,
        OUTPUT_SPREAD_OF_A_DAY,
        Origin::Default,
    )?;
    let (input, cached, output, context) = (input?, cached?, output?, context?);
    if cached >= input {
        inputs.fault(
            &day.cached_input,
            format!(
                "{} of {} tokens are found in the cache",
                readable(cached),
                readable(input)
            ),
            "state fewer than `input`",
        );
        return None;
    }
    let before = f64::midpoint(1.0, output_spread * output_spread);
    let answer = context / (input / output + before);
    let prompt = answer * input / output;
    inputs.derived("traffic.input_tokens", prompt, "tokens");
    inputs.derived("traffic.output_tokens", answer, "tokens");
    Some(Traffic {
        input: Lengths::constant(prompt).spread(input_spread),
        output: Lengths::constant(answer).spread(output_spread),
        hit_rate: cached / input,
        rate: Some(output / answer / DAY_S),
        is_random: true,
    })
}

fn fill_speculation(stated: &PlannedTraffic, inputs: &Inputs<'_>) -> Option<Speculation> {
    let drafted = inputs.or_default(&stated.drafted_tokens);
    let accepted = inputs.or_default(&stated.accepted_tokens_per_step);
    let (drafted, accepted) = (drafted?, accepted?);
    let most = 1.0 + drafted;
    if accepted > most {
        let allowed = format!("a number from 1 to {}", readable(most));
        inputs.fault(
            &stated.accepted_tokens_per_step,
            format!("{} is not {allowed}", readable(accepted)),
            format!("write {allowed}, or state more `drafted_tokens`"),
        );
    }
    Some(Speculation { accepted, drafted })
}

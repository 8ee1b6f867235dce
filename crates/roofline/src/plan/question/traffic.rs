//! Requests of a plan: their lengths, hits and rate, or the tokens of a day.

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::calculator::scenario::hits::HitRates;
use crate::calculator::scenario::lengths::Lengths;
use crate::calculator::scenario::load::ARRIVALS;
use crate::calculator::scenario::{StatedDay, StatedLoad};
use crate::forward::Speculation;
use unroof_base::input::body::Stated;
use unroof_base::units::readable;

/// Seconds of a day.
pub(crate) const DAY_S: f64 = 86_400.0;
/// Requests per second where neither a rate nor a number of chips is stated.
const DEFAULT_RATE: f64 = 10.0;
/// Standard deviation over mean of the prompts and answers of a day: those of the conversation trace that Mooncake published
/// with its paper (12,031 requests, `FAST25-release/traces/conversation_trace.jsonl` of kvcache-ai/Mooncake).
const INPUT_SPREAD_OF_A_DAY: f64 = 1.313;
const OUTPUT_SPREAD_OF_A_DAY: f64 = 0.729;

/// Requests and their lengths.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    pub(crate) input: Lengths,
    pub(crate) output: Lengths,
    /// Shares of the prompt tokens that are found in the cache.
    pub(crate) hits: HitRates,
    /// Requests per second; none if it is a result.
    pub(crate) rate: Option<f64>,
    /// Whether requests arrive at random.
    pub(crate) is_random: bool,
}

impl Traffic {
    /// Takes other shares of the prompt tokens from the cache; the last token of a prompt is always computed.
    pub(crate) fn set_hits(&mut self, hits: &HitRates) {
        let most = 1.0 - 1.0 / self.input.mean();
        self.hits = hits.changed(|rate| rate.min(most));
    }

    /// Mean share of the prompt tokens that are found in the cache.
    pub(crate) fn hit_rate(&self) -> f64 {
        self.hits.mean()
    }

    /// Prompts of all lengths and hits: their tokens, those of them that are computed, and their share of the requests.
    pub(crate) fn prompts(&self) -> impl Iterator<Item = [f64; 3]> {
        self.input.points().iter().flat_map(|(length, of_length)| {
            self.hits.points().iter().map(move |(rate, of_rate)| {
                let fresh = (length * (1.0 - rate)).max(1.0);
                [*length, fresh, of_length * of_rate]
            })
        })
    }
}

/// The traffic, and the drafts of decoding.
pub(crate) fn fill_traffic(
    stated: &StatedLoad,
    inputs: &Inputs<'_>,
    has_budget: bool,
) -> Option<(Traffic, Speculation)> {
    let is_random = inputs.choice(&stated.arrivals, ARRIVALS, true);
    let speculation = stated.speculation(inputs);
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

fn fill_requests(stated: &StatedLoad, inputs: &Inputs<'_>, has_budget: bool) -> Option<Traffic> {
    let spread_out = |lengths: Option<Lengths>, spread: &Stated<f64>| {
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
    let prompt = stated.prompt(inputs);
    let hits = prompt.as_ref().map(|prompt| prompt.hits.clone());
    let input = spread_out(prompt.map(|prompt| prompt.input), &stated.input_spread);
    let output = spread_out(stated.output(inputs), &stated.output_spread);
    let usual = (!has_budget).then_some((DEFAULT_RATE, Origin::Default));
    let rate = inputs.known(&stated.requests_per_second, usual);
    Some(Traffic {
        hits: hits?,
        input: input?,
        output: output?,
        rate: rate.ok()?,
        is_random: true,
    })
}

fn fill_day(stated: &StatedLoad, day: &StatedDay, inputs: &Inputs<'_>) -> Option<Traffic> {
    let are_stated = [
        stated.input_tokens.is_stated(),
        stated.output_tokens.is_stated(),
        stated.cached_input_tokens.is_stated(),
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
    let input = inputs.or_default(&day.input_tokens);
    let cached = inputs.or_default(&day.cached_input_tokens);
    let output = inputs.or_default(&day.output_tokens);
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
            &day.cached_input_tokens,
            format!(
                "{} of {} tokens are found in the cache",
                readable(cached),
                readable(input)
            ),
            "state fewer than `input_tokens`",
        );
        return None;
    }
    let before = f64::midpoint(1.0, output_spread * output_spread);
    let answer = context / (input / output + before);
    let prompt = answer * input / output;
    inputs.derived("load.input_tokens", prompt, "tokens");
    inputs.derived("load.output_tokens", answer, "tokens");
    Some(Traffic {
        input: Lengths::constant(prompt).spread(input_spread),
        output: Lengths::constant(answer).spread(output_spread),
        hits: HitRates::constant(cached / input),
        rate: Some(output / answer / DAY_S),
        is_random: true,
    })
}

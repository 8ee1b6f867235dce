//! The load of a scenario: the tokens of a request, requests per second, sequences at once, drafts of decoding.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_roofline::calculator::inputs::Inputs;
//! use unroof_roofline::calculator::scenario::StatedLoad;
//!
//! let prompt = unroof_base::input::read(br#"{"input_tokens": 4000, "cache_hit_rate": 0.75}"#, |root| {
//!     StatedLoad::read(root)?.prompt(&Inputs::new(root, &[]))
//! })?;
//! assert_eq!(prompt.cached, 3000.0);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::ops::RangeInclusive;

use super::hits::{HitRates, HitRatesKind};
use super::lengths::{Lengths, LengthsKind, MOST_TOKENS};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{Speculation, USUAL_PROMPT_TOKENS};
use crate::reference::{DraftDomain, token_acceptance_of};
use unroof_base::input::body::{OneOf, Stated, body, number, object, value};
use unroof_base::units::readable;

/// Longest context.
pub const MOST_CONTEXT: f64 = 1e9;
/// Batches over all chips, per chip or over the optimal one.
pub const BATCHES: RangeInclusive<f64> = 1e-6..=1e12;
/// Tokens of an answer where none are stated.
const USUAL_OUTPUT: f64 = 1_024.0;
/// Tokens of a day.
const TOKENS_OF_A_DAY: RangeInclusive<f64> = 1.0..=1e18;
/// Kinds of answers, by the names of requests.
pub const DOMAINS: &[(&str, DraftDomain)] = &[
    ("mixed", DraftDomain::Mixed),
    ("chat", DraftDomain::Chat),
    ("code", DraftDomain::Code),
    ("math", DraftDomain::Math),
    ("summaries", DraftDomain::Summaries),
    ("writing", DraftDomain::Writing),
];
/// Whether requests arrive at random.
pub const ARRIVALS: &[(&str, bool)] = &[("poisson", true), ("steady", false)];

body! {
    /// The load. At most one of the three batch fields is stated, and one of `cached_input_tokens` and `cache_hit_rate`.
    pub struct StatedLoad {
        /// Tokens of a prompt, those found in the cache included: one number, or lengths with shares; 4,096 if left out.
        input_tokens: Stated<Lengths> = value(LengthsKind).unit("tokens").flag("input"),
        /// Tokens of a prompt that are found in the cache.
        cached_input_tokens: Stated<f64> = number(0.0..=MOST_TOKENS).unit("tokens").flag("cached-input"),
        /// Share of the prompt tokens that are found in the cache: one number, or up to 8 with the share of the requests that each
        /// has.
        cache_hit_rate: Stated<HitRates> = value(HitRatesKind).flag("hit-rate"),
        /// Standard deviation over mean of a log-normal spread of prompts around `input_tokens`; 0 if left
        /// out, and 1.313 for the tokens of a day, as in a published trace of conversations.
        input_spread: Stated<f64> = number(0.0..=10.0).flag("input-spread"),
        /// Tokens of an answer: one number, or lengths with shares; 1,024 if left out.
        output_tokens: Stated<Lengths> = value(LengthsKind).unit("tokens").flag("output"),
        /// The spread of answers; 0 if left out, and 0.729 for the tokens of a day.
        output_spread: Stated<f64> = number(0.0..=10.0).flag("output-spread"),
        /// L: tokens in the KV cache of a sequence.
        context_tokens: Stated<f64> = number(0.0..=MOST_CONTEXT).unit("tokens").or(8_192.0).flag("context"),
        /// B: sequences over all chips; 2.5 times the optimal batch, or the largest that fits, if no way is stated.
        batch: Stated<f64> = number(BATCHES).unit("sequences").flag("batch"),
        /// B/G: sequences per chip.
        batch_per_chip: Stated<f64> = number(BATCHES).unit("sequences").flag("batch-per-chip"),
        /// B/B*: the batch over the optimal one.
        batch_over_optimal_batch: Stated<f64> = number(BATCHES),
        /// Prompts of a prefill pass; if left out, as many as make 16,384 tokens, per chip with expert parallelism.
        prompts_per_pass: Stated<f64> = number(BATCHES).unit("prompts"),
        /// Requests per second; 10 if left out, or as many as the stated `chips` can serve.
        requests_per_second: Stated<f64> = number(1e-9..=1e12).unit("requests/s").flag("rate"),
        /// `poisson`: requests arrive at random; `steady`: at a steady clock, without a queue. `poisson` if left out.
        arrivals: Stated<bool> = value(OneOf(ARRIVALS)).flag("arrivals"),
        /// The tokens of a day, in place of lengths, hit rate and requests per second.
        tokens_per_day: Stated<StatedDay> = value(object::<StatedDay>()),
        /// Share of the time for which a user has a request under way.
        user_activity: Stated<f64> = number(1e-9..=1.0).or(1.0),
        /// Tokens per second that a provider generates with a family of models; the talk's 500 million \[T\].
        tokens_per_second: Stated<f64> = number(1e-6..=1e15).unit("tokens/s").or(500e6).flag("tokens-per-second"),
        /// γ: tokens drafted per step.
        drafted_tokens: Stated<f64> = number(0.0..=1_000.0).unit("tokens").or(0.0).flag("drafted"),
        /// V: tokens accepted per step, at most γ + 1; those of the domain in published measurements if left out.
        accepted_tokens_per_step: Stated<f64> = number(1.0..=1_001.0).unit("tokens").flag("accepted"),
        /// Kind of answers, on which the accepted tokens depend: `chat`, `code`, `math`, `summaries`, `writing`, or all of them,
        /// `mixed`; `mixed` if left out.
        domain: Stated<DraftDomain> = value(OneOf(DOMAINS)).flag("domain"),
        /// Layers of the draft model, of the size of the model's own: MTP and EAGLE have one.
        draft_layers: Stated<f64> = number(0.0..=1_000.0).unit("layers").or(1.0),
    }

    /// The tokens of a day. Lengths follow from their ratio and from the mean context: the mean context of a generated
    /// token is the prompt and half of the answer.
    pub struct StatedDay {
        /// Prompt tokens, those found in the cache included.
        input_tokens: Stated<f64> = number(TOKENS_OF_A_DAY).unit("tokens").or(1e9).flag("input-per-day"),
        /// Prompt tokens found in the cache.
        cached_input_tokens: Stated<f64> = number(0.0..=1e18).unit("tokens").or(0.0).flag("cached-input-per-day"),
        /// Generated tokens.
        output_tokens: Stated<f64> = number(TOKENS_OF_A_DAY).unit("tokens").or(2.5e8).flag("output-per-day"),
        /// L: mean number of tokens in the cache of a sequence, over its generated tokens.
        mean_context_tokens: Stated<f64> = number(2.0..=MOST_TOKENS).unit("tokens").or(4_096.0).flag("mean-context"),
    }
}

/// A prompt, and what of it is found in the cache.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// All tokens.
    pub input: Lengths,
    /// Shares that are found in the cache.
    pub hits: HitRates,
    /// Tokens found in the cache, of the mean prompt; the last token is always computed.
    pub cached: f64,
}

impl StatedLoad {
    /// The prompt of a request, and how much of it is found in the cache.
    pub fn prompt(&self, inputs: &Inputs<'_>) -> Option<Prompt> {
        let usual = Lengths::constant(USUAL_PROMPT_TOKENS);
        let input = inputs.or(&self.input_tokens, usual, Origin::Default)?;
        let (cached, rate) = (&self.cached_input_tokens, &self.cache_hit_rate);
        if cached.is_stated() && rate.is_stated() {
            inputs.fault(
                rate,
                "the cached part of a prompt is stated in two ways",
                "state either `cached_input_tokens` or `cache_hit_rate`",
            );
            return None;
        }
        let all = input.mean();
        if !cached.is_stated() {
            let hits = inputs.or(rate, HitRates::constant(0.0), Origin::Default)?;
            let hits = hits.changed(|rate| rate.min(1.0 - 1.0 / all));
            let cached = hits.mean() * all;
            return Some(Prompt {
                input,
                hits,
                cached,
            });
        }
        let tokens = inputs.or_else(cached, None)?;
        if tokens > all - 1.0 {
            inputs.fault(
                cached,
                format!("{} of {} prompt tokens are cached", readable(tokens), readable(all)),
                "`input_tokens` are all tokens of the prompt, and the last one is always computed: state fewer cached ones",
            );
            return None;
        }
        inputs.derived("load.cache_hit_rate", tokens / all, "");
        Some(Prompt {
            input,
            hits: HitRates::constant(tokens / all),
            cached: tokens,
        })
    }

    /// The lengths of answers.
    pub fn output(&self, inputs: &Inputs<'_>) -> Option<Lengths> {
        let usual = Lengths::constant(USUAL_OUTPUT);
        inputs.or(&self.output_tokens, usual, Origin::Default)
    }

    /// Drafted and accepted tokens of a decode step.
    pub fn speculation(&self, inputs: &Inputs<'_>) -> Option<Speculation> {
        let drafted = inputs.or_default(&self.drafted_tokens)?;
        if drafted <= 0.0 && !self.accepted_tokens_per_step.is_stated() {
            return Some(Speculation::NONE);
        }
        let draft_layers = inputs.or_default(&self.draft_layers)?;
        let domain = inputs.choice(&self.domain, DOMAINS, DraftDomain::Mixed)?;
        let usual = Speculation::of(token_acceptance_of(domain), drafted, draft_layers);
        let accepted = inputs.or(
            &self.accepted_tokens_per_step,
            usual.accepted,
            Origin::Reference,
        )?;
        let most = 1.0 + drafted;
        if accepted > most {
            let allowed = format!("a number from 1 to {}", readable(most));
            inputs.fault(
                &self.accepted_tokens_per_step,
                format!("{} is not {allowed}", readable(accepted)),
                format!("write {allowed}, or state more `drafted_tokens`"),
            );
        }
        Some(Speculation { accepted, ..usual })
    }
}

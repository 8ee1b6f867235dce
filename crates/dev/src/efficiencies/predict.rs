//! Predicts a published measurement with the forward model.

use unroof_roofline::forward::{
    Efficiencies, Formats, KvCache, Machine, MultiplyRates, Overheads, Overlap, PromptTokens,
    Serving, Speculation, Spread, stages_per_expert_layer,
};
use unroof_roofline::reference::measurement::{
    Measure, MeasuredPhase, MeasuredSpread, Measurement,
};
use unroof_roofline::reference::{
    Attainment, FittedAttainment, KernelTime, NumberFormat, PeerTime, WeightFormats, accelerator,
    fitted_attainment, open_model,
};

/// Contexts between which the rise of a step's time is taken.
const SLOPE_CONTEXTS: (f64, f64) = (1_000.0, 100_000.0);
/// Halvings of the interval in which the batch of a given speed lies.
const HALVINGS: u32 = 60;

/// Prediction of a measurement by the forward model, in the measurement's unit; None if the accelerator or the model is not
/// in the reference data, or the model does not fit.
#[must_use]
pub fn predict(measured: &Measurement, fitted: &FittedAttainment) -> Option<f64> {
    let serving = serving(measured, fitted)?;
    serving_value(measured, &serving)
}

/// Prediction of a measurement from the rooflines alone, in the measurement's unit; None as for [`predict`].
#[must_use]
pub(super) fn predict_at_peak(measured: &Measurement) -> Option<f64> {
    serving_value(measured, &at_peak(&serving(measured, fitted_attainment())?))
}

/// Bytes per parameter of weights in INT4, which engines expand to bf16: formats with scales of their own are wider.
pub(super) const INT4_BYTES: f64 = 0.5;
/// Bytes per parameter of an input embedding, which no published checkpoint quantises.
const EMBEDDING_BYTES: f64 = 2.0;

/// A model that is cut over all chips of a machine, with the formats in which it is kept and multiplied.
struct Setup<'a> {
    model: &'a str,
    accelerator: &'a str,
    chips: f64,
    weights: WeightFormats,
    attention_bytes: f64,
    kv_bytes_per_element: f64,
}

impl Setup<'_> {
    fn serving(&self, fitted: &FittedAttainment) -> Option<Serving<'static>> {
        let row = accelerator(self.accelerator)?;
        let attainment = fitted.of(&row.generation);
        let architecture = &open_model(self.model)?.architecture;
        let formats = Formats {
            weight_bytes: self.weights.others,
            attention_bytes: self.attention_bytes,
        };
        let multiplied = |bytes: f64| {
            if bytes <= INT4_BYTES {
                NumberFormat::Bf16.bytes()
            } else {
                bytes
            }
        };
        let rate = |bytes| row.peak_of_multiplies(multiplied(bytes)).multiply_adds();
        let rates = MultiplyRates {
            experts: rate(self.weights.experts),
            others: rate(self.weights.others),
            attention: row.peak_for_weights(self.attention_bytes).1.multiply_adds(),
        };
        Some(Serving {
            architecture,
            cache: KvCache::new(architecture),
            weights: self.weights,
            kv_bytes_per_element: self.kv_bytes_per_element,
            machine: Machine {
                stages_per_expert_layer: stages_per_expert_layer(
                    row,
                    multiplied(self.weights.experts),
                ),
                ..Machine::of(row, formats, self.chips).with_rates(&rates, architecture)
            },
            spread: Spread::Tensor,
            attention_chips: 1.0,
            efficiencies: attainment.into(),
            overheads: attainment.into(),
            overlap: Overlap::AttentionApart,
            speculation: Speculation::NONE,
        })
    }
}

/// The model on the machine that was measured.
pub(super) fn serving(
    measured: &Measurement,
    fitted: &FittedAttainment,
) -> Option<Serving<'static>> {
    let experts = measured.weight_bytes_per_parameter;
    let setup = Setup {
        model: &measured.model,
        accelerator: &measured.accelerator,
        chips: measured.chips,
        weights: WeightFormats {
            experts,
            others: measured.other_bytes_per_parameter.unwrap_or(experts),
            embedding: EMBEDDING_BYTES,
        },
        attention_bytes: measured.attention_bytes_per_element,
        kv_bytes_per_element: measured.kv_bytes_per_element,
    };
    let mut serving = setup.serving(fitted)?;
    serving.spread = match measured.spread {
        MeasuredSpread::Tensor | MeasuredSpread::TensorByToken => Spread::Tensor,
        MeasuredSpread::Experts => Spread::Experts,
    };
    serving.overheads.cache_copies = measured.spread == MeasuredSpread::Tensor;
    Some(serving)
}

/// Replaces what the chips reach.
pub(super) fn reach(serving: &mut Serving<'_>, attainment: Attainment) {
    serving.efficiencies = attainment.into();
    serving.overheads = Overheads {
        cache_copies: serving.overheads.cache_copies,
        ..attainment.into()
    };
}

/// The model on the machine of a table of kernels.
#[must_use]
pub fn kernel_serving(time: &KernelTime, fitted: &FittedAttainment) -> Option<Serving<'static>> {
    let setup = Setup {
        model: &time.model,
        accelerator: &time.accelerator,
        chips: time.chips,
        weights: WeightFormats::uniform(time.weight_bytes_per_parameter),
        attention_bytes: time.kv_bytes_per_element,
        kv_bytes_per_element: time.kv_bytes_per_element,
    };
    setup.serving(fitted)
}

/// Milliseconds per generated token of a server that was measured with another tool's help.
#[must_use]
pub(super) fn peer_ms(time: &PeerTime, fitted: &FittedAttainment) -> Option<f64> {
    let setup = Setup {
        model: &time.model,
        accelerator: &time.accelerator,
        chips: time.chips,
        weights: WeightFormats {
            experts: time.weight_bytes_per_parameter,
            others: time.other_bytes_per_parameter,
            embedding: EMBEDDING_BYTES,
        },
        attention_bytes: time.kv_bytes_per_element,
        kv_bytes_per_element: time.kv_bytes_per_element,
    };
    let serving = setup.serving(fitted)?;
    let context = time.prompt_tokens + time.output_tokens / 2.0;
    let step_s = serving.decode(time.concurrency, context).total.0;
    let prompt_s = prompt_s(&serving, PromptTokens::fresh(time.prompt_tokens));
    Some((step_s + time.concurrency * prompt_s / time.output_tokens) * 1e3)
}

/// Seconds per prompt in passes of a usual length; `None` if the prompt's length is unknown.
fn prompt_s(serving: &Serving<'_>, prompt: PromptTokens) -> f64 {
    if prompt.fresh <= 0.0 {
        return 0.0;
    }
    let prompts = (PASS_TOKENS / prompt.fresh).max(1.0);
    serving.prefill(prompts, prompt).total.0 / prompts
}

/// Serving setup at peak, without exchanges, compute and memory at once (E1).
#[must_use]
pub fn at_peak<'a>(serving: &Serving<'a>) -> Serving<'a> {
    Serving {
        efficiencies: Efficiencies::PEAK,
        overheads: Overheads::NONE,
        overlap: Overlap::Full,
        ..serving.clone()
    }
}

pub(super) fn serving_value(measured: &Measurement, serving: &Serving<'_>) -> Option<f64> {
    let step_s = |batch, context| serving.decode(batch, context).total.0;
    match measured.measure {
        Measure::PromptTokensPerSecondPerChip => {
            let prompts = measured.batch_per_chip? * measured.chips;
            let prompt = prompt(measured)?;
            let tokens = prompts * prompt.fresh;
            Some(tokens / serving.prefill(prompts, prompt).total.0 / measured.chips)
        }
        Measure::StepMilliseconds => Some(step_s(1.0, measured.context_tokens?) * 1e3),
        Measure::MillisecondsPerContextToken => {
            let (short, long) = SLOPE_CONTEXTS;
            Some((step_s(1.0, long) - step_s(1.0, short)) / (long - short) * 1e3)
        }
        Measure::OutputTokensPerSecondPerChip if measured.phase == MeasuredPhase::Decode => {
            let context = measured.context_tokens?;
            let batch = batch(measured, serving, context)?;
            Some(batch / step_s(batch, context) / measured.chips)
        }
        Measure::OutputTokensPerSecondPerChip => mixed(measured, serving),
        Measure::TotalTokensPerSecondPerChip => {
            let total = measured.prompt_tokens? + measured.output_tokens?;
            Some(mixed(measured, serving)? * total / measured.output_tokens?)
        }
    }
}

fn prompt(measured: &Measurement) -> Option<PromptTokens> {
    Some(PromptTokens {
        fresh: measured.prompt_tokens?,
        cached: measured.cached_prompt_tokens.unwrap_or(0.0),
    })
}

/// The batch that was run, or the largest that fits.
fn batch(measured: &Measurement, serving: &Serving<'_>, context: f64) -> Option<f64> {
    measured
        .batch_per_chip
        .map(|batch| batch * measured.chips)
        .or_else(|| serving.memory(context).largest_batch())
        .filter(|batch| *batch > 0.0)
        .map(|batch| over_rounds(batch, measured.requests))
}

/// The mean batch of a run: requests that are sent at once and are of equal length finish in ⌈requests/batch⌉ rounds.
fn over_rounds(batch: f64, requests: Option<f64>) -> f64 {
    requests.map_or(batch, |requests| requests / (requests / batch).ceil())
}

/// Generated tokens per second and chip where prompts and answers take turns on the same chips: a step of the batch,
/// and for each of its tokens its share of a prompt. Without a prompt length, an upper bound.
///
/// An engine admits a request only if it can finish, so that the largest batch is that of whole requests.
fn mixed(measured: &Measurement, serving: &Serving<'_>) -> Option<f64> {
    let output = measured.output_tokens?;
    let prompt = prompt(measured).unwrap_or(PromptTokens::fresh(0.0));
    let prompt_tokens = prompt.fresh + prompt.cached;
    let context = prompt_tokens + output / 2.0;
    let whole = prompt_tokens + measured.longest_output_tokens.unwrap_or(output);
    let prompt_s = prompt_s(serving, prompt);
    let round_s = |batch: f64| serving.decode(batch, context).total.0 + batch * prompt_s / output;
    let batch = match measured.tokens_per_second_per_user {
        Some(speed) => {
            let largest = serving.memory(whole).largest_batch().unwrap_or(1.0);
            batch_at(&round_s, 1.0 / speed, largest)
        }
        None => batch(measured, serving, whole)?,
    };
    Some(batch / round_s(batch) / measured.chips)
}

/// Tokens of a prefill pass where it is not published.
const PASS_TOKENS: f64 = 16_384.0;

/// The largest batch whose round takes no longer, between one sequence and the largest that fits.
fn batch_at(round_s: &impl Fn(f64) -> f64, most_s: f64, largest: f64) -> f64 {
    let (mut low, mut high) = (1.0, largest.max(1.0));
    if round_s(high) <= most_s {
        return high;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if round_s(middle) <= most_s {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Measured step time, and what five ways of adding up predict.
pub(super) fn overlap_times(
    measured: &Measurement,
    fitted: &FittedAttainment,
) -> Option<(f64, [f64; 5])> {
    let batch = measured.batch_per_chip?;
    let context = measured.context_tokens?;
    let fitted = serving(measured, fitted)?;
    let peak = Serving {
        overheads: Overheads {
            network: Some(1.0),
            ..Overheads::NONE
        },
        overlap: Overlap::AttentionApart,
        ..at_peak(&fitted)
    };
    let whole_batch = batch * measured.chips;
    let pass = peak.decode(whole_batch, context);
    let step = pass.step;
    let full = step.compute().0.max(step.memory().0);
    let sum = step.compute().0 + step.memory().0 + pass.communication.0;
    let times = [
        full,
        step.total.0,
        pass.total.0,
        sum,
        fitted.decode(whole_batch, context).total.0,
    ];
    Some((batch / measured.value, times))
}

//! `/simulate`: time, memory and cost of a model on a machine, at a point and over a grid, and the price sheet it implies.
//!
//! ```
//! use unroof_roofline::calculator::simulate::simulate;
//!
//! let answer = simulate(br#"{"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144},
//!     "precision": {"kv_bytes_per_element": 2}, "load": {"context_tokens": 4989}}"#)?;
//! // 61 layers keep a latent of 512 and 64 elements.
//! assert_eq!(answer.roofline.kv_bytes_per_token_stored.0, 2.0 * 61.0 * (512.0 + 64.0));
//! assert!(answer.decode.cost_usd_per_mtok < Some(1.0) && answer.memory.does_not_fit.is_none());
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod answer;
mod grid;
mod hardware;
mod intervals;
mod load;
mod measured;
mod offer;
mod price_sheet;
pub mod request;
mod series;
mod setup;

use self::answer::EQUATIONS;
use self::grid::SimulatedGrid;
use self::request::{Question, read_question};
use super::inputs::NoValue;
use crate::forward::{
    Machine, Overheads, PassTime, PromptTokens, READ_CONTEXT_TOKENS, Serving, Spread,
    crossover_context, latency_floor, optimal_batch_at_context, worst_case_latency,
};
use crate::reference::unmeasured;
use unroof_base::input::{RequestError, read};
use unroof_base::units::{Bytes, readable};

pub use self::answer::{
    AttentionBound, Bound, Decode, DoesNotFit, Memory, Prefill, Roofline, SeriesItem,
    SimulationAnswer, Split,
};
pub use self::measured::{Change, LearnedItem};
pub use self::price_sheet::{
    AllInEfficiencies, CacheOffer, ImpliedSheet, ReadBack, ReadingRequest,
};

const MILLION: f64 = 1e6;
/// More chips than this are not looked for.
const MOST_CHIPS: f64 = 16_777_216.0;

/// Answers a simulation request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn simulate(text: &[u8]) -> Result<SimulationAnswer, RequestError> {
    read_simulation(text).map(|simulation| simulation.answer())
}

/// A parsed request of `/simulate`.
#[derive(Debug)]
pub struct Simulation(Question);

/// Reads a simulation request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn read_simulation(text: &[u8]) -> Result<Simulation, RequestError> {
    read(text, read_question).map(Simulation)
}

impl Simulation {
    /// Number of points of the grid; 1 without a grid.
    #[must_use]
    pub fn points(&self) -> usize {
        self.0.grid.as_ref().map_or(1, SimulatedGrid::points)
    }

    /// Computes the answer to the request.
    #[must_use]
    pub fn answer(&self) -> SimulationAnswer {
        answer(&self.0)
    }
}

impl Question {
    fn serving(&self) -> Serving<'_> {
        self.setup.serving(self.load.speculation)
    }

    /// r(L), at peak: weights, cache and state over multiplies with weights.
    fn memory_over_compute(&self, batch: f64, context_tokens: f64) -> f64 {
        let setup = &self.setup;
        let bytes = setup.weights().0 + batch * setup.kv_bytes_per_sequence(context_tokens);
        let memory_s = bytes / setup.unit().bandwidth.0;
        let active_parameters = setup.model.architecture.active_parameters;
        let compute_s = batch * self.load.speculation.computed() * active_parameters
            / setup.unit().multiply_rate.0;
        memory_s / compute_s
    }

    /// Serving setup on the prefill chips.
    fn prefill_serving(&self) -> Serving<'_> {
        Serving {
            machine: self.setup.hardware.prefill_machine,
            ..self.serving()
        }
    }

    /// USD per million tokens, for a throughput of all chips of a machine.
    fn usd_per_mtok(machine: &Machine, tokens_per_second: f64) -> Option<f64> {
        let usd = machine.unit.rental_usd_per_second / tokens_per_second * MILLION;
        is_rented(machine).then_some(usd)
    }

    /// Prompts of this length in a pass: the stated number, else the number with the same tokens, and at least one.
    fn prompts_of(&self, tokens: f64) -> f64 {
        if self.load.states_prompts_per_pass {
            return self.load.prompts_per_pass;
        }
        (self.load.prompts_per_pass * self.load.fresh_tokens() / tokens).max(1.0)
    }

    fn prompt(&self) -> PromptTokens {
        PromptTokens {
            fresh: self.load.fresh_tokens(),
            cached: self.load.cached_input_tokens,
        }
    }
}

/// Whether the rent of a machine is known.
fn is_rented(machine: &Machine) -> bool {
    machine.unit.rental_usd_per_second > 0.0
}

fn answer(question: &Question) -> SimulationAnswer {
    let mut not_defined = Vec::new();
    let mut note = |value, reason: &str| {
        not_defined.push(NoValue {
            value,
            reason: reason.to_owned(),
        });
    };
    let hardware = &question.setup.hardware;
    if !is_rented(&hardware.machine) || !is_rented(&hardware.prefill_machine) {
        note("cost_usd_per_mtok", price_sheet::NO_RENTAL);
    }
    let roofline = roofline(question);
    if roofline.crossover_context_tokens.is_none() {
        note(
            "roofline.crossover_context_tokens",
            "the bytes read per step do not grow with the context",
        );
    } else if roofline.optimal_batch_at_context.is_none() {
        note(
            "roofline.optimal_batch_at_context",
            "beyond the crossover reading the cache alone takes longer than the multiplies",
        );
    }
    let memory = memory(question);
    if memory.largest_batch.is_none() {
        let usable = memory.capacity_bytes.0 - memory.reserved_bytes.0;
        let weights_fit = memory.weights_bytes.0 <= usable;
        let reason = if weights_fit {
            "there is no KV cache, so any batch fits"
        } else {
            "the weights alone do not fit"
        };
        note("memory.largest_batch", reason);
    }
    let implied = question
        .offer
        .as_ref()
        .map(|offer| price_sheet::implied_sheet(question, offer));
    if let Some(Err(reason)) = &implied {
        note("price_sheet", reason);
    }
    let (decode, prefill) = (decode(question), prefill(question));
    SimulationAnswer {
        intervals: intervals::intervals(question, &decode, &prefill),
        learned: question.setup.learned.as_ref().map(|learned| learned.item),
        decode,
        prefill,
        series: series::series(question),
        price_sheet: implied.and_then(Result::ok),
        architecture: question.setup.model.architecture.clone(),
        caveats: caveats(question, &memory),
        memory,
        roofline,
        not_defined,
        equations: EQUATIONS,
        inputs: question.inputs.clone(),
    }
}

fn caveats(question: &Question, memory: &Memory) -> Vec<String> {
    let mut caveats = Vec::new();
    let machine = &question.setup.hardware.machine;
    if question.setup.efficiency.overheads == Overheads::NONE {
        caveats.push(
            "peak rooflines: several times too fast on published measurements (docs/model/measurements.md)"
                .to_owned(),
        );
    }
    if let Some(id) = question.setup.hardware.borrowed_from {
        caveats.push(format!(
            "no accelerator is named: figures of the chip that are not stated are those of {id}"
        ));
    }
    caveats.extend(question.setup.model.caveat());
    caveats.extend(question.unmeasured_generation().map(unmeasured));
    let context = question.load.context_tokens;
    if let Some(longest) = question
        .setup
        .model
        .longest_context
        .filter(|longest| context > *longest)
    {
        caveats.push(format!(
            "{} tokens are more than the longest context of the model, {}",
            readable(context),
            readable(longest)
        ));
    }
    let is_counted = question.setup.efficiency.overheads.network.is_some() && machine.chips > 1.0;
    let lacks_link =
        machine.scale_up.is_none() || (machine.domains() > 1.0 && machine.scale_out.is_none());
    if is_counted && lacks_link {
        caveats.push(
            "the bandwidth of a link is not published, so exchanges over it are not counted: state \
             `machine.scale_up_bytes_per_second` and `machine.scale_out_bytes_per_second`"
                .to_owned(),
        );
    }
    if memory.does_not_fit.is_some() {
        caveats.push(
            "weights and caches do not fit: times and costs are those of chips with more memory"
                .to_owned(),
        );
    }
    caveats
}

fn roofline(question: &Question) -> Roofline {
    let (architecture, cache, unit) = (
        &question.setup.model.architecture,
        &question.setup.cache,
        question.setup.unit(),
    );
    let (kv_bytes, load) = (question.setup.precision.cache, &question.load);
    let ratio = question.setup.compute_to_bandwidth();
    let read = cache.read_per_token(kv_bytes);
    let crossover = (read.0 > 0.0).then(|| {
        crossover_context(
            question.setup.precision.weights,
            architecture.active_parameters,
            ratio,
            read,
        ) * load.speculation.computed()
    });
    let optimal = question.setup.optimal_batch() / load.speculation.computed();
    let of_token = |elements: f64| Bytes(elements * kv_bytes);
    let one_token = Serving {
        efficiencies: crate::forward::Efficiencies::PEAK,
        speculation: crate::forward::Speculation::NONE,
        spread: Spread::Tensor,
        ..question.serving()
    };
    let step = question
        .serving()
        .decode(load.batch, load.context_tokens)
        .step;
    Roofline {
        compute_to_bandwidth: ratio,
        sparsity: architecture.sparsity(),
        kv_bytes_per_token_stored: cache.stored_per_token(kv_bytes),
        kv_bytes_per_token_read: cache.read_per_token_at(READ_CONTEXT_TOKENS, kv_bytes),
        kv_bytes_per_token_read_slope: read,
        kv_bytes_stored_per_sequence: Bytes(cache.stored_elements(load.context_tokens) * kv_bytes),
        state_bytes_per_sequence: cache.state_per_sequence(),
        kv_bytes_read_per_generated_token: of_token(cache.read_elements(load.context_tokens)),
        attention_macs_per_token_decode: cache.decode_macs_per_token(),
        attention_macs_per_token_prefill: cache.prefill_macs_per_token(),
        optimal_batch: optimal,
        batch_over_optimal_batch: load.batch / question.setup.optimal_batch(),
        optimal_batch_at_context: crossover.and_then(|crossover| {
            optimal_batch_at_context(optimal, load.context_tokens, crossover)
        }),
        crossover_context_tokens: crossover,
        memory_time_over_compute_time: question
            .memory_over_compute(load.batch, load.context_tokens),
        decode_bound: Bound::of(step.memory().0, step.compute().0),
        attention: attention(question),
        latency_floor_seconds: latency_floor(question.setup.weights(), unit),
        latency_floor_of_one_sequence_seconds: one_token.decode(1.0, 0.0).step.weight_memory,
        sweep_time_seconds: unit.sweep_time(),
        worst_case_latency_seconds: worst_case_latency(unit.sweep_time()),
    }
}

fn attention(question: &Question) -> AttentionBound {
    let unit = question.setup.unit();
    // Sparse attention is judged at the context that is simulated, dense attention is the same at every one.
    let context = question.load.context_tokens.max(1.0);
    let bytes = question.setup.cache.read_elements(context) * question.setup.precision.cache;
    let flop =
        2.0 * question.setup.cache.decode_macs(context) * question.load.speculation.computed();
    let ridge = 2.0 * unit.attention_multiply_rate.0 / unit.bandwidth.0;
    let intensity = (bytes > 0.0).then_some(flop / bytes);
    AttentionBound {
        flop_per_kv_byte: intensity,
        ridge_flop_per_byte: ridge,
        bound: intensity.map(|intensity| Bound::of(ridge, intensity)),
    }
}

fn memory(question: &Question) -> Memory {
    let load = &question.load;
    let held = question.serving().memory(load.context_tokens);
    let kv = held.per_sequence * load.batch;
    let used = Bytes(held.weights.0 + kv.0);
    let missing = held.missing(load.batch);
    Memory {
        capacity_bytes: held.capacity,
        reserved_bytes: held.reserved,
        weights_bytes: held.weights,
        kv_bytes: kv,
        used_bytes: used,
        used_bytes_per_chip: used / question.setup.hardware.machine.chips,
        largest_batch: held.largest_batch(),
        does_not_fit: missing.map(|missing| {
            let fewest = fewest_chips(question);
            let hint = fewest.map_or_else(
                || "more chips do not help: each holds a copy of all but the experts, or of the cache".to_owned(),
                |chips| format!("{chips} chips of this kind hold this batch"),
            );
            let gigabytes = |bytes: Bytes| format!("{} GB", readable(bytes.0 / 1e9));
            DoesNotFit {
                missing_bytes: missing,
                fewest_chips: fewest,
                detail: format!(
                    "weights of {} and caches of {} in {} of {}; {hint}",
                    gigabytes(held.weights),
                    gigabytes(kv),
                    gigabytes(held.usable()),
                    gigabytes(held.capacity)
                ),
            }
        }),
    }
}

/// Fewest chips that hold the weights and the batch's cache; cut by heads, a cache grows with the chips.
fn fewest_chips(question: &Question) -> Option<f64> {
    let (load, machine) = (&question.load, &question.setup.hardware.machine);
    let missing = |chips: f64| {
        let machine = machine.with_chips(chips);
        let serving = Serving {
            machine,
            ..question.serving()
        };
        serving.memory(load.context_tokens).missing(load.batch)
    };
    let mut chips = question.setup.hardware.attention_chips;
    while missing(chips).is_some() {
        chips *= 2.0;
        if chips > MOST_CHIPS {
            return None;
        }
    }
    let (mut few, mut enough) = (chips / 2.0, chips);
    while enough - few > 1.0 {
        let middle = f64::midpoint(few, enough).floor();
        if missing(middle).is_some() {
            few = middle;
        } else {
            enough = middle;
        }
    }
    Some(enough)
}

fn split(pass: &PassTime) -> Split {
    Split {
        weight_compute_seconds: pass.step.weight_compute,
        attention_compute_seconds: pass.step.attention_compute,
        weight_memory_seconds: pass.step.weight_memory,
        kv_memory_seconds: pass.step.kv_memory,
        communication_seconds: pass.communication,
        token_overhead_seconds: pass.token_overhead,
        stage_overhead_seconds: pass.stage_overhead,
        draft_seconds: pass.draft,
        total_seconds: pass.total,
    }
}

fn decode(question: &Question) -> Decode {
    let load = &question.load;
    let pass = question.serving().decode(load.batch, load.context_tokens);
    let per_user = load.speculation.accepted / pass.total.0;
    let all = load.batch * per_user;
    let cost = |seconds: f64| {
        let accepted = load.batch * load.speculation.accepted;
        Question::usd_per_mtok(&question.setup.hardware.machine, accepted / seconds)
    };
    Decode {
        batch: load.batch,
        context_tokens: load.context_tokens,
        time: split(&pass),
        tokens_per_second_per_user: per_user,
        tokens_per_second_per_chip: all / question.setup.hardware.machine.chips,
        tokens_per_second: all,
        users_to_fill_batch: load.batch / load.user_activity,
        share_of_provider_traffic: all / load.provider_tokens_per_second,
        drafted_tokens: load.speculation.drafted,
        accepted_tokens_per_step: load.speculation.accepted,
        cost_usd_per_mtok: Question::usd_per_mtok(&question.setup.hardware.machine, all),
        cost_compute_limit_usd_per_mtok: cost(pass.step.compute().0),
        cost_kv_limit_usd_per_mtok: cost(pass.step.kv_memory.0),
    }
}

fn prefill(question: &Question) -> Prefill {
    let load = &question.load;
    let serving = question.prefill_serving();
    let pass = serving.prefill(load.prompts_per_pass, question.prompt());
    let all = load.prompts_per_pass * load.fresh_tokens() / pass.total.0;
    let alone = match serving.spread {
        Spread::Tensor => 1.0,
        Spread::Experts => serving.machine.chips / serving.attention_chips,
    };
    Prefill {
        chips: serving.machine.chips,
        input_tokens: load.input_tokens,
        cached_input_tokens: load.cached_input_tokens,
        prompts_per_pass: load.prompts_per_pass,
        time: split(&pass),
        tokens_per_second_per_chip: all / serving.machine.chips,
        tokens_per_second: all,
        time_to_first_token_seconds: serving.prefill(alone, question.prompt()).total,
        cost_usd_per_mtok: Question::usd_per_mtok(&serving.machine, all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated(request: &serde_json::Value) -> SimulationAnswer {
        simulate(request.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn nothing_stated_is_a_question_too() {
        let answer = simulated(&serde_json::json!({}));
        assert!(answer.decode.time.total_seconds.0 > 0.0);
        assert_eq!(answer.series.len(), 1);
        assert!(answer.price_sheet.is_none());
    }

    #[test]
    fn the_front_rises_in_speed_and_cost() {
        let answer = simulated(&serde_json::json!({
            "grid": {"batch": {"from": 1, "to": 1000, "points": 20}}
        }));
        let front: Vec<_> = answer
            .series
            .iter()
            .filter(|row| row.on_speed_cost_front)
            .collect();
        assert!(front.len() > 1);
        assert!(front.is_sorted_by(|left, right| {
            left.tokens_per_second_per_user >= right.tokens_per_second_per_user
                && left.cost_output_usd_per_mtok >= right.cost_output_usd_per_mtok
        }));
    }
}

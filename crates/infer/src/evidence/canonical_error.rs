//! Error of the canonical model: costs of a draw that has a model's sizes alone, over those of its full architecture.
//!
//! ```
//! use unroof_infer::evidence::canonical_error::Spreads;
//!
//! let spreads = Spreads::of([0.3, -0.1, 0.0].into_iter());
//! assert_eq!((spreads.bias, spreads.median, spreads.most), (0.0, 0.1, 0.3));
//! ```

use super::assumptions::Assumptions;
use super::canonical::{KnownModel, Sizes};
use super::machine::{Machine, machines};
use super::unknowns::{Running, Unknowns};
use unroof_roofline::reference::architecture::Architecture;
use unroof_roofline::reference::{AttentionKind, OpenModel, open_models};

/// Accelerator, β and mean context in tokens at which costs are compared, at one byte per weight and cache element, on the
/// smallest unit that holds the model.
const POINTS: [(&str, f64, f64); 6] = [
    ("h100-sxm", 0.5, 2_000.0),
    ("h100-sxm", 2.5, 8_192.0),
    ("h200-sxm", 1.0, 4_000.0),
    ("h200-sxm", 2.5, 32_000.0),
    ("b200-sxm", 0.5, 8_192.0),
    ("b200-sxm", 2.5, 4_000.0),
];

/// log of the cost by sizes over the cost by the architecture: of input, and of output.
pub type LogErrors = [f64; 2];

/// Errors of a line over models and points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spreads {
    /// Median of the errors.
    pub bias: f64,
    /// Median of the absolute errors.
    pub median: f64,
    /// 90th percentile of the absolute errors.
    pub most: f64,
}

impl Spreads {
    /// Spreads of errors, of which there is one at least.
    #[must_use]
    pub fn of(errors: impl Iterator<Item = f64>) -> Self {
        let mut errors: Vec<f64> = errors.collect();
        errors.sort_by(f64::total_cmp);
        let bias = errors[errors.len() / 2];
        for error in &mut errors {
            *error = error.abs();
        }
        errors.sort_by(f64::total_cmp);
        Self {
            bias,
            median: errors[errors.len() / 2],
            most: errors[errors.len() * 9 / 10],
        }
    }
}

/// The errors of a model at every point where a unit holds it; none of one without a cache.
#[must_use]
pub fn canonical_errors(architecture: &Architecture, known: &'static KnownModel) -> Vec<LogErrors> {
    let sizes = Sizes::of(architecture);
    if !(sizes.log_kv_read.is_finite() && sizes.log_kv_stored.is_finite()) {
        return Vec::new();
    }
    let attention = AttentionKind::of(&architecture.attention);
    let of_point = |(accelerator, batch, context): (&str, f64, f64)| {
        let machine = machine(accelerator)?;
        let with_architecture = of_model(machine.clone(), known);
        let full = unknowns(&sizes, attention, &with_architecture, batch, context);
        let full = Unknowns {
            running: full.placed(0.0, false)?,
            ..full
        };
        let by_sizes = Unknowns {
            machine: &machine,
            running: Running {
                log_step_seconds: None,
                ..full.running
            },
            ..full
        };
        Some([
            by_sizes.log_input_cost() - full.log_input_cost(),
            by_sizes.log_output_cost() - full.log_output_cost(),
        ])
    };
    POINTS.into_iter().filter_map(of_point).collect()
}

/// The errors of every open-weight model with a cache.
#[must_use]
pub fn errors_of_open_models() -> Vec<(&'static OpenModel, Vec<LogErrors>)> {
    let of_model = |model: &'static OpenModel| {
        let known = KnownModel::find(&Sizes::of(&model.architecture))?;
        Some((model, canonical_errors(&model.architecture, known)))
    };
    open_models().iter().filter_map(of_model).collect()
}

fn machine(accelerator: &str) -> Option<Machine> {
    let stated = format!(
        r#"{{"accelerator": "{accelerator}", "weight_bytes_per_parameter": 1, "kv_bytes_per_element": 1}}"#
    );
    let assumptions = unroof_base::input::read(stated.as_bytes(), Assumptions::read).ok()?;
    machines(&assumptions).into_iter().next()
}

fn of_model(mut machine: Machine, known: &'static KnownModel) -> Machine {
    machine.known_model = Some(known);
    machine
}

fn unknowns<'a>(
    sizes: &Sizes,
    attention: AttentionKind,
    machine: &'a Machine,
    batch_over_optimal: f64,
    context_tokens: f64,
) -> Unknowns<'a> {
    Unknowns {
        log_active_parameters: sizes.log_active,
        log_total_parameters: sizes.log_total,
        log_kv_bytes_read: sizes.log_kv_read,
        log_kv_bytes_stored: sizes.log_kv_stored,
        log_batch_over_optimal: batch_over_optimal.ln(),
        log_mean_decode_context: context_tokens.ln(),
        log_utilisation: 0.0,
        log_rental: 0.0,
        is_dense: sizes.is_dense,
        attention,
        machine,
        running: Running::typical(machine),
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use serde_json::{Value, json};

    use super::*;
    use unroof_roofline::forward::{
        Engine, KvCache, Overheads, Overlap, PromptTokens, Serving, Speculation, Spread,
    };
    use unroof_roofline::reference::{WeightFormats, fitted_attainment};

    const MODELS: usize = 200;

    /// A transformer of random sizes, whose parameters follow from its matrices: dense or with experts; grouped or latent
    /// attention, with windows in some layers or in none.
    fn random_architecture(random: &mut Xoshiro256PlusPlus) -> Architecture {
        let mut log_uniform = |low: f64, high: f64| {
            (low.ln() + random.random::<f64>() * (high / low).ln())
                .exp()
                .round()
        };
        let layers = log_uniform(16.0, 100.0);
        // Deeper models are wider: 100 to 200 of width per layer, rounded to heads of 128.
        let heads = (layers * log_uniform(75.0, 150.0) / 128.0).round().max(4.0);
        let hidden = 128.0 * heads;
        let vocabulary = hidden * log_uniform(32e3, 256e3);
        let is_latent = log_uniform(1.0, 4.0) >= 3.0;
        let kv_heads = [heads / 2.0, heads / 4.0, heads / 8.0]
            .into_iter()
            .find(|heads| heads.fract() < 1e-9 && *heads <= 16.0)
            .unwrap_or(heads);
        let windowed = if log_uniform(1.0, 3.0) >= 3.0 {
            (layers / 2.0).floor()
        } else {
            0.0
        };
        let grouped = |layers: f64, window: Option<u32>| {
            let mut group = json!({"kind": "grouped_query", "layers": layers, "query_heads": heads,
                "kv_heads": kv_heads, "key_dimension": 128, "value_dimension": 128});
            if let Some(window) = window {
                group["window"] = json!(window);
            }
            group
        };
        let attention: Vec<Value> = if is_latent {
            vec![
                json!({"kind": "latent", "layers": layers, "query_heads": heads, "kv_lora_rank": 512,
                "rope_dimension": 64, "nope_dimension": 128, "value_dimension": 128}),
            ]
        } else if windowed > 0.0 {
            vec![
                grouped(layers - windowed, None),
                grouped(windowed, Some(1_024)),
            ]
        } else {
            vec![grouped(layers, None)]
        };
        let of_attention = 2.0 * hidden * hidden + 2.0 * hidden * 128.0 * kv_heads;
        let outside = layers * of_attention + 2.0 * vocabulary;
        let mut architecture = json!({
            "layers": layers, "hidden_dimension": hidden, "attention": attention,
            "input_embedding_parameters": vocabulary,
        });
        if log_uniform(1.0, 3.0) >= 2.0 {
            let (routed, active) = (log_uniform(16.0, 384.0), log_uniform(1.0, 8.0));
            let of_expert = 3.0 * hidden * (hidden * log_uniform(0.15, 0.6).max(0.2)).round();
            let experts = layers * routed * of_expert;
            architecture["total_parameters"] = json!(outside + experts);
            architecture["active_parameters"] =
                json!(outside - vocabulary + layers * active * of_expert);
            architecture["experts"] =
                json!({"routed": routed, "active": active, "parameters": experts});
        } else {
            let total = outside + layers * 3.0 * hidden * (hidden * 3.0);
            architecture["total_parameters"] = json!(total);
        }
        let text = architecture.to_string();
        unroof_base::input::read(text.as_bytes(), Architecture::read)
            .unwrap_or_else(|error| panic!("{error:?}: {text}"))
    }

    fn random_architectures() -> Vec<(Architecture, &'static KnownModel)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1_997);
        let of = |architecture: Architecture| {
            let known: &'static KnownModel = Box::leak(Box::new(KnownModel::of(&architecture)));
            (architecture, known)
        };
        (0..MODELS)
            .map(|_| of(random_architecture(&mut random)))
            .collect()
    }

    /// Costs of a unit's tokens by the forward model: of input, and of output.
    fn simulated(architecture: &Architecture, unknowns: &Unknowns<'_>) -> [f64; 2] {
        let machine = unknowns.machine;
        let is_mixture = architecture.experts.is_some();
        let spread = if is_mixture {
            Spread::Experts
        } else {
            Spread::Tensor
        };
        let chips = unknowns.running.chips;
        let serving = Serving {
            architecture,
            cache: KvCache::new(architecture),
            weights: WeightFormats::uniform(machine.log_weight_bytes.exp()),
            kv_bytes_per_element: machine.log_kv_element_bytes.exp(),
            machine: machine.chip.with_chips(chips),
            spread,
            attention_chips: 1.0,
            efficiencies: machine.efficiencies,
            overheads: Overheads {
                per_stage: machine.per_stage,
                ..Overheads::from(fitted_attainment().all)
            },
            overlap: Overlap::AttentionApart,
            speculation: Speculation::NONE,
        };
        let log_optimal = machine.log_compute_to_bandwidth + architecture.sparsity().ln();
        let batch = (unknowns.log_batch_over_optimal + log_optimal)
            .exp()
            .max(1.0);
        let step = serving.decode(batch, unknowns.log_mean_decode_context.exp());
        let tokens = unknowns.running.prompt_tokens;
        let cached = unknowns.running.cached_share * tokens;
        let prompt = PromptTokens {
            fresh: tokens - cached,
            cached,
        };
        let prompts = (Engine::pass_tokens(spread, chips) / prompt.fresh).max(1.0);
        let pass = serving.prefill(prompts, prompt);
        let of_hour = chips * 1e6 / 3_600.0;
        [
            pass.total.0 * of_hour / (prompts * prompt.fresh),
            step.total.0 * of_hour / batch,
        ]
    }

    #[test]
    fn a_draw_with_the_architecture_costs_what_the_forward_model_says() {
        for (architecture, known) in random_architectures() {
            let sizes = Sizes::of(&architecture);
            for (accelerator, batch, context) in POINTS {
                let machine = of_model(machine(accelerator).expect("it is listed"), known);
                let attention = AttentionKind::of(&architecture.attention);
                let mut draw = unknowns(&sizes, attention, &machine, batch, context);
                draw.running.prompt_tokens = context;
                draw.running.cached_share = 0.3;
                let Some(running) = draw.placed(0.0, false) else {
                    continue;
                };
                draw.running = running;
                let costs = [draw.log_input_cost(), draw.log_output_cost()];
                for (log_cost, cost) in costs.into_iter().zip(simulated(&architecture, &draw)) {
                    let apart = log_cost - cost.ln();
                    assert!(
                        apart.abs() < 0.03,
                        "{apart}: {architecture:?} on {accelerator}"
                    );
                }
            }
        }
    }

    /// Medians of the absolute errors stay below these, of input and of output; `unroof-dev costs` prints the figures.
    fn check(errors: impl Iterator<Item = LogErrors>, most: LogErrors) {
        let errors: Vec<LogErrors> = errors.collect();
        for (line, most) in most.into_iter().enumerate() {
            let spread = Spreads::of(errors.iter().map(|errors| errors[line]));
            assert!(spread.median < most, "{line}: {spread:?}");
            assert!(spread.bias.abs() < most, "{line}: {spread:?}");
        }
    }

    #[test]
    fn sizes_alone_give_costs_within_the_errors_that_the_page_states() {
        let of_open = errors_of_open_models()
            .into_iter()
            .flat_map(|(_, errors)| errors);
        check(of_open, [0.10, 0.05]);
        let random = random_architectures();
        let of_random = random
            .iter()
            .flat_map(|(architecture, known)| canonical_errors(architecture, known));
        check(of_random, [0.18, 0.06]);
    }

    #[test]
    fn recurrent_state_is_counted_by_sizes_alone() {
        let hybrid = errors_of_open_models().into_iter().filter(|(model, _)| {
            AttentionKind::of(&model.architecture.attention) == AttentionKind::HybridLinear
        });
        let output = hybrid
            .flat_map(|(_, errors)| errors)
            .map(|errors| errors[1]);
        let spread = Spreads::of(output);
        assert!(
            spread.bias.abs() < 0.15 && spread.median < 0.25,
            "{spread:?}"
        );
    }
}

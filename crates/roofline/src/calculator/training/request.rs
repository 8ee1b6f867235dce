//! The request of `/training`: its fields and their defaults.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_base::input::{RequestError, read};
//! use unroof_roofline::calculator::training::request::TrainingRequest;
//!
//! let refused = read(br#"{"service": {"lifetime_days": 0}, "costs": {"utilisation": 40}}"#, TrainingRequest::read);
//! let Err(RequestError::Wrong(faults)) = refused else { panic!("it was read") };
//! assert_eq!([&faults[0].pointer, &faults[1].pointer], ["/service/lifetime_days", "/costs/utilisation"]);
//! ```

use crate::calculator::inputs::{InputOrigin, InputUsed, Inputs, MOST};
use crate::calculator::scenario::{
    Chip, Model, ModelKind, StatedLoad, StatedMachine, StatedModel, StatedPrecision,
};
use crate::forward::{Activations, Demand, TokenCost};
use crate::reference::architecture::Experts;
use crate::reference::names::{AcceleratorIdOrAll, RoutingName};
use crate::reference::{RoutedLaw, routed_law};
use unroof_base::input::body::{Body, List, Stated, bare_or, body, count, number, section, value};
use unroof_base::input::cursor::Cursor;

/// Most tokens in flight.
const MOST_COUNT: u32 = 100_000_000;
/// Most experts over active experts: beyond it the law says nothing.
const MOST_RATIO: f64 = 1e6;
/// Experts over active experts of the series where none are stated, up to the most that were published.
const DEFAULT_GRID: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Fields of a scenario that no value of training depends on.
const WITHOUT_EFFECT: &[&str] = &[
    "machine.attention_flops_per_second",
    "machine.bandwidth_bytes_per_second",
    "machine.capacity_bytes",
    "machine.domain_size",
    "machine.scale_up_bytes_per_second",
    "machine.scale_out_bytes_per_second",
    "precision.kv_bytes_per_element",
    "precision.attention_bytes_per_element",
    "precision.embedding_bytes_per_parameter",
];

body! {
    /// A training request. A field that is left out has a default, which the answer names.
    pub struct TrainingRequest {
        /// The model, by its name, its sizes, its architecture or its configuration; DeepSeek-V3 where nothing is stated.
        model: Stated<StatedModel> = value(ModelKind).flag("model"),
        /// Precisions: multiplies are in the format of the weights, or in that of the stated arithmetic.
        precision: StatedPrecision = section::<StatedPrecision>(),
        /// The chips that it is trained on, or the accelerator alone.
        machine: StatedMachine = bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll),
        /// The load: tokens per second of the provider.
        load: StatedLoad = section::<StatedLoad>(),
        /// The life of the model.
        service: TrainingService = section::<TrainingService>(),
        /// Costs of a token.
        costs: TrainingCosts = section::<TrainingCosts>(),
        /// Stated tokens of the phases; a phase that is left out costs as much as inference.
        tokens: TrainingTokens = section::<TrainingTokens>(),
        /// Activations of the forward pass that the backward pass needs.
        activations: TrainingActivations = section::<TrainingActivations>(),
        /// The published law of sparsity, and the size at which it is applied.
        quality: TrainingQuality = section::<TrainingQuality>(),
    }

    /// The life of a model in a family of models: two months, in which a tenth of the family's tokens are its own \[T\].
    pub struct TrainingService {
        /// Days for which the model is served.
        lifetime_days: Stated<f64> = number(1e-3..=1e5).unit("days").or(60.0).flag("lifetime-days"),
        /// Share of the provider's tokens that this model generates.
        model_share: Stated<f64> = number(1e-9..=1.0).or(0.1).flag("model-share"),
        /// Chance that the model is served at all: the tokens to expect are as many times fewer.
        served_probability: Stated<f64> = number(1e-6..=1.0).or(1.0).flag("served-probability"),
    }

    /// Costs of a token.
    pub struct TrainingCosts {
        /// FLOP per active parameter and token of reinforcement learning: 2 if nothing that was generated is learnt from, 6
        /// if all of it is.
        reinforcement_flops_per_parameter: Stated<f64> = number(2.0..=6.0).unit("FLOP/(parameter·token)").or(3.0),
        /// η: utilisation of decoding over that of pretraining, a third if left out.
        relative_decode_utilisation: Stated<f64> = number(1e-3..=1.0),
        /// Share of peak arithmetic that pretraining reaches.
        utilisation: Stated<f64> = number(1e-3..=1.0).or(0.4),
    }

    /// Stated tokens of the phases.
    pub struct TrainingTokens {
        /// `D_pre`: tokens of pretraining.
        pretraining: Stated<f64> = number(1.0..=1e24).unit("tokens"),
        /// `D_RL`: tokens of reinforcement learning.
        reinforcement: Stated<f64> = number(1.0..=1e24).unit("tokens"),
    }

    /// Activations kept of the forward pass: by default 34 bytes per layer, token and hidden element in 16 bits, which
    /// are 17 values, with attention's scores computed again \[KO22\].
    pub struct TrainingActivations {
        /// Tokens in flight per micro-batch.
        tokens_per_micro_batch: Stated<u32> = count(1..=MOST_COUNT).unit("tokens").or(4_096),
        /// Width of an element.
        bytes_per_element: Stated<f64> = number(0.0625..=16.0).unit("B").or(2.0),
        /// Values of the hidden dimension kept per layer and token.
        kept_per_layer: Stated<f64> = number(1.0..=1e6).unit("values").or(17.0),
    }

    /// Effect of sparsity on quality.
    pub struct TrainingQuality {
        /// Routing of tokens to experts; the best of the three published ways if left out.
        routing: Stated<&'static str> = value(RoutingName).or("s-base"),
        /// Size at which the law is applied; that of the model if left out.
        active_parameters: Stated<f64> = number(1.0..=MOST).unit("parameters"),
        /// Experts per layer over those active per token; those of the model if left out.
        experts_over_active: Stated<f64> = number(1.0..=MOST_RATIO).flag("experts-over-active"),
        /// Experts over active experts of the series; powers of two up to 512 if left out.
        experts_over_active_grid: Stated<Vec<f64>> = value(List::of(1.0..=MOST_RATIO, 1..=1_000)).example([1, 8, 64]),
    }
}

/// Quality of a sparse model.
#[derive(Debug, Clone)]
pub(super) struct Quality {
    pub(super) law: &'static RoutedLaw,
    pub(super) active_parameters: f64,
    pub(super) experts_over_active: f64,
    pub(super) grid: Vec<f64>,
}

/// Chips that the model is trained on.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) chip: Chip,
    pub(super) chips: u32,
    pub(super) utilisation: f64,
    /// Peak arithmetic of one chip, in FLOP per second.
    pub(super) peak_flops: f64,
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) active_parameters: f64,
    pub(super) demand: Demand,
    pub(super) reinforcement: TokenCost,
    pub(super) inference: TokenCost,
    pub(super) pretraining_tokens: Option<f64>,
    pub(super) reinforcement_tokens: Option<f64>,
    pub(super) activations: Activations,
    pub(super) quality: Quality,
    pub(super) cluster: Cluster,
    pub(super) inputs: Vec<InputUsed>,
}

/// Reads the request; `None` if a field is invalid and its fault recorded.
pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = TrainingRequest::read(root)?;
    let inputs = Inputs::new(root, WITHOUT_EFFECT);
    let width = request.precision.cache_of_sizes();
    let model = Model::fill(&request.model, &inputs, width)?;
    let precision = request.precision.fill(&inputs, Some(&model))?;
    let served = Some((&model, &precision));
    let chip = request.machine.fill(&inputs, None, served)?;
    let architecture = &model.architecture;
    let active_parameters = architecture.active_parameters;
    let demand = Demand {
        tokens_per_second: inputs.or_default(&request.load.tokens_per_second)?,
        lifetime_days: inputs.or_default(&request.service.lifetime_days)?,
        model_share: inputs.or_default(&request.service.model_share)?,
        served_probability: inputs.or_default(&request.service.served_probability)?,
    };
    let (reinforcement, inference) = fill_costs(&request.costs, &inputs)?;
    let pretraining_tokens = inputs.or_else(&request.tokens.pretraining, None);
    let reinforcement_tokens = inputs.or_else(&request.tokens.reinforcement, None);
    let kept = &request.activations;
    let activations = Activations {
        layers: architecture.layers,
        hidden_dimension: architecture.hidden_dimension,
        tokens: f64::from(inputs.or_default(&kept.tokens_per_micro_batch)?),
        bytes_per_element: inputs.or_default(&kept.bytes_per_element)?,
        kept_per_layer: inputs.or_default(&kept.kept_per_layer)?,
    };
    Some(Question {
        active_parameters,
        demand,
        reinforcement,
        inference,
        pretraining_tokens,
        reinforcement_tokens,
        activations,
        quality: fill_quality(&request.quality, &inputs, &model)?,
        cluster: Cluster {
            chips: request.machine.serving_chips(&inputs, Some(&chip))?,
            utilisation: inputs.or_default(&request.costs.utilisation)?,
            peak_flops: chip.flops_of(&model, &precision),
            chip,
        },
        inputs: inputs.into_used(),
    })
}

/// The law of sparsity, where the model is or where it is stated.
fn fill_quality(stated: &TrainingQuality, inputs: &Inputs<'_>, model: &Model) -> Option<Quality> {
    let architecture = &model.architecture;
    let of_model = |value: f64| Some((value, InputOrigin::Derived));
    let sparsity = architecture.experts;
    let sparsity = sparsity.map_or(1.0, Experts::routed_over_active);
    Some(Quality {
        law: routed_law(inputs.or_default(&stated.routing)?)?,
        active_parameters: inputs.or_else(
            &stated.active_parameters,
            of_model(architecture.active_parameters),
        )?,
        experts_over_active: inputs.or_else(&stated.experts_over_active, of_model(sparsity))?,
        grid: (stated.experts_over_active_grid.value.clone().ok()?)
            .unwrap_or_else(|| DEFAULT_GRID.into()),
    })
}

/// Reinforcement learning and inference, both at the utilisation of decoding.
fn fill_costs(stated: &TrainingCosts, inputs: &Inputs<'_>) -> Option<(TokenCost, TokenCost)> {
    let third = (1.0 / 3.0, InputOrigin::Default);
    let flops_per_parameter = inputs.or_default(&stated.reinforcement_flops_per_parameter)?;
    let relative_utilisation = inputs.or_else(&stated.relative_decode_utilisation, Some(third))?;
    let reinforcement = TokenCost {
        flops_per_parameter,
        relative_utilisation,
    };
    Some((reinforcement, TokenCost::inference(relative_utilisation)))
}

//! The request of `/training`: its fields and their defaults.

use crate::calculator::inputs::{InputOrigin, InputUsed, Inputs, MOST};
use crate::forward::{Activations, Demand, TokenCost};
use crate::reference::names::{AcceleratorId, RoutingName};
use crate::reference::{Accelerator, RoutedLaw, accelerator, routed_law};
use unroof_base::input::body::body;
use unroof_base::input::body::{Body, List, Stated, count, number, object, plain, section, value};
use unroof_base::input::cursor::Cursor;

/// Most layers, accelerators and the like of a request.
const MOST_COUNT: u32 = 100_000_000;
/// Most experts over active experts: beyond it the law says nothing.
const MOST_RATIO: f64 = 1e6;
/// Experts over active experts of the series where none are stated, up to the most that were published.
const DEFAULT_GRID: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

body! {
    /// A training request. A field that is left out has a default, which the answer names; `{}` is the lecture's model.
    pub struct TrainingRequest {
        /// Model that is trained.
        model: TrainingModel = section::<TrainingModel>(),
        /// Demand over its life.
        demand: TrainingDemand = section::<TrainingDemand>(),
        /// Costs of a token.
        costs: TrainingCosts = section::<TrainingCosts>(),
        /// Stated tokens of the phases; a phase that is left out costs as much as inference.
        tokens: TrainingTokens = section::<TrainingTokens>(),
        /// Activations of the forward pass that the backward pass needs.
        activations: TrainingActivations = section::<TrainingActivations>(),
        /// The published law of sparsity, and the size at which it is applied.
        quality: TrainingQuality = section::<TrainingQuality>(),
        /// Accelerators that it is trained on; without them there are no times and no costs.
        cluster: Stated<TrainingCluster> = value(object::<TrainingCluster>()),
    }

    /// Model that is trained, by its sizes.
    pub struct TrainingModel {
        /// `N_a`: parameters active per token.
        active_parameters: Stated<f64> = number(1.0..=MOST).unit("parameters").or(1e11).flag("active-parameters"),
        /// Layers of the model.
        layers: Stated<u32> = count(1..=MOST_COUNT).unit("layers").or(61),
        /// Elements of a token between layers.
        hidden_dimension: Stated<u32> = count(1..=MOST_COUNT).unit("elements").or(7_168),
        /// Experts per layer over those active per token.
        experts_over_active: Stated<f64> = number(1.0..=MOST_RATIO).or(32.0).flag("experts-over-active"),
    }

    /// Demand for a family of models: the talk's 500 million tokens a second for two months, a tenth of them from
    /// one model \[T\].
    pub struct TrainingDemand {
        /// Tokens per second of the family of models.
        tokens_per_second: Stated<f64> = number(1e-6..=1e15).unit("tokens/s").or(500e6).flag("tokens-per-second"),
        /// Days for which the model is served.
        lifetime_days: Stated<f64> = number(1e-3..=1e5).unit("days").or(60.0).flag("lifetime-days"),
        /// Share of the tokens that this model generates.
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
        /// Experts over active experts of the series; powers of two up to 512 if left out.
        experts_over_active_grid: Stated<Vec<f64>> = value(List::of(1.0..=MOST_RATIO, 1..=1_000)).example([1, 8, 64]),
    }

    /// Accelerators that train.
    pub struct TrainingCluster {
        /// Accelerator, an id of `/reference/accelerators`.
        accelerator: &'static str = plain(value(AcceleratorId)
            .hint("name an accelerator of /reference/accelerators, such as \"h100-sxm\"")
            .flag("accelerator")),
        /// Number of accelerators; needs `accelerator`.
        accelerators: Stated<u32> = count(1..=MOST_COUNT).unit("accelerators").or(10_000).flag("accelerators"),
        /// Share of peak arithmetic that pretraining reaches.
        utilisation: Stated<f64> = number(1e-3..=1.0).or(0.4),
        /// Width of the multiplied values, which selects the peak.
        weight_bytes_per_parameter: Stated<f64> = number(0.0625..=16.0).unit("B").or(2.0),
        /// Rent of one; the typical one of the reference data if left out.
        rental_usd_per_hour: Stated<f64> = number(0.0..=1e6).unit("USD/h"),
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

/// Accelerators that the model is trained on.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) accelerator: &'static Accelerator,
    pub(super) accelerators: u32,
    pub(super) utilisation: f64,
    pub(super) weight_bytes_per_parameter: f64,
    pub(super) rental_usd_per_hour: Option<f64>,
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
    pub(super) cluster: Option<Cluster>,
    pub(super) inputs: Vec<InputUsed>,
}

/// Fields of this request cannot contradict each other; `None` if one is invalid and its fault recorded.
pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = TrainingRequest::read(root)?;
    let inputs = Inputs::new(root.faults());
    let model = &request.model;
    let active_parameters = inputs.or_default(&model.active_parameters)?;
    let layers = inputs.or_default(&model.layers)?;
    let hidden_dimension = inputs.or_default(&model.hidden_dimension)?;
    let experts_over_active = inputs.or_default(&model.experts_over_active)?;
    let demand = Demand {
        tokens_per_second: inputs.or_default(&request.demand.tokens_per_second)?,
        lifetime_days: inputs.or_default(&request.demand.lifetime_days)?,
        model_share: inputs.or_default(&request.demand.model_share)?,
        served_probability: inputs.or_default(&request.demand.served_probability)?,
    };
    let (reinforcement, inference) = fill_costs(&request.costs, &inputs)?;
    let pretraining_tokens = inputs.or_else(&request.tokens.pretraining, None);
    let reinforcement_tokens = inputs.or_else(&request.tokens.reinforcement, None);
    let kept = &request.activations;
    let activations = Activations {
        layers,
        hidden_dimension,
        tokens: f64::from(inputs.or_default(&kept.tokens_per_micro_batch)?),
        bytes_per_element: inputs.or_default(&kept.bytes_per_element)?,
        kept_per_layer: inputs.or_default(&kept.kept_per_layer)?,
    };
    let of_model = (active_parameters, InputOrigin::Derived);
    let quality = Quality {
        law: routed_law(inputs.or_default(&request.quality.routing)?)?,
        active_parameters: inputs.or_else(&request.quality.active_parameters, Some(of_model))?,
        experts_over_active,
        grid: (request.quality.experts_over_active_grid.value.ok()?)
            .unwrap_or_else(|| DEFAULT_GRID.into()),
    };
    let cluster = match request.cluster.value.ok()? {
        Some(cluster) => Some(fill_cluster(&cluster, &inputs)?),
        None => None,
    };
    Some(Question {
        active_parameters,
        demand,
        reinforcement,
        inference,
        pretraining_tokens,
        reinforcement_tokens,
        activations,
        quality,
        cluster,
        inputs: inputs.into_used(),
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

fn fill_cluster(stated: &TrainingCluster, inputs: &Inputs<'_>) -> Option<Cluster> {
    let row = accelerator(stated.accelerator)?;
    inputs.name("cluster.accelerator", &row.id, InputOrigin::Stated);
    let typical = row.rental_usd_per_hour.typical;
    let typical = typical.map(|usd| (usd.0, InputOrigin::Reference));
    Some(Cluster {
        accelerator: row,
        accelerators: inputs.or_default(&stated.accelerators)?,
        utilisation: inputs.or_default(&stated.utilisation)?,
        weight_bytes_per_parameter: inputs.or_default(&stated.weight_bytes_per_parameter)?,
        rental_usd_per_hour: inputs.or_else(&stated.rental_usd_per_hour, typical),
    })
}

//! `/training`: tokens and compute of pretraining, reinforcement learning and inference that cost the same, overtraining,
//! the memory of activations, the worth of sparsity.
//!
//! ```
//! use unroof_roofline::calculator::training::{TrainingPhase, training};
//!
//! // A family that generates 500 million tokens per second, of which this model has a tenth for 60 days.
//! let answer = training(br#"{"load": {"tokens_per_second": 5e8}, "service": {"model_share": 0.1, "lifetime_days": 60}}"#)?;
//! let mut phases = answer.phases.iter();
//! let inference = phases.find(|phase| phase.phase == TrainingPhase::Inference).unwrap();
//! assert!((inference.tokens / (5e8 * 0.1 * 60.0 * 86_400.0) - 1.0).abs() < 1e-12);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod answer;
pub mod request;

use self::answer::{ActivationScheme, EQUATIONS};
use self::request::{Cluster, Quality, Question, read_question};

use super::inputs::NoValue;
use crate::forward::{
    RECOMPUTING_FLOPS_PER_PARAMETER, SCALING_LAWS, ScalingLaw, SharedBudget, TokenCost,
    chinchilla_tokens, overtraining,
};
use crate::reference::{PublishedEquivalent, published_equivalents};
use unroof_base::input::{RequestError, read};
use unroof_base::units::FlopPerSecond;

pub use self::answer::{
    ActivationsItem, ClusterRate, OptimumItem, Overtraining, PublishedItem, QualityItem,
    ReinforcementCost, SparseQuality, TokensFrom, TotalCompute, TrainingAnswer, TrainingPhase,
    TrainingPhaseItem,
};

/// Answers a training request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn training(text: &[u8]) -> Result<TrainingAnswer, RequestError> {
    read(text, read_question).map(|question| answer(&question))
}

fn answer(question: &Question) -> TrainingAnswer {
    let phases = phases(question);
    let quality = &question.quality;
    let series = quality.grid.iter();
    TrainingAnswer {
        total: total(&phases),
        overtraining: Overtraining {
            chinchilla_tokens: chinchilla_tokens(question.active_parameters),
            pretraining_tokens: phases[0].tokens,
            overtraining: overtraining(phases[0].tokens, question.active_parameters),
        },
        optimum: optimum(question, &phases),
        reinforcement: reinforcement_cost(&question.reinforcement),
        activations: activations(question, phases[0].compute_flop),
        quality: sparse_quality(quality),
        series: series.map(|ratio| quality_at(quality, *ratio)).collect(),
        machine: rate(&question.cluster),
        not_defined: not_defined(question),
        phases,
        equations: EQUATIONS,
        inputs: question.inputs.clone(),
    }
}

fn phases(question: &Question) -> Vec<TrainingPhaseItem> {
    let served = question.demand.inference_tokens();
    let planned = |phase, cost: TokenCost, stated: Option<f64>| {
        let equal = cost.tokens_of_equal_compute(&question.inference, served);
        let from = stated.map_or(TokensFrom::Equalised, |_| TokensFrom::Stated);
        (phase, cost, (equal, stated.unwrap_or(equal), from))
    };
    let (pretraining, learning) = (
        TrainingPhase::Pretraining,
        TrainingPhase::ReinforcementLearning,
    );
    let demanded = (served, served, TokensFrom::Demand);
    let rows = [
        planned(
            pretraining,
            TokenCost::PRETRAINING,
            question.pretraining_tokens,
        ),
        planned(
            learning,
            question.reinforcement,
            question.reinforcement_tokens,
        ),
        (TrainingPhase::Inference, question.inference, demanded),
    ];
    let size = question.active_parameters;
    let compute = |cost: &TokenCost, tokens: f64| cost.compute(size, tokens);
    let sum: f64 = rows
        .iter()
        .map(|(_, cost, (_, tokens, _))| compute(cost, *tokens))
        .sum();
    let first = rows[0].2.1;
    rows.into_iter()
        .map(|(phase, cost, (equal, tokens, tokens_from))| {
            let compute_flop = compute(&cost, tokens);
            let cluster = &question.cluster;
            let hours = chip_hours(cluster, compute_flop);
            TrainingPhaseItem {
                phase,
                tokens,
                tokens_from,
                tokens_of_equal_compute: equal,
                tokens_of_equal_halves: match phase {
                    TrainingPhase::Inference => equal,
                    _ => equal / 2.0,
                },
                tokens_over_pretraining: tokens / first,
                flops_per_parameter_and_token: cost.flops_per_parameter,
                relative_utilisation: cost.relative_utilisation,
                arithmetic_flop: cost.arithmetic(size, tokens),
                compute_flop,
                share_of_compute: compute_flop / sum,
                chip_hours: hours,
                days: hours / 24.0 / f64::from(cluster.chips),
                usd: cluster.chip.usd_per_hour.map(|rental| hours * rental),
            }
        })
        .collect()
}

fn chip_hours(cluster: &Cluster, compute_flop: f64) -> f64 {
    compute_flop / (cluster.peak_flops * cluster.utilisation * 3_600.0)
}

fn rate(cluster: &Cluster) -> ClusterRate {
    let peak = FlopPerSecond(cluster.peak_flops);
    ClusterRate {
        accelerator: cluster.chip.row.id.clone(),
        chips: cluster.chips,
        peak_flops_per_second: peak,
        reached_flops_per_second: peak * (f64::from(cluster.chips) * cluster.utilisation),
    }
}

fn total(phases: &[TrainingPhaseItem]) -> TotalCompute {
    let training = &phases[..2];
    let sum = |phases: &[TrainingPhaseItem], value: fn(&TrainingPhaseItem) -> Option<f64>| {
        phases.iter().map(value).sum::<Option<f64>>()
    };
    let compute =
        |phases: &[TrainingPhaseItem]| phases.iter().map(|phase| phase.compute_flop).sum();
    TotalCompute {
        training_compute_flop: compute(training),
        compute_flop: compute(phases),
        training_days: training.iter().map(|phase| phase.days).sum(),
        training_usd: sum(training, |phase| phase.usd),
        usd: sum(phases, |phase| phase.usd),
    }
}

/// The best models for the compute of pretraining and inference together.
fn optimum(question: &Question, phases: &[TrainingPhaseItem]) -> Vec<OptimumItem> {
    let size = question.active_parameters;
    let (pretraining, inference) = (&phases[0], &phases[2]);
    let budget = SharedBudget {
        compute_flop: pretraining.compute_flop + inference.compute_flop,
        pretraining_flops: pretraining.compute_flop / pretraining.tokens / size,
        inference_flops_per_parameter: inference.compute_flop / size,
    };
    let best = |law: ScalingLaw| {
        let parameters = law.best_parameters(&budget);
        let tokens = budget.tokens(parameters);
        OptimumItem {
            law,
            compute_flop: budget.compute_flop,
            parameters,
            pretraining_tokens: tokens,
            overtraining: overtraining(tokens, parameters),
            inference_share: budget.inference_flops_per_parameter * parameters
                / budget.compute_flop,
            loss: law.loss(parameters, tokens),
            loss_of_request: law.loss(size, pretraining.tokens),
        }
    };
    SCALING_LAWS.into_iter().map(best).collect()
}

fn reinforcement_cost(cost: &TokenCost) -> ReinforcementCost {
    ReinforcementCost {
        time_over_pretraining_arithmetic: 1.0 / cost.relative_utilisation,
        compute_per_token_over_pretraining: cost.compute(1.0, 1.0)
            / TokenCost::PRETRAINING.compute(1.0, 1.0),
    }
}

fn activations(question: &Question, pretraining_flop: f64) -> Vec<ActivationsItem> {
    let activations = &question.activations;
    let least = TokenCost::PRETRAINING.flops_per_parameter;
    let again = RECOMPUTING_FLOPS_PER_PARAMETER;
    let schemes = [
        (ActivationScheme::AllKept, activations.all_kept(), least),
        (
            ActivationScheme::InputsKept,
            activations.inputs_kept(),
            again,
        ),
        (
            ActivationScheme::Reversible,
            activations.reversible(),
            again,
        ),
    ];
    schemes
        .into_iter()
        .map(|(scheme, bytes, flops)| ActivationsItem {
            scheme,
            bytes,
            bytes_over_all_kept: bytes.0 / activations.all_kept().0,
            flops_per_parameter_and_token: flops,
            compute_over_all_kept: flops / least,
            pretraining_compute_flop: pretraining_flop * flops / least,
        })
        .collect()
}

/// Factor by which a value is outside a range; 1 inside.
fn beyond(value: f64, least: f64, most: f64) -> f64 {
    (value / most).max(least / value).max(1.0)
}

fn size_beyond(quality: &Quality) -> f64 {
    let law = quality.law;
    beyond(
        quality.active_parameters,
        law.least_active_parameters,
        law.most_active_parameters,
    )
}

fn quality_at(quality: &Quality, experts_over_active: f64) -> QualityItem {
    let (law, size) = (quality.law, quality.active_parameters);
    let equivalent = law.dense_equivalent_parameters(size, experts_over_active);
    QualityItem {
        experts_over_active,
        active_parameters: size,
        saturated_experts: law.saturated_experts(experts_over_active),
        dense_equivalent_parameters: equivalent,
        dense_equivalent_over_active: equivalent / size,
        inside_published_range: size_beyond(quality) <= 1.0
            && experts_over_active <= law.most_experts,
    }
}

fn sparse_quality(quality: &Quality) -> SparseQuality {
    let law = quality.law;
    let by_law = |point: &PublishedEquivalent| PublishedItem {
        published: point.clone(),
        dense_equivalent_parameters_by_law: law
            .dense_equivalent_parameters(point.active_parameters, point.experts),
    };
    SparseQuality {
        law: law.clone(),
        at: quality_at(quality, quality.experts_over_active),
        size_beyond_published: size_beyond(quality),
        experts_beyond_published: beyond(quality.experts_over_active, 1.0, law.most_experts),
        beyond_cutoff: quality.active_parameters > law.cutoff_parameters,
        published: published_equivalents().iter().map(by_law).collect(),
    }
}

fn not_defined(question: &Question) -> Vec<NoValue> {
    if question.cluster.chip.usd_per_hour.is_some() {
        return Vec::new();
    }
    let id = &question.cluster.chip.row.id;
    let reason =
        format!("the reference data has no rent of {id}: state `machine.rental_usd_per_hour`");
    let no_value = |value| NoValue {
        value,
        reason: reason.clone(),
    };
    ["phases.usd", "total.training_usd", "total.usd"]
        .map(no_value)
        .into()
}

//! `/layout`: distribution of a model over racks of chips. Experts within and across racks and the bytes they exchange, pipeline
//! stages, memory per chip.
//!
//! ```
//! use unroof_roofline::calculator::layout::layout;
//!
//! // 256 experts over 64 of the 72 chips of a rack: no traffic leaves it.
//! let answer = layout(br#"{"model": "DeepSeek-V3", "machine": "gb200-nvl72"}"#)?;
//! assert_eq!(answer.experts.experts_per_chip, 4.0);
//! assert_eq!(answer.experts.share_leaving_domain, 0.0);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod answer;
pub mod request;

use self::answer::EQUATIONS;
use self::request::{Question, read_question};
use super::inputs::NoValue;
use crate::forward::{
    ExpertRoom, ExpertTraffic, Links, ParameterSplit, Pipeline, bubble_share, domains_used,
    experts_per_gpu, share_leaving_domain,
};
use unroof_base::input::{RequestError, read};
use unroof_base::units::{Bytes, BytesPerSecond, Seconds};

pub use self::answer::{
    AllToAll, ExpertPlacement, LargestExpertLayer, LayoutAnswer, MemoryPerChip, PipelineCosts,
    StagesItem,
};

/// Answers a layout request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn layout(text: &[u8]) -> Result<LayoutAnswer, RequestError> {
    read(text, read_question).map(|question| answer(&question))
}

fn answer(question: &Question) -> LayoutAnswer {
    let grid = &question.layout.grid;
    LayoutAnswer {
        experts: place_experts(question),
        all_to_all: all_to_all(question),
        largest_expert_layer: largest_expert_layer(question),
        pipeline: pipeline_costs(question),
        memory: memory(question),
        series: grid.iter().map(|stages| row(question, *stages)).collect(),
        not_defined: not_defined(question),
        equations: EQUATIONS,
        inputs: question.inputs.clone(),
    }
}

fn links(question: &Question) -> Option<Links> {
    let (scale_up, scale_out) = (question.chip.scale_up?, question.chip.scale_out?);
    Some(Links {
        scale_up,
        scale_out,
    })
}

fn place_experts(question: &Question) -> ExpertPlacement {
    let (experts, gpus) = (
        question.model.experts.experts,
        question.layout.expert_parallel_chips,
    );
    let domains = domains_used(gpus, question.chip.domain);
    ExpertPlacement {
        experts_per_chip: experts_per_gpu(experts, gpus),
        experts_per_chip_rounded_up: experts.div_ceil(gpus),
        divides_evenly: experts.is_multiple_of(gpus),
        scale_up_domains: domains,
        share_leaving_domain: share_leaving_domain(domains),
        scale_up_over_scale_out: links(question).map(|links| links.scale_up_over_scale_out()),
    }
}

fn all_to_all(question: &Question) -> AllToAll {
    let (model, chip) = (&question.model, &question.chip);
    let traffic = ExpertTraffic {
        sequences_per_gpu: question.layout.sequences_per_chip,
        active_experts: model.experts.active_experts,
        hidden_dimension: model.hidden_dimension,
        moe_layers: model.experts.moe_layers,
        width: question.layout.width,
    };
    let domains = domains_used(question.layout.expert_parallel_chips, chip.domain);
    let bytes = traffic.bytes_per_step();
    let leaving = bytes * share_leaving_domain(domains);
    let inside = Bytes(bytes.0 - leaving.0);
    let time = |bytes: Bytes, link: Option<BytesPerSecond>| link.map(|link| bytes / link);
    // A network that nothing is sent over need not be known.
    let seconds = if domains == 1 {
        time(inside, chip.scale_up)
    } else {
        let both = time(inside, chip.scale_up).zip(time(leaving, chip.scale_out));
        both.map(|(inside, leaving)| Seconds(inside.0.max(leaving.0)))
    };
    AllToAll {
        bytes_per_chip_and_step: bytes,
        bytes_inside_domain: inside,
        bytes_leaving_domain: leaving,
        seconds_at_scale_up: time(bytes, chip.scale_up),
        seconds_at_scale_out: time(bytes, chip.scale_out),
        seconds,
    }
}

fn largest_expert_layer(question: &Question) -> LargestExpertLayer {
    let model = &question.model;
    let memory = question.chip.capacity * f64::from(question.chip.domain);
    let split = model.experts.parameter_split();
    let bytes = |parameters: f64| Bytes(model.weight_bytes_per_parameter * parameters);
    let fitting = |split: ParameterSplit, stages: u32| {
        let stages = f64::from(stages);
        let room = ExpertRoom {
            memory,
            occupied: bytes(split.always_read) / stages,
            per_expert: bytes(split.per_expert),
            layers: f64::from(model.experts.moe_layers) / stages,
        };
        room.experts_per_layer()
    };
    let experts = split.map(|split| fitting(split, 1));
    let parameters = experts
        .zip(split)
        .map(|(experts, split)| experts * split.per_expert);
    let of_a_stage = split.map(|split| fitting(split, question.layout.pipeline_stages));
    LargestExpertLayer {
        domain_capacity_bytes: memory,
        parameters_per_expert: split.map(|split| split.per_expert),
        always_read_parameters: split.map(|split| split.always_read),
        experts,
        parameters,
        bytes: parameters.map(bytes),
        experts_with_a_stage_per_domain: of_a_stage,
        fits_with_a_stage_per_domain: of_a_stage
            .map(|experts| experts >= f64::from(model.experts.experts)),
    }
}

/// Every null value, and why.
fn not_defined(question: &Question) -> Vec<NoValue> {
    let chip = &question.chip;
    let reason = |name: &str| {
        format!(
            "the reference data has no {name} bandwidth of {}: state `machine.{name}_bytes_per_second`",
            chip.row.id
        )
    };
    let no_scale_up = chip.scale_up.is_none().then(|| reason("scale_up"));
    let no_scale_out = chip.scale_out.is_none().then(|| reason("scale_out"));
    let neither = no_scale_up.as_ref().or(no_scale_out.as_ref());
    let gpus = question.layout.expert_parallel_chips;
    let leaves = domains_used(gpus, chip.domain) > 1;
    let as_laid_out = neither.filter(|_| leaves || no_scale_up.is_some());
    let no_split = question.model.experts.parameter_split().is_none().then(|| {
        if question.model.experts.moe_layers == 0 {
            return "a dense model has no experts to lay out".to_owned();
        }
        "the size of an expert does not follow: not all experts may be active, and the active experts may not hold more \
         parameters than are active"
            .to_owned()
    });
    let no_split = no_split.as_ref();
    let values = [
        ("experts.scale_up_over_scale_out", neither),
        ("all_to_all.seconds_at_scale_up", no_scale_up.as_ref()),
        ("all_to_all.seconds_at_scale_out", no_scale_out.as_ref()),
        ("all_to_all.seconds", as_laid_out),
        ("largest_expert_layer.parameters_per_expert", no_split),
        ("largest_expert_layer.always_read_parameters", no_split),
        ("largest_expert_layer.experts", no_split),
        ("largest_expert_layer.parameters", no_split),
        ("largest_expert_layer.bytes", no_split),
        (
            "largest_expert_layer.experts_with_a_stage_per_domain",
            no_split,
        ),
        (
            "largest_expert_layer.fits_with_a_stage_per_domain",
            no_split,
        ),
        ("pipeline.expert_time_over_hand_over_time", neither),
        ("pipeline.free_across_racks", neither),
        ("series.expert_time_over_hand_over_time", neither),
    ];
    values
        .into_iter()
        .filter_map(|(value, reason)| {
            let reason = reason?.clone();
            Some(NoValue { value, reason })
        })
        .collect()
}

/// The pipeline of the request with another number of stages.
fn pipeline(question: &Question, stages: u32) -> Pipeline {
    let model = &question.model;
    Pipeline {
        weights: Bytes(model.weight_bytes_per_parameter * model.experts.total_parameters),
        kv_bytes_per_token: model.kv_bytes_per_token,
        context_tokens: model.context_tokens,
        gpus_per_stage: question.layout.chips_per_stage,
        stages,
    }
}

fn pipeline_costs(question: &Question) -> PipelineCosts {
    let row = row(question, question.layout.pipeline_stages);
    let alone = pipeline(question, 1).token_time(
        question.layout.sequences_per_micro_batch,
        question.chip.bandwidth,
    );
    PipelineCosts {
        layers_per_stage: row.layers_per_stage,
        expert_time_over_hand_over_time: row.expert_time_over_hand_over_time,
        free_across_racks: row
            .expert_time_over_hand_over_time
            .map(|ratio| ratio >= 1.0),
        training_bubble_share: row.training_bubble_share,
        seconds_per_token: row.seconds_per_token,
        seconds_per_token_with_hops: row.seconds_per_token_with_hops,
        seconds_per_token_in_one_stage: alone,
    }
}

fn memory(question: &Question) -> MemoryPerChip {
    let row = row(question, question.layout.pipeline_stages);
    MemoryPerChip {
        weights_bytes_per_chip: row.weights_bytes_per_chip,
        kv_bytes_per_chip: row.kv_bytes_per_chip,
        total_bytes_per_chip: row.total_bytes_per_chip,
        capacity_bytes_per_chip: question.chip.capacity,
        fits: row.fits,
        missing_bytes_per_chip: row.missing_bytes_per_chip,
        chips: row.chips,
    }
}

fn row(question: &Question, stages: u32) -> StagesItem {
    let (layout, model) = (&question.layout, &question.model);
    let pipeline = pipeline(question, stages);
    let sequences = layout.sequences_per_micro_batch;
    let batch_of_request = sequences * f64::from(layout.pipeline_stages);
    let layers_per_stage = f64::from(model.layers) / f64::from(stages);
    let weights = pipeline.weights_per_gpu();
    let kv = pipeline.kv_per_gpu(sequences);
    let kv_at_fixed_batch = pipeline.kv_per_gpu_of_batch(batch_of_request);
    let total = Bytes(weights.0 + kv.0);
    let missing = Bytes((total.0 - question.chip.capacity.0).max(0.0));
    let ratio = |links: Links| {
        links.expert_time_over_hand_over_time(model.experts.active_experts, layers_per_stage)
    };
    let bandwidth = question.chip.bandwidth;
    StagesItem {
        pipeline_stages: stages,
        chips: u64::from(layout.chips_per_stage) * u64::from(stages),
        layers_per_stage,
        batch_sequences: sequences * f64::from(stages),
        kv_bytes_per_token_and_stage: pipeline.kv_bytes_per_token_and_stage(),
        weights_bytes_per_chip: weights,
        kv_bytes_per_chip: kv,
        total_bytes_per_chip: total,
        fits: missing.0 <= 0.0,
        missing_bytes_per_chip: missing,
        kv_bytes_per_chip_at_fixed_batch: kv_at_fixed_batch,
        total_bytes_per_chip_at_fixed_batch: Bytes(weights.0 + kv_at_fixed_batch.0),
        expert_time_over_hand_over_time: links(question).map(ratio),
        training_bubble_share: bubble_share(stages, layout.micro_batches),
        seconds_per_stage: pipeline.stage_time(sequences, bandwidth),
        seconds_per_token: pipeline.token_time(sequences, bandwidth),
        seconds_per_token_with_hops: Seconds(
            pipeline.token_time(sequences, bandwidth).0 + pipeline.hops() * question.layout.hop.0,
        ),
    }
}

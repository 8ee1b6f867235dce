//! A plan as flags of a serving engine, each with its reason.

use super::answer::{EngineFlag, FlaggedUnits, PlanItem, PoolItem, ServingEngine};
use crate::plan::question::request::Question;

/// Share of requests whose lengths an engine must take.
const MOST_REQUESTS: f64 = 0.99;

/// Names of flags in one engine.
struct Names {
    tensor: &'static str,
    data: &'static str,
    pipeline: &'static str,
    sequences: &'static str,
    pass_tokens: &'static str,
    context: &'static str,
    cache: &'static str,
    memory: &'static str,
}

const VLLM: Names = Names {
    tensor: "--tensor-parallel-size",
    data: "--data-parallel-size",
    pipeline: "--pipeline-parallel-size",
    sequences: "--max-num-seqs",
    pass_tokens: "--max-num-batched-tokens",
    context: "--max-model-len",
    cache: "--kv-cache-dtype fp8",
    memory: "--gpu-memory-utilization",
};
const SGLANG: Names = Names {
    tensor: "--tp-size",
    data: "--dp-size",
    pipeline: "--pp-size",
    sequences: "--max-running-requests",
    pass_tokens: "--chunked-prefill-size",
    context: "--context-length",
    cache: "--kv-cache-dtype fp8_e4m3",
    memory: "--mem-fraction-static",
};

impl ServingEngine {
    fn names(self) -> &'static Names {
        match self {
            Self::Vllm => &VLLM,
            Self::Sglang => &SGLANG,
        }
    }
}

/// Flags of the units of a plan.
pub(super) fn engine_flags(
    question: &Question,
    engine: ServingEngine,
    plan: &PlanItem,
) -> Vec<EngineFlag> {
    match &plan.prefill {
        None => of_pool(question, engine, &plan.decode, FlaggedUnits::All),
        Some(prefill) => {
            let mut flags = of_pool(question, engine, prefill, FlaggedUnits::Prefill);
            flags.extend(of_pool(
                question,
                engine,
                &plan.decode,
                FlaggedUnits::Decode,
            ));
            flags
        }
    }
}

fn of_pool(
    question: &Question,
    engine: ServingEngine,
    pool: &PoolItem,
    units: FlaggedUnits,
) -> Vec<EngineFlag> {
    let mut flags = layout(engine, pool);
    flags.extend(role(engine, units));
    flags.extend(load(question, engine, pool));
    let item = |(flag, reason): (String, String)| EngineFlag {
        units,
        flag,
        reason,
    };
    flags.into_iter().map(item).collect()
}

/// Degrees of parallelism.
fn layout(engine: ServingEngine, pool: &PoolItem) -> Vec<(String, String)> {
    let (names, of) = (engine.names(), &pool.layout);
    let mut flags = Vec::new();
    // SGLang counts all chips of a stage as tensor parallel, and cuts attention into groups of them.
    let tensor = match engine {
        ServingEngine::Vllm => of.tensor,
        ServingEngine::Sglang => of.tensor * of.data,
    };
    let stage = of.tensor * of.data;
    flags.push((
        format!("{} {tensor}", names.tensor),
        format!(
            "a stage of a unit has {stage} chips, {} to a copy of attention",
            of.tensor
        ),
    ));
    if of.data > 1 {
        let reason = format!("{} groups have a copy of attention each", of.data);
        flags.push((format!("{} {}", names.data, of.data), reason.clone()));
        if engine == ServingEngine::Sglang {
            flags.push(("--enable-dp-attention".to_owned(), reason));
        }
    }
    if of.expert > 1 {
        let flag = match engine {
            ServingEngine::Vllm => "--enable-expert-parallel".to_owned(),
            ServingEngine::Sglang => format!("--ep-size {}", of.expert),
        };
        flags.push((
            flag,
            format!("experts are distributed over {} chips", of.expert),
        ));
    }
    if of.pipeline > 1 {
        let reason = format!("layers are divided among {} stages", of.pipeline);
        flags.push((format!("{} {}", names.pipeline, of.pipeline), reason));
    }
    flags
}

/// The part of a unit where prompts and answers have chips of their own.
fn role(engine: ServingEngine, units: FlaggedUnits) -> Option<(String, String)> {
    let flag = match (engine, units) {
        (_, FlaggedUnits::All) => return None,
        (ServingEngine::Sglang, _) => format!("--disaggregation-mode {}", units.name()),
        (ServingEngine::Vllm, _) => {
            let role = if units == FlaggedUnits::Prefill {
                "kv_producer"
            } else {
                "kv_consumer"
            };
            format!(
                "--kv-transfer-config '{{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"{role}\"}}'"
            )
        }
    };
    Some((
        flag,
        "prompts and answers have chips of their own".to_owned(),
    ))
}

/// Prompt tokens that a step computes beside the answers. vLLM always computes both together and counts the tokens of answers too.
fn chunked(
    engine: ServingEngine,
    pool: &PoolItem,
    chunk: f64,
    groups: f64,
) -> Vec<(String, String)> {
    let name = engine.names().pass_tokens;
    let chunk = chunk.ceil();
    let reason = format!("chunks of {chunk} prompt tokens in decode steps");
    match engine {
        ServingEngine::Vllm => {
            let tokens = chunk + (pool.batch.unwrap_or(0.0) / groups).ceil();
            vec![(format!("{name} {tokens}"), reason)]
        }
        // All groups of chips share the number.
        ServingEngine::Sglang => {
            let tokens = chunk * f64::from(pool.layout.data);
            vec![
                (format!("{name} {tokens}"), reason.clone()),
                ("--enable-mixed-chunk".to_owned(), reason),
            ]
        }
    }
}

/// Sequences, lengths, cache and memory.
fn load(question: &Question, engine: ServingEngine, pool: &PoolItem) -> Vec<(String, String)> {
    let names = engine.names();
    let mut flags = Vec::new();
    let groups = match engine {
        // Each of vLLM's data-parallel engines counts its own sequences.
        ServingEngine::Vllm => f64::from(pool.layout.data),
        ServingEngine::Sglang => 1.0,
    };
    if let Some(batch) = pool.batch {
        let deviations = question.limits.percentile.deviations();
        let most = (batch + deviations * batch.sqrt()) / groups;
        let most = most.min(pool.most_sequences / groups).max(1.0).ceil();
        flags.push((
            format!("{} {most}", names.sequences),
            "the batch at the percentile of the limits: more would make tokens slower than that"
                .to_owned(),
        ));
    }
    if let Some(prompts) = pool.prompts_per_pass {
        let tokens = (prompts * question.fresh_tokens() / groups).ceil();
        flags.push((
            format!("{} {tokens}", names.pass_tokens),
            format!("{prompts} prompts of a pass, of the tokens that are computed"),
        ));
    }
    if let Some(chunk) = pool.chunk_tokens {
        flags.extend(chunked(engine, pool, chunk, groups));
    }
    let longest =
        question.load.input.quantile(MOST_REQUESTS) + question.load.output.quantile(MOST_REQUESTS);
    flags.push((
        format!("{} {}", names.context, longest.ceil()),
        "99 % of the prompts, and 99 % of the answers, are no longer".to_owned(),
    ));
    if question.precision.cache <= 1.0 {
        let reason = "the cache has one byte per element".to_owned();
        flags.push((names.cache.to_owned(), reason));
    }
    flags.push((
        format!("{} 0.9", names.memory),
        "the plan leaves a tenth of HBM free".to_owned(),
    ));
    flags
}

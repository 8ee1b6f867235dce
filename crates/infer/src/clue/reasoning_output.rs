//! Reasoning output: thinking and plain output of one model as decoding at two contexts.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::{Cell, Evidence, both};

/// No term of the joint estimate: each such sheet adds a context that no other price depends on, and the ratio of the
/// two prices is used up by it.
pub(super) static CLUE: Clue = Clue::new(&[&CONTEXT_RATIO], read);

static CONTEXT_RATIO: Specification = Specification {
    quantity: "thinking_context_over_plain_context",
    equation: "L_think/L_mean ≥ p_think/p_out",
    kind: Kind::Lower,
    needs: "a reasoning price beside the output price of one cell; its details also KV bytes read and the mean context",
    not_defined_when: "the reasoning price is no higher than the output price",
    assumes: &[
        "thinking and plain output differ in their mean context alone: same model, machine, batch and margin",
        "a generated token costs x + L at context L, where x = w·N_a/(β·ρ·k_bw); equality at x = 0",
    ],
    source: "D",
    ..Specification::of(ReadingId::ReasoningContextRatio)
};

/// Quantities behind x and the mean context.
const CONTEXT_INPUTS: [Q; 6] = [
    Q::WeightBytes,
    Q::ActiveParameters,
    Q::BatchOverOptimal,
    Q::ComputeToBandwidth,
    Q::KvBytesRead,
    Q::MeanDecodeContext,
];

fn read(evidence: &Evidence<'_>) -> Readings {
    let cells = evidence.cells().into_iter();
    let priced = cells.filter(|cell| cell.rate.reasoning.is_some());
    let drawn = priced.map(|cell| context_ratio(evidence, &cell));
    or_lacking(drawn, "the sheet states no reasoning price")
}

/// L0 in tokens: the context whose reads take as long as the multiplies.
fn crossover(values: &Values) -> f64 {
    values[Q::WeightBytes] * values[Q::ActiveParameters]
        / (values[Q::ComputeToBandwidth] * values[Q::KvBytesRead])
}

/// `L_think` in tokens, from the two prices' ratio.
fn thinking_context(values: &Values, ratio: f64) -> f64 {
    let fixed = crossover(values) / values[Q::BatchOverOptimal];
    ratio * (fixed + values[Q::MeanDecodeContext]) - fixed
}

fn context_ratio(evidence: &Evidence<'_>, cell: &Cell<'_>) -> Drawn {
    let builder = ReadingBuilder::new(&CONTEXT_RATIO, evidence).of_cell(cell);
    let thinking = Cell::price(cell.rate.reasoning.as_ref(), "reasoning");
    let (plain, thinking) = builder.given(both(cell.output(), thinking))?;
    let ratio = thinking.over(plain);
    let builder = builder
        .price("reasoning_price", "p_think", thinking.to_f64())
        .price("output_price", "p_out", plain.to_f64());
    let no_higher = || {
        NotDefined::no_solution(
            "the reasoning price is no higher than the output price, which says nothing about longer contexts",
        )
    };
    builder.given((ratio > 1.0).then_some(()).ok_or_else(no_higher))?;
    Ok(builder
        .solve(&[], |_| Ok(ratio))
        .detail(
            ("thinking_context_tokens", "tokens", Kind::Equal),
            &CONTEXT_INPUTS,
            |values| Ok(thinking_context(values, ratio)),
        )
        .detail(
            ("thinking_context_over_crossover", "", Kind::Equal),
            &CONTEXT_INPUTS,
            |values| Ok(thinking_context(values, ratio) / crossover(values)),
        )
        .build())
}

//! Output/input ratio: memory time over compute time of decoding.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Reading, Specification};
use crate::evidence::sheet::{Cell, Evidence, both};

pub(super) static CLUE: Clue = Clue::new(&[&MEMORY_BOUNDNESS, &KV_BYTES], read);

static MEMORY_BOUNDNESS: Specification = Specification {
    quantity: "memory_time_over_compute_time",
    equation: "r = (p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in)",
    needs: "an input and an output price",
    not_defined_when: "a price is 0; where output costs no more than input, only r ≤ 1 is known",
    assumes: &[
        "input is priced by prefill, which computes at full efficiency",
        "output is priced by decoding, which waits for memory r times as long as it computes",
    ],
    source: "T, F",
    ..Specification::of(ReadingId::OutputRatioMemoryBoundness)
};

static KV_BYTES: Specification = Specification {
    quantity: "kv_bytes_per_token_read",
    equation: "k_bw = ((p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in) − 1/β)·w·N_a/(ρ·L_mean)",
    unit: "bytes/token",
    needs: "an input and an output price; the mean context while decoding",
    not_defined_when: "r ≤ max(1, B*/B): nothing is left for the KV cache to explain",
    assumes: &[
        "what weights do not explain of the memory time is spent on reading the KV cache at the mean context",
    ],
    source: "D",
    ..Specification::of(ReadingId::OutputRatioKvBytes)
};

const RATIO_INPUTS: [Q; 4] = [
    Q::DecodeBandwidthEfficiency,
    Q::PrefillEfficiency,
    Q::OutputMargin,
    Q::InputMargin,
];

fn read(evidence: &Evidence<'_>) -> Readings {
    let cells: Vec<Cell<'_>> = evidence
        .cells()
        .into_iter()
        .filter(|cell| cell.rate.input.is_some() && cell.rate.output.is_some())
        .collect();
    let boundness = cells.iter().map(|cell| memory_boundness(evidence, cell));
    let drawn = boundness.chain(cells.iter().map(|cell| kv_bytes(evidence, cell)));
    let lack = "the sheet states no cell with both an input and an output price";
    or_lacking(drawn, lack)
}

fn builder<'a>(
    specification: &'static Specification,
    evidence: &Evidence<'a>,
    cell: &Cell<'_>,
) -> Result<(ReadingBuilder<'a>, f64), Box<Reading>> {
    let builder = ReadingBuilder::new(specification, evidence).of_cell(cell);
    let (input, output) = builder.given(both(cell.input(), cell.output()))?;
    let builder = builder.price("input_price", "p_in", input.to_f64()).price(
        "output_price",
        "p_out",
        output.to_f64(),
    );
    Ok((builder, output.over(input)))
}

fn ratio(values: &Values, price_ratio: f64) -> f64 {
    let efficiencies = values[Q::DecodeBandwidthEfficiency] / values[Q::PrefillEfficiency];
    price_ratio * efficiencies * (1.0 - values[Q::OutputMargin]) / (1.0 - values[Q::InputMargin])
}

fn memory_boundness(evidence: &Evidence<'_>, cell: &Cell<'_>) -> Drawn {
    let (builder, price_ratio) = builder(&MEMORY_BOUNDNESS, evidence, cell)?;
    let boundness = |values: &Values| {
        let boundness = ratio(values, price_ratio);
        let waits = price_ratio > 1.0 && boundness > 1.0;
        waits.then_some(boundness).ok_or_else(|| {
            NotDefined::no_solution(
                "r ≤ 1: a generated token costs no more than a prompt token, which says nothing about waiting for memory",
            )
        })
    };
    let builder = builder.solve(&RATIO_INPUTS, boundness);
    if !builder.has_value() {
        let builder = builder.kind(Kind::Upper);
        return Ok(builder
            .detail(("bound", "", Kind::Upper), &[], |_| Ok(1.0))
            .build());
    }
    Ok(builder
        .detail(
            ("relative_decode_utilisation", "", Kind::Equal),
            &RATIO_INPUTS,
            |values| Ok(1.0 / boundness(values)?),
        )
        .caveat("ratios are mostly one of a few round numbers (1, 2, 3, 4, 5, 6, 8), so a ratio is also a convention")
        .build())
}

fn kv_bytes(evidence: &Evidence<'_>, cell: &Cell<'_>) -> Drawn {
    let (builder, price_ratio) = builder(&KV_BYTES, evidence, cell)?;
    builder.given((price_ratio > 1.0).then_some(()).ok_or_else(nothing_left))?;
    let mut quantities = RATIO_INPUTS.to_vec();
    quantities.extend([
        Q::BatchOverOptimal,
        Q::WeightBytes,
        Q::ActiveParameters,
        Q::ComputeToBandwidth,
        Q::MeanDecodeContext,
    ]);
    Ok(builder
        .solve(&quantities, |values| {
            let weight_share = 1.0 / values[Q::BatchOverOptimal];
            let ratio = ratio(values, price_ratio);
            if ratio <= weight_share.max(1.0) {
                return Err(nothing_left());
            }
            let weights = values[Q::WeightBytes] * values[Q::ActiveParameters];
            let reach = values[Q::ComputeToBandwidth] * values[Q::MeanDecodeContext];
            Ok((ratio - weight_share) * weights / reach)
        })
        .build())
}

fn nothing_left() -> NotDefined {
    NotDefined::no_solution("r ≤ max(1, B*/B): nothing is left for the KV cache to explain")
}

//! The longest context on offer: the KV cache of a smallest batch of such requests must fit beside the weights.

use super::builder::ReadingBuilder;
use super::evidence::Evidence;
use super::quantity::Quantity as Q;
use super::reading::{Kind, NotDefined, Reading, Specification};
use super::{Clue, none_defined};

pub(super) const CLUE: Clue = Clue {
    specifications: &[&KV_BYTES],
    read,
};

static KV_BYTES: Specification = Specification {
    id: "context_maximum_kv_bytes",
    clue: "maximum context",
    quantity: "kv_bytes_per_token_stored",
    equation: "k_st ≤ (C − w·N_t)/(B_min·L_limit)",
    unit: "bytes/token",
    kind: Kind::Upper,
    needs: "limits.context (or limits.max_input); an accelerator and the smallest batch that is run",
    not_defined_when: "the weights alone fill the HBM: w·N_t ≥ C",
    assumes: &[
        "a smallest batch of requests at the longest context fits in the serving unit's HBM",
    ],
    source: "D",
    scalar: true,
};

fn read(evidence: &Evidence<'_>) -> Vec<Reading> {
    let limits = &evidence.sheet.limits;
    let Some(limit) = limits.context.or(limits.max_input) else {
        return none_defined(
            &CLUE,
            evidence,
            &NotDefined::sheet_lacks("the sheet states no limits.context"),
        );
    };
    let quantities = [
        Q::Chips,
        Q::UnitCapacity,
        Q::WeightBytes,
        Q::TotalParameters,
        Q::MinimumBatch,
    ];
    let mut builder = ReadingBuilder::new(&KV_BYTES, evidence)
        .sheet("limit_tokens", "L_limit", f64::from(limit), "tokens")
        .solve(&quantities, |values| {
            let free_bytes =
                values[Q::UnitCapacity] - values[Q::WeightBytes] * values[Q::TotalParameters];
            if free_bytes <= 0.0 {
                return Err(NotDefined::no_solution(
                    "the weights alone fill the HBM of the serving unit; state more `chips`",
                ));
            }
            Ok(free_bytes / (values[Q::MinimumBatch] * f64::from(limit)))
        });
    if limits.context.is_none() {
        builder = builder.caveat("limits.context is not stated; limits.max_input is that or less, so the bound is looser");
    }
    vec![
        builder
            .caveat("a sheet's limit is the architecture's maximum or less")
            .build(),
    ]
}

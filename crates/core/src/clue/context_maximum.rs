//! The longest context on offer: the KV cache of a smallest batch of such requests must fit beside the weights.

use super::{Clue, none_defined};
use crate::model::builder::ReadingBuilder;
use crate::model::clue_table::{ClueKind, ReadingId};
use crate::model::evidence::Evidence;
use crate::model::likelihood::{
    LOG_NORMAL_PEAK, Likelihood, Observed, normal_below, normal_tail, terms,
};
use crate::model::quantity::Quantity as Q;
use crate::model::reading::{Kind, NotDefined, Reading, Specification};
use crate::model::unknowns::Unknowns;
use crate::reference::calibration::{Calibration, ContextLaw};

pub(super) static CLUE: Clue = Clue {
    specifications: &[&KV_BYTES],
    about_modes: false,
    read,
    observe,
};

static KV_BYTES: Specification = Specification {
    id: ReadingId::ContextMaximumKvBytes,
    clue: ClueKind::ContextMaximum,
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

/// Share of sheets that state the architecture's maximum; the others state less.
const STATES_THE_MAXIMUM: f64 = 0.8;
/// log of the longest over the shortest context on offer: limits below the maximum are spread evenly over it.
const LOG_RANGE: f64 = 5.5;

/// The longest context any of the sheets states: the architecture's maximum, or less.
#[derive(Debug, Clone)]
pub(super) struct ContextMaximum {
    log_limit: f64,
    dense: ContextLaw,
    mixture_of_experts: ContextLaw,
}

impl ContextMaximum {
    /// The stated limit, in tokens.
    #[must_use]
    pub(super) fn new(limit_tokens: f64, calibration: &Calibration) -> Self {
        let population = &calibration.population;
        Self {
            log_limit: limit_tokens.ln(),
            dense: population.dense.context_law(population.context_sd),
            mixture_of_experts: population
                .mixture_of_experts
                .context_law(population.context_sd),
        }
    }

    /// The stated limit over the maximum that is expected, and the spread of maxima.
    fn residual(&self, unknowns: &Unknowns<'_>) -> (f64, f64) {
        let law = if unknowns.is_dense {
            &self.dense
        } else {
            &self.mixture_of_experts
        };
        let expected = law.expected([
            unknowns.log_active_parameters,
            unknowns.log_total_parameters,
            unknowns.log_kv_bytes_read,
            unknowns.log_kv_bytes_stored,
        ]);
        (self.log_limit - expected, law.sd)
    }
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let limits = sheets.iter().filter_map(|evidence| {
        let limits = &evidence.sheet.limits;
        limits.context.or(limits.max_input)
    });
    let longest = limits
        .max()
        .map(|limit| ContextMaximum::new(f64::from(limit), calibration));
    terms(longest)
}

impl Likelihood for ContextMaximum {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ContextMaximum]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let (residual, sd) = self.residual(unknowns);
        let standardised = residual / sd;
        let density = (LOG_NORMAL_PEAK - 0.5 * standardised * standardised).exp() / sd;
        let is_maximum = STATES_THE_MAXIMUM * density;
        let is_less = (1.0 - STATES_THE_MAXIMUM) * normal_below(-residual / sd) / LOG_RANGE;
        is_maximum + is_less
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let (residual, sd) = self.residual(unknowns);
        let is_less = normal_below(-residual / sd);
        STATES_THE_MAXIMUM * normal_tail(residual, sd) + (1.0 - STATES_THE_MAXIMUM) * is_less
    }
}

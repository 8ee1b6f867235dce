//! The longest context on offer: the KV cache of a smallest batch of such requests must fit in addition to the weights.

use statrs::distribution::{Continuous, StudentsT};

use super::{Clue, Readings};
use crate::evidence::builder::ReadingBuilder;
use crate::evidence::clue_table::{ClueKind, ReadingId};
use crate::evidence::likelihood::{
    Likelihood, Observed, student_t_below, student_t_over_peak, terms,
};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::release::{Release, release};
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_roofline::reference::calibration::{Calibration, ContextLaw};

pub(super) static CLUE: Clue = Clue::new(&[&KV_BYTES], read).observed_by(observe);

static KV_BYTES: Specification = Specification {
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
    ..Specification::of(ReadingId::ContextMaximumKvBytes)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let limits = &evidence.sheet.limits;
    let Some(limit) = limits.context.or(limits.max_input) else {
        return Err(NotDefined::sheet_lacks(
            "the sheet states no limits.context",
        ));
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
    let builder = builder.caveat("a sheet's limit is the architecture's maximum or less");
    Ok(vec![builder.build()])
}

/// Share of sheets that state the architecture's maximum; the others state less.
const STATES_THE_MAXIMUM: f64 = 0.8;
/// log of the longest over the shortest context on offer: limits below the maximum are spread evenly over it.
const LOG_RANGE: f64 = 5.5;

/// The longest context any of the sheets states: the architecture's maximum, or less.
#[derive(Debug, Clone)]
pub(super) struct ContextMaximum {
    log_limit: f64,
    law: ContextLaw,
    /// Part of the expected log maximum that follows from the release.
    of_release: f64,
    /// Scale of maxima, with what is not known of the release.
    scale: f64,
    maxima: StudentsT,
    /// Density of a maximum where it is expected.
    peak: f64,
}

impl ContextMaximum {
    /// The stated limit, in tokens.
    fn new(limit_tokens: f64, law: ContextLaw, released: Release) -> Self {
        let scale = law.scale.hypot(law.per_year * released.sd);
        let maxima = StudentsT::new(0.0, 1.0, law.degrees_of_freedom)
            .expect("degrees of freedom are positive");
        Self {
            log_limit: limit_tokens.ln(),
            of_release: law.intercept + law.per_year * released.years,
            scale,
            peak: maxima.pdf(0.0) / scale,
            maxima,
            law,
        }
    }

    /// The stated limit over the maximum that is expected, in scales.
    fn standardised(&self, unknowns: &Unknowns<'_>) -> f64 {
        let expected = self.of_release
            + self.law.active * unknowns.log_active_parameters
            + self.law.total * unknowns.log_total_parameters
            + self.law.stored * unknowns.log_kv_bytes_stored
            + self.law.by_kind[unknowns.attention as usize];
        (self.log_limit - expected) / self.scale
    }
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let limits = sheets.iter().filter_map(|evidence| {
        let limits = &evidence.sheet.limits;
        limits.context.or(limits.max_input)
    });
    let released = release(sheets, calibration);
    let longest = limits.max().map(|limit| {
        ContextMaximum::new(f64::from(limit), calibration.population.context, released)
    });
    terms(longest)
}

impl Likelihood for ContextMaximum {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ContextMaximum]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let standardised = self.standardised(unknowns);
        let over_peak = student_t_over_peak(standardised, self.law.degrees_of_freedom);
        let is_maximum = STATES_THE_MAXIMUM * self.peak * over_peak;
        let below = student_t_below(-standardised, &self.maxima);
        let is_less = (1.0 - STATES_THE_MAXIMUM) * below / LOG_RANGE;
        is_maximum + is_less
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let standardised = self.standardised(unknowns);
        let tail = 2.0 * student_t_below(-standardised.abs(), &self.maxima);
        let is_less = student_t_below(-standardised, &self.maxima);
        STATES_THE_MAXIMUM * tail + (1.0 - STATES_THE_MAXIMUM) * is_less
    }
}

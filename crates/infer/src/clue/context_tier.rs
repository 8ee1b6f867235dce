//! Context tiers: the threshold, and the multipliers of input and output price.

use statrs::distribution::{Continuous, StudentsT};

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::clue_table::{ClueKind, ReadingId};
use crate::evidence::likelihood::{
    Likelihood, Observed, log_normal, student_t_below, student_t_over_peak, terms,
};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::{ContextStep, Evidence, Price, both};
use crate::evidence::unknowns::Unknowns;
use unroof_roofline::reference::calibration::{Calibration, ContextTierLaw};

pub(super) static CLUE: Clue = Clue::new(
    &[
        &KV_BYTES,
        &FINITE_BATCH,
        &FULL_HBM,
        &COVER,
        &ATTENTION,
        &GQA_GROUP,
    ],
    read,
)
.observed_by(observe);

const KV: &str = "kv_bytes_per_token_read_slope";

static KV_BYTES: Specification = Specification {
    quantity: KV,
    equation: "k_bw = (η_m/η_c)·w·N_a/(ρ·L_1)",
    unit: "bytes/token",
    needs: "a context tier above which the output price rises",
    not_defined_when: "there is no tier, or the output price does not rise",
    assumes: &[
        "the price rises where reading the KV cache begins to take longer than the multiplies (t_mem = t_comp)",
        "the batch is so large that reading weights takes no time",
    ],
    source: "T",
    ..Specification::of(ReadingId::ContextTierKvBytes)
};

static FINITE_BATCH: Specification = Specification {
    quantity: KV,
    equation: "k_bw = (η_m/η_c − 1/β)·w·N_a/(ρ·L_1)",
    unit: "bytes/token",
    needs: "a context tier above which the output price rises; batch over optimal batch",
    not_defined_when: "β ≤ η_c/η_m (B ≤ B* at peak): then reading weights alone takes longer than the multiplies",
    assumes: &["the price rises where t_mem = t_comp, with weights read at the stated batch"],
    source: "D",
    ..Specification::of(ReadingId::ContextTierKvBytesFiniteBatch)
};

static FULL_HBM: Specification = Specification {
    quantity: KV,
    equation: "k_bw = (η_m/η_c)·w·N_a/(ρ·L_1)·(1 − w·N_t/C)",
    unit: "bytes/token",
    needs: "a context tier above which the output price rises; total parameters and the HBM of the serving unit",
    not_defined_when: "the weights alone fill the HBM: w·N_t ≥ C",
    assumes: &["the price rises where t_mem = t_comp, with a batch that fills the HBM"],
    source: "D",
    ..Specification::of(ReadingId::ContextTierKvBytesFullHbm)
};

static COVER: Specification = Specification {
    quantity: "context_at_which_kv_reads_cost_as_much_as_the_fixed_part",
    equation: "x = (L_max − m_out·L_1)/(m_out − 1)",
    unit: "tokens",
    needs: "a context tier with a higher output price, and the longest prompt",
    not_defined_when: "the output price does not rise, m_out > L_max/L_1, or the sheet states no longest prompt",
    assumes: &["each tier's output price just covers the longest context it serves"],
    source: "T, D",
    ..Specification::of(ReadingId::OutputMultiplierCover)
};

static ATTENTION: Specification = Specification {
    quantity: "attention_macs_per_token_over_active_parameters",
    equation: "a_pre/N_a = 2·(m_in − 1)/(S_2 − m_in·S_1)",
    unit: "1/token",
    needs: "a context tier with an input price, and the longest prompt or the mean prompts on both sides",
    not_defined_when: "m_in < 1, or S_2 ≤ m_in·S_1",
    assumes: &[
        "input is priced by prefill compute",
        "the two input prices are costs at prompts of S_1 and S_2 tokens",
    ],
    source: "D",
    ..Specification::of(ReadingId::InputMultiplierAttention)
};

static GQA_GROUP: Specification = Specification {
    quantity: "attention_macs_per_kv_byte",
    equation: "a_pre/k_bw = 2·(ρ/w)·(η_pre/η_m)/(Δp_out/Δp_in)",
    unit: "MAC/B",
    needs: "a context tier above which both prices rise",
    not_defined_when: "the input or the output price does not rise",
    assumes: &[
        "the rise of the input price pays attention's multiplies, that of the output price the KV cache's reads",
    ],
    source: "D",
    ..Specification::of(ReadingId::IncrementsGqaGroup)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let steps = evidence.context_steps()?;
    let readers = [
        kv_bytes,
        finite_batch,
        full_hbm,
        cover,
        attention,
        gqa_group,
    ];
    let drawn = readers
        .iter()
        .flat_map(|read| steps.iter().map(|step| read(evidence, step)));
    or_lacking(drawn, "the sheet has no context tier")
}

fn builder<'a>(
    specification: &'static Specification,
    evidence: &Evidence<'a>,
    step: &ContextStep<'_>,
) -> ReadingBuilder<'a> {
    ReadingBuilder::new(specification, evidence)
        .of_cell(&step.above)
        .sheet("threshold_tokens", "L_1", step.threshold_tokens, "tokens")
        .caveats(evidence.measure_caveat())
}

impl ContextStep<'_> {
    /// `m_out`: output price above the threshold over that below, above 1.
    fn output_multiplier(&self) -> Result<f64, NotDefined> {
        let multiplier = self.above.output()?.over(self.below.output()?);
        (multiplier > 1.0)
            .then_some(multiplier)
            .ok_or_else(|| NotDefined::no_solution("the output price does not rise"))
    }
}

/// The 200k argument of the talk; `share` gives what of w·`N_a`/ρ the KV cache's reads amount to at the threshold, from
/// `η_m`/`η_c`.
fn kink(
    specification: &'static Specification,
    evidence: &Evidence<'_>,
    step: &ContextStep<'_>,
    further: &[Q],
    share: impl Fn(&Values, f64) -> Result<f64, NotDefined>,
) -> Drawn {
    let builder = builder(specification, evidence, step);
    builder.given(step.output_multiplier())?;
    let mut quantities = vec![
        Q::DecodeBandwidthEfficiency,
        Q::DecodeComputeEfficiency,
        Q::WeightBytes,
        Q::ActiveParameters,
        Q::ComputeToBandwidth,
    ];
    quantities.extend(further);
    Ok(builder
        .solve(&quantities, |values| {
            let efficiencies = values[Q::DecodeBandwidthEfficiency] / values[Q::DecodeComputeEfficiency];
            let weights = values[Q::WeightBytes] * values[Q::ActiveParameters];
            Ok(share(values, efficiencies)? * weights / (values[Q::ComputeToBandwidth] * step.threshold_tokens))
        })
        .caveat("vendors copy each other's thresholds and multipliers, so a threshold is also a convention")
        .build())
}

fn kv_bytes(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    kink(&KV_BYTES, evidence, step, &[], |_, efficiencies| {
        Ok(efficiencies)
    })
}

fn finite_batch(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    kink(
        &FINITE_BATCH,
        evidence,
        step,
        &[Q::BatchOverOptimal],
        |values, efficiencies| {
            let share = efficiencies - 1.0 / values[Q::BatchOverOptimal];
            (share > 0.0).then_some(share).ok_or_else(|| {
                NotDefined::no_solution("the batch is so small that reading weights alone takes longer than the multiplies")
            })
        },
    )
}

fn full_hbm(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    kink(
        &FULL_HBM,
        evidence,
        step,
        &[Q::TotalParameters, Q::Chips, Q::UnitCapacity],
        |values, efficiencies| {
            let free =
                1.0 - values[Q::WeightBytes] * values[Q::TotalParameters] / values[Q::UnitCapacity];
            if free > 0.0 {
                Ok(efficiencies * free)
            } else {
                Err(NotDefined::no_solution(
                    "the weights alone fill the HBM of the serving unit; state more `chips`",
                ))
            }
        },
    )
}

fn cover(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    let builder = builder(&COVER, evidence, step);
    let multiplier = builder.given(step.output_multiplier())?;
    let longest = builder.given(step.longest_tokens.ok_or_else(no_longest_prompt))?;
    let covered = (longest - multiplier * step.threshold_tokens) / (multiplier - 1.0);
    let builder = builder
        .sheet("output_multiplier", "m_out", multiplier, "")
        .sheet("longest_tokens", "L_max", longest, "tokens")
        .solve(&[], |_| {
            (covered >= 0.0).then_some(covered).ok_or_else(|| {
                NotDefined::no_solution("m_out > L_max/L_1: the price rises faster than the context")
            })
        })
        .caveat("x = L0·B*/B if compute and memory time overlap fully, L0·max(1, B*/B) if attention stays apart");
    if !evidence.assumptions.states(Q::BatchOverOptimal) || covered <= 0.0 {
        return Ok(builder.build());
    }
    let quantities = [
        Q::BatchOverOptimal,
        Q::WeightBytes,
        Q::ActiveParameters,
        Q::ComputeToBandwidth,
    ];
    Ok(builder
        .detail((KV, "bytes/token", Kind::Equal), &quantities, |values| {
            let weights = values[Q::WeightBytes] * values[Q::ActiveParameters];
            Ok(weights / (values[Q::BatchOverOptimal] * values[Q::ComputeToBandwidth] * covered))
        })
        .build())
}

fn no_longest_prompt() -> NotDefined {
    NotDefined::sheet_lacks(
        "the sheet states no longest prompt above the threshold (limits.max_input or limits.context)",
    )
}

fn attention(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    let builder = builder(&ATTENTION, evidence, step);
    let (above, below) = builder.given(both(step.above.input(), step.below.input()))?;
    let multiplier = above.over(below);
    let mut builder = builder.sheet("input_multiplier", "m_in", multiplier, "");
    let states = |quantity| evidence.assumptions.states(quantity);
    let (states_below, states_above) = (states(Q::MeanPromptBelow), states(Q::MeanPromptAbove));
    let unneeded = states_above.then_some(f64::NAN);
    let longest = step.longest_tokens.or(unneeded);
    let longest = builder.given(longest.ok_or_else(no_longest_prompt))?;
    let mut quantities = Vec::new();
    if states_below {
        quantities.push(Q::MeanPromptBelow);
    } else {
        builder = builder.sheet(
            "prompt_tokens_below",
            "S_1",
            step.threshold_tokens,
            "tokens",
        );
    }
    if states_above {
        quantities.push(Q::MeanPromptAbove);
    } else {
        builder = builder.sheet("prompt_tokens_above", "S_2", longest, "tokens");
    }
    let ratio = |values: &Values| {
        let or = |quantity, otherwise| {
            if states(quantity) {
                values[quantity]
            } else {
                otherwise
            }
        };
        let below = or(Q::MeanPromptBelow, step.threshold_tokens);
        let above = or(Q::MeanPromptAbove, longest);
        if multiplier < 1.0 {
            Err(NotDefined::no_solution(
                "the input price falls above the threshold",
            ))
        } else if above <= multiplier * below {
            Err(NotDefined::no_solution(
                "S_2 ≤ m_in·S_1: the input price rises faster than the prompt",
            ))
        } else {
            Ok(2.0 * (multiplier - 1.0) / (above - multiplier * below))
        }
    };
    let with_parameters: Vec<Q> = quantities
        .iter()
        .copied()
        .chain([Q::ActiveParameters])
        .collect();
    Ok(builder
        .solve(&quantities, ratio)
        .detail(
            (
                "prompt_tokens_at_which_attention_equals_weights",
                "tokens",
                Kind::Equal,
            ),
            &quantities,
            |values| Ok(2.0 / ratio(values)?),
        )
        .detail(
            ("attention_macs_per_token", "MAC/token", Kind::Equal),
            &with_parameters,
            |values| Ok(ratio(values)? * values[Q::ActiveParameters]),
        )
        .build())
}

fn gqa_group(evidence: &Evidence<'_>, step: &ContextStep<'_>) -> Drawn {
    let builder = builder(&GQA_GROUP, evidence, step);
    let rises = |above: Price<'_>, below: Price<'_>, name: &str| {
        let rise = above?.minus(below?);
        (rise > 0.0)
            .then_some(rise)
            .ok_or_else(|| NotDefined::no_solution(format!("the {name} price does not rise")))
    };
    let input = rises(step.above.input(), step.below.input(), "input");
    let output = rises(step.above.output(), step.below.output(), "output");
    let (input, output) = builder.given(both(input, output))?;
    let quantities = [
        Q::ComputeToBandwidth,
        Q::WeightBytes,
        Q::PrefillEfficiency,
        Q::DecodeBandwidthEfficiency,
    ];
    let ratio = |values: &Values| {
        let efficiencies = values[Q::PrefillEfficiency] / values[Q::DecodeBandwidthEfficiency];
        Ok(
            2.0 * values[Q::ComputeToBandwidth] / values[Q::WeightBytes] * efficiencies
                / (output / input),
        )
    };
    let with_element: Vec<Q> = quantities
        .iter()
        .copied()
        .chain([Q::KvBytesPerElement])
        .collect();
    Ok(builder
        .price("input_price_rise", "Δp_in", input)
        .price("output_price_rise", "Δp_out", output)
        .solve(&quantities, ratio)
        .detail(
            ("query_heads_per_kv_head", "", Kind::Equal),
            &with_element,
            |values| Ok(ratio(values)? * values[Q::KvBytesPerElement]),
        )
        .build())
}

/// The prompt length at which the output price rises, as a measure of where reading the cache begins to cost: a mixture
/// of thresholds that lie a constant factor beyond `N_a`/`k_bw` and of thresholds that are copied from others.
#[derive(Debug, Clone)]
pub(super) struct ContextThreshold {
    log_threshold: f64,
    law: ContextTierLaw,
    of_cost: StudentsT,
    /// Density where it is expected, of thresholds that follow cost, times their share.
    peak_of_cost: f64,
    /// Density of a copied threshold here, times their share.
    of_convention: f64,
}

impl ContextThreshold {
    /// The stated threshold, in tokens.
    #[must_use]
    pub(super) fn new(threshold_tokens: f64, law: &ContextTierLaw) -> Self {
        let log_threshold = threshold_tokens.ln();
        let copied = law.convention_share;
        let of_cost = StudentsT::new(0.0, law.scale, law.degrees_of_freedom)
            .expect("scale and degrees of freedom are positive");
        Self {
            log_threshold,
            peak_of_cost: (1.0 - copied) * of_cost.pdf(0.0),
            of_cost,
            of_convention: copied
                * log_normal(log_threshold - law.convention_mean, law.convention_sd).exp(),
            law: law.clone(),
        }
    }

    /// log(`k_bw`·`L_1`/`N_a`) less what other decisions let expect.
    fn residual(&self, unknowns: &Unknowns<'_>) -> f64 {
        self.log_threshold + unknowns.kv_reading().log_slope()
            - unknowns.log_active_parameters
            - self.law.mean
    }
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let first = |evidence: &Evidence<'_>| {
        let steps = evidence.context_steps().ok()?;
        let rising = steps.iter().find(|step| step.output_multiplier().is_ok())?;
        Some(rising.threshold_tokens)
    };
    // Hosts of one model that have a threshold have its author's.
    let threshold = sheets.iter().find_map(first);
    let observed = threshold.map(|tokens| ContextThreshold::new(tokens, &calibration.context_tier));
    terms(observed)
}

impl Likelihood for ContextThreshold {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ContextTier]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let standardised = self.residual(unknowns) / self.law.scale;
        let over_peak = student_t_over_peak(standardised, self.law.degrees_of_freedom);
        self.peak_of_cost * over_peak + self.of_convention
    }

    /// A copied threshold is never surprising.
    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let standardised = self.residual(unknowns) / self.law.scale;
        let tail = 2.0 * student_t_below(-standardised.abs(), &self.of_cost);
        let copied = self.law.convention_share;
        copied + (1.0 - copied) * tail
    }
}

//! Context bands: one line through the output prices of a tariff with several context tiers.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Reading, Specification};
use crate::evidence::sheet::{ContextStep, Evidence};
use unroof_base::units::count_f64;

/// No term of the joint estimate: the first threshold has one already (`context_tier`), and the line through all bands
/// predicts the KV cache of open-weight models worse than that threshold alone.
pub(super) static CLUE: Clue = Clue::new(&[&LINE, &KV_BYTES], read);

/// A specification with everything that the readings of this clue share.
const fn of_line(id: ReadingId) -> Specification {
    Specification {
        needs: "two or more context tiers with output prices, and the longest prompt where there are only two",
        not_defined_when: "there are fewer than three bands of known length, or the line has a slope or an intercept of 0 or less",
        assumes: &[
            "each band's output price just covers the longest context it serves",
            "decoding waits for memory in every band, so that its cost is a line in context: p_out = p_fix + p_ctx·L",
        ],
        source: "D",
        ..Specification::of(id)
    }
}

static LINE: Specification = Specification {
    quantity: "context_at_which_kv_reads_cost_as_much_as_the_fixed_part",
    equation: "x = p_fix/p_ctx",
    unit: "tokens",
    ..of_line(ReadingId::ContextBandsLine)
};

static KV_BYTES: Specification = Specification {
    quantity: "kv_bytes_per_token_read_slope",
    equation: "k_bw = (p_ctx/p_fix)·w·N_a/(β·ρ)",
    unit: "bytes/token",
    ..of_line(ReadingId::ContextBandsKvBytes)
};

/// Fewest bands: a line through two points fits any two prices.
const FEWEST_BANDS: usize = 3;

/// A longest context in tokens, and the output price for contexts up to it.
type Band = [f64; 2];

/// A line through prices by context.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// `p_fix`, in the sheet's currency per million tokens.
    intercept: f64,
    /// `p_ctx`, the same for each token of context.
    slope: f64,
    /// Root mean square of price over line less 1.
    residual: f64,
}

impl Line {
    /// By least squares, every band with the same weight; none where all contexts are equal.
    fn through(bands: &[Band]) -> Self {
        let count = count_f64(bands.len());
        let mean = |of: &dyn Fn(&Band) -> f64| bands.iter().map(of).sum::<f64>() / count;
        let (context, price) = (mean(&|band| band[0]), mean(&|band| band[1]));
        let covariance = mean(&|band| (band[0] - context) * (band[1] - price));
        let slope = covariance / mean(&|band| (band[0] - context).powi(2));
        let intercept = price - slope * context;
        let squared = |band: &Band| (band[1] / (intercept + slope * band[0]) - 1.0).powi(2);
        Self {
            intercept,
            slope,
            residual: mean(&squared).sqrt(),
        }
    }

    /// Whether cost has a fixed part and grows with context.
    fn check(&self) -> Result<(), NotDefined> {
        if self.slope <= 0.0 {
            return Err(NotDefined::no_solution(
                "the output price does not rise with context",
            ));
        }
        if self.intercept <= 0.0 {
            return Err(NotDefined::no_solution(
                "the output price rises faster than the context, so nothing is left for the fixed part",
            ));
        }
        Ok(())
    }
}

fn read(evidence: &Evidence<'_>) -> Readings {
    let steps = evidence.context_steps()?;
    let offers = steps.chunk_by(|left, right| {
        left.above.rate.service_tier == right.above.rate.service_tier
            && left.above.rate.schedule == right.above.rate.schedule
    });
    let offers: Vec<&[ContextStep<'_>]> = offers.filter(|steps| steps.len() > 1).collect();
    let lines = offers.iter().map(|steps| line(evidence, steps));
    let kv_bytes = offers.iter().map(|steps| kv_bytes(evidence, steps));
    or_lacking(
        lines.chain(kv_bytes),
        "the sheet has no offer with two or more context tiers",
    )
}

/// The bands of an offer whose longest context is known, shortest first.
fn bands(steps: &[ContextStep<'_>]) -> Result<Vec<Band>, NotDefined> {
    let mut bands = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if index == 0 {
            bands.push([step.threshold_tokens, step.below.output()?.to_f64()]);
        }
        let price = step.above.output()?.to_f64();
        bands.extend(step.longest_tokens.map(|longest| [longest, price]));
    }
    if bands.len() < FEWEST_BANDS {
        return Err(NotDefined::sheet_lacks(
            "the sheet states no longest prompt above the last threshold (limits.max_input or limits.context)",
        ));
    }
    Ok(bands)
}

/// Begins a reading with the line, or ends it with the reason for none.
fn fitted<'a>(
    specification: &'static Specification,
    evidence: &Evidence<'a>,
    steps: &[ContextStep<'_>],
) -> Result<(ReadingBuilder<'a>, Line), Box<Reading>> {
    let builder = ReadingBuilder::new(specification, evidence)
        .of_cell(&steps[0].below)
        .caveats(evidence.measure_caveat());
    let bands = builder.given(bands(steps))?;
    let line = Line::through(&bands);
    let count = count_f64(bands.len());
    let slope_unit = format!("{} per token", evidence.price_unit());
    let builder = builder
        .sheet("bands", "", count, "")
        .price("price_intercept", "p_fix", line.intercept)
        .sheet("price_slope", "p_ctx", line.slope, slope_unit)
        .detail(("relative_residual", "", Kind::Equal), &[], |_| Ok(line.residual))
        .caveat("vendors copy each other's thresholds and multipliers, so a line through them is also a convention");
    Ok((builder, line))
}

fn line(evidence: &Evidence<'_>, steps: &[ContextStep<'_>]) -> Drawn {
    let (builder, line) = fitted(&LINE, evidence, steps)?;
    Ok(builder
        .solve(&[], |_| {
            line.check()?;
            Ok(line.intercept / line.slope)
        })
        .build())
}

fn kv_bytes(evidence: &Evidence<'_>, steps: &[ContextStep<'_>]) -> Drawn {
    let (builder, line) = fitted(&KV_BYTES, evidence, steps)?;
    let kv_bytes = |values: &Values| {
        line.check()?;
        let weights = values[Q::WeightBytes] * values[Q::ActiveParameters];
        let reach = values[Q::BatchOverOptimal] * values[Q::ComputeToBandwidth];
        Ok(line.slope / line.intercept * weights / reach)
    };
    let crossover = |values: &Values| {
        line.check()?;
        Ok(values[Q::BatchOverOptimal] * line.intercept / line.slope)
    };
    let quantities = [
        Q::WeightBytes,
        Q::ActiveParameters,
        Q::BatchOverOptimal,
        Q::ComputeToBandwidth,
    ];
    Ok(builder
        .solve(&quantities, kv_bytes)
        .detail(
            ("crossover_context", "tokens", Kind::Equal),
            &[Q::BatchOverOptimal],
            crossover,
        )
        .build())
}

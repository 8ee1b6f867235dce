//! A speed that no listed accelerator reaches with any size that the prices allow.

use super::conflict::Conflict;
use crate::clue::output_speed::promised_speed;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::fastest_step::{FastestStep, fastest_step};
use crate::evidence::served_speed::median_speed;
use crate::joint::Joint;
use crate::posterior::Interval;
use unroof_base::units::readable;
use unroof_price_sheet::sheet::{PriceSheet, ServiceTier};

/// The smallest model that is looked for: with fewer parameters a step only waits.
const SMALLEST_MODEL: f64 = 1e6;
/// Halvings of the search for the largest model that reaches a speed.
const HALVINGS: u32 = 60;

/// The fastest output speed that the sheets sell, of one user.
pub(crate) struct SoldSpeed<'s> {
    tier: &'s str,
    tokens_per_second: f64,
}

impl<'s> SoldSpeed<'s> {
    /// Promised or measured, in any tier; none where no speed is stated.
    pub(crate) fn fastest(contents: &'s [PriceSheet]) -> Option<Self> {
        let tiers = contents.iter().flat_map(|sheet| &sheet.service_tiers);
        tiers
            .filter_map(|(tier, service)| {
                Some(Self {
                    tier,
                    tokens_per_second: speed_of(service)?,
                })
            })
            .max_by(|left, right| left.tokens_per_second.total_cmp(&right.tokens_per_second))
    }

    /// Whether the largest size of the joint estimate does not reach it. Where it does, every smaller one does too, and
    /// nothing needs to be sampled again.
    pub(crate) fn is_doubtful(&self, joint: &Joint) -> bool {
        !self.is_reached_by(joint.quantities.active_parameters.interval_90.high)
    }

    /// The conflict with the interval of active parameters from prices alone: not even its smallest size reaches the
    /// speed at batch 1, with four accepted tokens per step.
    pub(crate) fn conflict(&self, active: Interval) -> Option<Conflict> {
        let (smallest, largest) = (active.low, active.high);
        if self.is_reached_by(smallest) {
            return None;
        }
        Some(Conflict {
            between: vec![ReadingId::OutputSpeedWeightBytes],
            quantity: "active_parameters",
            values: [self.largest_model(smallest), smallest],
            why: format!(
                "{} is sold at {} tokens/s, and the other prices and limits give {} to {} active parameters, of which {}: \
                 not an accelerator of this list, or a smaller model",
                self.tier,
                readable(self.tokens_per_second),
                readable(smallest),
                readable(largest),
                reached(fastest_step(smallest)),
            ),
        })
    }

    fn is_reached_by(&self, active_parameters: f64) -> bool {
        fastest_step(active_parameters)
            .is_some_and(|step| step.tokens_per_second >= self.tokens_per_second)
    }

    /// The largest model below `beyond` that reaches the speed; the smallest that is looked for where none does.
    fn largest_model(&self, beyond: f64) -> f64 {
        let (mut reaches, mut does_not) = (SMALLEST_MODEL, beyond);
        for _ in 0..HALVINGS {
            let middle = (reaches * does_not).sqrt();
            if self.is_reached_by(middle) {
                reaches = middle;
            } else {
                does_not = middle;
            }
        }
        reaches
    }
}

fn speed_of(service: &ServiceTier) -> Option<f64> {
    let promised = promised_speed(service).into_iter();
    promised.chain(median_speed(service)).reduce(f64::max)
}

/// The speed of the fastest machine, in words.
fn reached(step: Option<FastestStep>) -> String {
    let Some(step) = step else {
        return "no unit of up to 576 chips holds the fewest at 8 bits".to_owned();
    };
    let chips = if step.chips > 1.0 { "chips" } else { "chip" };
    format!(
        "the fewest reach {} tokens/s at batch 1 on {} {chips} {}, with 8 bits per parameter and four accepted tokens per \
         step",
        readable(step.tokens_per_second),
        step.chips,
        step.accelerator,
    )
}

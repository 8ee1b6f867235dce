//! The clues one after the other: the weights of the draws after each clue, and its tail probability.

use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::Likelihood;
use crate::evidence::unknowns::Unknowns;
use crate::posterior::{Posterior, softmax};
use unroof_base::input::cancel::{CancelToken, Cancelled};

/// Stride of the draws that are used per clue.
pub(super) const CLUE_STRIDE: usize = 6;
/// Stride of the draws that are used for a clue's tail probability, for which two digits suffice.
const TAIL_STRIDE: usize = 8;

/// The state after a clue.
pub(crate) struct Step {
    /// Clue that is added in the step.
    pub(crate) clue: ClueKind,
    /// Weights of every [`CLUE_STRIDE`]th draw after it and those before it.
    pub(super) weights: Vec<f64>,
    /// Tail probability of the clue, given the clues before it.
    pub(crate) tail_probability: f64,
}

/// Adds the clues one after the other.
pub(super) fn steps(
    posterior: &Posterior<'_>,
    terms: &[Box<dyn Likelihood>],
    wanted: &CancelToken,
) -> Result<Vec<Step>, Cancelled> {
    let draws: Vec<Unknowns<'_>> = posterior.draws.iter().step_by(CLUE_STRIDE).collect();
    let mut logs: Vec<f64> = posterior
        .log_prior_weights
        .iter()
        .step_by(CLUE_STRIDE)
        .copied()
        .collect();
    let mut before = softmax(&logs);
    let mut steps = Vec::new();
    for term in terms {
        wanted.check()?;
        for (part, clue) in term.parts().iter().copied().enumerate() {
            let (mut tail, mut all) = (0.0, 0.0);
            for (unknowns, weight) in draws.iter().zip(&before).step_by(TAIL_STRIDE) {
                tail += weight * term.tail_probability(part, unknowns);
                all += weight;
            }
            // Few draws may miss all of the weight; then nothing is known to be surprising.
            let tail_probability = if all > 0.0 { tail / all } else { 1.0 };
            for (log, unknowns) in logs.iter_mut().zip(&draws) {
                *log += term.log_likelihood_of(part, unknowns);
            }
            before = softmax(&logs);
            steps.push(Step {
                clue,
                weights: before.clone(),
                tail_probability,
            });
        }
    }
    Ok(steps)
}

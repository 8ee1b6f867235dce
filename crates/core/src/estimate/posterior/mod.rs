//! The joint estimate: draws from what the unknowns may be, weighted by what the sheets show.
//!
//! The model, in the order of `docs/MODEL.md`: a population of models (`prior`), the terms of [`crate::clue`], and
//! importance sampling (`sampler`) with one proposal per kind of model and regime. Summaries are weighted quantiles
//! (`summary`) and the tail of the weights (`pareto`).

mod gaussian;
mod pareto;
mod points;
mod prior;
mod sampler;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use points::SEED;
pub use prior::Prior;
pub(crate) use sampler::exponentials;
pub use sampler::{DRAWS, Draws, PRIOR_DRAWS, Posterior, sample, sample_prior, sample_while};
pub use summary::{Interval, Summary, summarize};

/// Unknowns that are sampled: log `N_a`, log `N_t`, log `k_bw`, log `k_st`, log β, log `L_mean`.
pub(crate) const UNKNOWNS: usize = 6;

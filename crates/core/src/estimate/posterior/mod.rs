//! The joint estimate: draws of the unknowns from the prior, weighted by their likelihood given the sheets.
//!
//! The model, in the order of `docs/MODEL.md`: a population of models (`prior`), the terms of [`crate::clue`], and
//! importance sampling (`sampler`) with one proposal per kind of model and regime. Summaries are weighted quantiles
//! (`summary`) and the tail of the weights (`pareto`).

mod gaussian;
mod pareto;
mod prior;
mod sampler;
mod sobol;
mod summary;
#[cfg(test)]
mod tests;

pub use prior::Prior;
pub(crate) use sampler::softmax;
pub use sampler::{
    DRAWS, Draws, PRIOR_DRAWS, Posterior, possible_share, sample, sample_prior, sample_while,
};
pub(crate) use sobol::SEED;
pub use summary::{Interval, Summary, summarize};

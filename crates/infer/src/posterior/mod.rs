//! The joint estimate: draws of the unknowns from the prior, weighted by their likelihood given the sheets.
//!
//! The model, in the order of `docs/MODEL.md`: a population of models (`prior`), the terms of [`crate::clue`], and
//! importance sampling (`sampler`) with one proposal per kind of model and regime. Summaries are weighted quantiles
//! (`summary`) and the tail of the weights (`pareto`).

mod draw;
mod gaussian;
#[cfg(test)]
mod long_run;
mod pareto;
mod placing;
mod prior;
mod proposal;
mod sampler;
mod shared;
mod sobol;
mod summary;
#[cfg(test)]
mod tests;
mod weights;

pub use prior::Prior;
pub use sampler::{
    Draws, EFFECTIVE_DRAWS, PRIOR_DRAWS, Posterior, possible_share, sample, sample_prior,
    sample_while,
};
pub(crate) use sobol::SEED;
pub use summary::{Interval, Summary, summarize};
pub use weights::softmax;

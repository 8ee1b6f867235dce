//! The joint estimate: draws of the unknowns from the prior, weighted by their likelihood given the sheets.
//!
//! The model, in the order of `docs/MODEL.md`: a population of models (`prior`), the terms of [`crate::clue`], and
//! importance sampling (`sampler`) with one proposal per kind of model and regime. Summaries are weighted quantiles
//! (`summary`) and the tail of the weights (`pareto`).
//!
//! ```
//! use unroof_infer::clue::observed;
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::posterior::{Prior, sample};
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! # let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! # (cell.input, cell.output) = ("3".parse().ok(), "15".parse().ok());
//! let (sheets, assumptions) = ([PriceSheet::new("acme", "m-1", vec![cell])], Assumptions::default());
//! let prior = Prior::of_sheets(Calibration::shipped(), &assumptions, &sheets);
//! let posterior = sample(&prior, &observed(&sheets, &assumptions, Calibration::shipped()), 500);
//! assert!(posterior.effective_sample_size >= 500.0 && posterior.pareto_k < 0.7);
//! ```

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

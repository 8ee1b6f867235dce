//! The joint estimate against models with published values: the page and the ablations.

mod experiments;
mod markdown;

pub use experiments::{Experiments, experiments};
pub use markdown::{experiments_markdown, markdown};

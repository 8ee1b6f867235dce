//! The joint estimate against models with published values: the page, the picture and the ablations.

mod experiments;
mod markdown;
mod plot;

pub use experiments::{Experiments, experiments};
pub use markdown::{experiments_markdown, markdown};
pub use plot::svg;

//! The forward model against published measurements: what it predicts for each, the few shared efficiencies that fit
//! them, and how far off it is on a generation of accelerators that the fit has not seen.

mod fit;
mod markdown;
mod plot;
mod predict;
mod report;

pub use fit::{FitError, fit};
pub use plot::svg;
pub use predict::{at_peak, kernel_serving, predict};
pub use report::{LeftOut, Report, Scored};

//! The forward model against published measurements: its predictions, the fitted efficiencies, and its errors on
//! publications outside the fit.

mod errors;
mod figures;
mod fit;
mod markdown;
mod measured;
mod parts;
mod peer;
mod predict;
mod ranges;
mod report;

pub use fit::{FitError, fit};
pub use peer::peer_markdown;
pub use predict::{at_peak, kernel_serving, predict};
pub use report::{LeftOut, Report, RowKind, Scored};

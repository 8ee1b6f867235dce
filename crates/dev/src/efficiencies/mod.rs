//! The forward model against published measurements: its predictions, the fitted efficiencies, and its errors on
//! publications outside the fit.

mod figures;
mod fit;
mod markdown;
mod peer;
mod predict;
mod report;
mod unfitted;

pub use fit::{FitError, fit};
pub use peer::peer_markdown;
pub use predict::{at_peak, kernel_serving, predict};
pub use report::{LeftOut, Report, RowKind, Scored};
pub use unfitted::unfitted_markdown;

//! One file per kind of chart.

pub mod calibration;
pub mod cost;
pub mod density;
pub mod frontier;
pub mod heat;
pub mod moves;
pub mod neighbours;
pub mod prices;
pub mod roofline;
pub mod sparkline;
pub mod strip;
pub mod truth;

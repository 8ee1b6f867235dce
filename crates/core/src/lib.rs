//! The pure core: price sheets, the serving roofline, and the estimates that combine them.
//!
//! Everything here is pure: no clock, no randomness, no input or output. `docs/ARCHITECTURE.md` shows which module uses which.

pub mod calculator;
pub mod calibration;
pub mod catalog;
pub mod clue;
pub mod cost;
pub mod estimate;
pub mod history;
pub mod input;
pub mod model;
pub mod plan;
pub mod reference;
pub mod roofline;
pub mod sheet;
pub mod units;

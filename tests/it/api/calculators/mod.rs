//! The calculators: `/simulate`, `/plan`, `/layout` and `/training`.

mod hardware;
mod layout;
mod plan;
mod simulate;
mod simulate_faults;
mod training;

//! The calculators: `/simulate`, `/plan`, `/layout` and `/training`.

mod layout;
mod plan;
mod simulate;
mod simulate_faults;
mod training;

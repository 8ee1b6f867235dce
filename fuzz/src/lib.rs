//! Invariants for any input: one module per kind of input, and a file in `fuzz_targets` per target.

pub mod calculator;
pub mod finite;
pub mod refusal;
pub mod request;
pub mod sheet;

//! The serving roofline of language models: its reference data, the forward model, and the calculators on it.
#![doc = include_str!("../README.md")]

pub mod calculator;
pub mod forward;
pub mod plan;
pub mod reference;

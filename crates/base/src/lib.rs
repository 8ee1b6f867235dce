//! Units, exact decimals, and request bodies that report every fault at once.
#![doc = include_str!("../README.md")]

pub mod input;
pub mod units;

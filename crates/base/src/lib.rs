//! Units, exact decimals, request bodies that report every fault at once, and commands of a shell.
#![doc = include_str!("../README.md")]

pub mod input;
pub mod shell;
pub mod units;

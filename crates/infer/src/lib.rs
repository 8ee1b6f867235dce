//! Inference from a price sheet to the machine behind it: evidence, clues, posterior and the joint estimate.
#![doc = include_str!("../README.md")]

pub mod clue;
pub mod estimate;
pub mod evidence;
pub mod hosts;
pub mod joint;
pub mod posterior;

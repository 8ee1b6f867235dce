//! The pure core: price sheets, the serving roofline, and the estimates that combine them.
//!
//! No clock, no randomness, no input or output. Modules use only modules above them in this list.

pub mod units;

pub mod input;

pub mod reference;

pub mod roofline;

pub mod sheet;

pub mod catalog;

pub mod model;

pub mod clue;

pub mod estimate;

pub mod calculator;

pub mod calibration;

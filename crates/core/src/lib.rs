//! What a price sheet is, what the serving roofline says, and what the one says about the other.
//!
//! Everything here is pure: no clock, no chance, no input or output. Modules use only what is above them in this list.

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

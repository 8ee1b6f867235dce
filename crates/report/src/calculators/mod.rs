//! The answers of the forward calculators as HTML: one file per calculator, each with the answer in words and the details.

pub mod cost;
pub mod fleet;
pub mod layout;
pub mod machine;
pub mod parts;
pub mod training;

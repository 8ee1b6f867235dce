//! The forward calculators: each turns a request into an answer. What a model takes and costs on given hardware, how it is
//! laid out on racks, what its training takes.
//!
//! Pure: each calculator is a function from the text of a request to an answer that serialises; `http` and `cli` print
//! the same answer. The equations are in [`crate::roofline`].

pub mod inputs;
pub mod layout;
pub mod simulate;
pub mod training;

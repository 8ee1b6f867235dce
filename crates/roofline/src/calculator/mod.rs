//! The forward calculators: each turns a request into an answer. Time and cost of a model on given hardware, its
//! layout on racks, the compute of its training.
//!
//! Pure: each calculator is a function from the text of a request to an answer that serialises; `http` and `cli` print
//! the same answer. The equations are in [`crate::forward`].

pub mod inputs;
pub mod layout;
pub mod scenario;
pub mod simulate;
pub mod training;

//! The terminal: help, completions, input and output.

pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod input;
pub(crate) mod man;
pub(crate) mod terminal;
pub(crate) mod verbosity;

//! The edge of the HTTP service: listeners, limits, problem documents, cached answers and traces.

pub mod answer;
pub mod limit;
pub mod listen;

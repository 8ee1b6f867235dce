//! Serving by a layout: prefill, decode, queues, caches and their times.

pub(crate) mod aggregated;
pub(crate) mod candidate;
pub(crate) mod chunks;
pub(crate) mod decode;
pub(crate) mod disaggregated;
pub(crate) mod forward;
pub(crate) mod latency;
pub(crate) mod offload;
pub(crate) mod prefill;
pub(crate) mod queue;
#[cfg(test)]
pub(crate) mod simulated;

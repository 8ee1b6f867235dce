//! Recording: what sources stated is planned, then written in one transaction.

pub(crate) mod announced;
pub(crate) mod asked;
pub(crate) mod checksum;
pub(crate) mod columns;
pub(crate) mod derive;
pub(crate) mod effect;
pub(crate) mod known;
pub(crate) mod model_estimates;
pub(crate) mod names;
pub(crate) mod offers;
pub(crate) mod plan;
pub(crate) mod price_in_force;
pub(crate) mod put_back;
pub(crate) mod ready;
pub(crate) mod recorded_times;
pub(crate) mod recording;
pub(crate) mod refusal;
#[cfg(test)]
mod rules;
pub(crate) mod snapshots;
pub(crate) mod tables;
pub(crate) mod withdrawals;
pub(crate) mod work;
pub(crate) mod writer;

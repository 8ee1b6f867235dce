//! Limits of one client and of all clients together: queues, budgets, places.

pub(crate) mod bill;
pub(crate) mod budget;
pub mod client_limit;
pub(crate) mod known_keys;
pub(crate) mod limits;
pub(crate) mod per_address;
pub mod places;
pub(crate) mod queue;
pub mod quota;
pub(crate) mod refusals;
pub(crate) mod rotation;
pub(crate) mod storing;
pub(crate) mod workers;

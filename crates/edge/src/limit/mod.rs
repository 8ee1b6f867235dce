//! Limits of one client and of all clients together: queues, budgets, places.

pub mod budget;
pub mod client_limit;
pub mod known_keys;
pub mod limits;
pub mod per_address;
pub mod places;
pub mod queue;
pub mod quota;
pub mod refusals;
pub mod rotation;
pub mod workers;

//! Keys, webhooks, the audit log, health and the API document.

pub(crate) mod audit;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod keys;
pub mod openapi;
pub(crate) mod problem_kinds;
pub(crate) mod webhooks;

//! Operation of the store: keys, webhooks, the audit log, backups, checks, and what is deleted.

pub(crate) mod audit;
pub(crate) mod audit_log;
pub(crate) mod backup;
pub(crate) mod chain;
pub(crate) mod check;
pub(crate) mod held_imports;
pub(crate) mod keys;
pub(crate) mod questions;
pub(crate) mod reporting;
pub(crate) mod retention;
pub(crate) mod secrets_key;
pub(crate) mod visits;
pub(crate) mod webhook_secrets;
pub(crate) mod webhooks;

//! Operation of the store: keys, webhooks, the audit log, backups and checks.

pub(crate) mod audit;
pub(crate) mod audit_log;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod held_imports;
pub(crate) mod keys;
pub(crate) mod reporting;
pub(crate) mod secrets_key;
pub(crate) mod visits;
pub(crate) mod webhook_secrets;
pub(crate) mod webhooks;

//! Integration tests, one binary: a module per concern.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api;
mod catalog;
mod changes;
mod checks;
mod cli;
mod database_faults;
mod durability;
mod formats;
mod golden;
mod joint;
mod openapi;
mod server;
mod snapshots;
mod storage;
mod support;
mod wire;

//! Integration tests, one binary: a module per concern.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod access;
mod api;
mod attack;
#[cfg(target_os = "linux")]
mod browser;
mod catalog;
mod catalog_formats;
mod changes;
mod checks;
mod cli;
mod corpus;
mod cost;
mod dashboards;
mod database_faults;
mod durability;
mod formats;
mod generated;
mod golden;
mod guides;
mod history;
mod import;
mod joint;
mod metrics;
mod models;
mod openapi;
mod record;
mod reporting;
mod scale;
mod server;
mod storage;
mod support;
mod telemetry;
mod ui;
mod wire;

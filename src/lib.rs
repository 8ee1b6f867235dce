//! unroof reads an LLM provider's public price sheet, inverts the serving roofline behind it, and shows what the sheet
//! reveals about the machine: KV-cache bytes per token, how memory-bound decoding is, and the storage tier of each
//! cache offer.
//!
//! This crate is the service: HTTP, command line, database. All pure computation is in [`unroof_core`].

pub mod access;
mod chart;
pub mod cli;
pub mod clock;
mod examples;
pub mod http;
pub mod import;
pub mod integrity;
pub mod jobs;
pub mod secrets;
pub mod storage;
pub mod telemetry;

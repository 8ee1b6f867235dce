//! Defects found by attacking the first version: each test fails on commit `314694e`.
//!
//! `UNROOF_TEST_PROGRAM` names another build of the program that the tests start instead of this one.

mod catalog_client;
mod catalog_memory;
mod checksums;
mod dearest;
mod delivery;
mod disk;
mod far_database;
mod import_stream;
mod imports;
mod log;
mod memory;
mod name_servers;
mod readiness;
mod reads;
mod records;
mod secrets;
mod text;
mod unwanted;
mod withdrawal;

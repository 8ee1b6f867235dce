//! Connections to SQLite and PostgreSQL: addresses, transactions, statements, locks and versions.

pub(crate) mod connected;
pub(crate) mod connection;
pub(crate) mod database;
pub(crate) mod database_url;
pub(crate) mod databases;
pub(crate) mod file;
pub(crate) mod limits;
pub(crate) mod lock;
pub(crate) mod migrate;
pub(crate) mod migrations;
pub(crate) mod newer_tables;
pub(crate) mod program;
pub(crate) mod query;
pub(crate) mod rows;
pub(crate) mod service_address;
pub(crate) mod serving_lock;
pub(crate) mod session;
pub(crate) mod standby;
pub(crate) mod stored_times;
pub(crate) mod time;
pub(crate) mod value;
pub(crate) mod version;

//! Connections to SQLite and PostgreSQL: addresses, transactions, statements, locks and versions.

pub(crate) mod database;
pub(crate) mod database_url;
pub(crate) mod databases;
pub(crate) mod file;
pub(crate) mod limits;
pub(crate) mod loan;
pub(crate) mod lock;
pub(crate) mod meter;
pub(crate) mod operation;
pub(crate) mod query;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod service_address;
pub(crate) mod serving_lock;
pub(crate) mod standby;
pub(crate) mod stored_times;
pub(crate) mod time;
pub(crate) mod tx;
pub(crate) mod value;
pub(crate) mod version;

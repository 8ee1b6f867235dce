//! Stored sheets and estimates: the only place with SQL. One text serves SQLite and PostgreSQL.

mod database;
mod estimates;
mod price_sheets;
mod save;
mod time;

pub use database::{DatabaseUrl, DatabaseUrlError, Store};
pub use estimates::{EstimateRow, LatestKey};
pub use price_sheets::PriceSheetRow;
pub use save::{NewEstimate, Saved};
pub use time::DbTime;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database refused or could not be reached.
    #[error("database query failed")]
    Query(#[from] sqlx::Error),
    /// The database did not answer a moment ago, and was not asked again.
    #[error("the database did not answer a moment ago")]
    Away,
    /// The tables could not be brought up to date.
    #[error("database migration failed")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// The folder or file of the embedded database could not be made.
    #[error("cannot create `{path}`")]
    File {
        /// The folder or file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A stored document is not what was stored.
    #[error("the stored document of {0} is damaged")]
    Damaged(uuid::Uuid),
}

impl StoreError {
    /// Whether the same request may succeed a moment later: the database is away, busy or shutting down.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        use sqlx::Error as Sql;
        match self {
            Self::Away
            | Self::Query(
                Sql::PoolTimedOut | Sql::PoolClosed | Sql::Io(_) | Sql::Tls(_) | Sql::WorkerCrashed,
            ) => true,
            // PostgreSQL: connection lost, resources short, shutdown. SQLite: busy or locked.
            Self::Query(Sql::Database(error)) => error.code().is_some_and(|code| {
                ["08", "53", "57"]
                    .iter()
                    .any(|class| code.len() == 5 && code.starts_with(class))
                    // The low byte of SQLite's code is its class, the rest its kind.
                    || code.len() < 5 && code.parse().is_ok_and(|code: u32| matches!(code & 0xff, 5 | 6))
            }),
            _ => false,
        }
    }
}

/// Restricts a list to offers with these names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Who bills.
    pub provider: Option<String>,
    /// The model as the provider spells it.
    pub model: Option<String>,
    /// author/model
    pub canonical_model: Option<String>,
    /// Where it is served.
    pub region: Option<String>,
    /// ISO 4217 code.
    pub currency: Option<String>,
}

//! Stored sheets and estimates: the only place with SQL. One text serves SQLite and PostgreSQL.

mod changes;
mod database;
mod estimates;
mod history;
mod imports;
mod listener;
mod plan;
mod price_sheets;
mod record;
mod reporting;
mod serving_lock;
mod tables;
mod time;
mod watched;
mod webhooks;
mod withdrawals;

pub use changes::{ChangeKind, ChangeRow};
pub use database::{
    DatabaseUrl, DatabaseUrlError, Store, StoreConnections, StoreLimits, StoreLock,
};
pub use estimates::{AsOf, EstimateRow, LatestKey};
pub use history::{DisagreementRow, HistoryKey, HistoryRow};
pub use imports::{ImportRow, LeaderRow, RunningImport, StatementRow};
pub use listener::Listener;
pub use price_sheets::PriceSheetRow;
pub use record::{EstimateRecord, Listing, NewEstimate, Recording, Saved};
pub use serving_lock::ServingLock;
pub use time::DbTime;
pub use watched::WatchedRow;
pub use webhooks::{Attempt, DeliveryRow, NewWebhook, Outcome, WebhookLease, WebhookRow};
pub use withdrawals::{Reinstated, Withdrawal, Withdrawn};

use sqlx::migrate::MigrateError;

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
    Migration(#[source] MigrateError),
    /// The tables are those of a newer program.
    #[error(
        "the tables are newer than this program, which does not know migration {0}; use the newer program"
    )]
    TooNew(i64),
    /// The folder or file of the embedded database could not be made.
    #[error("cannot create `{path}`")]
    File {
        /// The folder or file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Views for dashboards, and roles that may read them, are PostgreSQL's.
    #[error("an embedded database has no roles; whoever may read its file may read all of it")]
    NoRoles,
    /// Nobody has made the role.
    #[error("there is no role `{0}`; make it with CREATE ROLE first")]
    NoSuchRole(String),
    /// Another process serves the file.
    #[error(
        "another process is at work on `{0}`: an embedded database is for one; PostgreSQL is for several"
    )]
    Served(String),
    /// A stored document is not what was stored.
    #[error("the stored document of {0} is damaged")]
    Damaged(uuid::Uuid),
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) => Self::TooNew(version),
            error => Self::Migration(error),
        }
    }
}

impl StoreError {
    /// The error with its causes in a line, for the log. Causes that repeat what was said are left out.
    #[must_use]
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = error.source();
        }
        text
    }

    /// Whether the same request may succeed later as it is: the database is away, busy, full, or refuses us at the door.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Away => true,
            Self::Query(error)
            | Self::Migration(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => is_temporary(error),
            _ => false,
        }
    }
}

fn is_temporary(error: &sqlx::Error) -> bool {
    use sqlx::Error as Sql;
    match error {
        Sql::PoolTimedOut
        | Sql::PoolClosed
        | Sql::Io(_)
        | Sql::Tls(_)
        | Sql::Protocol(_)
        | Sql::WorkerCrashed => true,
        Sql::Database(error) => error.code().is_some_and(|code| is_temporary_code(&code)),
        _ => false,
    }
}

fn is_temporary_code(code: &str) -> bool {
    // PostgreSQL: connection lost, read-only, wrong password, no such database, deadlock, resources short, lock not to be
    // had, statement ended or server shutting down.
    const CLASSES: [&str; 8] = ["08", "25", "28", "3D", "40", "53", "55", "57"];
    // SQLite: busy, locked, input or output failed, full.
    const KINDS: [u32; 4] = [5, 6, 10, 13];
    if code.len() == 5 {
        return CLASSES.iter().any(|class| code.starts_with(class));
    }
    // The low byte of SQLite's code is its class, the rest its kind.
    code.parse()
        .is_ok_and(|code: u32| KINDS.contains(&(code & 0xff)))
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

/// Restricts a list to times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Stored then or later.
    pub from: Option<DbTime>,
    /// Stored before.
    pub to: Option<DbTime>,
    /// In force then.
    pub as_of: Option<DbTime>,
}

//! Stored sheets and estimates: the only place with SQL. One text serves SQLite and PostgreSQL.

pub mod access;
pub mod clock;
pub(crate) mod connect;
pub(crate) mod keep;
pub(crate) mod list;
pub(crate) mod record;

pub use crate::connect::database::{Store, StoreConnections};
pub use crate::connect::database_url::{DatabaseUrl, DatabaseUrlError};
pub use crate::connect::databases::Databases;
pub use crate::connect::limits::StoreLimits;
pub use crate::connect::lock::StoreLock;
pub use crate::connect::meter::{Meter, metered};
pub use crate::connect::schema::program::NewerTables;
pub use crate::connect::service_address::{INSTANCE_HEADER, ServiceAddress, ServiceAddressFile};
pub use crate::connect::serving_lock::ServingLock;
pub use crate::connect::standby::StandbyReads;
pub use crate::connect::time::DbTime;
pub use crate::connect::version::Listener;
pub use crate::keep::audit::{AuditAction, CallerKind};
pub use crate::keep::audit_log::AuditRow;
pub use crate::keep::backup::{BackupError, back_up};
pub use crate::keep::chain::{Link, link_text};
pub use crate::keep::check::fault::{Fault, Subject};
pub use crate::keep::check::sheets::columns_at;
pub use crate::keep::check::{
    Chains, CheckedEstimate, CheckedListing, CheckedSheet, HistoryPage, Links, ModelColumns,
    Numbers, RULES, RowCounts, Rule, differing, windows,
};
pub use crate::keep::held_imports::{Discarded, HeldImport, HeldRow};
pub use crate::keep::keys::{KeyRow, NewKeyRow};
pub use crate::keep::questions::{Deletion, QuestionPlace};
pub use crate::keep::retention::{Batch, Expiring, Retention};
pub use crate::keep::secrets_key::{SecretError, SecretsKey};
pub use crate::keep::webhooks::{
    Attempt, DeliveryRow, DeliveryState, Ended, EndedAttempt, NewWebhook, Outcome, WebhookLease,
    WebhookRow,
};
pub use crate::list::change_filter::ChangeFilter;
pub use crate::list::change_summary::{ChangeCount, KindCount, MoveRow, Summarised};
pub use crate::list::changes::{ChangeRow, ChangesFrom};
pub use crate::list::estimates::{EstimateRow, Latest, LatestKey};
pub use crate::list::history::{DisagreementRow, HistoryKey, HistoryRow, PricesOf};
pub use crate::list::imports::{
    ImportOrder, ImportOutcome, ImportPlace, ImportRow, ImportSelection, LeaderRow, ListingRow,
    OfferRow, RefusalsRow, RunningImport, StoredPrices,
};
pub use crate::list::market::{
    EstimateNumbersRow, MarketOffer, MarketOffersRow, NewestEstimateRow, PastPriceRow,
};
pub use crate::list::meters::{CatalogImports, HeldImports, SourceImports, WebhookCounts};
pub use crate::list::models::{
    ModelOfferRow, ModelRow, ModelSelection, ModelSheetRow, SellerRow, StoredAnswer,
};
pub use crate::list::price_sheets::PriceSheetRow;
pub use crate::list::query::{AsOf, NamePrefix, Order, Place, Selection, SortKey};
pub use crate::list::row_values::quantity_columns;
pub use crate::list::search::NameRow;
pub use crate::list::series::{PriceEnd, PriceStart, PriceStep};
pub use crate::record::checksum::Document;
pub use crate::record::checksum::read_sheet;
pub use crate::record::columns::SheetColumns;
pub use crate::record::effect::{Effect, Other};
pub use crate::record::model_estimates::{DueModel, ModelOutcome, ModelRecord, NewModelEstimate};
pub use crate::record::names::{ChangeKind, NameKind, UnknownName};
pub use crate::record::offers::{ListedSheet, ObservedBy, POSTED, SheetFacts};
pub use crate::record::plan::Acted;
pub use crate::record::price_in_force::{KeptPrices, PriceInForce};
pub use crate::record::recording::{
    EstimateOf, EstimateRecord, Listing, NewEstimate, Recording, Saved,
};
pub use crate::record::refusal::Refusal;
pub use crate::record::snapshots::among::SnapshotAmong;
pub use crate::record::snapshots::among::SnapshotAt;
pub use crate::record::snapshots::import_facts::ImportFacts;
pub use crate::record::snapshots::undo::Undone;
pub use crate::record::work::ListedOffer;

use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::migrate::MigrateError;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database refused or could not be reached.
    #[error("database query failed")]
    Query(#[from] sqlx::Error),
    /// The database did not answer in time, or failed a moment ago and was not queried again.
    #[error("the database was unreachable a moment ago")]
    Away,
    /// The database takes no writes at the moment.
    #[error("the database takes no writes: {0}")]
    Refused(Refusal),
    /// The tables could not be brought up to date.
    #[error("database migration failed")]
    Migration(#[source] MigrateError),
    /// The tables belong to a different build of the program.
    #[error(
        "the tables do not match this program: a different build applied migration {0}; use that build, or an empty database"
    )]
    OtherTables(i64),
    /// The tables were brought up to date by a newer program.
    #[error("{0}; use that version or a newer one")]
    NewerTables(NewerTables),
    /// There is no file of this name.
    #[error("there is no database `{0}`")]
    NoDatabase(String),
    /// A migration of this program was not applied to the tables.
    #[error("the tables are of an older version of this program")]
    OlderTables,
    /// A table or column of this program is no longer there.
    #[error("the database lacks {0}")]
    Missing(String),
    /// The folder or file of the embedded database could not be made.
    #[error("cannot create `{path}`")]
    File {
        /// The folder or file.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Views for dashboards and roles that read them exist only on PostgreSQL.
    #[error(
        "an SQLite database has no roles: a user with read access to its file can read all of it"
    )]
    NoRoles,
    /// The role does not exist.
    #[error("there is no role `{0}`; make it with CREATE ROLE first")]
    NoSuchRole(String),
    /// Another process serves the file.
    #[error(
        "another process is at work on `{0}`: an embedded database serves one process; PostgreSQL is for several"
    )]
    Served(String),
    /// Another process may have taken the lock meanwhile.
    #[error("the lock `{0}` was not renewed in time, so that another process may have taken over")]
    LostLock(String),
    /// A stored document does not match its checksum.
    #[error("the stored document of {0} is damaged")]
    Damaged(uuid::Uuid),
    /// A secret cannot be encrypted.
    #[error("a secret cannot be encrypted")]
    Secret(#[from] SecretError),
    /// One error shared by all recordings of a transaction.
    #[error("{0}")]
    Shared(#[source] std::sync::Arc<Self>),
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) | MigrateError::VersionMismatch(version) => {
                Self::OtherTables(version)
            }
            error => Self::Migration(error),
        }
    }
}

impl StoreError {
    /// An error of the operating system about a file or folder.
    fn of_file(path: &std::path::Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::File {
            path: path.display().to_string(),
            source,
        }
    }

    /// The error with its causes in a line, for the log. Repeated causes are left out.
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

    /// Whether the same request may succeed later: the database is unreachable, busy or full, or rejects connections.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Away | Self::Refused(_) => true,
            Self::Shared(error) => error.is_temporary(),
            _ => self.query().is_some_and(is_temporary),
        }
    }

    /// Reason why the database takes no writes, if this is the error.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Refused(refusal) => Some(*refusal),
            Self::Shared(error) => error.refusal(),
            _ => refusal_of_code(&self.query()?.as_database_error()?.code()?),
        }
    }

    /// Whether the error repeats an earlier one without a new query.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        matches!(
            self,
            Self::Away | Self::Refused(Refusal::Disk | Refusal::ReadOnly)
        )
    }

    /// Whether another connection uses the same file, or the machine was too busy to open it in time.
    fn is_busy(&self) -> bool {
        const KINDS: [u32; 2] = [5, 6];
        if matches!(self, Self::Query(sqlx::Error::PoolTimedOut)) {
            return true;
        }
        let code = self
            .query()
            .and_then(|error| error.as_database_error()?.code());
        code.is_some_and(|code| sqlite_kind(&code).is_some_and(|kind| KINDS.contains(&kind)))
    }

    /// Whether the connection of the error must be closed.
    fn spoils_connection(&self) -> bool {
        use sqlx::Error as Sql;
        match self {
            Self::Query(Sql::RowNotFound) => false,
            // PostgreSQL refused a statement but keeps the connection; SQLite may have ended the transaction by
            // itself.
            Self::Query(Sql::Database(error)) => error.code().is_none_or(|code| {
                code.len() != 5 || code.starts_with("08") || code.starts_with("57P")
            }),
            Self::Query(_) | Self::Away => true,
            _ => false,
        }
    }

    fn query(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Query(error)
            | Self::Migration(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => Some(error),
            _ => None,
        }
    }
}

/// The low byte of SQLite's code is its class, the rest its kind.
fn sqlite_kind(code: &str) -> Option<u32> {
    let code: u32 = code.parse().ok().filter(|_| code.len() != 5)?;
    Some(code & 0xff)
}

fn refusal_of_code(code: &str) -> Option<Refusal> {
    const MOVED: u32 = 8 | (4 << 8);
    const NOT_WRITTEN: [u32; 5] = [3, 4, 5, 6, 19];
    // PostgreSQL: read-only transaction, disk full, input or output failed.
    match code {
        "25006" => return Some(Refusal::ReadOnly),
        "53100" | "58030" => return Some(Refusal::Disk),
        _ => {}
    }
    // SQLite: the file was moved; read-only; full; writing, syncing or growing a file failed.
    match (sqlite_kind(code)?, code.parse::<u32>().ok()?) {
        (8, MOVED) => Some(Refusal::Replaced),
        (8, _) => Some(Refusal::ReadOnly),
        (13, _) => Some(Refusal::Disk),
        (10, code) if NOT_WRITTEN.contains(&(code >> 8)) => Some(Refusal::Disk),
        _ => None,
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
        | Sql::BeginFailed
        | Sql::WorkerCrashed => true,
        Sql::Database(error) => error.code().is_some_and(|code| is_temporary_code(&code)),
        _ => false,
    }
}

fn is_temporary_code(code: &str) -> bool {
    // PostgreSQL: connection lost, read-only, wrong password, no such database, deadlock, resources short, lock not
    // to be had, statement ended or server shutting down.
    const CLASSES: [&str; 8] = ["08", "25", "28", "3D", "40", "53", "55", "57"];
    // SQLite: busy, locked, read-only, input or output failed, full, not to be opened.
    const KINDS: [u32; 6] = [5, 6, 8, 10, 13, 14];
    if code.len() == 5 {
        return code == "58030" || CLASSES.iter().any(|class| code.starts_with(class));
    }
    sqlite_kind(code).is_some_and(|kind| KINDS.contains(&kind))
}

/// The content of a mutex, also after a thread that held it has panicked.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Restricts a list to times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Earliest time of storing, inclusive.
    pub from: Option<DbTime>,
    /// Latest time of storing, exclusive.
    pub to: Option<DbTime>,
    /// Time at which the prices are in force.
    pub as_of: Option<AsOf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_does_not_begin_may_later_and_a_row_that_is_missing_stays_missing() {
        assert!(StoreError::from(sqlx::Error::BeginFailed).is_temporary());
        assert!(!StoreError::from(sqlx::Error::RowNotFound).is_temporary());
    }
}

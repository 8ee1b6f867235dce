//! Tables of a newer program: this one reads them, and writes nothing.

use sqlx::FromRow;
use sqlx::migrate::Migrator;

use super::connected::{Connected, Either};
use super::migrations::{newest_of, own_migration};
use super::program::NewerTables;
use super::query::Query;
use crate::record::refusal::Refusal;
use super::session::on_session;
use crate::{Store, StoreError};

const APPLIED: &str = "SELECT version, checksum FROM _sqlx_migrations ORDER BY version";
const PROGRAM: &str = "SELECT program FROM store_version WHERE id = 1";

/// Notes the newest migration, and which program applied it.
pub(crate) const NOTE_PROGRAM: &str =
    "UPDATE store_version SET migration = $1, program = $2 WHERE id = 1 AND migration < $1";

/// Takes the writers' lock and reserves this many sequence numbers, unless the tables are those of a newer program.
pub(crate) const ADVANCE_VERSION: &str = "
    UPDATE store_version SET version = version + $1 WHERE id = 1 AND migration <= $2 RETURNING version";

const WRITERS: &str = "SELECT migration, program FROM store_version WHERE id = 1";
/// The tables stay as they are until the end of the transaction. Other writers do not wait for it.
const HELD: &str = " FOR KEY SHARE";

/// A migration that was applied to the tables.
#[derive(Debug, FromRow)]
struct AppliedRow {
    version: i64,
    checksum: Vec<u8>,
}

/// The newest migration that this program does not know, if every one that it knows was applied as it is.
fn newest_unknown(
    migrations: &Migrator,
    applied: &[AppliedRow],
) -> Result<Option<i64>, StoreError> {
    for own in migrations.iter() {
        let is_applied = |row: &&AppliedRow| row.version == own.version;
        let row = applied.iter().find(is_applied);
        if row.is_none_or(|row| row.checksum != *own.checksum) {
            return Err(StoreError::OtherTables(own.version));
        }
    }
    let is_known = |version: i64| migrations.iter().any(|own| own.version == version);
    let mut unknown = applied.iter().filter(|row| !is_known(row.version));
    let newest = newest_of(migrations);
    match unknown.clone().find(|row| row.version < newest) {
        Some(other) => Err(StoreError::OtherTables(other.version)),
        None => Ok(unknown.next_back().map(|row| row.version)),
    }
}

/// Takes the writers' lock in a transaction, and reserves this many sequence numbers; the last of them.
///
/// # Errors
/// The query fails, or the tables are those of a newer program.
pub(crate) async fn take_numbers(
    transaction: &mut impl Connected,
    count: i64,
) -> Result<i64, StoreError> {
    let advance = Query::new(ADVANCE_VERSION)
        .bind(count)
        .bind(own_migration());
    if let Some((last,)) = transaction.row(advance).await? {
        return Ok(last);
    }
    require_own_tables(transaction).await?;
    Err(sqlx::Error::RowNotFound.into())
}

/// Refuses in a transaction that writes if the tables are those of a newer program.
///
/// # Errors
/// The query fails, or they are.
pub(crate) async fn require_own_tables(transaction: &mut impl Connected) -> Result<(), StoreError> {
    let writers = match transaction.either() {
        (Either::Postgres(_), _) => Query::new(WRITERS).text(HELD),
        (Either::Sqlite(_), _) => Query::new(WRITERS),
    };
    let newest: Option<(i64, Option<String>)> = transaction.row(writers).await?;
    match newest.filter(|(migration, _)| *migration > own_migration()) {
        Some((migration, program)) => {
            let newer = NewerTables::new(migration, program.as_deref());
            Err(StoreError::Refused(Refusal::NewerTables(newer)))
        }
        None => Ok(()),
    }
}

impl Store {
    /// The program whose tables these are, if it is newer than this one.
    ///
    /// # Errors
    /// The database is unreachable, or the tables belong to a different build.
    pub(crate) async fn newer_tables(&self) -> Result<Option<NewerTables>, StoreError> {
        let migrations = self.migrations();
        on_session!(self, in_time, session => {
            let mut statements = session.statements().await?;
            let applied: Vec<AppliedRow> = statements.rows(Query::new(APPLIED)).await?;
            let Some(migration) = newest_unknown(migrations, &applied)? else {
                return statements.commit().await.map(|()| None);
            };
            let program: Option<(Option<String>,)> = statements.row(Query::new(PROGRAM)).await?;
            statements.commit().await?;
            let program = program.and_then(|(version,)| version);
            Ok(Some(NewerTables::new(migration, program.as_deref())))
        })
    }

    /// Reads from the tables of a newer program from now on. Writes are refused until this process ends.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn read_newer_tables(&self, newer: NewerTables) -> Result<(), StoreError> {
        self.writing.set(Some(Refusal::NewerTables(newer)));
        // Set already where it was called before.
        let _ = self.migrated.set(());
        self.version().await.map(drop)
    }

    /// The newer program whose tables these are, where that is known.
    #[must_use]
    pub fn newer_program(&self) -> Option<NewerTables> {
        match self.writing.refusal()? {
            Refusal::NewerTables(newer) => Some(newer),
            _ => None,
        }
    }
}

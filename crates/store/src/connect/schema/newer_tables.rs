//! Tables of a newer program: this one reads them, and writes nothing.

use sqlx::FromRow;
use sqlx::migrate::Migrator;

use super::migrations::newest_of;
use super::program::NewerTables;
use crate::connect::query::Query;
use crate::record::refusal::Refusal;
use crate::{Store, StoreError};

const APPLIED: &str = "SELECT version, checksum FROM _sqlx_migrations ORDER BY version";
const PROGRAM: &str = "SELECT program FROM store_version WHERE id = 1";

/// Notes the newest migration, and which program applied it.
pub(crate) const NOTE_PROGRAM: &str =
    "UPDATE store_version SET migration = $1, program = $2 WHERE id = 1 AND migration < $1";

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

impl Store {
    /// The program whose tables these are, if it is newer than this one.
    ///
    /// # Errors
    /// The database is unreachable, or the tables belong to a different build.
    pub(crate) async fn newer_tables(&self) -> Result<Option<NewerTables>, StoreError> {
        let migrations = self.migrations();
        let mut loan = self.connection_without_waiting().await?;
        let mut tx = loan.statements().await?;
        let applied: Vec<AppliedRow> = tx.rows(Query::new(APPLIED)).await?;
        let Some(migration) = newest_unknown(migrations, &applied)? else {
            return Ok(None);
        };
        let (program,): (String,) = tx.one(Query::new(PROGRAM)).await?;
        Ok(Some(NewerTables::new(migration, &program)))
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

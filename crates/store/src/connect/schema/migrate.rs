//! Brings the tables of a database up to date.

use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};

use super::migrations::{POSTGRES_MIGRATIONS, SQLITE_MIGRATIONS, own_migration};
use super::newer_tables::NOTE_PROGRAM;
use super::program::OWN_VERSION;
use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::keep::reporting::replace_views;
use crate::{Store, StoreError};

/// One program migrates at a time: the row is locked, or, before there is one, a number. Transactions that write are waited
/// for, and later ones wait for the end of this one.
const HOLD_WRITERS: &str = "
    DO $$
    BEGIN
        IF to_regclass('store_version') IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('unroof'), hashtext('migrations'));
        END IF;
        IF to_regclass('store_version') IS NOT NULL THEN
            PERFORM FROM store_version FOR UPDATE;
        END IF;
    END
    $$";

impl Store {
    /// The migrations of this program.
    pub(crate) fn migrations(&self) -> &'static Migrator {
        match &self.pool {
            Pool::Postgres { .. } => &POSTGRES_MIGRATIONS,
            Pool::Sqlite { .. } => &SQLITE_MIGRATIONS,
        }
    }

    /// Brings the tables up to date. Replicas may do so concurrently.
    ///
    /// # Errors
    /// The database is unreachable or returns an error, or its tables are newer than this program.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        if let Err(error) = self.apply_migrations().await {
            let StoreError::OtherTables(_) = error else {
                return Err(error);
            };
            let newer = self.newer_tables().await?;
            return Err(newer.map_or(error, StoreError::NewerTables));
        }
        // Set already where it was called before.
        let _ = self.migrated.set(());
        // Learns the database's time.
        self.version().await.map(drop)
    }

    async fn apply_migrations(&self) -> Result<(), StoreError> {
        let migrations = self.migrations();
        let newest = own_migration();
        match &self.pool {
            // A connection of its own has no limits in time, and says what is wrong where the pool says only that it
            // waited.
            Pool::Postgres { direct, .. } => {
                let connecting = async { Ok(PgConnection::connect_with(direct).await?) };
                let mut connection = self.in_time(connecting).await?;
                let mut transaction = connection.begin().await?;
                sqlx::query(HOLD_WRITERS).execute(&mut *transaction).await?;
                migrations
                    .run_direct(None, &mut *transaction, false)
                    .await?;
                let note = sqlx::query(NOTE_PROGRAM).bind(newest).bind(OWN_VERSION);
                note.execute(&mut *transaction).await?;
                replace_views(&mut transaction).await?;
                transaction.commit().await?;
                connection.close().await?;
            }
            // The write lock of the transaction does the same.
            Pool::Sqlite { pool, .. } => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                migrations
                    .run_direct(None, &mut *transaction, false)
                    .await?;
                let note = sqlx::query(NOTE_PROGRAM).bind(newest).bind(OWN_VERSION);
                note.execute(&mut *transaction).await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }

    /// Checks that the tables are up to date, and leaves them as they are. Those of a newer program can be read.
    ///
    /// # Errors
    /// The database is unreachable, or its tables are older than this program or belong to a different build.
    pub(crate) async fn require_tables(&self) -> Result<(), StoreError> {
        const SQL: &str = "SELECT max(version) FROM _sqlx_migrations";
        let newest = own_migration();
        let reading = self.row_without_waiting::<(Option<i64>,)>(Query::new(SQL));
        match reading.await.map(Option::unwrap_or_default) {
            Ok((Some(applied),)) if applied > newest => {
                if let Some(newer) = self.newer_tables().await? {
                    return self.read_newer_tables(newer).await;
                }
            }
            Ok((Some(applied),)) if applied == newest => {}
            // A database without the table was never brought up to date.
            Ok(_) | Err(StoreError::Query(sqlx::Error::Database(_))) => {
                return Err(StoreError::OlderTables);
            }
            Err(error) => return Err(error),
        }
        // Set already where it was called before.
        let _ = self.migrated.set(());
        self.version().await.map(drop)
    }
}

//! Brings the tables of a database up to date.

use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};

use super::database::Pool;
use super::reporting::replace_views;
use super::{Store, StoreError};

static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

impl Store {
    /// Brings the tables up to date. Replicas may do so concurrently.
    ///
    /// # Errors
    /// The database is unreachable or returns an error, or its tables are newer than this program.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.pool {
            // The migrator holds an advisory lock, so that one replica migrates and the others wait. A connection
            // of its own has no limits in time, and says what is wrong where the pool says only that it waited.
            Pool::Postgres {
                without_timeouts, ..
            } => {
                let connecting = async { Ok(PgConnection::connect_with(without_timeouts).await?) };
                let mut connection = self.in_time(connecting).await?;
                POSTGRES_MIGRATIONS
                    .run_direct(None, &mut connection, false)
                    .await?;
                replace_views(&mut connection).await?;
                connection.close().await?;
            }
            // The write lock of a transaction around all migrations does the same.
            Pool::Sqlite { pool, .. } => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                SQLITE_MIGRATIONS
                    .run_direct(None, &mut *transaction, false)
                    .await?;
                transaction.commit().await?;
            }
        }
        // Set already where it was called before.
        let _ = self.migrated.set(());
        // Learns the database's time.
        self.version().await.map(drop)
    }
}

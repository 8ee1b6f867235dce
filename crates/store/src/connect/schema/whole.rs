//! Whether every table and column of this program is there.

use std::collections::BTreeSet;

use sqlx::{Connection, SqliteConnection};
use tokio::sync::OnceCell;

use super::migrations::SQLITE_MIGRATIONS;
use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::{Store, StoreError};

/// Columns of the tables, and names of the views: the columns of one whose table is missing cannot be read.
const COLUMNS_OF_SQLITE: &str = "
    SELECT made.name, columns.name FROM sqlite_schema AS made CROSS JOIN pragma_table_info(made.name) AS columns
    WHERE made.type = 'table'
    UNION ALL
    SELECT name, '' FROM sqlite_schema WHERE type = 'view'";
const COLUMNS_OF_POSTGRES: &str = "
    SELECT relname::text, CASE relkind WHEN 'v' THEN '' ELSE attname::text END
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relkind IN ('r', 'p', 'v') AND relnamespace <> 'pg_catalog'::regnamespace AND pg_table_is_visible(pg_class.oid)
      AND attnum > 0 AND NOT attisdropped";

/// Names of tables, each with those of its columns.
type Columns = BTreeSet<(String, String)>;

/// Columns that the migrations make, which are the same on both databases.
async fn own_columns() -> Result<Columns, StoreError> {
    let mut empty = SqliteConnection::connect("sqlite::memory:").await?;
    for migration in SQLITE_MIGRATIONS.iter() {
        let made = sqlx::raw_sql(migration.sql.clone());
        made.execute(&mut empty).await?;
    }
    let columns = sqlx::query_as(COLUMNS_OF_SQLITE);
    let columns: Vec<(String, String)> = columns.fetch_all(&mut empty).await?;
    Ok(columns.into_iter().collect())
}

impl Store {
    /// Checks that no table, view or column is missing.
    ///
    /// # Errors
    /// One is, or the database is unreachable.
    pub async fn require_whole_tables(&self) -> Result<(), StoreError> {
        static OWN: OnceCell<Columns> = OnceCell::const_new();
        let own = OWN.get_or_try_init(own_columns).await?;
        let sql = match self.pool {
            Pool::Postgres { .. } => COLUMNS_OF_POSTGRES,
            Pool::Sqlite { .. } => COLUMNS_OF_SQLITE,
        };
        let found: Vec<(String, String)> = self.rows(Query::new(sql)).await?;
        let found: Columns = found.into_iter().collect();
        let Some((table, column)) = own.difference(&found).next() else {
            return Ok(());
        };
        let is_there = found.iter().any(|(name, _)| name == table);
        Err(StoreError::Missing(if is_there {
            format!("the column `{column}` of `{table}`")
        } else {
            format!("the table `{table}`")
        }))
    }
}

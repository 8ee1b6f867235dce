//! Statements that work on rows of values, declared once for both databases.
//!
//! PostgreSQL takes the rows as arrays: the text of a statement is the same for any number of rows, so it is prepared
//! once, and several statements that write are sent as one, in one round trip. SQLite takes lists of values, a
//! statement at a time.

use std::slice;
use std::sync::OnceLock;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{Executor, FromRow, PgConnection, QueryBuilder, SqlSafeStr, Sqlite, SqliteConnection};

use super::StoreError;
use super::query::{Query, bound};
use super::value::{Kind, Value};

/// Rows for one statement, each with a value per column.
pub(super) type Rows<'a> = Vec<Vec<Value<'a>>>;

/// Given rows, in the text of a statement.
const GIVEN: &str = "FROM given";

/// A statement that works on given rows, which it reads by `FROM given`. Their columns are `given.column1`,
/// `given.column2` and so on.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) sql: &'static str,
    /// Columns of the given rows.
    pub(super) columns: &'static [Kind],
}

/// Statements on given rows, which PostgreSQL gets as one. Its text for PostgreSQL is assembled once.
#[derive(Debug)]
pub(super) struct Statement {
    pieces: &'static [Piece],
    text: OnceLock<String>,
}

/// Rows per statement of SQLite: each has up to twenty-four values, and a statement takes 32,766 of them.
pub(super) const MOST_ROWS: usize = 1_000;

/// A type that is read from a row of either database.
pub(super) trait FromEitherRow:
    for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl<T> FromEitherRow for T where
    T: for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl Piece {
    /// The texts before and after the given rows.
    fn around_rows(&self) -> (&'static str, &'static str) {
        let around = self.sql.split_once(GIVEN);
        around.expect("the statement reads the given rows")
    }

    /// The statement with the rows as arrays, of which the first is the parameter after `used`.
    fn with_arrays(&self, used: usize) -> String {
        let (before, after) = self.around_rows();
        let arrays = self.columns.iter().enumerate();
        let arrays = arrays.map(|(index, kind)| format!("${}::{}", used + index + 1, kind.array()));
        let names = (1..=self.columns.len()).map(|number| format!("column{number}"));
        format!(
            "{before} FROM unnest({}) AS given ({}) {after}",
            arrays.collect::<Vec<_>>().join(", "),
            names.collect::<Vec<_>>().join(", "),
        )
    }

    /// The statement with the rows as a list.
    fn with_list(&self, rows: &[Vec<Value<'_>>]) -> QueryBuilder<Sqlite> {
        let (before, after) = self.around_rows();
        let mut query = QueryBuilder::new(before);
        query.push("FROM (");
        query.push_values(rows, |mut list, row| {
            for value in row {
                list.push_bind(value);
            }
        });
        query.push(") AS given").push(after);
        query
    }
}

impl Statement {
    /// Pieces do not see each other's writes, and no two change the same row.
    pub(super) const fn new(pieces: &'static [Piece]) -> Self {
        Self {
            pieces,
            text: OnceLock::new(),
        }
    }

    /// The one statement, for PostgreSQL.
    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            if let [piece] = self.pieces {
                return piece.with_arrays(0);
            }
            let mut used = 0;
            let mut parts = Vec::new();
            for (number, piece) in self.pieces.iter().enumerate() {
                parts.push(format!("part{number} AS ({})", piece.with_arrays(used)));
                used += piece.columns.len();
            }
            format!("WITH {} SELECT 1", parts.join(", "))
        })
    }

    /// The statements of SQLite, a few rows at a time, and whether each is kept: only that of a single row comes
    /// again.
    fn with_lists(&self, rows: &[Rows<'_>]) -> impl Iterator<Item = (QueryBuilder<Sqlite>, bool)> {
        self.pieces.iter().zip(rows).flat_map(|(piece, rows)| {
            let chunks = rows.chunks(MOST_ROWS);
            chunks.map(move |rows| (piece.with_list(rows), rows.len() == 1))
        })
    }

    /// The columns of the rows of all pieces, each as an array.
    fn arrays(&self, rows: &[Rows<'_>]) -> Result<PgArguments, StoreError> {
        let mut arguments = PgArguments::default();
        for (piece, rows) in self.pieces.iter().zip(rows) {
            for (index, kind) in piece.columns.iter().enumerate() {
                let column = rows.iter().map(|row| &row[index]);
                kind.add_array(&mut arguments, column)
                    .map_err(sqlx::Error::Encode)?;
            }
        }
        Ok(arguments)
    }
}

/// A connection to one database or the other.
pub(super) enum Either<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
}

/// A connection that works on given rows, and executes queries.
pub(super) trait Connected {
    /// The connection, and whether the server keeps its statements under a name for later ones.
    fn either(&mut self) -> (Either<'_>, bool);

    /// Prepares a statement, so that using it takes one round trip. SQLite has none.
    async fn prepare_rows(&mut self, statement: &'static Statement) -> Result<(), StoreError> {
        if let (Either::Postgres(connection), true) = self.either() {
            connection.prepare(statement.text().into_sql_str()).await?;
        }
        Ok(())
    }

    /// The same for a query.
    async fn prepare(&mut self, sql: &'static str) -> Result<(), StoreError> {
        match self.either() {
            (Either::Postgres(connection), true) => {
                connection.prepare(sql.into_sql_str()).await?;
            }
            (Either::Sqlite(connection), true) => {
                connection.prepare(sql.into_sql_str()).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Executes a statement that writes, with rows for each of its pieces.
    async fn write_rows(
        &mut self,
        statement: &'static Statement,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = sqlx::query_with(statement.text(), statement.arrays(rows)?);
                query.persistent(are_named).execute(connection).await?;
            }
            (Either::Sqlite(connection), _) => {
                for (mut query, is_kept) in statement.with_lists(rows) {
                    let query = query.build().persistent(is_kept);
                    query.execute(&mut *connection).await?;
                }
            }
        }
        Ok(())
    }

    /// The number that a query without parameters finds.
    async fn read_number(&mut self, sql: &'static str) -> Result<i64, StoreError> {
        let (number,) = self.one(Query::new(sql)).await?;
        Ok(number)
    }

    /// Executes a query; how many rows were written.
    async fn execute(&mut self, query: Query<'_>) -> Result<u64, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query, query).persistent(are_named);
                query.execute(connection).await?.rows_affected()
            }
            (Either::Sqlite(connection), _) => {
                let query = bound!(query, query);
                query.execute(connection).await?.rows_affected()
            }
        })
    }

    /// The rows that a query finds.
    async fn rows<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<Vec<T>, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query_as, query).persistent(are_named);
                query.fetch_all(connection).await?
            }
            (Either::Sqlite(connection), _) => {
                bound!(query_as, query).fetch_all(connection).await?
            }
        })
    }

    /// The row that a query finds, if there is one.
    async fn row<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<Option<T>, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query_as, query).persistent(are_named);
                query.fetch_optional(connection).await?
            }
            (Either::Sqlite(connection), _) => {
                bound!(query_as, query).fetch_optional(connection).await?
            }
        })
    }

    /// The row that a query always finds.
    async fn one<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<T, StoreError> {
        let row = self.row(query).await?;
        row.ok_or(StoreError::Query(sqlx::Error::RowNotFound))
    }

    /// The rows that a statement of one piece finds for given ones. Without any, the database is not asked.
    async fn read_rows<T: FromEitherRow>(
        &mut self,
        statement: &'static Statement,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        match self.either() {
            _ if rows.is_empty() => {}
            (Either::Postgres(connection), are_named) => {
                let arrays = statement.arrays(slice::from_ref(rows))?;
                let query = sqlx::query_as_with(statement.text(), arrays);
                found = query.persistent(are_named).fetch_all(connection).await?;
            }
            (Either::Sqlite(connection), _) => {
                for (mut query, is_kept) in statement.with_lists(slice::from_ref(rows)) {
                    let query = query.build_query_as().persistent(is_kept);
                    found.extend(query.fetch_all(&mut *connection).await?);
                }
            }
        }
        Ok(found)
    }
}

//! Rows for the check of a database, a page at a time, and what is wrong with those that need no engine.

mod chain;
mod estimates;
pub(crate) mod fault;
mod history;
mod links;
pub(crate) mod rules;
pub(crate) mod sheets;

pub use chain::Chains;
pub use estimates::CheckedEstimate;
pub use history::HistoryPage;
pub use links::{CheckedListing, Links, ModelColumns};
pub use rules::{Numbers, RULES, Rule, windows};
pub use sheets::CheckedSheet;

use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, FromRow};

use super::backup::structure_faults;
use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::{Store, StoreError};

/// The names of the parts that are not the same.
#[must_use]
pub fn differing<const N: usize>(parts: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differing = parts.into_iter().filter(|(_, is_same)| !is_same);
    differing.map(|(name, _)| name).collect()
}

/// Number of rows to check, for the progress of it.
#[derive(Debug, Clone, Copy, FromRow)]
pub struct RowCounts {
    /// Number of price sheets.
    pub sheets: i64,
    /// Number of estimates.
    pub estimates: i64,
    /// Offers with a history.
    pub offers: i64,
}

const COUNTS: &str = "
    SELECT (SELECT count(*) FROM price_sheets) AS sheets, (SELECT count(*) FROM estimates) AS estimates,
           (SELECT count(*) FROM (
               SELECT offer_id FROM observations UNION SELECT offer_id FROM price_periods) AS offers) AS offers";

const IS_IMPORTING: &str = "SELECT EXISTS (SELECT 1 FROM imports WHERE outcome = 'running')";

impl Store {
    /// Number of rows to check.
    ///
    /// # Errors
    /// The query fails.
    pub async fn rows_to_check(&self) -> Result<RowCounts, StoreError> {
        self.one(Query::new(COUNTS)).await
    }

    /// Whether an import runs: the histories of the offers that it has read are derived again at its end.
    ///
    /// # Errors
    /// The query fails.
    pub async fn is_importing(&self) -> Result<bool, StoreError> {
        let (is_importing,) = self.one(Query::new(IS_IMPORTING)).await?;
        Ok(is_importing)
    }

    /// Faults in the structure of the file of an embedded database. PostgreSQL checks its own.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn structure_faults(&self) -> Result<Vec<String>, StoreError> {
        let Pool::Sqlite { pool, .. } = &self.pool else {
            return Ok(Vec::new());
        };
        // On a connection of its own: it reads the whole file, for which no operation has the time.
        let options = pool.connect_options().as_ref().clone();
        let options = options.read_only(true).disable_statement_logging();
        let mut connection: SqliteConnection = options.connect().await?;
        structure_faults(&mut connection).await
    }
}

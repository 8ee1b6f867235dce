//! Time, trace and end of one operation on a connection.

use std::time::Duration;

use tokio::time::timeout_at;
use tracing::{Instrument, Span};

use crate::StoreError;
use crate::connect::query::Query;
use crate::record::refusal::Refusal;

/// One operation: its time limit, its trace, and the end of its connection.
pub(crate) struct Operation {
    /// Whether PostgreSQL keeps statements under a name for later ones. Behind a pooler in transaction mode it cannot.
    pub(crate) has_names: bool,
    pub(crate) deadline: tokio::time::Instant,
    pub(crate) span: Span,
    pub(crate) is_on_standby: bool,
    /// Whether the connection is to be closed. It is while a transaction begins: if the client leaves then, it may have begun
    /// or not.
    pub(crate) is_spoiled: bool,
    /// Reason that the primary takes no writes, where a statement has met one.
    pub(crate) refusal: Option<Refusal>,
}

impl Operation {
    /// Allows it this time from now on.
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline = tokio::time::Instant::now() + time;
    }

    /// Names a query in its trace; the text holds no values.
    pub(crate) fn note(&self, query: &Query<'_>) {
        self.span.record("db.query.text", query.sql.as_str());
    }

    /// Runs a statement within the time that is left. After an error SQLite may have rolled back the transaction, and a
    /// PostgreSQL connection may be in the middle of a response: such a connection is closed.
    pub(crate) async fn run<T>(
        &mut self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let statement = Box::pin(statement.instrument(self.span.clone()));
        let outcome = match timeout_at(self.deadline, statement).await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(_) => Err(StoreError::Away),
        };
        if let Err(error) = &outcome {
            self.is_spoiled |= error.spoils_connection();
            if !self.is_on_standby {
                self.refusal = error.refusal().or(self.refusal);
            }
        }
        outcome
    }

    /// Runs the beginning of a transaction.
    pub(crate) async fn begin<T>(
        &mut self,
        beginning: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        self.is_spoiled = true;
        let begun = self.run(beginning).await?;
        self.is_spoiled = false;
        Ok(begun)
    }
}

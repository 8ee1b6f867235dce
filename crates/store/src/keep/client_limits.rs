//! Budgets of clients that all replicas share.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::connect::query::Query;
use crate::{Store, StoreError};

// The parameters are the client, the time at which a whole budget is whole again after this charge, what the charge adds to
// another one, the latest time at which a budget that has enough is whole, and now. A budget that has too little is not changed.
const CHARGE: &str = "
    INSERT INTO client_limits AS known (client, whole_at) VALUES ($1, $2)
    ON CONFLICT (client) DO UPDATE
    SET whole_at = CASE WHEN known.whole_at <= $5 THEN $2 ELSE known.whole_at + $3 END
    WHERE known.whole_at <= $4
    RETURNING whole_at";

const FORGET: &str = "DELETE FROM client_limits WHERE whole_at <= $1";

/// A charge to a budget, as times: a point is the time in which it comes back.
#[derive(Debug, Clone, Copy)]
pub struct ClientCharge<'a> {
    /// Name of the client, of which only a hash is stored.
    pub client: &'a str,
    /// Time of the charge.
    pub at: Timestamp,
    /// Time in which what is charged comes back; at most that of the whole.
    pub cost: Duration,
    /// Time in which the whole comes back.
    pub whole: Duration,
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4)
}

impl Store {
    /// Charges a client; the time until its budget is whole again, or none if it has too little and nothing was charged.
    ///
    /// # Errors
    /// The database is unreachable or takes no writes.
    pub async fn charge_client(
        &self,
        charge: ClientCharge<'_>,
    ) -> Result<Option<Duration>, StoreError> {
        let (now, cost) = (charge.at.as_microsecond(), micros(charge.cost));
        let query = Query::new(CHARGE)
            .bind(Sha256::digest(charge.client).to_vec())
            .bind(now + cost)
            .bind(cost)
            .bind(now + micros(charge.whole) - cost)
            .bind(now);
        // A single statement, since every request waits for it; what it writes no later version reads.
        let _writer = self.wait_to_write().await?;
        let row: Option<(i64,)> = self.row(query).await?;
        let left = |(whole_at,): (i64,)| u64::try_from(whole_at - now).unwrap_or_default();
        Ok(row.map(left).map(Duration::from_micros))
    }

    /// Forgets the clients whose budgets are whole again.
    ///
    /// # Errors
    /// The database is unreachable or takes no writes.
    pub async fn forget_clients(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.write(Query::new(FORGET).bind(now.as_microsecond()))
            .await
    }
}

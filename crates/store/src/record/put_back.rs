//! Puts back what was recorded by a clock that was ahead, once the clock is right again.
//!
//! A time that a source states, such as the start of an announced price, may lie in the future; a time at which something was seen
//! or recorded may not. Such times are put back: they keep their order, their distances as far as there is room, and their place
//! after what was recorded before them. Whether a clock is right cannot be known where it only says that it is earlier than what is
//! recorded: it may be behind. It counts as right where what is later could have been recorded since the last record before it, or
//! is further away from now than it is long.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::recorded_times::RecordedTimes;
use super::work::Work;
use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::connect::rows::{Piece, Rows};
use crate::connect::tx::Tx;
use crate::connect::value::Kind;
use crate::connect::version::take_numbers;
use crate::{DbTime, Store, StoreError, locked};

/// Times that are closer are left alone: they come soon, and what was recorded then is in force.
const MARGIN: SignedDuration = SignedDuration::from_mins(1);
/// The start of 2026: the program was made later, so that an earlier clock is wrong.
const PROGRAM_MADE: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// Time in which all may have been recorded where nothing was recorded before.
const FIRST_DAY: SignedDuration = SignedDuration::from_hours(24);
/// Pause after a clock that was not seen to be right.
const PAUSE: Duration = Duration::from_mins(1);
/// Smallest distance of two times.
const STEP: SignedDuration = SignedDuration::from_micros(1);

/// A column with times.
struct Column {
    /// Times later than a given one.
    later: &'static str,
    /// The last time that is not.
    last: &'static str,
    put_back: Piece,
}

/// A column of a table, and which of its rows are put back.
macro_rules! column {
    ($table:literal, $column:literal) => {
        column!($table, $column, "TRUE")
    };
    ($table:literal, $column:literal, $condition:literal) => {
        Column {
            later: concat!(
                "SELECT DISTINCT ",
                $column,
                " FROM ",
                $table,
                " WHERE ",
                $column,
                " > $1"
            ),
            last: concat!(
                "SELECT max(",
                $column,
                ") FROM ",
                $table,
                " WHERE ",
                $column,
                " <= $1"
            ),
            put_back: Piece {
                sql: concat!(
                    "UPDATE ",
                    $table,
                    " SET ",
                    $column,
                    " = given.column2 FROM given WHERE ",
                    $table,
                    ".",
                    $column,
                    " = given.column1 AND ",
                    $condition
                ),
                columns: &[Kind::Time, Kind::Time],
            },
        }
    };
}

/// Times at which something was seen or recorded.
const RECORDED: [Column; 17] = [
    column!("snapshots", "at"),
    column!("unparsed_entries", "at"),
    column!("observations", "first_at"),
    column!("observations", "last_at"),
    column!("withdrawals", "at"),
    column!("withdrawals", "undone_at"),
    column!("price_periods", "observed_at"),
    column!("price_periods", "last_seen_at"),
    column!("price_periods", "withdrawn_at"),
    column!("disagreements", "observed_at"),
    column!("disagreements", "ended_at"),
    column!("price_sheets", "observed_at"),
    column!("estimate_listings", "observed_at"),
    column!("model_estimates", "observed_at"),
    column!("changes", "observed_at"),
    column!("imports", "started_at"),
    column!("imports", "ended_at"),
];

/// Times that follow from those, or are stated: these are none of them.
const DERIVED: [Column; 6] = [
    column!("price_periods", "starts_at"),
    column!("price_periods", "not_before"),
    column!("price_periods", "ends_at", "given.column2 >= starts_at"),
    column!("changes", "valid_from"),
    column!("stored_times", "earliest"),
    column!("stored_times", "latest"),
];

/// The last time that was recorded before all that are later than a given one.
const BEFORE: &str = "
    SELECT max(observed_at) FROM (
        SELECT sequence, observed_at FROM changes
        UNION ALL SELECT sequence, observed_at FROM price_sheets
        UNION ALL SELECT sequence, observed_at FROM estimate_listings) AS stored
    WHERE observed_at <= $1 AND sequence < coalesce((
        SELECT min(sequence) FROM (
            SELECT min(sequence) AS sequence FROM changes WHERE observed_at > $1
            UNION ALL SELECT min(sequence) FROM price_sheets WHERE observed_at > $1
            UNION ALL SELECT min(sequence) FROM estimate_listings WHERE observed_at > $1) AS later), sequence + 1)";

/// Offers of prices that count as begun, or as ended, though their time has not come. One that was withdrawn before it began is
/// empty, and counts as both.
const TOO_EARLY: &str = "
    SELECT DISTINCT offer_id FROM price_periods
    WHERE ((has_begun = TRUE AND starts_at > $1) OR (has_ended = TRUE AND ends_at > $1))
      AND (ends_at IS NULL OR ends_at > starts_at)";

/// Offers whose periods are derived in one transaction.
const OFFERS_AT_ONCE: usize = 500;

impl Store {
    /// Notes that something was recorded at a time.
    pub(crate) fn note_recorded(&self, at: Timestamp) {
        let mut recorded = locked(&self.recorded);
        recorded.newest = recorded.newest.map(|newest| newest.max(at));
    }

    /// The time at which something is recorded now: never ahead of the database's time. What a clock that was ahead has recorded is
    /// put back before, if that can be done.
    pub async fn time_to_record(&self, now: Timestamp) -> Timestamp {
        if let Err(error) = Box::pin(self.put_back(now)).await {
            let error = error.with_causes();
            tracing::debug!(
                error,
                "the recorded times cannot be compared with the clock"
            );
        }
        self.not_ahead(now)
    }

    /// Puts back what is recorded later than now, if the clock is right.
    ///
    /// # Errors
    /// A query fails.
    async fn put_back(&self, now: Timestamp) -> Result<(), StoreError> {
        let now = match self.pool {
            // PostgreSQL has a clock of its own, which counts.
            Pool::Postgres { .. } => match self.database_time() {
                Some(time) => time,
                None => return Ok(()),
            },
            Pool::Sqlite { .. } => now,
        };
        let limit = now.checked_add(MARGIN).unwrap_or(now);
        if !locked(&self.recorded).may_be_after(limit) {
            return Ok(());
        }
        let writer = self.wait_to_write().await?;
        let is_right = self.put_times_back(now, limit).await?;
        if is_right {
            self.derive_too_early(now, limit).await?;
        }
        *locked(&self.recorded) = RecordedTimes {
            newest: is_right.then_some(limit),
            rests_until: (!is_right).then(|| Instant::now() + PAUSE),
        };
        drop(writer);
        Ok(())
    }

    /// Puts the times back. Whether the clock is right.
    async fn put_times_back(&self, now: Timestamp, limit: Timestamp) -> Result<bool, StoreError> {
        let mut loan = self.connection_for_many().await?;
        if later_than(&mut loan.statements().await?, limit)
            .await?
            .is_empty()
        {
            return Ok(true);
        }
        let mut tx = loan.writing().await?;
        // Another process may have put them back meanwhile.
        let version = take_numbers(&mut tx, 1).await?.last;
        let later = later_than(&mut tx, limit).await?;
        let (Some(first), Some(last)) = (later.first().copied(), later.last().copied()) else {
            return Ok(true);
        };
        let (before,): (Option<DbTime>,) =
            tx.one(Query::new(BEFORE).bind(DbTime::from(now))).await?;
        if !is_right(now, before.map(Timestamp::from), (first, last)) {
            tracing::warn!(
                %now, %first, %last,
                "the clock is behind what is recorded, or was ahead of it for long: nothing is put back"
            );
            return Ok(false);
        }
        let put_back = put_back_times(&later, last_until(&mut tx, limit).await?, now);
        let rows: Rows<'_> = later
            .iter()
            .zip(put_back)
            .map(|(was, is)| vec![(*was).into(), is.into()])
            .collect();
        for column in RECORDED.iter().chain(&DERIVED) {
            let piece = std::slice::from_ref(&column.put_back);
            tx.write_rows(piece, std::slice::from_ref(&rows)).await?;
        }
        tx.commit().await?;
        self.advance_version(version);
        tracing::warn!(
            %now, %first, %last, times = later.len(),
            "the clock was ahead: what was recorded later than now is put back"
        );
        Ok(true)
    }

    /// Derives the prices again that the clock has begun or ended too early.
    async fn derive_too_early(&self, now: Timestamp, limit: Timestamp) -> Result<(), StoreError> {
        let query = Query::new(TOO_EARLY).bind(DbTime::from(limit));
        let offers: Vec<(Uuid,)> = self.rows(query).await?;
        let offers: Vec<Uuid> = offers.into_iter().map(|(id,)| id).collect();
        for offers in offers.chunks(OFFERS_AT_ONCE) {
            let work = Work {
                now: DbTime::from(now).into(),
                again: offers.to_vec(),
                ..Work::default()
            };
            self.record_at_once(&work, None).await?;
        }
        Ok(())
    }
}

/// Recorded times later than another, in order.
async fn later_than(tx: &mut Tx<'_>, limit: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
    let mut later = BTreeSet::new();
    for column in &RECORDED {
        let query = Query::new(column.later).bind(DbTime::from(limit));
        let times: Vec<(DbTime,)> = tx.rows(query).await?;
        later.extend(times.into_iter().map(|(time,)| Timestamp::from(time)));
    }
    Ok(later.into_iter().collect())
}

/// The last recorded time that is not later than another.
async fn last_until(tx: &mut Tx<'_>, limit: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let mut last = None;
    for column in &RECORDED {
        let query = Query::new(column.last).bind(DbTime::from(limit));
        let (time,): (Option<DbTime>,) = tx.one(query).await?;
        last = last.max(time.map(Timestamp::from));
    }
    Ok(last)
}

/// Whether a clock is right that is earlier than what is recorded from a first to a last time, after a time before.
fn is_right(
    now: Timestamp,
    before: Option<Timestamp>,
    (first, last): (Timestamp, Timestamp),
) -> bool {
    let length = last.duration_since(first);
    let room = before.map_or(FIRST_DAY, |before| now.duration_since(before));
    now >= PROGRAM_MADE && (length <= room || length < first.duration_since(now))
}

/// The times at which later ones are put back: the last of them now, the others as much before it as they were, and all of them in
/// order and after what was recorded before.
fn put_back_times(
    later: &[Timestamp],
    before: Option<Timestamp>,
    now: Timestamp,
) -> Vec<Timestamp> {
    let ahead = later
        .last()
        .map_or(SignedDuration::ZERO, |last| last.duration_since(now));
    let mut least = before;
    let put_back = |time: &Timestamp| {
        let next = least.and_then(|least| least.checked_add(STEP).ok());
        let time = time.checked_sub(ahead).unwrap_or(now);
        let time = next.map_or(time, |next| next.max(time));
        least = Some(time);
        time
    };
    later.iter().map(put_back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_clock_is_right_where_the_later_times_fit_between_the_last_record_and_now() {
        let now = at("2026-11-21T12:00:00Z");
        let before = Some(at("2026-11-21T11:00:00Z"));
        let second = (at("2036-01-01T00:00:00Z"), at("2036-01-01T00:00:01Z"));
        assert!(is_right(now, before, second) && is_right(now, None, second));
        let hour = (at("2026-11-22T11:00:00Z"), at("2026-11-22T12:00:00Z"));
        assert!(is_right(now, before, hour));
        // A record without a break, and a clock that has fallen into the middle of it.
        let months = (at("2026-11-21T13:00:00Z"), at("2027-06-01T00:00:00Z"));
        assert!(!is_right(now, before, months) && !is_right(now, None, months));
        assert!(!is_right(at("1970-01-01T00:00:00Z"), None, second));
    }

    #[test]
    fn times_are_put_back_in_order_with_their_distances_and_after_what_was_before() {
        let now = at("2026-11-21T12:00:00Z");
        let later = [
            "2030-01-01T00:00:00Z",
            "2036-01-01T00:00:00Z",
            "2036-01-01T00:00:02Z",
        ];
        let later = later.map(at);
        let put_back = put_back_times(&later, Some(at("2026-11-21T11:59:59Z")), now);
        let expected = [
            "2026-11-21T11:59:59.000001Z",
            "2026-11-21T11:59:59.000002Z",
            "2026-11-21T12:00:00Z",
        ];
        assert_eq!(put_back, expected.map(at));
        let put_back = put_back_times(&later[1..], None, now);
        assert_eq!(
            put_back,
            ["2026-11-21T11:59:58Z", "2026-11-21T12:00:00Z"].map(at)
        );
    }
}

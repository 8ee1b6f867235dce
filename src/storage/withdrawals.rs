//! Prices that are withdrawn, and withdrawals that are undone.

use jiff::Timestamp;
use sqlx::{Connection, FromRow};
use uuid::Uuid;

use super::changes::ChangeKind;
use super::database::on_connection;
use super::history::{INSERT_CHANGES, change_row};
use super::record::ADVANCE_VERSION;
use super::rows::{Connected, Kind, Piece, Rows, Writing};
use super::value::Value;
use super::{DbTime, Store, StoreError};
use unroof_core::sheet::compare::timeline::{
    Cut, Edit, Period, TimeTaken, reinstate, withdraw, withdrawn_at,
};

/// A price that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Withdrawal {
    /// Time of the withdrawal.
    pub withdrawn_at: DbTime,
    /// Reason for the withdrawal.
    pub withdrawn_because: String,
}

/// Outcome of a withdrawal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Withdrawn {
    /// There is no such sheet.
    #[default]
    Unknown,
    /// The price is neither in force nor announced.
    Over,
    /// The sheet is withdrawn, now or by an earlier request.
    Done(Withdrawal),
}

/// Outcome of undoing a withdrawal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reinstated {
    /// There is no such sheet.
    #[default]
    Unknown,
    /// Another price is in force now.
    Taken,
    /// The sheet is not withdrawn, or no longer.
    Done,
}

// The version first: where the next write makes the one after it, the periods are still these.
const PERIODS_OF_SHEET: &str = "
    SELECT (SELECT version FROM store_version WHERE id = 1) AS version, period.sequence, part, period.sheet_id, catalog,
           starts_at, ends_at, period.observed_at, has_begun, withdrawn_at, withdrawn_because, withdrawn_end,
           sheet.valid_to
    FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id
    WHERE period.offer_id = (SELECT offer_id FROM price_sheets WHERE id = $1)
    ORDER BY starts_at, period.sequence, part";

const IS_SHEET: &str = "SELECT count(*) FROM price_sheets WHERE id = $1";

const END_PERIODS: Piece = Piece {
    before: "
        UPDATE price_periods
        SET ends_at = given.column3, has_begun = given.column4, has_ended = given.column5,
            withdrawn_at = given.column6, withdrawn_because = given.column7, withdrawn_end = given.column8
        FROM",
    columns: &[
        Kind::Number,
        Kind::Number,
        Kind::Time,
        Kind::Flag,
        Kind::Flag,
        Kind::Time,
        Kind::Text,
        Kind::Time,
    ],
    after: "WHERE sequence = given.column1 AND part = given.column2",
};

static END_AND_RECORD: Writing = Writing::new(&[END_PERIODS, INSERT_CHANGES]);

#[derive(Clone, FromRow)]
struct PeriodRow {
    version: i64,
    sequence: i64,
    part: i64,
    sheet_id: Uuid,
    catalog: String,
    starts_at: DbTime,
    ends_at: Option<DbTime>,
    observed_at: DbTime,
    has_begun: bool,
    withdrawn_at: Option<DbTime>,
    withdrawn_because: Option<String>,
    withdrawn_end: Option<DbTime>,
    valid_to: Option<DbTime>,
}

/// The prices of the offer of a sheet.
struct Offer {
    sheet_id: Uuid,
    rows: Vec<PeriodRow>,
    periods: Vec<Period>,
}

/// Edits of a sheet's periods, with the change that is added to the feed.
struct Act {
    edits: Vec<Edit>,
    kind: ChangeKind,
    at: DbTime,
    /// Reason for a withdrawal; none where one is undone.
    reason: Option<String>,
}

/// Decision on a withdrawal or its undoing.
enum Plan<T> {
    /// There is nothing to do.
    Nothing(T),
    /// This is.
    Do(Act, T),
}

impl Store {
    /// Withdraws a price: one in force ends now, an announced one is cancelled, and the previous price continues.
    ///
    /// # Errors
    /// The query fails.
    pub async fn withdraw(
        &self,
        sheet_id: Uuid,
        reason: &str,
        now: Timestamp,
    ) -> Result<Withdrawn, StoreError> {
        self.act(sheet_id, |offer| offer.withdraw(reason, now))
            .await
    }

    /// Undoes the last withdrawal of a sheet: its former periods are restored, unless another price is in force there.
    ///
    /// # Errors
    /// The query fails.
    pub async fn reinstate(
        &self,
        sheet_id: Uuid,
        now: Timestamp,
    ) -> Result<Reinstated, StoreError> {
        self.act(sheet_id, |offer| offer.reinstate(now)).await
    }

    /// Edits the prices of a sheet's offer by a decision based on them. If another writer commits before the version is
    /// taken, the decision is repeated.
    async fn act<T: Default>(
        &self,
        sheet_id: Uuid,
        decide: impl Fn(&Offer) -> Plan<T>,
    ) -> Result<T, StoreError> {
        let _writer = self.wait_to_write().await?;
        on_connection!(self, connection => {
            let rows: Vec<PeriodRow> =
                sqlx::query_as(PERIODS_OF_SHEET).bind(sheet_id).fetch_all(&mut *connection).await?;
            let read_at = rows.first().map(|row| row.version);
            let offer = Offer::new(sheet_id, rows);
            let (mut act, mut outcome) = match decide(&offer) {
                Plan::Do(act, outcome) => (act, outcome),
                Plan::Nothing(outcome) if offer.is_known() => return Ok(outcome),
                Plan::Nothing(outcome) => {
                    let known: i64 =
                        sqlx::query_scalar(IS_SHEET).bind(sheet_id).fetch_one(&mut *connection).await?;
                    return Ok(if known > 0 { outcome } else { T::default() });
                }
            };
            connection.prepare_writing(&END_AND_RECORD).await?;
            let mut transaction = connection.begin_with(self.begin()).await?;
            let version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(1_i64).fetch_one(&mut *transaction).await?;
            let mut offer = offer;
            if read_at != Some(version - 1) {
                let rows = sqlx::query_as(PERIODS_OF_SHEET).bind(sheet_id).fetch_all(&mut *transaction).await?;
                offer = Offer::new(sheet_id, rows);
                (act, outcome) = match decide(&offer) {
                    Plan::Do(act, outcome) => (act, outcome),
                    Plan::Nothing(outcome) => {
                        transaction.rollback().await?;
                        return Ok(outcome);
                    }
                };
            }
            let rows = [offer.edited_rows(&act), vec![act.change(version, sheet_id)]];
            transaction.write_rows(&END_AND_RECORD, &rows).await?;
            transaction.commit().await?;
            self.advance_version(version);
            Ok(outcome)
        })
    }
}

impl Act {
    /// Its row of the feed.
    fn change(&self, version: i64, sheet_id: Uuid) -> Vec<Value<'static>> {
        change_row(version, self.kind, self.at, sheet_id, self.summary())
    }

    fn summary(&self) -> String {
        match &self.reason {
            Some(reason) => format!("withdrawn: {reason}"),
            None => "the withdrawal is undone".to_owned(),
        }
    }
}

impl Offer {
    fn new(sheet_id: Uuid, rows: Vec<PeriodRow>) -> Self {
        let periods = rows.iter().map(PeriodRow::period).collect();
        Self {
            sheet_id,
            rows,
            periods,
        }
    }

    fn is_known(&self) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| row.sheet_id == self.sheet_id)
    }

    /// The current time, or that of the last record if this is later: clocks of replicas differ.
    fn time(&self, now: Timestamp) -> Timestamp {
        let recorded = self.rows.iter();
        let recorded = recorded.flat_map(|row| [Some(row.observed_at), row.withdrawn_at]);
        let last = recorded.flatten().max().map(Timestamp::from);
        last.map_or(now, |last| last.max(now))
    }

    fn withdraw(&self, reason: &str, now: Timestamp) -> Plan<Withdrawn> {
        let now = self.time(now);
        let stated_end = |id: Uuid| {
            let row = self.rows.iter().find(|row| row.sheet_id == id)?;
            row.valid_to.map(Timestamp::from)
        };
        let edits = withdraw(&self.periods, self.sheet_id, now, stated_end);
        if edits.is_empty() {
            return Plan::Nothing(self.withdrawal().map_or(Withdrawn::Over, Withdrawn::Done));
        }
        let withdrawal = Withdrawal {
            withdrawn_at: now.into(),
            withdrawn_because: reason.to_owned(),
        };
        let act = Act {
            edits,
            kind: ChangeKind::SheetWithdrawn,
            at: now.into(),
            reason: Some(reason.to_owned()),
        };
        Plan::Do(act, Withdrawn::Done(withdrawal))
    }

    /// Withdrawal of the sheet, unless the sheet has been in force since.
    fn withdrawal(&self) -> Option<Withdrawal> {
        let at = DbTime::from(withdrawn_at(&self.periods, self.sheet_id)?);
        let is_it =
            |row: &&PeriodRow| row.sheet_id == self.sheet_id && row.withdrawn_at == Some(at);
        let because = self.rows.iter().find(is_it)?.withdrawn_because.clone();
        Some(Withdrawal {
            withdrawn_at: at,
            withdrawn_because: because.unwrap_or_default(),
        })
    }

    fn reinstate(&self, now: Timestamp) -> Plan<Reinstated> {
        let now = self.time(now);
        match reinstate(&self.periods, self.sheet_id, now) {
            Err(TimeTaken) => Plan::Nothing(Reinstated::Taken),
            Ok(edits) if edits.is_empty() => Plan::Nothing(Reinstated::Done),
            Ok(edits) => {
                let act = Act {
                    edits,
                    kind: ChangeKind::SheetReinstated,
                    at: now.into(),
                    reason: None,
                };
                Plan::Do(act, Reinstated::Done)
            }
        }
    }

    /// The rows for [`END_PERIODS`].
    fn edited_rows(&self, act: &Act) -> Rows<'static> {
        let row = |row: PeriodRow| {
            vec![
                row.sequence.into(),
                row.part.into(),
                row.ends_at.into(),
                row.has_begun.into(),
                row.ends_at.is_some_and(|end| end <= act.at).into(),
                row.withdrawn_at.into(),
                row.withdrawn_because.into(),
                row.withdrawn_end.into(),
            ]
        };
        self.edited(act).into_iter().map(row).collect()
    }

    /// The periods with a new end, as stored.
    fn edited(&self, act: &Act) -> Vec<PeriodRow> {
        let edited = act.edits.iter().filter_map(|edit| match edit {
            Edit::End(index, end) => Some((&self.rows[*index], end.map(DbTime::from))),
            Edit::Open(_) => None,
        });
        let edited = edited.map(|(row, ends_at)| {
            let after = PeriodRow {
                ends_at,
                ..row.clone()
            };
            if row.sheet_id == self.sheet_id {
                after.withdrawn_by(act, row.ends_at)
            } else {
                after
            }
        });
        edited.collect()
    }
}

impl PeriodRow {
    /// The period after the edit.
    fn withdrawn_by(self, act: &Act, before: Option<DbTime>) -> Self {
        let Some(reason) = &act.reason else {
            return Self {
                has_begun: self.starts_at <= act.at,
                withdrawn_at: None,
                withdrawn_because: None,
                withdrawn_end: None,
                ..self
            };
        };
        Self {
            // A price that never comes into force is not announced on its day.
            has_begun: true,
            withdrawn_at: Some(act.at),
            withdrawn_because: Some(reason.clone()),
            withdrawn_end: before,
            ..self
        }
    }

    fn period(&self) -> Period {
        Period {
            sheet_id: self.sheet_id,
            catalog: self.catalog.clone(),
            starts_at: self.starts_at.into(),
            ends_at: self.ends_at.map(Timestamp::from),
            withdrawn: self.withdrawn_at.map(|at| Cut {
                at: at.into(),
                ends_at: self.withdrawn_end.map(Timestamp::from),
            }),
        }
    }
}

//! Prices that are withdrawn, and withdrawals that are undone.

use jiff::Timestamp;
use sqlx::{Connection, FromRow};
use uuid::Uuid;

use super::connection::on_connection;
use super::history::{INSERT_CHANGES, change_row};
use super::known::PeriodRow;
use super::names::ChangeKind;
use super::record::ADVANCE_VERSION;
use super::rows::{Connected, Piece, Rows, Statement};
use super::value::Kind::{Flag, Number, Text, Time};
use super::value::Value;
use super::{DbTime, Store, StoreError};
use unroof_core::sheet::compare::timeline::{
    Edit, Period, TimeTaken, reinstate, withdraw, withdrawn_at,
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

const PERIODS_OF_SHEET: &str = "
    SELECT period.sequence, part, period.offer_id, period.sheet_id, catalog,
           starts_at, ends_at, period.observed_at, has_begun, withdrawn_at, withdrawn_because, withdrawn_end,
           sheet.valid_to
    FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id
    WHERE period.offer_id = (SELECT offer_id FROM price_sheets WHERE id = $1)
    ORDER BY starts_at, period.sequence, part";

const IS_SHEET: &str = "SELECT count(*) FROM price_sheets WHERE id = $1";

const END_PERIODS: Piece = Piece {
    sql: "
        UPDATE price_periods
        SET ends_at = given.column3, has_begun = given.column4, has_ended = given.column5,
            withdrawn_at = given.column6, withdrawn_because = given.column7, withdrawn_end = given.column8
        FROM given WHERE sequence = given.column1 AND part = given.column2",
    columns: &[Number, Number, Time, Flag, Flag, Time, Text, Time],
};

static END_AND_RECORD: Statement = Statement::new(&[END_PERIODS, INSERT_CHANGES]);

#[derive(FromRow)]
struct OfferRow {
    #[sqlx(flatten)]
    period: PeriodRow,
    has_begun: bool,
    withdrawn_because: Option<String>,
    valid_to: Option<DbTime>,
}

/// The prices of the offer of a sheet.
struct Offer {
    sheet_id: Uuid,
    rows: Vec<OfferRow>,
    periods: Vec<Period>,
}

/// Edits of a sheet's periods, with the change that is added to the feed.
struct Act {
    edits: Vec<Edit>,
    at: DbTime,
    /// Reason for a withdrawal; none where one is undone.
    reason: Option<String>,
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

    /// Does to the prices of a sheet's offer what is decided from them, while no other process writes.
    async fn act<T: Default>(
        &self,
        sheet_id: Uuid,
        decide: impl Fn(&Offer) -> (Option<Act>, T),
    ) -> Result<T, StoreError> {
        let _writer = self.wait_to_write().await?;
        on_connection!(self, connection => {
            connection.prepare_rows(&END_AND_RECORD).await?;
            let mut transaction = connection.begin_with(self.begin()).await?;
            let version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(1_i64).fetch_one(&mut *transaction).await?;
            let rows = sqlx::query_as(PERIODS_OF_SHEET).bind(sheet_id);
            let offer = Offer::new(sheet_id, rows.fetch_all(&mut *transaction).await?);
            let (act, outcome) = decide(&offer);
            let Some(act) = act else {
                let sheets = sqlx::query_scalar(IS_SHEET).bind(sheet_id);
                let sheets: i64 = sheets.fetch_one(&mut *transaction).await?;
                transaction.rollback().await?;
                return Ok(if sheets > 0 { outcome } else { T::default() });
            };
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
        let (kind, summary) = if let Some(reason) = &self.reason {
            let summary = format!("withdrawn: {reason}");
            (ChangeKind::SheetWithdrawn, summary)
        } else {
            let summary = "the withdrawal is undone".to_owned();
            (ChangeKind::SheetReinstated, summary)
        };
        change_row(version, kind, self.at, sheet_id, summary)
    }
}

impl Offer {
    fn new(sheet_id: Uuid, rows: Vec<OfferRow>) -> Self {
        let periods = rows.iter().map(|row| row.period.period()).collect();
        Self {
            sheet_id,
            rows,
            periods,
        }
    }

    /// The current time, or that of the last record if this is later: clocks of replicas differ.
    fn time(&self, now: Timestamp) -> Timestamp {
        let recorded = self.rows.iter();
        let recorded =
            recorded.flat_map(|row| [Some(row.period.observed_at), row.period.withdrawn_at]);
        let last = recorded.flatten().max().map(Timestamp::from);
        last.map_or(now, |last| last.max(now))
    }

    fn withdraw(&self, reason: &str, now: Timestamp) -> (Option<Act>, Withdrawn) {
        let now = self.time(now);
        let stated_end = |id: Uuid| {
            let row = self.rows.iter().find(|row| row.period.sheet_id == id)?;
            row.valid_to.map(Timestamp::from)
        };
        let edits = withdraw(&self.periods, self.sheet_id, now, stated_end);
        if edits.is_empty() {
            let before = self.withdrawal();
            return (None, before.map_or(Withdrawn::Over, Withdrawn::Done));
        }
        let withdrawal = Withdrawal {
            withdrawn_at: now.into(),
            withdrawn_because: reason.to_owned(),
        };
        let act = Act {
            edits,
            at: now.into(),
            reason: Some(reason.to_owned()),
        };
        (Some(act), Withdrawn::Done(withdrawal))
    }

    /// Withdrawal of the sheet, unless the sheet has been in force since.
    fn withdrawal(&self) -> Option<Withdrawal> {
        let at = DbTime::from(withdrawn_at(&self.periods, self.sheet_id)?);
        let is_it = |row: &&OfferRow| {
            row.period.sheet_id == self.sheet_id && row.period.withdrawn_at == Some(at)
        };
        let because = self.rows.iter().find(is_it)?.withdrawn_because.clone();
        Some(Withdrawal {
            withdrawn_at: at,
            withdrawn_because: because.unwrap_or_default(),
        })
    }

    fn reinstate(&self, now: Timestamp) -> (Option<Act>, Reinstated) {
        let now = self.time(now);
        match reinstate(&self.periods, self.sheet_id, now) {
            Err(TimeTaken) => (None, Reinstated::Taken),
            Ok(edits) if edits.is_empty() => (None, Reinstated::Done),
            Ok(edits) => {
                let at = now.into();
                let reason = None;
                (Some(Act { edits, at, reason }), Reinstated::Done)
            }
        }
    }

    /// The rows for [`END_PERIODS`]: the periods that end otherwise.
    fn edited_rows(&self, act: &Act) -> Rows<'static> {
        let edited = act.edits.iter().filter_map(|edit| match edit {
            Edit::End(index, end) => Some(self.edited_row(act, &self.rows[*index], *end)),
            Edit::Open(_) => None,
        });
        edited.collect()
    }

    /// A period as it is to be stored. An act on its sheet withdraws it or undoes that.
    fn edited_row(&self, act: &Act, row: &OfferRow, end: Option<Timestamp>) -> Vec<Value<'static>> {
        let period = &row.period;
        let (has_begun, withdrawn_at, because, withdrawn_end) = match &act.reason {
            _ if period.sheet_id != self.sheet_id => {
                let because = row.withdrawn_because.clone();
                (
                    row.has_begun,
                    period.withdrawn_at,
                    because,
                    period.withdrawn_end,
                )
            }
            // A price that never comes into force is not announced on its day.
            Some(reason) => (true, Some(act.at), Some(reason.clone()), period.ends_at),
            None => (period.starts_at <= act.at, None, None, None),
        };
        let ends_at = end.map(DbTime::from);
        vec![
            period.sequence.into(),
            period.part.into(),
            ends_at.into(),
            has_begun.into(),
            ends_at.is_some_and(|end| end <= act.at).into(),
            withdrawn_at.into(),
            because.into(),
            withdrawn_end.into(),
        ]
    }
}

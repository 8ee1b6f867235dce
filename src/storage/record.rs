//! Records sheets and their estimates: new content is stored, the price before it ends, and the change is added to the feed.
//! A batch is recorded in full or not at all.

use std::ops::Range;

use jiff::Timestamp;
use sqlx::{Connection, Executor, SqlSafeStr};
use uuid::Uuid;

use super::database::on_connection;
use super::plan::{Known, Plan, Step};
use super::tables::Tables;
use super::{Store, StoreError};
use unroof_core::catalog::offer_id;
use unroof_core::estimate::{Answer, ListRow};
use unroof_core::sheet::PriceSheet;
use unroof_core::sheet::compare::timeline::{Statement, UNKNOWN_START};

/// An estimate to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewEstimate<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The serialised answer.
    pub document: &'a str,
    /// The sheets it was drawn from, with sources and remarks.
    pub sheets: &'a [PriceSheet],
    /// Time at which the estimate was requested, or the price was seen.
    pub observed_at: Timestamp,
    /// Whether a replaced price is in force again; false for a repeated request.
    pub counts_again: bool,
}

/// Result of storing an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Whether the estimate is new.
    pub is_new: bool,
    /// The version of the store that this write made, if it wrote.
    pub version: Option<i64>,
}

impl Saved {
    /// Result for an estimate that is stored already.
    const KNOWN: Self = Self {
        is_new: false,
        version: None,
    };
}

/// A stored estimate.
#[derive(Debug, Clone)]
pub struct EstimateRecord {
    /// Its id.
    pub id: Uuid,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Readings with a value.
    pub readings_defined: i64,
    /// Conflicts between readings.
    pub conflicts: i64,
    /// JSON: a nullable number per column of a list.
    pub numbers: String,
    /// The serialised answer.
    pub document: String,
}

impl EstimateRecord {
    /// An answer with the text that is sent for it.
    #[must_use]
    pub fn new(answer: &Answer, document: String) -> Self {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            id: answer.id,
            engine_version: answer.engine_version,
            readings_defined: count(answer.textbook.readings_defined),
            conflicts: count(answer.textbook.conflicts.len()),
            numbers: serde_json::to_string(&ListRow::new(answer))
                .expect("a row of numbers serialises"),
            document,
        }
    }
}

/// Listing of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Listed under the offer of its sheet.
    Offer {
        /// The estimated sheet, if the listed sheet is a duplicate of it.
        duplicate_of: Option<Uuid>,
    },
    /// The same, with stated assumptions.
    Stated,
    /// Listed under the model of several hosts' sheets.
    Pooled {
        /// Whether assumptions were stated.
        is_stated: bool,
    },
    /// Not listed: the sheet is one of several.
    Unlisted,
}

/// A sheet that was seen, and the estimate that is listed for it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The sheet, with sources and remarks.
    pub sheet: PriceSheet,
    /// Id of its content.
    pub sheet_id: Uuid,
    /// author/model under which it is found.
    pub canonical_model: Option<String>,
    /// Time at which the sheet was seen.
    pub observed_at: Timestamp,
    /// Whether a replaced price is in force again when it is seen again; false for a repeated request.
    pub counts_again: bool,
    /// Whether it was seen just now: its time is then not earlier than any recorded time of the offer, whatever the
    /// clock shows.
    pub seen_now: bool,
    /// The listed estimate.
    pub estimate_id: Uuid,
    /// Listing of the estimate.
    pub listing: Listing,
    /// The estimate, unless it is known to be stored.
    pub estimate: Option<EstimateRecord>,
}

impl Recording {
    /// A sheet with the estimate that is listed for it.
    #[must_use]
    pub fn new(sheet: PriceSheet, observed_at: Timestamp, estimate_id: Uuid) -> Self {
        Self {
            sheet_id: sheet.id().0,
            canonical_model: sheet.canonical_model.clone(),
            sheet,
            observed_at,
            counts_again: false,
            seen_now: false,
            estimate_id,
            listing: Listing::Offer { duplicate_of: None },
            estimate: None,
        }
    }

    /// The offer.
    #[must_use]
    pub fn offer_id(&self) -> Uuid {
        offer_id(&self.sheet.provider, &self.sheet.model, &self.sheet.region)
    }

    /// Whether the sheet has an estimate of its own; false for a duplicate.
    pub(super) fn is_drawn_from(&self, estimate_id: Uuid) -> bool {
        let is_copy = matches!(
            self.listing,
            Listing::Offer {
                duplicate_of: Some(_)
            }
        );
        self.estimate_id == estimate_id && !is_copy
    }

    /// Catalog that states it.
    #[must_use]
    pub fn catalog(&self) -> &'static str {
        statement_catalog(&self.sheet)
    }

    /// Statement of the sheet.
    pub(super) fn statement(&self) -> Statement<'static> {
        Statement {
            sheet_id: self.sheet_id,
            catalog: self.catalog(),
            valid_from: self.sheet.valid_from,
            valid_to: self.sheet.valid_to,
            observed_at: self.observed_at,
        }
    }

    /// The start of the statement.
    pub(super) fn statement_start(&self) -> Timestamp {
        self.sheet.valid_from.unwrap_or(UNKNOWN_START)
    }
}

/// Catalog that states a sheet: its first source.
pub(super) fn statement_catalog(sheet: &PriceSheet) -> &'static str {
    sheet
        .sources
        .first()
        .map_or("manual", |source| source.format.name())
}

/// Takes the writers' lock and reserves this many sequence numbers.
pub(super) const ADVANCE_VERSION: &str =
    "UPDATE store_version SET version = version + $1 WHERE id = 1 RETURNING version";

impl Store {
    /// Stores an estimate and its sheets in one transaction. Stored content is unchanged, but a new source of a known
    /// sheet is added.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn save(&self, new: NewEstimate<'_>) -> Result<Saved, StoreError> {
        let is_stated = !new.answer.assumptions.is_empty();
        let is_pool = new.sheets.len() > 1;
        let mut recordings: Vec<Recording> = new
            .sheets
            .iter()
            .map(|sheet| {
                let mut recording = Recording::new(sheet.clone(), new.observed_at, new.answer.id);
                recording.listing = Listing::Unlisted;
                recording.counts_again = new.counts_again;
                recording.seen_now = !new.counts_again;
                recording
            })
            .collect();
        if let Some(last) = recordings.last_mut() {
            last.listing = match (is_pool, is_stated) {
                (true, is_stated) => Listing::Pooled { is_stated },
                (false, true) => Listing::Stated,
                (false, false) => Listing::Offer { duplicate_of: None },
            };
            last.estimate = Some(EstimateRecord::new(new.answer, new.document.to_owned()));
        }
        self.record_all(recordings).await
    }

    /// Records sheets with their estimates in one transaction, in their order.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record(&self, recordings: &[Recording]) -> Result<Saved, StoreError> {
        self.record_all(recordings.to_vec()).await
    }

    async fn record_all(&self, recordings: Vec<Recording>) -> Result<Saved, StoreError> {
        // Read without a lock first: what is known needs none. An import knows what is new.
        if recordings.len() > 1 {
            return self.record_in_group(recordings, None).await;
        }
        let known = on_connection!(self, connection => connection.load_known(&recordings).await)?;
        if Plan::make(&recordings, known.clone(), 0)?.is_empty() {
            return Ok(Saved::KNOWN);
        }
        self.record_in_group(recordings, Some(known)).await
    }

    /// Records in one transaction. What is known is read before it, if it was not, and read again where another writer has
    /// committed since.
    pub(super) async fn record_at_once(
        &self,
        recordings: &[Recording],
        known: Option<Known>,
    ) -> Result<Recorded, StoreError> {
        on_connection!(self, within_write_timeout, connection => {
            connection.prepare_to_record().await?;
            connection.prepare(ADVANCE_VERSION.into_sql_str()).await?;
            let known = match known {
                Some(known) if known.version == self.newest() => known,
                _ => connection.load_known(recordings).await?,
            };
            let mut transaction = connection.begin_with(self.begin()).await?;
            let count = i64::try_from(recordings.len()).unwrap_or(i64::MAX);
            // The version is the lock of the writers: from here to the end there are two round trips.
            let version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(count).fetch_one(&mut *transaction).await?;
            let known = if known.version == version - count {
                known
            } else {
                transaction.load_known(recordings).await?
            };
            let plan = Plan::make(recordings, known, version - count)?;
            if plan.is_empty() {
                transaction.rollback().await?;
            } else {
                transaction.write(recordings, &plan).await?;
                transaction.commit().await?;
                self.advance_version(version);
            }
            Ok(Recorded { version, steps: plan.steps })
        })
    }
}

/// Result of a transaction.
#[derive(Debug)]
pub(super) struct Recorded {
    version: i64,
    steps: Vec<Step>,
}

impl Recorded {
    /// The result for some of the recordings.
    pub(super) fn saved(&self, members: Range<usize>) -> Saved {
        let steps = &self.steps[members];
        if steps.iter().all(Step::is_empty) {
            return Saved::KNOWN;
        }
        Saved {
            is_new: steps.iter().any(|step| step.inserts_estimate),
            version: Some(self.version),
        }
    }
}

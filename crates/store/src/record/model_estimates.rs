//! The estimates of models as they are written: which are due, and the outcome for each.

use sqlx::FromRow;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::connect::rows::{Piece, Rows, text};
use crate::connect::value::Kind::{Flag, Id, Number, Text, Time};
use crate::connect::value::Value;
use crate::connect::version::take_numbers;
use crate::keep::chain::{self, Heads};
use crate::record::names::ChangeKind;
use crate::record::recording::MODEL;
use crate::record::tables::{announced, sheets};
use crate::{DbTime, EstimateRecord, Store, StoreError};
use unroof_price_sheet::sheet::PriceSheet;

/// A model whose sheets have changed since it was estimated.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DueModel {
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// The version of the store that changed them.
    pub mark: i64,
}

/// The outcome for a model that was due.
#[derive(Debug, Clone)]
pub struct ModelRecord {
    /// The model, as it was due.
    pub due: DueModel,
    /// Outcome of the new estimate.
    pub outcome: ModelOutcome,
}

/// Outcome for a model that was due.
#[derive(Debug, Clone)]
pub enum ModelOutcome {
    /// The sheets are those of the last estimate.
    Unchanged,
    /// The model no longer has a sheet, and therefore no estimate.
    Gone,
    /// The model has another estimate.
    Estimated(Box<NewModelEstimate>),
}

/// An estimate of a model to be stored.
#[derive(Debug, Clone)]
pub struct NewModelEstimate {
    /// The estimate.
    pub record: EstimateRecord,
    /// Author of the model.
    pub author: String,
    /// The calibration behind it.
    pub calibration_id: String,
    /// Number of its sheets.
    pub sheets: i64,
    /// Ids of those that it used.
    pub used: Vec<Uuid>,
    /// Separate pricing decisions among them.
    pub decisions: i64,
    /// Time at which the newest of its sheets was first seen.
    pub observed_at: DbTime,
    /// News since the last estimate, in words; none where there was none, or where it is as good as the same.
    pub news: Option<String>,
}

const DUE: &str = "SELECT canonical_model, mark FROM models_due ORDER BY canonical_model LIMIT $1";

const MARK_OTHERS: &str = "
    INSERT INTO models_due (canonical_model, mark)
    SELECT canonical_model, 0 FROM model_estimates AS latest JOIN estimates ON estimates.id = latest.estimate_id
    WHERE (calibration_id <> $1 OR engine_version <> $2)
      AND NOT EXISTS (
          SELECT 1 FROM model_estimates AS newer
          WHERE newer.canonical_model = latest.canonical_model AND newer.sequence > latest.sequence)
    ON CONFLICT (canonical_model) DO NOTHING";

const MARK_NAMED: &str = "
    INSERT INTO models_due (canonical_model, mark) SELECT DISTINCT canonical_model, 0 FROM model_estimates
    WHERE canonical_model > ''";

const UNLESS_MARKED: &str = " ON CONFLICT (canonical_model) DO NOTHING";

impl Store {
    /// Models that are due, in the order of their names.
    ///
    /// # Errors
    /// The query fails.
    pub async fn due_models(&self, limit: u32) -> Result<Vec<DueModel>, StoreError> {
        self.rows(Query::new(DUE).bind(i64::from(limit))).await
    }

    /// Marks the models that another engine or calibration has estimated.
    ///
    /// # Errors
    /// The query fails.
    pub async fn mark_models_of_others(
        &self,
        calibration_id: &str,
        engine_version: &str,
    ) -> Result<(), StoreError> {
        let mark = Query::new(MARK_OTHERS)
            .bind(calibration_id)
            .bind(engine_version);
        self.write(mark).await.map(drop)
    }

    /// Marks those of these models that have an estimate.
    ///
    /// # Errors
    /// The query fails.
    pub async fn mark_models(&self, models: &[String]) -> Result<(), StoreError> {
        let named = Query::new(MARK_NAMED).any_of("canonical_model", models);
        self.write(named.text(UNLESS_MARKED)).await.map(drop)
    }

    /// Stores the outcomes for models that were due, in one transaction. A mark that was made again meanwhile stays.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record_models(&self, records: &[ModelRecord]) -> Result<(), StoreError> {
        let _writer = self.wait_to_write().await?;
        let is_news = |record: &ModelRecord| !matches!(record.outcome, ModelOutcome::Unchanged);
        let has_news = records.iter().any(is_news);
        let count = if has_news { records.len() } else { 0 };
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut loan = self.connection_for_many().await?;
        if loan.prepares() {
            loan.statements().await?.prepare(text(WRITE)).await?;
        }
        let mut tx = loan.writing().await?;
        let numbers = take_numbers(&mut tx, count).await?;
        let version = numbers.last;
        let written = rows(records, version - count, &numbers.heads);
        tx.write_rows(WRITE, &written).await?;
        tx.commit().await?;
        self.advance_version(version);
        Ok(())
    }
}

/// The rows for each piece of [`WRITE`], numbered from the one after `base`.
fn rows<'a>(records: &'a [ModelRecord], base: i64, before: &Heads) -> Vec<Rows<'a>> {
    let numbered: Vec<Numbered<'a>> = records
        .iter()
        .zip(base + 1..)
        .filter_map(|(record, number)| match &record.outcome {
            ModelOutcome::Estimated(new) => Some(Numbered {
                number,
                model: &record.due.canonical_model,
                new,
            }),
            _ => None,
        })
        .collect();
    let gone = records.iter().filter_map(|record| match record.outcome {
        ModelOutcome::Gone => Some(vec![(&record.due.canonical_model).into()]),
        _ => None,
    });
    let gone: Rows<'a> = gone.collect();
    let marks = records.iter().map(|record| {
        let due = &record.due;
        vec![(&due.canonical_model).into(), due.mark.into()]
    });
    let changes = numbered.iter().filter_map(Numbered::change).collect();
    let mut heads = before.clone();
    vec![
        numbered
            .iter()
            .map(|one| one.new.record.values(one.number))
            .collect(),
        numbered.iter().flat_map(Numbered::sheets).collect(),
        numbered.iter().map(Numbered::model_estimate).collect(),
        numbered.iter().map(Numbered::listing).collect(),
        heads.link_changes(changes),
        heads.row_after(before),
        gone.clone(),
        gone,
        marks.collect(),
    ]
}

/// An estimate of a model with the number of its rows.
struct Numbered<'a> {
    number: i64,
    model: &'a str,
    new: &'a NewModelEstimate,
}

impl<'a> Numbered<'a> {
    fn sheets(&self) -> Rows<'a> {
        let new = self.new;
        let used = new.used.iter();
        used.map(|sheet| vec![new.record.id.into(), (*sheet).into()])
            .collect()
    }

    fn model_estimate(&self) -> Vec<Value<'a>> {
        let new = self.new;
        vec![
            self.number.into(),
            new.record.id.into(),
            self.model.into(),
            (&new.author).into(),
            (&new.calibration_id).into(),
            new.sheets.into(),
            new.decisions.into(),
            new.observed_at.into(),
        ]
    }

    fn listing(&self) -> Vec<Value<'a>> {
        vec![
            self.number.into(),
            self.new.record.id.into(),
            MODEL.into(),
            self.model.into(),
            self.model.into(),
            PriceSheet::DEFAULT_REGION.into(),
            "USD".into(),
            self.new.observed_at.into(),
            false.into(),
            true.into(),
        ]
    }

    fn change(&self) -> Option<Vec<Value<'a>>> {
        let news = self.new.news.as_ref()?;
        Some(self.row_of_change(news))
    }

    /// A change of a model's estimate: no single price has changed.
    fn row_of_change(&self, news: &'a str) -> Vec<Value<'a>> {
        let (no_id, no_text) = (|| Value::Id(None), || Value::Text(None));
        let (no_number, no_price) = (|| Value::Number(None), || Value::Real(None));
        vec![
            self.number.into(),
            ChangeKind::EstimateUpdated.name().into(),
            self.new.observed_at.into(),
            MODEL.into(),
            self.model.into(),
            self.model.into(),
            PriceSheet::DEFAULT_REGION.into(),
            no_id(),
            self.new.record.id.into(),
            news.into(),
            no_text(),
            no_price(),
            no_price(),
            no_price(),
            true.into(),
            Value::Time(None),
            no_id(),
            no_text(),
            no_text(),
            no_number(),
            no_number(),
            no_text(),
        ]
    }
}

const WRITE: &[Piece] = &[
    sheets::ESTIMATES,
    sheets::ESTIMATE_SHEETS,
    Piece {
        sql: "
            INSERT INTO model_estimates (sequence, estimate_id, canonical_model, author, calibration_id, sheets,
                                         decisions, observed_at)
            SELECT * FROM given",
        columns: &[Number, Id, Text, Text, Text, Number, Number, Time],
    },
    Piece {
        sql: "
            INSERT INTO estimate_listings (sequence, estimate_id, provider, model, canonical_model, region, currency,
                                           observed_at, stated_assumptions, observed)
            SELECT * FROM given",
        columns: &[
            Number, Id, Text, Text, Text, Text, Text, Time, Flag, Flag,
        ],
    },
    announced::CHANGES,
    chain::HEADS,
    Piece {
        sql: "DELETE FROM model_estimates WHERE canonical_model IN (SELECT given.column1 FROM given)",
        columns: &[Text],
    },
    Piece {
        sql: "
            DELETE FROM estimate_listings
            WHERE sheet_id IS NULL AND provider = 'model' AND model IN (SELECT given.column1 FROM given)",
        columns: &[Text],
    },
    Piece {
        sql: "
            DELETE FROM models_due WHERE (canonical_model, mark) IN (
                SELECT given.column1, given.column2 FROM given)",
        columns: &[Text, Number],
    },
];

//! Estimates of models whose sheets have changed: all sheets of a model together, and only of the models that are due.

use std::sync::Arc;

use tokio::runtime::Handle;
use uuid::Uuid;

use super::error::ImportError;
use super::priority::Priority;
use super::workers::work_on;
use unroof_base::units::compact;
use unroof_infer::estimate::model::{ModelPool, author_of};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::{
    CancelToken, Cancelled, ENGINE_VERSION, Estimator, ListRow, StoredRow,
};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::{
    DbTime, Document, DueModel, EstimateRecord, ModelOutcome, ModelRecord, ModelSheetRow,
    NewModelEstimate, Store, StoreError,
};

/// Models that are estimated and stored together.
const MODELS_AT_ONCE: u32 = 64;
/// Smallest move of a median that is news: 3 %, the noise of the draws.
const LEAST_MOVE: f64 = 0.03;

/// Estimates the models that are due.
#[derive(Debug, Clone)]
pub struct ModelEstimator {
    /// Store of the sheets and estimates.
    pub store: Store,
    /// The engine with its calibration.
    pub estimator: Estimator,
    /// Number of estimating threads.
    pub threads: usize,
}

impl ModelEstimator {
    /// Marks the models that another engine or calibration has estimated, and those that there are further facts about: such a model
    /// stays as it is where its estimate has read them.
    ///
    /// # Errors
    /// The database fails.
    pub async fn mark_models(&self) -> Result<(), ImportError> {
        let of_others = self
            .store
            .mark_models_of_others(self.estimator.calibration_id(), ENGINE_VERSION);
        of_others.await?;
        let names: Vec<String> = self.estimator.facts().keys().cloned().collect();
        if !names.is_empty() {
            self.store.mark_models(&names).await?;
        }
        Ok(())
    }

    /// Estimates models until none is due; how many were.
    ///
    /// # Errors
    /// The database fails. What was stored before stays.
    pub async fn estimate_due(&self) -> Result<usize, ImportError> {
        self.estimate_due_with(|| {}).await
    }

    /// Estimates models until none is due, with a call after each; how many were.
    ///
    /// # Errors
    /// The database fails. What was stored before stays.
    pub async fn estimate_due_with(
        &self,
        mut done: impl FnMut() + Send,
    ) -> Result<usize, ImportError> {
        let mut count = 0;
        loop {
            let due = self.store.due_models(MODELS_AT_ONCE).await?;
            if due.is_empty() {
                return Ok(count);
            }
            count += due.len();
            let records = self.estimate(due, &mut done).await?;
            self.store.record_models(&records).await?;
        }
    }

    /// Estimates some models on threads of their own.
    async fn estimate(
        &self,
        due: Vec<DueModel>,
        mut one_done: impl FnMut() + Send,
    ) -> Result<Vec<ModelRecord>, ImportError> {
        let (wanted, _waiting) = CancelToken::while_waiting();
        let (own, runtime, due) = (self.clone(), Handle::current(), Arc::new(due));
        let estimate = move |due: &DueModel| Some(own.estimate_one(due, &runtime, &wanted));
        let done = work_on(&due, self.threads, Priority::Batch, estimate);
        let mut done = done.map_err(ImportError::Thread)?;
        let mut records = Vec::with_capacity(due.len());
        while let Some((_, record)) = done.recv().await {
            records.push(record?);
            one_done();
        }
        if records.len() < due.len() {
            return Err(ImportError::Crashed);
        }
        // The threads finish in any order; what is stored has the order of names.
        let name = |record: &ModelRecord| record.due.canonical_model.clone();
        records.sort_by_cached_key(name);
        Ok(records)
    }

    fn estimate_one(
        &self,
        due: &DueModel,
        runtime: &Handle,
        wanted: &CancelToken,
    ) -> Result<ModelRecord, ImportError> {
        let model = &due.canonical_model;
        let rows = runtime.block_on(self.store.sheets_of_model(model))?;
        let newest = rows.iter().map(|row| row.observed_at).max();
        let outcome = match newest {
            None => ModelOutcome::Gone,
            Some(newest) => self.outcome(model, &rows, newest, runtime, wanted)?,
        };
        Ok(ModelRecord {
            due: due.clone(),
            outcome,
        })
    }

    fn outcome(
        &self,
        model: &str,
        rows: &[ModelSheetRow],
        observed_at: DbTime,
        runtime: &Handle,
        wanted: &CancelToken,
    ) -> Result<ModelOutcome, ImportError> {
        let sheets: Vec<PriceSheet> = rows
            .iter()
            .map(ModelSheetRow::sheet)
            .collect::<Result<_, _>>()?;
        let facts = self.estimator.facts().get(model);
        let facts = facts.map_or(&[][..], Vec::as_slice);
        let pool = ModelPool::new(model, &sheets).with_further_facts(facts);
        let calibration_id = self.estimator.calibration_id();
        let id = pool.estimate_id(calibration_id);
        let last = runtime.block_on(self.store.model(model, None))?;
        if last.as_ref().is_some_and(|last| last.id == id) {
            return Ok(ModelOutcome::Unchanged);
        }
        let drawn = match runtime.block_on(self.known(&pool))? {
            Some(known) => known,
            None => Drawn::of_pool(&pool, &self.estimator, wanted)?,
        };
        let news = last.and_then(|last| {
            let (before, after) = (
                StoredRow::read(&last.row_values),
                StoredRow::read(&drawn.row_values),
            );
            words_of_moves(&before, &after)
        });
        Ok(ModelOutcome::Estimated(Box::new(NewModelEstimate {
            record: drawn.record(id),
            author: author_of(model).to_owned(),
            calibration_id: calibration_id.to_owned(),
            sheets: i64::try_from(pool.sheet_ids().count()).unwrap_or(i64::MAX),
            used: pool.used_ids().map(|id| id.0).collect(),
            decisions: i64::try_from(pool.decisions()).unwrap_or(i64::MAX),
            observed_at,
            news,
        })))
    }

    /// The estimate of a model with one sheet to read, whose answer is stored.
    async fn known(&self, pool: &ModelPool) -> Result<Option<Drawn>, StoreError> {
        let used = pool.used();
        let [sheet] = used.as_slice() else {
            return Ok(None);
        };
        // The answer to the sheet has not read the facts.
        if !sheet.evidence.is_empty() {
            return Ok(None);
        }
        let id = self.estimator.estimate_id(sheet.id());
        let Some(stored) = self.store.stored_answer(id).await? else {
            return Ok(None);
        };
        let row_values = stored.row_values.clone();
        let answer = stored.document(id)?;
        let calibration_id = self.estimator.calibration_id();
        Ok(Drawn::of_answer(pool, calibration_id, &row_values, &answer))
    }
}

/// An estimate of a model as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// JSON: a nullable number per column of a list.
    pub(crate) row_values: String,
    /// Estimate, serialised as JSON.
    pub(crate) document: String,
}

impl Drawn {
    /// The estimate from the sheets of a model.
    ///
    /// # Errors
    /// The work is cancelled.
    pub(crate) fn of_pool(
        pool: &ModelPool,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Self, Cancelled> {
        let estimate = pool.estimate(estimator.calibration(), wanted)?;
        let row = ListRow::of_quantities(&estimate.joint.quantities);
        Ok(Self {
            row_values: serde_json::to_string(&row).expect("a row of numbers serialises"),
            document: serde_json::to_string(&estimate)
                .expect("an estimate of texts and numbers serialises"),
        })
    }

    /// The estimate under its id, to be stored. It has readings of no single sheet.
    pub(crate) fn record(self, id: Uuid) -> EstimateRecord {
        EstimateRecord {
            id,
            engine_version: ENGINE_VERSION,
            readings_defined: 0,
            conflicts: 0,
            is_misfit: false,
            numbers: self.row_values,
            document: Document::new(self.document),
        }
    }

    /// Estimate from the answer to its only sheet that is read; none where that is not its answer.
    pub(crate) fn of_answer(
        pool: &ModelPool,
        calibration_id: &str,
        row_values: &str,
        answer: &str,
    ) -> Option<Self> {
        let estimate = pool.from_answer(answer, calibration_id)?;
        Some(Self {
            row_values: StoredRow::read(row_values).quantities(),
            document: estimate.to_string(),
        })
    }
}

/// The medians that have moved, in words; none where none has.
fn words_of_moves(before: &StoredRow, after: &StoredRow) -> Option<String> {
    let moved = JointQuantity::ALL.into_iter().filter_map(|quantity| {
        let label = quantity.definition().history_label?;
        let (from, to) = (
            before.quantity(quantity).median?,
            after.quantity(quantity).median?,
        );
        let is_moved = (to / from).ln().abs() >= LEAST_MOVE;
        is_moved.then(|| format!("{label} {} → {}", compact(from), compact(to)))
    });
    let moved: Vec<String> = moved.collect();
    (!moved.is_empty()).then(|| format!("estimate of the model: {}", moved.join(", ")))
}

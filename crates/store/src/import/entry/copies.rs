//! Copies of a pricing decision: they share its estimate, and each is checked by itself for whether it fits a machine, so
//! that it does not matter which of them came first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::listed::Listed;
use crate::import::error::ImportError;
use crate::import::options::Options;
use crate::import::priority::Priority;
use crate::import::turn::Turn;
use unroof_infer::estimate::{CancelToken, Estimator};
use unroof_price_sheet::sheet::{PriceSheet, SheetId};

/// A sheet of the same pricing decision as an estimated one.
pub(crate) struct DuplicateSheet {
    pub(crate) listed: Listed,
    /// Id of the estimated sheet.
    pub(crate) of: Uuid,
    /// Name of its offer.
    pub(crate) original: String,
}

/// Results of checks, by the part of a sheet that a check reads.
pub(crate) struct Checks {
    estimator: Estimator,
    threads: usize,
    turn: Turn,
    known: BTreeMap<SheetId, bool>,
}

impl Checks {
    pub(crate) fn new(options: &Options, turn: &Turn) -> Self {
        Self {
            estimator: options.estimator.clone(),
            threads: options.threads,
            turn: turn.clone(),
            known: BTreeMap::new(),
        }
    }

    /// Adds the result of an estimated sheet.
    pub(crate) fn add(&mut self, sheet: &PriceSheet, is_misfit: bool) {
        self.known
            .insert(self.estimator.evidence(sheet).id(), is_misfit);
    }

    /// Whether each of some copies fits no machine.
    pub(crate) async fn of(&mut self, copies: &[DuplicateSheet]) -> Result<Vec<bool>, ImportError> {
        let mut ids = Vec::with_capacity(copies.len());
        let mut unknown = BTreeMap::new();
        for copy in copies {
            tokio::task::consume_budget().await;
            let evidence = self.estimator.evidence(&copy.listed.sheet);
            let id = evidence.id();
            ids.push(id);
            if !self.known.contains_key(&id) {
                unknown.insert(id, evidence);
            }
        }
        if !unknown.is_empty() {
            let (estimator, threads) = (self.estimator.clone(), self.threads);
            let turn = self.turn.clone();
            let checked = tokio::task::spawn_blocking(move || {
                let sheets: Vec<(SheetId, PriceSheet)> = unknown.into_iter().collect();
                check_all(&sheets, &estimator, threads, turn.wanted())
            });
            let checked = checked.await.map_err(|_| ImportError::Crashed)??;
            self.known.extend(checked);
        }
        let result = |id| self.known.get(id).copied().ok_or(ImportError::Crashed);
        ids.iter().map(result).collect()
    }
}

/// Checks sheets on some threads.
fn check_all(
    sheets: &[(SheetId, PriceSheet)],
    estimator: &Estimator,
    threads: usize,
    wanted: &CancelToken,
) -> Result<Vec<(SheetId, bool)>, ImportError> {
    let next = AtomicUsize::new(0);
    let checked = Mutex::new(Vec::with_capacity(sheets.len()));
    let work = || {
        // A thread of its own: a priority that was lowered cannot be raised again.
        Priority::Batch.take();
        while let Some((id, sheet)) = sheets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Ok(is_misfit) = estimator.is_misfit(sheet, wanted) else {
                return;
            };
            let mut checked = checked.lock().unwrap_or_else(PoisonError::into_inner);
            checked.push((*id, is_misfit));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let thread = std::thread::Builder::new().name("import".to_owned());
            thread
                .spawn_scoped(scope, work)
                .map_err(ImportError::Thread)?;
        }
        Ok::<_, ImportError>(())
    })?;
    wanted.check()?;
    Ok(checked.into_inner().unwrap_or_else(PoisonError::into_inner))
}

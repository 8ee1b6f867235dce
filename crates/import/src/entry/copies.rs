//! Copies of a pricing decision: they share its estimate, and each is checked by itself for whether it fits a machine, so
//! that it does not matter which of them came first.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::listed::Listed;
use crate::error::ImportError;
use crate::options::Options;
use crate::priority::Priority;
use crate::turn::Turn;
use crate::workers::work_on;
use unroof_infer::estimate::Estimator;
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
        let (unknown, sheets): (Vec<SheetId>, Vec<PriceSheet>) = unknown.into_iter().unzip();
        let (turn, estimator) = (self.turn.clone(), self.estimator.clone());
        let check = move |sheet: &PriceSheet| estimator.is_misfit(sheet, turn.wanted()).ok();
        let checked = work_on(&Arc::new(sheets), self.threads, Priority::Batch, check);
        let mut checked = checked.map_err(ImportError::Thread)?;
        while let Some((place, is_misfit)) = checked.recv().await {
            self.known.insert(unknown[place], is_misfit);
        }
        self.turn.wanted().check()?;
        let result = |id| self.known.get(id).copied().ok_or(ImportError::Crashed);
        ids.iter().map(result).collect()
    }
}

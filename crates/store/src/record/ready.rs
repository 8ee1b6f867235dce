//! Known rows and their plan, ready to be written.

use super::announced::Announced;
use super::plan::{Known, Plan};
use super::work::Work;
use super::{known, tables};
use crate::StoreError;
use crate::connect::tx::Tx;

/// All that is to be written, as of a version of the store.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) version: i64,
    pub(crate) plan: Plan,
    pub(crate) announced: Announced,
    /// Count of numbers that its rows take.
    pub(crate) count: i64,
}

impl Ready {
    /// Parts that are written.
    pub(crate) fn parts(&self) -> (&Plan, &Announced) {
        (&self.plan, &self.announced)
    }

    /// Reads what is known, and plans.
    pub(crate) async fn make(tx: &mut Tx<'_>, work: &Work) -> Result<Self, StoreError> {
        let known = known::load(tx, work).await?;
        Self::of(tx, work, known).await
    }

    /// Plans from what is known.
    pub(crate) async fn of(tx: &mut Tx<'_>, work: &Work, known: Known) -> Result<Self, StoreError> {
        let version = known.version;
        let plan = Plan::make(work, known)?;
        let sheets = known::load_sheets(tx, work, plan.wanted_sheets(work)).await?;
        let announced = Announced::of(work, &plan, &sheets)?;
        let count = tables::numbers(&plan, &announced);
        Ok(Self {
            version,
            plan,
            announced,
            count,
        })
    }
}

//! Known rows and their plan, ready to be written.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use super::announced::Announced;
use super::plan::{Known, Plan, SheetText};
use super::tx::Tx;
use super::work::Work;
use super::{StoreError, known, tables};

/// All that is to be written, as of a version of the store.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) version: i64,
    pub(super) plan: Plan,
    pub(super) announced: Announced,
    /// Count of numbers that its rows take.
    pub(super) count: i64,
}

impl Ready {
    /// Reads what is known, and plans.
    pub(super) async fn make(tx: &mut Tx<'_>, work: &Work) -> Result<Self, StoreError> {
        let known: Known = known::load(tx, work).await?;
        let version = known.version;
        let plan = Plan::make(work, known)?;
        let recorded: BTreeSet<Uuid> = work
            .recordings
            .iter()
            .map(|recording| recording.sheet_id)
            .collect();
        let mut wanted = plan.wanted_sheets();
        wanted.extend(work.act.iter().map(|act| act.sheet_id));
        wanted.retain(|id| !recorded.contains(id));
        let texts: HashMap<Uuid, SheetText> = known::load_sheets(tx, &wanted).await?;
        let announced = Announced::of(work, &plan, &texts)?;
        let count = tables::numbers(&plan, &announced);
        Ok(Self {
            version,
            plan,
            announced,
            count,
        })
    }
}

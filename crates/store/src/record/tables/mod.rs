//! Writes the rows of recorded sheets: the same statements on both databases, and one round trip on PostgreSQL, unless the
//! estimates are many.

pub(crate) mod announced;
mod audited;
pub(crate) mod journal;
mod observations;
mod periods;
mod planned;
pub(crate) mod sheets;

use self::planned::Writing;
use super::announced::Announced;
use super::known;
use super::plan::Plan;
use super::work::Work;
use crate::StoreError;
use crate::connect::rows::{Piece, Rows, text};
use crate::connect::tx::Tx;
use crate::keep::audit;
use crate::keep::chain::{self, Heads};

/// Estimates in one statement. PostgreSQL copies what it is given several times, which takes less where it fits the processor's cache.
const MOST_ESTIMATES: usize = 32;

/// Prepares all statements of a recording before the write lock is taken.
pub(crate) async fn prepare(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    known::prepare(tx).await?;
    tx.prepare(text(ESTIMATES)).await?;
    tx.prepare(text(WRITE)).await
}

/// Writes what was planned, numbered from the one after `base`, and adds to the chains that end so.
pub(crate) async fn write(
    tx: &mut Tx<'_>,
    work: &Work,
    (plan, announced): (&Plan, &Announced),
    (base, heads): (i64, Heads),
) -> Result<(), StoreError> {
    let writing = Writing {
        work,
        recordings: &work.recordings,
        plan,
        announced,
        base,
    };
    let mut estimates = writing.estimates();
    while estimates.len() > MOST_ESTIMATES {
        let rest = estimates.split_off(MOST_ESTIMATES);
        tx.write_rows(ESTIMATES, &[estimates]).await?;
        estimates = rest;
    }
    tx.write_rows(WRITE, &rows(&writing, estimates, &heads))
        .await
}

/// Count of numbers that the rows of a plan take: each table has numbers of its own.
pub(crate) fn numbers(plan: &Plan, announced: &Announced) -> i64 {
    let periods = plan.offers.iter().map(|offer| offer.derived.written.len());
    let steps = plan.steps.iter().filter(|step| !step.is_empty());
    let counts = [steps.count(), periods.sum(), announced.changes.len(), 1];
    let most = counts.into_iter().max().unwrap_or_default();
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Rows for each piece of [`WRITE`].
fn rows<'a>(writing: &Writing<'a>, estimates: Rows<'a>, before: &Heads) -> Vec<Rows<'a>> {
    let mut heads = before.clone();
    let changes = heads.link_changes(writing.changes());
    let audit = heads.link_audit(writing.audit());
    vec![
        writing.sheets(),
        writing.documents(),
        writing.answered_questions(),
        estimates,
        writing.estimate_sheets(),
        writing.listings(),
        writing.lost_observations(),
        writing.observations(),
        writing.snapshots(),
        writing.read_entries(),
        writing.unparsed_entries(),
        writing.withdrawals(),
        writing.gone_periods(),
        writing.periods(),
        writing.settled(),
        writing.disagreements(),
        changes,
        audit,
        heads.row_after(before),
    ]
}

/// New estimates, but for the last ones of many.
const ESTIMATES: &[Piece] = &[sheets::ESTIMATES];

const WRITE: &[Piece] = &[
    sheets::SHEETS,
    sheets::DOCUMENTS,
    sheets::ANSWERED_QUESTIONS,
    sheets::ESTIMATES,
    sheets::ESTIMATE_SHEETS,
    sheets::LISTINGS,
    observations::LOST_OBSERVATIONS,
    observations::OBSERVATIONS,
    observations::SNAPSHOTS,
    observations::READ_ENTRIES,
    observations::UNREAD_ENTRIES,
    periods::WITHDRAWALS,
    periods::GONE_PERIODS,
    periods::PERIODS,
    announced::SETTLED,
    announced::DISAGREEMENTS,
    announced::CHANGES,
    audit::PIECE,
    chain::HEADS,
];

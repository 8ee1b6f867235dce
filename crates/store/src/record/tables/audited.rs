//! The audit log of a recording.

use super::planned::Writing;
use crate::connect::rows::Rows;
use crate::keep::audit;

impl<'a> Writing<'a> {
    /// Entries for observed sheets, or for a withdrawal.
    pub(super) fn audit(&self) -> Rows<'a> {
        let seen = self.with(|step| step.is_observation);
        let observed = seen.filter_map(|(recording, _)| audit::observed(recording));
        let changes = !self.plan.offers.is_empty();
        let act = self.work.act.as_ref().filter(|_| changes);
        let acted = act.map(|act| audit::acted(act, self.work.now));
        let entries = observed.chain(acted);
        entries.map(|entry| entry.values()).collect()
    }
}

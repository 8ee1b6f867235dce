//! The plan of a recording, from which the rows of every table follow.

use crate::record::announced::Announced;
use crate::record::plan::{Plan, Step};
use crate::record::recording::Recording;
use crate::record::work::Work;

/// The rows that are written.
pub(super) struct Writing<'a> {
    pub(super) work: &'a Work,
    pub(super) recordings: &'a [Recording],
    pub(super) plan: &'a Plan,
    pub(super) announced: &'a Announced,
    pub(super) base: i64,
}

impl<'a> Writing<'a> {
    /// Recordings of which the plan's step does this. Steps that do nothing take no number.
    pub(super) fn with(
        &self,
        does: fn(&Step) -> bool,
    ) -> impl Iterator<Item = (&'a Recording, i64)> {
        let steps = self.recordings.iter().zip(&self.plan.steps);
        let numbered = steps.filter(|(_, step)| !step.is_empty());
        let numbered = numbered.zip(self.base + 1..);
        let found = numbered.filter(move |((_, step), _)| does(step));
        found.map(|((recording, _), number)| (recording, number))
    }
}

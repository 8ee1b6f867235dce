//! Reports the lines of an import while it runs.

use std::collections::BTreeSet;

use super::lines::LineSender;
use super::report::{Imported, Line, Outcome, Summary};
use crate::entry::listed::Listed;
use crate::entry::names::CanonicalModels;
use crate::error::ImportError;

/// Reports lines and counts outcomes.
pub(crate) struct ProgressReporter<'l> {
    pub(crate) lines: &'l mut LineSender,
    pub(crate) summary: Summary,
    pub(crate) done: usize,
    pub(crate) only_changed: bool,
}

/// Entries between two progress lines.
const STEP: usize = 100;

impl ProgressReporter<'_> {
    pub(crate) async fn entry(&mut self, imported: Imported) -> Result<(), ImportError> {
        self.summary.count(imported.outcome);
        self.summary.unmapped += imported.unmapped;
        let is_sheet = imported.sheet_id.is_some();
        if !self.only_changed || imported.outcome != Outcome::Unchanged {
            self.lines.say(Line::Entry(imported)).await?;
        }
        if is_sheet {
            self.done += 1;
            if self.done.is_multiple_of(STEP) || self.done == self.summary.sheets {
                let (done, sheets) = (self.done, self.summary.sheets);
                self.lines.say(Line::Progress { done, sheets }).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn entries(&mut self, all: Vec<Imported>) -> Result<(), ImportError> {
        for imported in all {
            self.entry(imported).await?;
        }
        Ok(())
    }

    pub(crate) async fn names(
        &mut self,
        sheets: &[Listed],
        names: &CanonicalModels,
    ) -> Result<(), ImportError> {
        let mut unmatched = BTreeSet::new();
        for listed in sheets {
            tokio::task::consume_budget().await;
            if names.of(&listed.sheet).is_some() {
                self.summary.joined_names += 1;
            } else {
                unmatched.insert(format!("{}/{}", listed.sheet.provider, listed.sheet.model));
            }
        }
        self.summary.unmatched_names = unmatched.len();
        let names = unmatched.into_iter().collect();
        self.lines.say(Line::UnmatchedNames { names }).await
    }
}

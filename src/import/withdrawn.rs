//! Withdrawn sheets that a catalog still lists.

use std::collections::BTreeSet;

use super::error::ImportError;
use super::report::{Imported, Outcome};
use super::run::{DUPLICATES_AT_ONCE, ProgressReporter, Recorder, Withdrawn};
use crate::storage::{Listing, Recording};

impl Recorder {
    /// Records withdrawn sheets as seen again. A sheet stays withdrawn if another catalog's price is in force.
    pub(super) async fn reinstate(
        &self,
        withdrawn: Vec<Withdrawn>,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<(), ImportError> {
        for withdrawn in withdrawn.chunks(DUPLICATES_AT_ONCE) {
            let recordings: Vec<Recording> = withdrawn
                .iter()
                .filter_map(|(listed, row)| {
                    let listing = Listing::Offer {
                        duplicate_of: row.duplicate_of,
                    };
                    Some(Recording {
                        listing,
                        ..self.recording(listed, row.estimate_id?)
                    })
                })
                .collect();
            self.store(&recordings).await?;
            let catalogs: BTreeSet<&str> = withdrawn
                .iter()
                .map(|(listed, _)| listed.catalog())
                .collect();
            let mut remaining = BTreeSet::new();
            for catalog in catalogs.into_iter().filter(|_| !self.options.dry_run) {
                let rows = self.store.statements_of(catalog).await?.into_iter();
                let rows = rows.filter(|row| row.withdrawn_at.is_some());
                remaining.extend(rows.map(|row| row.sheet_id));
            }
            for (listed, row) in withdrawn {
                let outcome = if remaining.contains(&listed.sheet_id) {
                    Outcome::Unchanged
                } else {
                    Outcome::Reinstated
                };
                let imported = Imported {
                    estimate_id: row.estimate_id,
                    duplicate_of: row.duplicate_of,
                    ..Imported::of(listed, &self.names, outcome)
                };
                reporter.entry(imported).await?;
            }
        }
        Ok(())
    }
}

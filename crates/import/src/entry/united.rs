//! The entries of one offer in a catalog: united where they contradict each other in nothing.

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::listed::Listed;
use super::weight::bytes_of;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::{Contradiction, united};

/// The entries of each offer and start.
pub(crate) type Offers = HashMap<(Uuid, Timestamp), Entries>;

/// Most entries of one offer that add something to its sheet: far above any real catalog.
const MOST_PARTS: usize = 64;

/// The entries of one offer and start.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Places of the entries among the sheets; all of these sheets are the same.
    places: Vec<usize>,
    /// The entries that state different parts of that sheet, each with what it states by itself.
    parts: Vec<(String, PriceSheet)>,
}

impl Entries {
    /// Adds an entry with the same sheet.
    pub(crate) fn add(&mut self, place: usize) {
        self.places.push(place);
    }

    /// Place of the first entry, if it has another sheet.
    pub(crate) fn differing_from(&self, next: &Listed, sheets: &[Listed]) -> Option<usize> {
        let first = *self.places.first()?;
        (sheets[first].sheet_id != next.sheet_id).then_some(first)
    }

    /// Unites these entries with a further one, and returns by how many bytes their sheets have grown.
    ///
    /// # Errors
    /// The entry that contradicts it, and the contradiction.
    pub(crate) fn with(
        &mut self,
        sheets: &mut [Listed],
        next: &mut Listed,
    ) -> Result<usize, (String, Contradiction)> {
        let first = &sheets[self.places[0]];
        let sheet = united(&first.sheet, &next.sheet);
        let sheet = sheet.map_err(|contradiction| self.contradicted(first, next, contradiction))?;
        let sheet_id = sheet.id().0;
        if sheet_id == first.sheet_id {
            (next.sheet, next.sheet_id) = (sheet, sheet_id);
            return Ok(0);
        }
        if self.parts.is_empty() {
            self.parts.push((first.entry.clone(), first.sheet.clone()));
        }
        if self.parts.len() == MOST_PARTS {
            let contradiction = Contradiction {
                of: "number of entries of one offer".to_owned(),
                first: MOST_PARTS.to_string(),
                second: "more".to_owned(),
            };
            return Err((first.entry.clone(), contradiction));
        }
        self.parts.push((next.entry.clone(), next.sheet.clone()));
        let mut more_bytes = bytes_of(next);
        (next.sheet, next.sheet_id) = (sheet, sheet_id);
        for place in &self.places {
            let same = &mut sheets[*place];
            let before = bytes_of(same);
            same.sheet.clone_from(&next.sheet);
            same.sheet_id = sheet_id;
            more_bytes += bytes_of(same).saturating_sub(before);
        }
        Ok(more_bytes)
    }

    /// The entry that contradicts a further one by itself, and how.
    fn contradicted(
        &self,
        first: &Listed,
        next: &Listed,
        contradiction: Contradiction,
    ) -> (String, Contradiction) {
        let mut parts = self.parts.iter();
        let by_itself = parts.find_map(|(entry, sheet)| {
            let contradiction = united(sheet, &next.sheet).err()?;
            Some((entry.clone(), contradiction))
        });
        by_itself.unwrap_or_else(|| (first.entry.clone(), contradiction))
    }
}

//! Priors that answers share, with what is drawn from them: the same statements about the same accelerators give the same
//! prior, and most sheets come with no statement.

use std::sync::{Arc, Mutex, PoisonError};

use super::prior::Prior;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::machine::sold_by;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::{Calibration, Population};

/// Priors that are kept, the last used first; each takes about a megabyte.
const KEPT: usize = 8;

static PRIORS: Mutex<Vec<(Basis, Arc<Prior>)>> = Mutex::new(Vec::new());

/// Everything that a prior is made of, reference data apart.
#[derive(Debug, Clone, PartialEq)]
struct Basis {
    population: Population,
    assumptions: Assumptions,
    /// Whether an accelerator was sold by the day of the sheets, per accelerator.
    sold: Vec<bool>,
    is_for_users: bool,
}

impl Prior {
    /// The prior of sheets as [`Prior::of_sheets`] makes it, shared with answers that start from the same.
    #[must_use]
    pub fn shared(
        calibration: &Calibration,
        assumptions: &Assumptions,
        sheets: &[PriceSheet],
    ) -> Arc<Self> {
        let (day, is_for_users) = Self::circumstances(sheets);
        let basis = Basis {
            population: calibration.population.clone(),
            assumptions: assumptions.clone(),
            sold: sold_by(day.as_deref()),
            is_for_users,
        };
        let mut priors = PRIORS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = priors.iter().position(|(kept, _)| *kept == basis);
        let entry = if let Some(place) = known {
            priors.remove(place)
        } else {
            priors.truncate(KEPT - 1);
            let prior = Self::of_sheets(calibration, assumptions, sheets);
            (basis, Arc::new(prior))
        };
        let prior = Arc::clone(&entry.1);
        priors.insert(0, entry);
        prior
    }
}

//! Sheets whose estimates are stored before they are listed, as after an import that was stopped: they are not estimated
//! again.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::listed::Listed;
use crate::error::ImportError;
use unroof_base::units::Decimal;
use unroof_infer::estimate::{Answer, Estimator};
use unroof_price_sheet::sheet::{PriceSheet, SheetId};
use unroof_store::{Store, StoreError};

/// The parts of a stored estimate that an import reports.
pub(crate) struct Estimated {
    /// Number of quantities that are identified.
    pub(crate) identified: usize,
    /// Whether the prices fit no machine.
    pub(crate) is_misfit: bool,
    /// Reason of the first quantity that is not identified.
    first_reason: Option<String>,
}

/// A stored answer, as far as its parts are read.
#[derive(Deserialize)]
struct Document {
    quantities: Map<String, Value>,
    misfit: Misfit,
}

/// Fit of its prices to the model.
#[derive(Deserialize)]
struct Misfit {
    flagged: bool,
}

impl Estimated {
    /// The stored estimate of this id.
    ///
    /// # Errors
    /// It no longer exists, or is damaged.
    pub(crate) async fn read(store: &Store, id: Uuid) -> Result<Self, ImportError> {
        let damaged = || StoreError::Damaged(id);
        let stored = store.stored_answer(id).await?.ok_or_else(damaged)?;
        let document = stored.document(id)?;
        let Document { quantities, misfit } =
            serde_json::from_str(&document).map_err(|_| damaged())?;
        let reason =
            |estimate: &Value| Some(estimate["not_identified_because"].as_str()?.to_owned());
        let is_identified = |estimate: &&Value| estimate["identified"] == true;
        Ok(Self {
            identified: quantities.values().filter(is_identified).count(),
            is_misfit: misfit.flagged,
            first_reason: quantities.values().find_map(reason),
        })
    }

    /// The parts of a new answer.
    pub(crate) fn of(answer: &Answer) -> Self {
        let quantities = &answer.joint.quantities;
        Self {
            identified: quantities.identified(),
            is_misfit: answer.joint.misfit.flagged,
            first_reason: quantities.first_reason(),
        }
    }

    /// Reason why nothing is identified; none if something is.
    pub(crate) fn why_not(self, sheet: &PriceSheet) -> Option<String> {
        let is_zero = |price: Option<&Decimal>| price.is_none_or(Decimal::is_zero);
        let rate = sheet.base_rate();
        let is_free =
            rate.is_some_and(|rate| is_zero(rate.input.as_ref()) && is_zero(rate.output.as_ref()));
        match self.identified {
            0 if is_free => Some(
                "the sheet's prices are 0: free, run locally, billed by a plan, or unknown"
                    .to_owned(),
            ),
            0 => Some(self.first_reason.unwrap_or_default()),
            _ => None,
        }
    }
}

/// The sheets that are to be estimated, after those whose estimates are stored.
///
/// # Errors
/// The query fails.
pub(crate) async fn known(
    store: &Store,
    estimator: &Estimator,
    sheets: Vec<Listed>,
) -> Result<(Vec<Listed>, Vec<Listed>), ImportError> {
    let own = |listed: &Listed| estimator.estimate_id(SheetId(listed.sheet_id));
    let ids: Vec<Uuid> = sheets.iter().map(own).collect();
    let stored: BTreeSet<Uuid> = store.stored_estimates(&ids).await?;
    let sheets = sheets.into_iter();
    Ok(sheets.partition(|listed| stored.contains(&own(listed))))
}

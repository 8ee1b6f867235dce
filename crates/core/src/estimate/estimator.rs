//! An estimator: this engine with one calibration.

use std::sync::Arc;

use uuid::Uuid;

use super::{Answer, Request, infer_while};
use crate::input::cancel::{CancelToken, Cancelled};
use crate::model::assumptions::Assumptions;
use crate::reference::calibration::Calibration;
use crate::sheet::SheetId;

/// Estimates with one calibration. Estimates by another calibration have other ids.
#[derive(Debug, Clone)]
pub struct Estimator {
    calibration: Arc<Calibration>,
    calibration_id: Arc<str>,
}

impl Default for Estimator {
    /// An estimator with the built-in calibration.
    fn default() -> Self {
        Self::new(Calibration::shipped().clone())
    }
}

impl Estimator {
    /// An estimator with a given calibration.
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        Self {
            calibration_id: calibration.id().into(),
            calibration: Arc::new(calibration),
        }
    }

    /// The calibration in use.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The request is cancelled.
    pub fn infer(&self, request: &Request, wanted: &CancelToken) -> Result<Answer, Cancelled> {
        infer_while(request, &self.calibration, wanted)
    }

    /// The id of the answer to one sheet without assumptions.
    #[must_use]
    pub fn estimate_id(&self, sheet: SheetId) -> Uuid {
        let sheets = vec![sheet.to_string()];
        super::identity(sheets, &Assumptions::default(), &self.calibration_id)
    }
}

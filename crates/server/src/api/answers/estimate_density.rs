//! Prior and posterior of a stored estimate, as they are kept and sent.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use unroof_infer::estimate::density::Densities;
use unroof_infer::estimate::serving::Serving;

/// Prior and posterior of a stored estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EstimateDensity {
    /// Id of the estimate.
    pub(crate) id: Uuid,
    /// The calibration behind it.
    pub(crate) calibration_id: String,
    /// Version of the estimation engine.
    pub(crate) engine_version: String,
    /// Densities and joint draws.
    #[serde(flatten)]
    pub(crate) densities: Densities,
    /// Serving of the drawn models, for charts.
    #[serde(skip)]
    pub(crate) serving: Serving,
}

//! The document of `/estimates/{id}/density`.

use serde::Serialize;
use unroof_core::estimate::density::Densities;
use unroof_core::estimate::serving::Serving;
use utoipa::ToSchema;
use uuid::Uuid;

/// Prior and posterior of a stored estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct EstimateDensity {
    /// Id of the estimate.
    pub(in crate::http) id: Uuid,
    /// The calibration behind it.
    pub(in crate::http) calibration_id: String,
    /// Version of the estimation engine.
    pub(in crate::http) engine_version: String,
    /// Densities and joint draws.
    #[serde(flatten)]
    pub(in crate::http) densities: Densities,
    /// Serving of the drawn models, for charts.
    #[serde(skip)]
    pub(in crate::http) serving: Serving,
}

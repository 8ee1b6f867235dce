//! The joint estimate as part of an answer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::margin_report::MarginReport;
use super::published_serving::serving_of;
use crate::estimate::judgement::model_check::Misfit;
use crate::estimate::judgement::published::Published;
use crate::estimate::quantities::Quantities;
use crate::estimate::{margins, nearest, storage_tiers};
use crate::evidence::assumptions::Assumptions;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

/// Version of the engine; another version may read the same sheet differently, so it is part of an answer's identity.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Joint estimate from all sheets, with intervals.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Joint {
    /// Estimates of every quantity.
    pub quantities: Quantities,
    /// Public values of the model, beside these estimates; left out where none are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub published: Option<Published>,
    /// S: tokens of the prompts whose costs and margins these are, as stated or 4,096, as in simulations and plans.
    pub prompt_tokens: f64,
    /// Margin of each price line: 1 − cost ÷ price.
    pub margins: Vec<margins::LineMargin>,
    /// Compute margin that was reported of the vendor, and the estimate without it; left out where none is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub margin_report: Option<MarginReport>,
    /// Storage tier of each cache offer.
    pub storage_tiers: Vec<storage_tiers::OfferTiers>,
    /// Open-weight models with the most similar figures.
    pub nearest_open_models: Vec<nearest::NearModel>,
    /// Attention layouts with a KV cache of this size.
    pub attention_layouts: Vec<nearest::AttentionLayout>,
    /// Whether the sheets fit the model.
    pub misfit: Misfit,
    /// Reliability of the draws.
    pub diagnostics: Diagnostics,
}

impl Joint {
    /// The estimate beside the public values of a model of this name, where there are any.
    pub(crate) fn beside_public_values(
        mut self,
        name: &str,
        contents: &[PriceSheet],
        assumptions: &Assumptions,
        calibration: &Calibration,
        wanted: &CancelToken,
    ) -> Result<Self, Cancelled> {
        self.published = Published::beside(name, assumptions, &mut self.quantities);
        if let Some(published) = &mut self.published {
            published.serving = serving_of(name, contents, assumptions, calibration, wanted)?;
        }
        Ok(self)
    }

    /// The margins to be shown: of the published architecture, where there is one, else by prices alone.
    #[must_use]
    pub fn best_margins(&self) -> &[margins::LineMargin] {
        let published = self.published.as_ref();
        let serving = published.and_then(|published| published.serving.as_ref());
        serving.map_or(&self.margins, |serving| &serving.margins)
    }
}

/// Reliability of the draws.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
pub struct Diagnostics {
    /// Number of independent draws with the same information.
    pub effective_sample_size: f64,
    /// Pareto k̂ of the weights; above 0.7 the intervals are unreliable.
    pub pareto_k: f64,
    /// Number of draws.
    pub samples: usize,
    /// Seed of the quasi-random points.
    pub seed: u32,
    /// Version of the estimation engine.
    pub engine_version: String,
    /// The calibration behind the prior and the law of prices.
    pub calibration_id: String,
    /// Warnings about the intervals.
    pub warnings: Vec<String>,
}

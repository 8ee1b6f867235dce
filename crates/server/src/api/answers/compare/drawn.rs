//! The models of a comparison: as they are stored, and with their draws.

use crate::api::answers::density::{documents, not_repeatable};
use crate::api::answers::models::{no_model, own_sheets};
use crate::compute::Views;
use unroof_edge::Problem;
use unroof_infer::estimate::model::author_of;
use unroof_infer::estimate::samples::Samples;
use unroof_infer::estimate::{CancelToken, Estimator, Question};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::{AsOf, ModelOfferRow, ModelRow, ModelSheetRow, StoreError};

/// A model as it is stored.
pub(super) struct Stored {
    row: ModelRow,
    document: String,
    sheets: Vec<ModelSheetRow>,
    offers: Vec<ModelOfferRow>,
    /// The sheets in force by which its author sells it.
    own: Vec<PriceSheet>,
}

impl Stored {
    /// The model by its canonical name; the sheets of its author only where another model of this author is compared.
    pub(super) async fn read(views: &Views, name: &str, has_peer: bool) -> Result<Self, Problem> {
        let at = AsOf::Now(views.answers.now().into());
        let row = views.answers.store.model(name, None).await?;
        let row = row.ok_or_else(|| no_model(name, None))?;
        let document = views.answers.store.estimate(row.id, None).await?;
        let own = if has_peer {
            let models = [name.to_owned()];
            let own = own_sheets(&views.answers, &models, author_of(name), at).await?;
            own.into_iter().flat_map(|(_, sheets)| sheets).collect()
        } else {
            Vec::new()
        };
        Ok(Self {
            document: document.ok_or(StoreError::Damaged(row.id))?,
            sheets: views.answers.store.sheets_of_estimate(row.id).await?,
            offers: views.answers.store.offers_of_model(name, at).await?,
            own,
            row,
        })
    }
}

/// A model with its draws.
pub(super) struct Drawn {
    /// Newest estimate of the model.
    pub(super) row: ModelRow,
    /// The prices in force.
    pub(super) offers: Vec<ModelOfferRow>,
    /// The sheets in force by which its author sells it.
    pub(super) own: Vec<PriceSheet>,
    /// The longest context that a sheet states.
    pub(super) context: Option<u32>,
    /// Draws from the posterior.
    pub(super) samples: Samples,
}

impl Drawn {
    /// Draws the estimate again.
    pub(super) fn new(
        stored: Stored,
        estimator: &Estimator,
        wanted: &CancelToken,
    ) -> Result<Self, Problem> {
        let sheets = documents(stored.sheets)?;
        let question = Question::of_stored(&stored.document, &sheets, estimator)
            .map_err(|reason| not_repeatable(&stored.document, &reason))?;
        let samples = question.samples(estimator, wanted)?;
        Ok(Self {
            row: stored.row,
            offers: stored.offers,
            own: stored.own,
            context: question.longest_context(),
            samples: samples.posterior,
        })
    }
}

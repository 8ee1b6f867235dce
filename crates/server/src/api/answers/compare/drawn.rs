//! The models of a comparison: as they are stored, and with their draws.

use crate::api::answers::density::{documents, not_repeatable};
use crate::api::answers::models::{no_model, own_sheets};
use crate::compute::Views;
use unroof_edge::Problem;
use unroof_infer::estimate::judgement::published::follows_from_architecture;
use unroof_infer::estimate::model::author_of;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::samples::{Samples, Spread};
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
    /// Draws of the estimate from prices.
    by_prices: Samples,
    /// Draws with the published architecture; none where it is not published.
    by_architecture: Option<Samples>,
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
        let name = &stored.row.canonical_model;
        let by_architecture = question.samples_of_architecture(name, estimator, wanted)?;
        let samples = question.samples(estimator, wanted)?;
        Ok(Self {
            row: stored.row,
            offers: stored.offers,
            own: stored.own,
            context: question.longest_context(),
            by_prices: samples.posterior,
            by_architecture,
        })
    }

    /// The best draws of a quantity: with the published architecture where it says more than prices do.
    pub(super) fn samples(&self, quantity: JointQuantity) -> &Samples {
        let published = self.by_architecture.as_ref();
        let published = published.filter(|_| follows_from_architecture(quantity));
        published.unwrap_or(&self.by_prices)
    }

    /// A quantity from prices alone, where the published architecture says more.
    pub(super) fn beside(&self, quantity: JointQuantity) -> Option<Spread> {
        let is_replaced = self.is_published() && follows_from_architecture(quantity);
        is_replaced.then(|| self.by_prices.spread(quantity))
    }

    /// Whether the architecture of the model is published.
    pub(super) fn is_published(&self) -> bool {
        self.by_architecture.is_some()
    }
}

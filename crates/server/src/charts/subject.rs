//! The subject of a chart: a model with its estimate and its offers, or one offer without a canonical name.

use serde::Deserialize;
use uuid::Uuid;

use crate::answers::Answers;
use crate::api::answers::models::{ModelOffer, ModelShown, no_model};
use crate::question::Question;
use unroof_base::input::json;
use unroof_edge::{INTERNAL, NOT_FOUND, Problem};
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::model::author_of;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::sheet::{PriceSheet, canonical};
use unroof_price_sheet::vendors::vendor;
use unroof_store::{AsOf, EstimateOf, EstimateRow, Latest, Order, Selection, SortKey, StoreError};

/// A model, or an offer.
pub(crate) struct Subject {
    /// author/model, or provider and model of an offer.
    pub(crate) name: String,
    /// author/model; none for an offer without a canonical name.
    pub(crate) canonical_model: Option<String>,
    /// Estimate that is drawn.
    pub(crate) estimate: StoredEstimate,
    /// Offers in force, of a model.
    pub(crate) offers: Vec<ModelOffer>,
    /// The sheet by which it is shown: the author's own, where there is one.
    pub(crate) sheet_id: Option<Uuid>,
}

/// An offer by provider and model.
type OfferName<'a> = (&'a str, &'a str);

impl Subject {
    /// The subject of a question: `model`, or `provider` and `offer`.
    ///
    /// # Errors
    /// There is no such model or offer, or the query fails.
    pub(crate) async fn read(answers: &Answers, question: &Question) -> Result<Self, Problem> {
        match (question.last("provider"), question.last("offer")) {
            (Some(provider), Some(offer)) => {
                Self::of_offer(answers, question, (provider, offer)).await
            }
            _ => Self::of_model(answers, question).await,
        }
    }

    async fn of_model(answers: &Answers, question: &Question) -> Result<Self, Problem> {
        let (name, as_of) = (question.required("model")?, at(answers, question)?);
        let shown = ModelShown::read(&answers.store, name, as_of).await?;
        let shown = shown.ok_or_else(|| no_model(name, as_of.given()))?;
        let estimate = read(shown.document())?;
        Ok(Self {
            name: name.to_owned(),
            canonical_model: Some(name.to_owned()),
            sheet_id: own_offer(name, &shown.offers).map(|own| own.offer.price_sheet_id),
            estimate,
            offers: shown.offers,
        })
    }

    async fn of_offer(
        answers: &Answers,
        question: &Question,
        (provider, model): OfferName<'_>,
    ) -> Result<Self, Problem> {
        let selection = Selection {
            provider: vec![provider.to_owned()],
            model: vec![model.to_owned()],
            ..Selection::default()
        };
        let at = at(answers, question)?;
        let row = latest(answers, &selection, at).await?.into_iter().next();
        let row = row.ok_or_else(|| {
            let detail = format!("there is no estimate of a price of `{model}` at `{provider}`");
            Problem::new(NOT_FOUND, detail)
                .hint("GET /search finds names; in a path, write `/` in a model's name as `%2F`")
        })?;
        let document = answers.store.estimate(row.id, None).await?;
        let estimate = read(&document.ok_or(StoreError::Damaged(row.id))?)?;
        Ok(Self {
            name: format!("{model} at {provider}"),
            canonical_model: row.canonical_model,
            sheet_id: estimate.price_sheets.first().map(|sheet| sheet.id),
            estimate,
            offers: Vec::new(),
        })
    }

    /// The value of a quantity that is public.
    pub(crate) fn truth(&self, quantity: JointQuantity) -> Option<f64> {
        let public = self.estimate.published.as_ref()?.value(quantity)?;
        Some(public.value)
    }

    /// The sheet by which it is shown.
    ///
    /// # Errors
    /// The query fails, or the sheet is damaged.
    pub(crate) async fn sheet(&self, answers: &Answers) -> Result<Option<PriceSheet>, Problem> {
        let Some(id) = self.sheet_id else {
            return Ok(None);
        };
        let Some(document) = answers.store.price_sheet(id, None).await? else {
            return Ok(None);
        };
        let tree = json::parse(document.as_bytes()).ok();
        let sheet = tree.and_then(|tree| canonical::read(&tree).ok());
        Ok(Some(sheet.ok_or(StoreError::Damaged(id))?))
    }

    /// The offer by which a model is shown: of the author, where it sells the model.
    pub(crate) fn own_offer(&self) -> Option<&ModelOffer> {
        own_offer(&self.name, &self.offers)
    }

    /// The answer to the sheet by which it is shown, which has readings and conflicts; none where it is not estimated yet.
    ///
    /// # Errors
    /// The query fails, or the answer is damaged.
    pub(crate) async fn answer(
        &self,
        answers: &Answers,
        question: &Question,
    ) -> Result<Option<StoredEstimate>, Problem> {
        let Some(own) = self.own_offer() else {
            return Ok(None);
        };
        let selection = Selection {
            provider: vec![own.offer.provider.clone()],
            model: vec![own.offer.model.clone()],
            region: vec![own.offer.region.clone()],
            ..Selection::default()
        };
        let rows = latest(answers, &selection, at(answers, question)?).await?;
        let Some(row) = rows.into_iter().find(|row| row.of == EstimateOf::Sheet) else {
            return Ok(None);
        };
        let document = answers.store.estimate(row.id, None).await?;
        document.map(|document| read(&document)).transpose()
    }
}

/// The time at which prices are in force.
fn at(answers: &Answers, question: &Question) -> Result<AsOf, Problem> {
    let now = answers.now();
    Ok(question.as_of(now)?.unwrap_or(AsOf::Now(now.into())))
}

/// Regions of one offer that are looked at.
const MOST_REGIONS: u32 = 50;

async fn latest(
    answers: &Answers,
    selection: &Selection,
    as_of: AsOf,
) -> Result<Vec<EstimateRow>, StoreError> {
    if [&selection.provider, &selection.model]
        .into_iter()
        .flatten()
        .any(|name| name.contains('\0'))
    {
        return Ok(Vec::new());
    }
    let latest = Latest {
        selection,
        as_of,
        order: Order {
            by: SortKey::Provider,
            is_descending: false,
        },
    };
    answers
        .store
        .latest_estimates(latest, None, MOST_REGIONS)
        .await
}

/// The offer of the author under the shortest name, in the default region where there is one; else the first.
fn own_offer<'a>(canonical_model: &str, offers: &'a [ModelOffer]) -> Option<&'a ModelOffer> {
    let author = author_of(canonical_model);
    let rank = |offer: &&ModelOffer| {
        let offer = &offer.offer;
        (
            vendor(&offer.provider) != author,
            offer.input_per_mtok.is_none(),
            offer.region != PriceSheet::DEFAULT_REGION,
            offer.model.len(),
        )
    };
    offers.iter().min_by_key(rank)
}

/// A stored estimate from its document.
fn read(document: &str) -> Result<StoredEstimate, Problem> {
    let mut reader = serde_json::Deserializer::from_str(document);
    StoredEstimate::deserialize(&mut reader).map_err(|error| {
        tracing::error!(%error, "a stored estimate cannot be read");
        Problem::new(INTERNAL, "the stored estimate cannot be read")
    })
}

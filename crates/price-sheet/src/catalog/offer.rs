//! The offer of an entry: who sells which model in which region.

use super::canonical::canonical_model;
use crate::sheet::{PriceSheet, RateCell};

/// Provider, model and region of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) provider: String,
    pub(super) upstream_provider: Option<String>,
    pub(super) model: String,
    pub(super) canonical_model: Option<String>,
    pub(super) region: String,
    /// Assumed lifetime of a written token where none is stated, in seconds: 30 minutes for `OpenAI` models at any seller,
    /// except for its open-weight models, else 5 minutes.
    pub(super) write_lifetime_s: u32,
}

/// Name of a provider in a catalog, ours, and the door: the prefix kept before the model's name if one provider sells the same
/// name at other prices through another API.
pub(super) type Renamed = (&'static str, &'static str, &'static str);

/// The provider and the door of a catalog's name that differs here.
pub(super) fn renamed_provider(
    names: &[Renamed],
    written: &str,
) -> Option<(&'static str, &'static str)> {
    let known = names.iter().find(|(theirs, _, _)| *theirs == written);
    known.map(|(_, ours, door)| (*ours, *door))
}

impl Offer {
    /// The offer of a model by a provider behind a door, in a region.
    pub(super) fn new(
        (provider, door): (&str, &str),
        (region, name): (&str, &str),
        is_sold_by_openai: bool,
    ) -> Self {
        let model = format!("{door}{name}");
        let is_of_openai = model.contains("gpt-") && !model.contains("gpt-oss");
        Self {
            provider: provider.to_owned(),
            upstream_provider: None,
            canonical_model: canonical_model(name),
            region: region.to_owned(),
            write_lifetime_s: if is_sold_by_openai || is_of_openai {
                1_800
            } else {
                300
            },
            model,
        }
    }

    /// A sheet of the offer with these prices and nothing else.
    pub(super) fn sheet(&self, rates: Vec<RateCell>) -> PriceSheet {
        PriceSheet {
            upstream_provider: self.upstream_provider.clone(),
            canonical_model: self.canonical_model.clone(),
            region: self.region.clone(),
            ..PriceSheet::new(&self.provider, &self.model, rates)
        }
    }
}

//! Facts about a model besides its prices: its release, and the share of sellers that sell cache reads.

use crate::prices::data::PricedModel;
use crate::prices::{count, mean, moments};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Dates;

/// Facts about a model besides its prices, as deviations from the mean of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// Years from the mean release; 0 where it is not known.
    pub(super) years: f64,
    /// Share of its sellers that sell cache reads, less the mean share.
    pub(super) cache: f64,
}

/// Mean and spread of the releases, and the share of sellers that sell cache reads.
pub(super) fn dates(models: &[&PricedModel]) -> Dates {
    let known: Vec<f64> = models
        .iter()
        .filter_map(|model| model.truth.years())
        .collect();
    let (mean_years, sd_years) = moments(&known);
    Dates {
        mean_years,
        sd_years,
        mean_cache_share: mean(models.iter().map(|model| cache_share(model))),
    }
}

/// The facts of each model.
pub(super) fn facts(models: &[&PricedModel], dates: &Dates) -> Vec<Facts> {
    let fact = |model: &&PricedModel| Facts {
        years: model
            .truth
            .years()
            .map_or(0.0, |years| years - dates.mean_years),
        cache: cache_share(model) - dates.mean_cache_share,
    };
    models.iter().map(fact).collect()
}

/// Share of a model's sheets that price cache reads.
fn cache_share(model: &PricedModel) -> f64 {
    let sells = |sheet: &&PriceSheet| {
        sheet
            .base_rate()
            .is_some_and(|rate| rate.cache_read.is_some())
    };
    let selling = model.sheets.iter().filter(sells).count();
    count(selling) / count(model.sheets.len()).max(1.0)
}

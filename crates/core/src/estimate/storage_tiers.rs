//! The storage tier of each cache offer.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::posterior::Draws;
use crate::model::assumptions::Assumptions;
use crate::model::cache_placement::{CacheOffer, cache_offers};
use crate::model::clue_table::ReadingId;
use crate::model::reading::{Reading, Value};
use crate::sheet::PriceSheet;
use crate::units::significant;

/// A cache offer, with the probability of each storage tier.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OfferTiers {
    /// Provider of the offer.
    pub provider: String,
    /// Time to live; null where the sheet names none.
    pub ttl_seconds: Option<f64>,
    /// Probability of each tier, by its id in `/reference/storage-tiers`.
    pub probabilities: BTreeMap<&'static str, f64>,
    /// The most probable one.
    pub most_likely: &'static str,
    /// The tier whose drain time is nearest to the time to live.
    pub drain_time_reading: Option<String>,
    /// Evidence behind the probabilities.
    pub rests_on: Vec<&'static str>,
}

/// Stride of the draws that are used.
const STRIDE: usize = 32;

pub(super) fn of_offers(
    contents: &[PriceSheet],
    readings: &[Reading],
    assumptions: &Assumptions,
    draws: &Draws<'_>,
) -> Vec<OfferTiers> {
    let offers = contents.iter().flat_map(|sheet| {
        let offers = cache_offers(sheet, assumptions).into_iter();
        offers.map(|offer| (sheet.provider.clone(), offer))
    });
    offers
        .filter_map(|(provider, offer)| tiers(provider, &offer, readings, draws))
        .collect()
}

fn tiers(
    provider: String,
    offer: &CacheOffer,
    readings: &[Reading],
    draws: &Draws<'_>,
) -> Option<OfferTiers> {
    let mut sums = vec![0.0; offer.candidates.len()];
    let mut weights = vec![0.0; offer.candidates.len()];
    for (unknowns, draw_weight) in draws.iter().zip(draws.weights()).step_by(STRIDE) {
        offer.weigh(&unknowns, &mut weights);
        let all: f64 = weights.iter().sum();
        if all > 0.0 {
            for (sum, weight) in sums.iter_mut().zip(&weights) {
                *sum += draw_weight * weight / all;
            }
        }
    }
    // Prices that pay for no tier in any draw do not separate the tiers: the time to live alone decides.
    let prices_decide = sums.iter().any(|sum| *sum > 0.0);
    if !prices_decide {
        sums = offer
            .candidates
            .iter()
            .map(|candidate| candidate.share)
            .collect();
    }
    let all: f64 = sums.iter().sum();
    if all <= 0.0 {
        // The offer suits no device at all.
        return None;
    }
    let by_candidate = offer.candidates.iter().zip(&sums);
    let (most_likely, _) = by_candidate
        .clone()
        .max_by(|left, right| left.1.total_cmp(right.1))?;
    let mut rests_on = vec![if offer.ttl_s.is_some() {
        "time to live"
    } else {
        "prior over times to live: the sheet names none"
    }];
    let prices = [
        (offer.hold_over_input_per_hour, "price of holding a token"),
        (offer.read_over_input, "cache-read price"),
    ];
    let used = prices
        .iter()
        .filter(|(price, _)| prices_decide && price.is_some());
    rests_on.extend(used.map(|(_, clue)| *clue));
    Some(OfferTiers {
        provider,
        ttl_seconds: offer.ttl_s,
        most_likely: most_likely.id,
        probabilities: by_candidate
            .map(|(candidate, sum)| (candidate.id, significant(sum / all)))
            .collect(),
        drain_time_reading: offer
            .ttl_s
            .and_then(|ttl_s| drain_time_reading(readings, ttl_s)),
        rests_on,
    })
}

fn drain_time_reading(readings: &[Reading], ttl_s: f64) -> Option<String> {
    let is_of_offer = |reading: &&Reading| {
        reading.id == ReadingId::CacheTtlDrainTime && reading.input("ttl_seconds") == Some(ttl_s)
    };
    match &readings.iter().find(is_of_offer)?.value {
        Some(Value::Name(tier)) => Some(tier.clone()),
        _ => None,
    }
}

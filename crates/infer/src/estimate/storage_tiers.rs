//! The storage tier of each cache offer.
//!
//! ```
//! use unroof_infer::estimate::{Format, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "3", "output": "15", "cache_read": "0.3",
//!         "cache_write": [{"ttl_seconds": 300, "price": "3.75"}]}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let offer = &infer(&request).joint.storage_tiers[0];
//! assert_eq!(offer.ttl_seconds, Some(300.0));
//! assert!((offer.probabilities.values().sum::<f64>() - 1.0).abs() < 1e-6);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::evidence::assumptions::Assumptions;
use crate::evidence::cache_offers::{CacheOffer, cache_offers};
use crate::evidence::cache_placement::{WithoutDocument, weigh};
use crate::evidence::cache_tiers::{CacheTier, Demand};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::reading::{Reading, Value};
use crate::evidence::unknowns::Unknowns;
use crate::posterior::Draws;
use unroof_base::units::elementary::exp;
use unroof_base::units::significant;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::{CacheDocument, StorageClass, StorageKind};

/// A cache offer, with the probability of each storage tier.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct OfferTiers {
    /// Provider of the offer.
    pub provider: String,
    /// Name, different from those of the other offers of its sheet.
    pub name: String,
    /// Time to live; null where the sheet names none.
    pub ttl_seconds: Option<f64>,
    /// Document of the vendor about it; null where nothing is known.
    pub document: Option<OfferDocument>,
    /// Probability of each tier, by its id in `/reference/storage-tiers`. Tiers that the document excludes have none.
    pub probabilities: BTreeMap<String, f64>,
    /// Probability of each tier without the documented medium; null where none is documented.
    pub probability_without_document: Option<BTreeMap<String, f64>>,
    /// The most probable one.
    pub most_likely: String,
    /// Median time in which what one accelerator has of each tier fills with fresh tokens, in seconds. Tiers that are
    /// bought as needed have none.
    pub fill_seconds: BTreeMap<String, f64>,
    /// Time to load a token from each tier over the time to compute it again: the median.
    pub load_over_recompute: BTreeMap<String, f64>,
    /// The tier whose drain time is nearest to the time to live: the lecture's rule, a reading that has no part in the
    /// probabilities.
    pub drain_time_reading: Option<String>,
    /// Evidence behind the probabilities.
    pub rests_on: Vec<String>,
}

/// Document of a vendor about a cache offer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct OfferDocument {
    /// The medium: null where only the lifetime is documented.
    pub class: Option<StorageClass>,
    /// The medium as it is written; null likewise.
    pub medium: Option<String>,
    /// The lifetime as it is written.
    pub lifetime: String,
    /// Whether the lifetime is promised; else tokens may be evicted before.
    pub promised: bool,
    /// Source of the document.
    pub source: String,
}

impl OfferDocument {
    fn of(document: &'static CacheDocument) -> Self {
        Self {
            class: document.class(),
            medium: Some(document.medium_documented.clone()).filter(|medium| !medium.is_empty()),
            lifetime: document.lifetime_documented.clone(),
            promised: document.promised,
            source: document.source.clone(),
        }
    }
}

/// Stride of the draws that are used.
const STRIDE: usize = 8;

/// Storage tiers of every cache offer of a sheet, from its readings and the draws of its posterior.
#[must_use]
pub fn of_offers(
    contents: &[PriceSheet],
    readings: &[Reading],
    assumptions: &Assumptions,
    draws: &Draws<'_>,
) -> Vec<OfferTiers> {
    let without = WithoutDocument::new(contents, assumptions);
    let demands = Demands::of(draws);
    let offers = contents.iter().flat_map(|sheet| {
        let offers = cache_offers(sheet, assumptions).into_iter();
        offers.map(|offer| (sheet.provider.clone(), offer))
    });
    offers
        .filter_map(|(provider, offer)| tiers(provider, &offer, readings, &without, &demands))
        .collect()
}

/// Demands of draws on a cache, with their weights.
struct Demands<'a> {
    each: Vec<(Unknowns<'a>, Demand, f64)>,
}

impl<'a> Demands<'a> {
    fn of(draws: &Draws<'a>) -> Self {
        let used = draws.iter().zip(draws.weights()).step_by(STRIDE);
        let demand = |(unknowns, weight): (Unknowns<'a>, &f64)| {
            let demand = Demand::of(&unknowns);
            (unknowns, demand, *weight)
        };
        Self {
            each: used.map(demand).collect(),
        }
    }

    /// Weighted medians of a time of tiers, where they have one. Tiers of one kind differ by a factor that all draws share, so
    /// that one draw is the median of all of them.
    fn medians(
        &self,
        tiers: &[CacheTier],
        log_time: fn(&CacheTier, &Demand) -> Option<f64>,
    ) -> BTreeMap<String, f64> {
        let mut of_kind: [Option<&Demand>; 2] = [None; 2];
        let mut medians = BTreeMap::new();
        for tier in tiers {
            let has_time = self.each.first();
            if has_time
                .and_then(|(_, demand, _)| log_time(tier, demand))
                .is_none()
            {
                continue;
            }
            let median = &mut of_kind[usize::from(tier.kind == StorageKind::Hbm)];
            if median.is_none() {
                *median = self.median(|demand| log_time(tier, demand).unwrap_or_default());
            }
            if let Some(log) = median.and_then(|demand| log_time(tier, demand)) {
                medians.insert(tier.id.to_owned(), significant(exp(log)));
            }
        }
        medians
    }

    /// The draw that is the weighted median by a value.
    fn median(&self, value: impl Fn(&Demand) -> f64) -> Option<&Demand> {
        let each = self.each.iter();
        let mut sorted: Vec<(f64, f64, &Demand)> = each
            .map(|(_, demand, weight)| (value(demand), *weight, demand))
            .collect();
        sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
        let half = 0.5 * sorted.iter().map(|(_, weight, _)| weight).sum::<f64>();
        let mut below = 0.0;
        sorted
            .into_iter()
            .find(|(_, weight, _)| {
                below += weight;
                below >= half
            })
            .map(|(_, _, demand)| demand)
    }
}

/// Sums of weights over draws, per tier of an offer.
struct Sums {
    with_document: Vec<f64>,
    without_document: Vec<f64>,
}

impl Sums {
    fn of(offer: &CacheOffer, without: &WithoutDocument, demands: &Demands<'_>) -> Self {
        let count = offer.tiers.len();
        let mut sums = Self {
            with_document: vec![0.0; count],
            without_document: vec![0.0; count],
        };
        let is_documented = offer.documented_medium().is_some();
        let mut weights = vec![0.0; count];
        for (unknowns, demand, draw_weight) in &demands.each {
            weigh(offer, demand, &mut weights);
            if is_documented {
                let weight = draw_weight * without.weight(unknowns);
                add(&mut sums.without_document, &weights, weight);
            }
            for (weight, tier) in weights.iter_mut().zip(&offer.tiers) {
                *weight *= f64::from(u8::from(offer.allows(tier)));
            }
            add(&mut sums.with_document, &weights, *draw_weight);
        }
        sums
    }
}

/// Adds the shares of the weights, with the weight of a draw.
fn add(sums: &mut [f64], weights: &[f64], draw_weight: f64) {
    let all: f64 = weights.iter().sum();
    if all > 0.0 {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += draw_weight * weight / all;
        }
    }
}

fn tiers(
    provider: String,
    offer: &CacheOffer,
    readings: &[Reading],
    without: &WithoutDocument,
    demands: &Demands<'_>,
) -> Option<OfferTiers> {
    let sums = Sums::of(offer, without, demands);
    let probabilities = shares(offer, &sums.with_document)?;
    let (most_likely, _) = probabilities
        .iter()
        .max_by(|left, right| left.1.total_cmp(right.1))?;
    Some(OfferTiers {
        provider,
        name: offer.name.clone(),
        ttl_seconds: offer.ttl_s,
        document: offer.document.map(OfferDocument::of),
        most_likely: most_likely.clone(),
        probability_without_document: shares(offer, &sums.without_document),
        fill_seconds: demands.medians(&offer.tiers, CacheTier::log_fill_time),
        load_over_recompute: demands.medians(&offer.tiers, CacheTier::log_load_over_recompute),
        drain_time_reading: (offer.ttl_s).and_then(|ttl_s| drain_time_reading(readings, ttl_s)),
        rests_on: evidence(offer),
        probabilities,
    })
}

/// Shares of sums by tier; none where there is nothing to share.
fn shares(offer: &CacheOffer, sums: &[f64]) -> Option<BTreeMap<String, f64>> {
    let all: f64 = sums.iter().sum();
    let each = offer.tiers.iter().zip(sums);
    (all > 0.0).then(|| {
        each.map(|(tier, sum)| (tier.id.to_owned(), significant(sum / all)))
            .collect()
    })
}

fn evidence(offer: &CacheOffer) -> Vec<String> {
    let lifetime = match (offer.ttl_s, offer.document) {
        (Some(_), _) => "time to live",
        (None, Some(_)) => "documented lifetime",
        (None, None) => "prior over times to live: the sheet names none",
    };
    let others = [
        (offer.documented_medium().is_some(), "documented medium"),
        (
            offer.hold_over_input_per_hour.is_some(),
            "price of holding a token",
        ),
        (offer.read_over_input.is_some(), "cache-read price"),
    ];
    let others = others.iter().filter(|(is_used, _)| *is_used);
    let all = std::iter::once(lifetime).chain(others.map(|(_, clue)| *clue));
    all.map(str::to_owned).collect()
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

//! Caches in the likelihood: the price of holding a token, and the medium that its vendor documents.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::cache_placement::WithoutDocument;
//! use unroof_infer::posterior::{Prior, sample_prior};
//! use unroof_price_sheet::sheet::PriceSheet;
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
//! // A sheet without a cache offer says nothing about a draw: its weight stays 1.
//! let sheet = PriceSheet::new("acme", "m-1", Vec::new());
//! let without = WithoutDocument::new(&[sheet], &Assumptions::default());
//! assert!(sample_prior(&prior, 16).iter().all(|unknowns| without.weight(&unknowns) == 1.0));
//! ```

use super::assumptions::Assumptions;
use super::cache_offers::{CacheOffer, HeldFor, cache_offers, held_for_longer};
use super::cache_tiers::{CacheTier, Demand};
use super::clue_table::ClueKind;
use super::likelihood::{Likelihood, MISPRINTS, Observed, normal_below, terms};
use super::unknowns::Unknowns;
use crate::evidence::sheet::Evidence;
use unroof_base::units::elementary::ln;
use unroof_price_sheet::sheet::PriceSheet;

/// Standard deviation of the bounds from prices of caches, in logarithms. A price pays at least what its bytes cost,
/// mostly far more, so it gives only a bound; margins differ between prices, and servers and power are not counted.
const PRICE_SD: f64 = 1.0;

/// Probability that a price covers a cost, both in input prices.
fn pays(log_price: f64, log_cost: f64) -> f64 {
    normal_below((log_price - log_cost) / PRICE_SD)
}

/// A probability, or else a sheet that says nothing.
fn with_misprints(probability: f64) -> f64 {
    MISPRINTS + (1.0 - MISPRINTS) * probability
}

/// Relative probability of each tier of an offer, were the unknowns true: by its placement, by the price of holding, and
/// by the price of reading, which is hardly below the cost of reading. A document is not looked at.
pub fn weigh(offer: &CacheOffer, demand: &Demand, weights: &mut [f64]) {
    let log_bytes = demand.log_bytes_per_usd;
    for (weight, tier) in weights.iter_mut().zip(&offer.tiers) {
        let hold = offer
            .hold_over_input_per_hour
            .map_or(1.0, |price| pays(ln(price), tier.log_hold + log_bytes));
        let read = offer.read_over_input.zip(tier.log_read);
        let read = read.map_or(1.0, |(price, log_read)| {
            pays(ln(price), log_read + log_bytes)
        });
        *weight = offer.placement.weight(tier, demand) * with_misprints(hold * read);
    }
}

/// Price of holding a token over the price of computing one: margins common to both cancel. It pays for the
/// bytes wherever they are held, so it bounds `k_st` from above, softly.
#[derive(Debug, Clone)]
struct HoldPrice {
    part: [ClueKind; 1],
    /// Log of the price of holding a token for an hour over the price of computing one.
    log_price_over_input: f64,
    offer: CacheOffer,
}

impl HoldPrice {
    /// Probability that the price pays for holding the bytes, over some tiers.
    fn pays(&self, unknowns: &Unknowns<'_>, counts: impl Fn(&CacheTier) -> bool) -> f64 {
        let demand = Demand::of(unknowns);
        let log_bytes = demand.log_bytes_per_usd;
        let (mut paid, mut all) = (0.0, 0.0);
        for tier in self.offer.tiers.iter().filter(|tier| counts(tier)) {
            let weight = self.offer.placement.weight(tier, &demand);
            all += weight;
            paid += weight * pays(self.log_price_over_input, tier.log_hold + log_bytes);
        }
        // Where no tier keeps the token in these circumstances, the price bounds nothing.
        if all > 0.0 { paid / all } else { 1.0 }
    }

    /// Probability that the price pays, over all tiers that the vendor's document leaves.
    fn pays_documented(&self, unknowns: &Unknowns<'_>) -> f64 {
        self.pays(unknowns, |tier| self.offer.allows(tier))
    }
}

impl Likelihood for HoldPrice {
    fn parts(&self) -> &[ClueKind] {
        &self.part
    }

    fn needs_prompts(&self) -> bool {
        true
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        with_misprints(self.pays_documented(unknowns))
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        self.pays_documented(unknowns)
    }
}

/// The price per Mtok and hour for holding a token of the first sheet that has one: the same price on another host is not
/// counted again.
fn first_hold_price(
    sheets: &[Evidence<'_>],
    clue: ClueKind,
    price: impl Fn(&Evidence<'_>) -> Option<HeldFor>,
) -> Option<HoldPrice> {
    sheets.iter().find_map(|evidence| {
        let input = evidence.base_cell()?.input().ok()?.to_f64();
        let held = price(evidence)?;
        let is_held = |offer: &CacheOffer| {
            let has_fee = offer.hold_over_input_per_hour.is_some();
            offer.ttl_s == held.ttl_s && (offer.ttl_s.is_some() || has_fee)
        };
        let mut offers = cache_offers(evidence.sheet, evidence.assumptions).into_iter();
        Some(HoldPrice {
            part: [clue],
            log_price_over_input: (held.price_per_hour / input).ln(),
            offer: offers.find(is_held)?,
        })
    })
}

/// The term of a price for holding a token.
pub(crate) fn observe_hold_price(
    sheets: &[Evidence<'_>],
    clue: ClueKind,
    price: impl Fn(&Evidence<'_>) -> Option<HeldFor>,
) -> Observed {
    terms(first_hold_price(sheets, clue, price))
}

/// Medium of its caches that a vendor documents, where it promises a lifetime: memory keeps tokens for an hour only if it
/// fills slowly, and so if they are light. A lifetime under eviction bounds nothing.
#[derive(Debug, Clone)]
pub(crate) struct DocumentedMedium {
    offers: Vec<CacheOffer>,
}

impl DocumentedMedium {
    /// The term of a sheet; none where no offer has a documented medium and a promise.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let mut offers = cache_offers(evidence.sheet, evidence.assumptions);
        offers.retain(|offer| {
            offer.documented_medium().is_some() && offer.placement.lifetime.promised
        });
        (!offers.is_empty()).then_some(Self { offers })
    }

    /// Probability that the promises are kept. They share the devices: the hardest counts.
    fn keeps(&self, unknowns: &Unknowns<'_>) -> f64 {
        let demand = Demand::of(unknowns);
        let each = self
            .offers
            .iter()
            .filter_map(|offer| offer.keeps_promise(&demand));
        each.fold(1.0, f64::min)
    }
}

impl Likelihood for DocumentedMedium {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::CacheTtl]
    }

    fn needs_prompts(&self) -> bool {
        true
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        with_misprints(self.keeps(unknowns))
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        self.likelihood(unknowns)
    }
}

/// The term of the documented medium, from the first sheet that has one.
pub(crate) fn observe_document(sheets: &[Evidence<'_>]) -> Observed {
    terms(sheets.iter().find_map(DocumentedMedium::of))
}

/// The terms in which a vendor's document takes part, for what is known without it.
#[derive(Debug, Clone)]
pub struct WithoutDocument {
    document: Option<DocumentedMedium>,
    hold: Option<HoldPrice>,
}

impl WithoutDocument {
    /// The terms of these sheets.
    #[must_use]
    pub fn new(contents: &[PriceSheet], assumptions: &Assumptions) -> Self {
        let evidence = |sheet| Evidence { sheet, assumptions };
        let sheets: Vec<Evidence<'_>> = contents.iter().map(evidence).collect();
        Self {
            document: sheets.iter().find_map(DocumentedMedium::of),
            hold: first_hold_price(&sheets, ClueKind::CacheWrite, held_for_longer),
        }
    }

    /// Weight of a draw without the documents over that with them.
    #[must_use]
    pub fn weight(&self, unknowns: &Unknowns<'_>) -> f64 {
        let document = self.document.as_ref();
        let document = document.map_or(1.0, |term| term.likelihood(unknowns));
        let hold = self.hold.as_ref().map_or(1.0, |term| {
            let any = term.pays(unknowns, |_| true);
            with_misprints(any) / term.likelihood(unknowns)
        });
        hold / document
    }
}

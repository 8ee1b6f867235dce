//! The storage tier of a cache offer: its probability by the time to live, and by the price of holding a
//! token.

use super::assumptions::Assumptions;
use super::clue_table::ClueKind;
use super::evidence::Evidence;
use super::hold_cost::tiers;
use super::likelihood::{Likelihood, MISPRINTS, Observed, normal_below, terms};
use super::quantity::Quantity as Q;
use super::unknowns::Unknowns;
use crate::reference::StorageTier;
use crate::roofline::HoldCost;
use crate::units::Seconds;

/// log of a time to live over the drain time of its tier: a factor of 4.5 either way, from the spread of devices sold
/// within a tier.
const DRAIN_TIME_SD: f64 = 1.5;
/// Standard deviation of the bounds from prices of caches, in logarithms. A price pays at least what its bytes cost,
/// mostly far more, so it gives only a bound; margins differ between prices, and servers and copies are not counted.
const PRICE_SD: f64 = 1.0;
/// Assumed times to live of an offer that names none: five minutes to a day, in equal ratios.
const LIFETIMES_S: [f64; 9] = [
    300.0, 609.0, 1_236.0, 2_509.0, 5_091.0, 10_333.0, 20_970.0, 42_560.0, 86_400.0,
];
/// A candidate below this probability, by the time to live, is left out of the price of holding.
const LEAST_SHARE: f64 = 0.02;
/// Tokens that prices are for.
const LOG_MTOK: f64 = 13.815_510_557_964_274;
const LOG_SECONDS_PER_HOUR: f64 = 8.188_689_124_444_202;

/// A storage tier on which a cache may be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TierCandidate {
    /// Its id.
    pub id: &'static str,
    /// Its probability by the time to live alone.
    pub share: f64,
    /// log of USD per byte and hour.
    pub log_hold: f64,
    /// log of USD per byte read; none in HBM, where a byte is read as any other.
    pub log_read: Option<f64>,
}

/// The tiers by how probable they are for a time to live: near their drain time, and cheap for that long. Without a time
/// to live, the mean over those that are on offer.
#[must_use]
pub fn tier_candidates(ttl_s: Option<f64>, assumptions: &Assumptions) -> Vec<TierCandidate> {
    let priced = priced_tiers(assumptions);
    let lifetimes = ttl_s.map_or_else(|| LIFETIMES_S.to_vec(), |ttl| vec![ttl]);
    let mut shares = vec![0.0; priced.len()];
    for lifetime in &lifetimes {
        let weights: Vec<f64> = priced.iter().map(|tier| tier.weight(*lifetime)).collect();
        let all: f64 = weights.iter().sum();
        for (share, weight) in shares.iter_mut().zip(&weights) {
            #[expect(clippy::cast_precision_loss, reason = "a handful of lifetimes")]
            let count = lifetimes.len() as f64;
            *share += weight / all / count;
        }
    }
    let candidate = |(tier, share): (&PricedTier, f64)| TierCandidate {
        id: tier.id,
        share,
        log_hold: tier.cost.hold_usd_per_byte_hour.ln(),
        log_read: (tier.cost.read_usd_per_byte > 0.0).then(|| tier.cost.read_usd_per_byte.ln()),
    };
    priced.iter().zip(shares).map(candidate).collect()
}

struct PricedTier {
    id: &'static str,
    drain_s: f64,
    cost: HoldCost,
}

impl PricedTier {
    /// Relative probability: a log-normal around the drain time, over the cost of keeping a byte for that long.
    fn weight(&self, ttl_s: f64) -> f64 {
        let distance = (ttl_s / self.drain_s).ln() / DRAIN_TIME_SD;
        (-0.5 * distance * distance).exp() / self.cost.for_duration(Seconds(ttl_s))
    }
}

/// Tiers whose drain time and costs are known.
fn priced_tiers(assumptions: &Assumptions) -> Vec<PricedTier> {
    let known = |quantity| assumptions.known(quantity).map(|(value, _)| value);
    let chosen_drain_s = known(Q::Capacity)
        .zip(known(Q::Bandwidth))
        .map(|(capacity, bandwidth)| capacity / bandwidth);
    let chosen_hold = known(Q::RentalPerHour)
        .zip(known(Q::Capacity))
        .map(|(rent, capacity)| rent / capacity);
    let priced = |tier: &'static StorageTier| {
        let is_hbm = tier.id == StorageTier::HBM;
        let drain_s = chosen_drain_s
            .filter(|_| is_hbm)
            .or(tier.drain_time().map(|time| time.0))?;
        let hold = chosen_hold
            .filter(|_| is_hbm)
            .or(tier.hold_usd_per_byte_hour)?;
        let read = if is_hbm { 0.0 } else { tier.read_usd_per_byte? };
        let cost = HoldCost {
            read_usd_per_byte: read,
            hold_usd_per_byte_hour: hold,
        };
        Some(PricedTier {
            id: &tier.id,
            drain_s,
            cost,
        })
    };
    tiers().filter_map(priced).collect()
}

/// log of USD per Mtok that a fresh prompt token costs at full use of the machine (E16 without attention).
fn log_input_cost(unknowns: &Unknowns<'_>) -> f64 {
    let machine = unknowns.machine;
    LOG_MTOK - LOG_SECONDS_PER_HOUR + unknowns.log_rental + unknowns.log_active_parameters
        - machine.log_prefill_efficiency
        - machine.log_multiply_rate
}

/// log of USD per Mtok for one byte per token at one USD per byte.
fn log_cache_bytes(unknowns: &Unknowns<'_>) -> f64 {
    LOG_MTOK + unknowns.log_kv_bytes_stored + unknowns.machine.log_kv_element_bytes
}

/// Price of holding a token over the price of computing one: margins common to both cancel. It pays for the
/// bytes wherever they are held, so it bounds `k_st` from above, softly.
#[derive(Debug, Clone)]
pub struct HoldPrice {
    part: [ClueKind; 1],
    /// log of hours
    log_price_over_input: f64,
    candidates: Vec<TierCandidate>,
}

impl HoldPrice {
    /// A price per hour in input prices, for a cache of this time to live.
    #[must_use]
    pub fn new(
        clue: ClueKind,
        price_over_input_per_hour: f64,
        mut candidates: Vec<TierCandidate>,
    ) -> Self {
        candidates.retain(|candidate| candidate.share >= LEAST_SHARE);
        Self {
            part: [clue],
            log_price_over_input: price_over_input_per_hour.ln(),
            candidates,
        }
    }

    /// Probability that the price pays for holding the bytes, over all candidates.
    fn pays(&self, unknowns: &Unknowns<'_>) -> f64 {
        let log_bytes = log_cache_bytes(unknowns) - log_input_cost(unknowns);
        let pays = |candidate: &TierCandidate| {
            candidate.share * pays(self.log_price_over_input, candidate.log_hold + log_bytes)
        };
        self.candidates.iter().map(pays).sum()
    }
}

/// Probability that a price covers a cost, both in input prices.
fn pays(log_price: f64, log_cost: f64) -> f64 {
    normal_below((log_price - log_cost) / PRICE_SD)
}

impl Likelihood for HoldPrice {
    fn parts(&self) -> &[ClueKind] {
        &self.part
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        MISPRINTS + (1.0 - MISPRINTS) * self.pays(unknowns)
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        self.pays(unknowns)
    }
}

/// The term of a price per Mtok and hour for holding a token, from the first sheet that has one: the same price on
/// another host is not counted again.
pub(crate) fn observe_hold_price(
    sheets: &[Evidence<'_>],
    clue: ClueKind,
    price: impl Fn(&Evidence<'_>) -> Option<HeldFor>,
) -> Observed {
    let observed = sheets.iter().find_map(|evidence| {
        let input = evidence.base_cell()?.input().ok()?.to_f64();
        let held = price(evidence)?;
        let candidates = tier_candidates(held.ttl_s, evidence.assumptions);
        Some(HoldPrice::new(
            clue,
            held.price_per_hour / input,
            candidates,
        ))
    });
    terms(observed)
}

/// A price for holding a token.
pub(crate) struct HeldFor {
    /// In the sheet's currency per Mtok and hour.
    pub(crate) price_per_hour: f64,
    /// Time to live, where it has one.
    pub(crate) ttl_s: Option<f64>,
}

/// The price of holding a token between the first two times to live for which the sheet has write prices.
pub(crate) fn held_for_longer(evidence: &Evidence<'_>) -> Option<HeldFor> {
    let rate = evidence.base_cell()?.rate;
    let timed: Vec<(f64, f64)> = rate
        .cache_write
        .iter()
        .filter_map(|write| Some((f64::from(write.ttl_seconds?), write.price.to_f64())))
        .collect();
    let [(short_s, short), (long_s, long), ..] = timed[..] else {
        return None;
    };
    let price_per_hour = (long - short) * 3600.0 / (long_s - short_s);
    (price_per_hour > 0.0).then_some(HeldFor {
        price_per_hour,
        ttl_s: Some(long_s),
    })
}

/// A cache offer, with the evidence of its storage tier.
#[derive(Debug, Clone)]
pub struct CacheOffer {
    /// Time to live.
    pub ttl_s: Option<f64>,
    /// Cache-read price over input price.
    pub read_over_input: Option<f64>,
    /// Price of holding a token for an hour over input price.
    pub hold_over_input_per_hour: Option<f64>,
    /// The tiers by the time to live alone.
    pub candidates: Vec<TierCandidate>,
}

impl CacheOffer {
    /// Relative probability of each candidate, were the unknowns true: by time to live, by the price of holding, and by the
    /// price of reading, which is hardly below the cost of reading.
    pub fn weigh(&self, unknowns: &Unknowns<'_>, weights: &mut [f64]) {
        let log_bytes = log_cache_bytes(unknowns) - log_input_cost(unknowns);
        for (weight, candidate) in weights.iter_mut().zip(&self.candidates) {
            let hold = self.hold_over_input_per_hour.map_or(1.0, |price| {
                pays(price.ln(), candidate.log_hold + log_bytes)
            });
            let read = self.read_over_input.zip(candidate.log_read);
            let read = read.map_or(1.0, |(price, log_read)| {
                pays(price.ln(), log_read + log_bytes)
            });
            *weight = candidate.share * hold * read;
        }
    }
}

/// The cache offers of a sheet: one per time to live, one that names none where tokens are read from a cache without it,
/// and one for a storage fee.
#[must_use]
pub fn cache_offers(
    sheet: &crate::sheet::PriceSheet,
    assumptions: &Assumptions,
) -> Vec<CacheOffer> {
    let evidence = Evidence { sheet, assumptions };
    let Some(cell) = evidence.base_cell() else {
        return Vec::new();
    };
    let input = cell.input().ok().map(crate::units::Decimal::to_f64);
    let over_input = |price: Option<&crate::units::Decimal>| {
        Some(price?.to_f64() / input?).filter(|ratio| *ratio > 0.0)
    };
    let read = over_input(cell.rate.cache_read.as_ref());
    let explicit = over_input(cell.rate.cache_read_explicit.as_ref()).or(read);
    let fee = over_input(cell.rate.cache_storage_per_hour.as_ref());
    let mut lifetimes: Vec<u32> = cell
        .rate
        .cache_write
        .iter()
        .filter_map(|write| write.ttl_seconds)
        .collect();
    lifetimes.sort_unstable();
    lifetimes.dedup();
    let slope = held_for_longer(&evidence).map(|held| held.price_per_hour);
    let offer = |ttl_s: Option<f64>, read_over_input, hold_over_input_per_hour| CacheOffer {
        ttl_s,
        read_over_input,
        hold_over_input_per_hour,
        candidates: tier_candidates(ttl_s, assumptions),
    };
    let mut offers: Vec<CacheOffer> = lifetimes
        .iter()
        .map(|ttl| {
            offer(
                Some(f64::from(*ttl)),
                explicit,
                slope.zip(input).map(|(slope, input)| slope / input),
            )
        })
        .collect();
    if offers.is_empty() && read.is_some() {
        offers.push(offer(None, read, None));
    }
    if fee.is_some() {
        offers.push(offer(None, explicit, fee));
    }
    offers
}

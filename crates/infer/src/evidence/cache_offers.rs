//! The cache offers of a sheet by name, each with its lifetime and the vendor's document about it.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::cache_offers::cache_offers;
//! use unroof_price_sheet::sheet::{CacheWrite, ContextTier, PriceSheet, RateCell};
//!
//! let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! (cell.input, cell.cache_read) = ("4".parse().ok(), "0.4".parse().ok());
//! cell.cache_write = vec![CacheWrite { ttl_seconds: Some(300), price: "5".parse().unwrap() }];
//! let offers = cache_offers(&PriceSheet::new("acme", "m-1", vec![cell]), &Assumptions::default());
//! assert_eq!((offers[0].ttl_s, offers[0].read_over_input), (Some(300.0), Some(0.1)));
//! ```

use std::collections::BTreeMap;

use super::assumptions::Assumptions;
use super::cache_tiers::{CacheTier, Demand, Lifetime, Placement, cache_tiers};
use crate::evidence::sheet::{Cell, Evidence};
use unroof_base::units::Decimal;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::{CacheDocument, OfferedAs, cache_documents};

/// An offer to keep prompt tokens in a cache.
#[derive(Debug, Clone)]
pub struct CacheOffer {
    /// Name, different from those of the other offers of its sheet.
    pub name: String,
    /// Time to live on the sheet.
    pub ttl_s: Option<f64>,
    /// Document of its vendor about it.
    pub document: Option<&'static CacheDocument>,
    /// Cache-read price over input price.
    pub read_over_input: Option<f64>,
    /// Price of holding a token for an hour over input price: the fee, or what writing costs more than computing, over the
    /// time to live.
    pub hold_over_input_per_hour: Option<f64>,
    /// Weights of its tiers.
    pub placement: Placement,
    /// Every tier in which the tokens may be kept.
    pub tiers: Vec<CacheTier>,
}

impl CacheOffer {
    /// The document, if it names a medium.
    #[must_use]
    pub fn documented_medium(&self) -> Option<&'static CacheDocument> {
        self.document.filter(|document| !document.tiers.is_empty())
    }

    /// Whether the vendor's document leaves the tier possible.
    #[must_use]
    pub fn allows(&self, tier: &CacheTier) -> bool {
        self.documented_medium()
            .is_none_or(|document| document.tiers.contains(&tier.kind))
    }

    /// Probability that some tier of the documented medium keeps a token for the promised time, were the unknowns true; none
    /// without a promise or a documented medium.
    #[must_use]
    pub fn keeps_promise(&self, demand: &Demand) -> Option<f64> {
        let class = self.documented_medium()?.class()?;
        let of_class = self.tiers.iter().filter(|tier| tier.kind.class() == class);
        let keeps = of_class.map(|tier| self.placement.keeps(tier, demand) * tier.loads(demand));
        self.placement
            .lifetime
            .promised
            .then(|| keeps.fold(0.0, f64::max))
    }
}

/// A price for holding a token.
pub(crate) struct HeldFor {
    /// Price in the sheet's currency per Mtok and hour.
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

/// The cache offers of a sheet: one for each time to live that is written for, one for tokens that are found without being
/// asked for, or as many as the vendor documents, and one for a storage fee.
#[must_use]
pub fn cache_offers(sheet: &PriceSheet, assumptions: &Assumptions) -> Vec<CacheOffer> {
    let evidence = Evidence { sheet, assumptions };
    let Some(cell) = evidence.base_cell() else {
        return Vec::new();
    };
    let reader = OfferReader::new(&evidence, &cell);
    let mut offers: Vec<CacheOffer> = reader.writes().collect();
    offers.extend(reader.implicit());
    offers.extend(reader.explicit());
    offers
}

/// The base prices of a sheet as its offers are read from them.
struct OfferReader {
    documents: Vec<&'static CacheDocument>,
    /// Times to live that are written for, the shortest first.
    lifetimes_s: Vec<u32>,
    /// Prices over the input price.
    read: Option<f64>,
    read_explicit: Option<f64>,
    /// Surcharge on the input price, over the input price, of each time to live.
    surcharges: BTreeMap<u32, f64>,
    fee: Option<f64>,
    has_untimed_write: bool,
    tiers: Vec<CacheTier>,
}

impl OfferReader {
    fn new(evidence: &Evidence<'_>, cell: &Cell<'_>) -> Self {
        let input = cell.input().ok().map(Decimal::to_f64);
        let over_input =
            |price: Option<&Decimal>| Some(price?.to_f64() / input?).filter(|ratio| *ratio > 0.0);
        let writes = &cell.rate.cache_write;
        let mut lifetimes_s: Vec<u32> = writes
            .iter()
            .filter_map(|write| write.ttl_seconds)
            .collect();
        lifetimes_s.sort_unstable();
        lifetimes_s.dedup();
        let surcharges = writes.iter().filter_map(|write| {
            let ratio = over_input(Some(&write.price))?;
            Some((write.ttl_seconds?, ratio - 1.0))
        });
        Self {
            documents: documents(evidence.sheet),
            lifetimes_s,
            read: over_input(cell.rate.cache_read.as_ref()),
            read_explicit: over_input(cell.rate.cache_read_explicit.as_ref()),
            surcharges: surcharges
                .filter(|(_, surcharge)| *surcharge > 0.0)
                .collect(),
            fee: over_input(cell.rate.cache_storage_per_hour.as_ref()),
            has_untimed_write: writes.iter().any(|write| write.ttl_seconds.is_none()),
            tiers: cache_tiers(evidence.assumptions),
        }
    }

    /// Ways in which a token can be billed besides this one: fresh, or written for one of the other times or a fee.
    fn other_ways(&self) -> usize {
        self.lifetimes_s.len() + usize::from(self.fee.is_some())
    }

    fn offer(&self, name: String, lifetime: Lifetime, other_ways: usize) -> CacheOffer {
        CacheOffer {
            name,
            ttl_s: None,
            document: None,
            read_over_input: None,
            hold_over_input_per_hour: None,
            placement: Placement::new(lifetime, other_ways),
            tiers: self.tiers.clone(),
        }
    }

    fn writes(&self) -> impl Iterator<Item = CacheOffer> {
        self.lifetimes_s.iter().map(|ttl_s| {
            let name = format!("cache write, {}", duration(*ttl_s));
            let surcharge = self.surcharges.get(ttl_s).copied();
            let ttl_s = f64::from(*ttl_s);
            CacheOffer {
                ttl_s: Some(ttl_s),
                document: self.of_write(ttl_s),
                read_over_input: self.read_explicit.or(self.read),
                hold_over_input_per_hour: surcharge.map(|surcharge| surcharge * 3600.0 / ttl_s),
                ..self.offer(name, Lifetime::promise(ttl_s), self.other_ways())
            }
        })
    }

    /// The document of a write: of the caches that last as long, the one that lasts least.
    fn of_write(&self, ttl_s: f64) -> Option<&'static CacheDocument> {
        let lasts = |document: &&&CacheDocument| {
            document.offered_as != OfferedAs::Explicit
                && document.at_most_seconds.is_some_and(|most| most >= ttl_s)
        };
        let by_lifetime = |one: &&&CacheDocument, other: &&&CacheDocument| {
            let most = |document: &CacheDocument| document.at_most_seconds.unwrap_or(f64::INFINITY);
            most(one).total_cmp(&most(other))
        };
        self.documents
            .iter()
            .filter(lasts)
            .min_by(by_lifetime)
            .copied()
    }

    fn implicit(&self) -> Vec<CacheOffer> {
        let is_beside_writes = !self.lifetimes_s.is_empty() && self.read_explicit.is_none();
        let Some(read) = self.read.filter(|_| !is_beside_writes) else {
            return Vec::new();
        };
        let documented = self.of_kind(OfferedAs::Implicit);
        let default_write = || self.of_kind(OfferedAs::Write).take(1);
        let mut offers: Vec<CacheOffer> = documented
            .map(|document| self.documented(document, 0))
            .collect();
        if offers.is_empty() && self.has_untimed_write {
            offers.extend(default_write().map(|document| self.documented(document, 1)));
        }
        if offers.is_empty() {
            let has_explicit = self.fee.is_some() || self.read_explicit.is_some();
            let (name, other_ways) = match (has_explicit, self.has_untimed_write) {
                (true, _) => ("implicit cache", 0),
                (false, true) => ("cache write", 1),
                (false, false) => ("cache read", 0),
            };
            offers.push(self.offer(name.to_owned(), Lifetime::UNKNOWN, other_ways));
        }
        for offer in &mut offers {
            offer.read_over_input = Some(read);
        }
        offers
    }

    fn explicit(&self) -> Option<CacheOffer> {
        let fee = self.fee?;
        let documented = self.of_kind(OfferedAs::Explicit).next();
        let offer = match documented {
            Some(document) => self.documented(document, self.other_ways()),
            None => self.offer(
                "explicit cache".to_owned(),
                Lifetime::UNKNOWN,
                self.other_ways(),
            ),
        };
        Some(CacheOffer {
            read_over_input: self.read_explicit.or(self.read),
            hold_over_input_per_hour: Some(fee),
            ..offer
        })
    }

    fn of_kind(&self, kind: OfferedAs) -> impl Iterator<Item = &'static CacheDocument> {
        let of_kind = move |document: &&&'static CacheDocument| document.offered_as == kind;
        self.documents.iter().filter(of_kind).copied()
    }

    fn documented(&self, document: &'static CacheDocument, other_ways: usize) -> CacheOffer {
        let lifetime = Lifetime {
            promised: document.promised,
            at_least_s: document.at_least_seconds,
            at_most_s: document.at_most_seconds,
        };
        CacheOffer {
            document: Some(document),
            ..self.offer(document.name.clone(), lifetime, other_ways)
        }
    }
}

/// Documents of the seller of a sheet about caches, if the sheet is the author's own.
fn documents(sheet: &PriceSheet) -> Vec<&'static CacheDocument> {
    let seller = sheet
        .upstream_provider
        .as_deref()
        .unwrap_or(&sheet.provider);
    let canonical = sheet.canonical_model.as_deref();
    let author = canonical.and_then(|name| Some(name.split_once('/')?.0));
    let covers = |document: &&CacheDocument| document.covers(&[seller], author, &sheet.model);
    cache_documents().iter().filter(covers).collect()
}

/// A time in its largest whole unit.
fn duration(seconds: u32) -> String {
    let units = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let whole = units
        .iter()
        .find(|(length, _)| seconds.is_multiple_of(*length));
    let (length, unit) = whole.copied().unwrap_or((1, "second"));
    let count = seconds / length;
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

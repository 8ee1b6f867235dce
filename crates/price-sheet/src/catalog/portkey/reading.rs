//! Reads an entry: prices by region, and the sheet of each region.

use std::collections::{BTreeMap, BTreeSet};

use super::offer::tier_threshold;
use super::parts::{Part, Parts};
use super::prices::{CALLS_PER_PRICE, Prices};
use super::{CATALOG_URL, MARK};
use crate::catalog::entry::Entry;
use crate::catalog::names::IN_REGION;
use crate::catalog::offer::Offer;
use crate::catalog::rules::{
    context_tier_of, fast_mode, is_usable, name_priority, note_free, undo_slip_of_router,
};
use crate::catalog::values::whole_number;
use crate::sheet::{CacheWriteBilling, PriceSheet, RateCell, ServiceTier, Source, SourceFormat};
use iso_currency::Currency;
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::input::json::Json;

/// Key of the prices for regions that an entry does not list.
const OTHER_REGIONS: &str = "default";
/// Most regions of one entry: more than any provider has.
const MOST_REGIONS: usize = 128;
const PRICES: &str = "pay_as_you_go";
const BATCH: &str = "batch";
const CUSTOM: &str = "custom_pricing";

/// Context for reading an entry.
pub(super) struct Reading<'r, 'a> {
    pub(super) key: &'r str,
    pub(super) slug: &'r str,
    pub(super) cursor: &'r Cursor<'a>,
    pub(super) offer: &'r Offer,
    pub(super) parts: &'r Parts<'a>,
}

/// The prices of one region while they are read.
#[derive(Default)]
struct Region<'a> {
    entry: Entry<'a>,
    prices: Prices<'a>,
}

/// The regions that an entry names, and the one for all others.
#[derive(Default)]
struct Regions<'a> {
    other: Region<'a>,
    named: BTreeMap<String, Region<'a>>,
}

/// Path of price lists, with the names of context tiers.
struct Branch {
    path: String,
    threshold: u32,
    /// Thresholds of tiers by their names.
    tiers: BTreeMap<String, u32>,
}

impl<'a> Reading<'_, 'a> {
    /// The sheets, first that of all unnamed regions. `None` means that a fault is recorded.
    pub(super) fn sheets(&self) -> Option<Vec<PriceSheet>> {
        let currency = self.currency()?;
        let mut regions = Regions::default();
        for part in &self.parts.used {
            self.read_part(part, &mut regions)?;
        }
        let Regions { mut other, named } = regions;
        for part in &self.parts.unused {
            other.entry.keep(&part.name, part.cursor.json);
            other.entry.note("The catalog lists tiers of this model at several lengths; those at the largest one are used, the others are kept under `unmapped`.");
        }
        if other.prices.differ {
            other.entry.note("The catalog states some prices twice with different values; those by region and mode are used, the others are kept under `unmapped`.");
        }
        let name = self.name_of_others(&named)?;
        let mut sheets = Vec::new();
        for (region, prices) in named {
            if prices.prices.has_cells() {
                sheets.push(self.sheet(prices, &region, &currency)?);
            } else {
                let (kept, _) = prices.entry.finish();
                other
                    .entry
                    .keep_value(&format!("{CUSTOM}/regions/{region}"), kept.into());
            }
        }
        sheets.insert(0, self.sheet(other, name, &currency)?);
        Some(sheets)
    }

    /// Name of the unnamed regions, distinct from every named region with other prices.
    fn name_of_others(&self, named: &BTreeMap<String, Region<'a>>) -> Option<&str> {
        let name = self.offer.region.as_str();
        let free = [name, IN_REGION]
            .into_iter()
            .find(|name| !named.contains_key(*name));
        if free.is_none() {
            self.cursor.fault(
                format!("the regions `{name}` and `{IN_REGION}` have prices of their own"),
                format!(
                    "name a region as its provider does; `{IN_REGION}` stands for unnamed regions"
                ),
            );
        }
        free
    }

    /// The currency of all prices.
    fn currency(&self) -> Option<String> {
        let mut stated = self
            .parts
            .used
            .iter()
            .filter_map(|part| part.cursor.at(MARK)?.at("currency"));
        let Some(field) = stated.find(|field| !field.is_null()) else {
            return Some("USD".to_owned());
        };
        let code = field.name()?;
        if Currency::from_code(&code).is_none() {
            return field.refuse(
                format!("`{}` is not a currency", shortened(&code)),
                "write an ISO 4217 code in capitals, such as \"USD\"",
            );
        }
        Some(code)
    }

    fn read_part(&self, part: &Part<'a>, regions: &mut Regions<'a>) -> Option<()> {
        let fields = part.cursor.present()?;
        let field = |name: &str| fields.iter().find(|(found, _)| *found == name);
        if let Some((_, custom)) = field(CUSTOM) {
            self.read_custom(part, custom, regions)?;
        }
        if let Some((_, flat)) = field(MARK) {
            self.read_flat(part, flat, &mut regions.other)?;
        }
        for (name, field) in fields
            .iter()
            .filter(|(name, _)| ![CUSTOM, MARK].contains(name))
        {
            regions
                .other
                .entry
                .keep(&format!("{}{name}", part.path), field.json);
        }
        Some(())
    }

    /// `{"pay_as_you_go": …, "batch_config": …}`
    fn read_flat(&self, part: &Part<'a>, flat: &Cursor<'a>, region: &mut Region<'a>) -> Option<()> {
        for (name, field) in flat.present()? {
            let path = format!("{}{MARK}/{name}", part.path);
            match name {
                PRICES => self.add(region, &path, (RateCell::STANDARD, part.threshold), &field)?,
                "batch_config" => self.add(region, &path, (BATCH, part.threshold), &field)?,
                "fixed_cost" => read_fixed_cost(region, &path, &field)?,
                "currency" => {}
                _ => region.entry.keep(&path, field.json),
            }
        }
        Some(())
    }

    fn add(
        &self,
        region: &mut Region<'a>,
        path: &str,
        (service_tier, threshold): (&str, u32),
        list: &Cursor<'a>,
    ) -> Option<()> {
        let place = (
            service_tier,
            context_tier_of(&self.offer.provider, threshold),
        );
        region.prices.add(&mut region.entry, place, path, list)
    }

    /// `{"context_tier_map": …, "regions": {"us,eu": {"execution_modes": …}}}`
    fn read_custom(
        &self,
        part: &Part<'a>,
        custom: &Cursor<'a>,
        regions: &mut Regions<'a>,
    ) -> Option<()> {
        let tiers = read_tiers(custom)?;
        for (name, field) in custom.present()? {
            match name {
                "context_tier_map" => {}
                "regions" => self.read_regions(part, &tiers, &field, regions)?,
                _ => regions
                    .other
                    .entry
                    .keep(&format!("{}{CUSTOM}/{name}", part.path), field.json),
            }
        }
        Some(())
    }

    fn read_regions(
        &self,
        part: &Part<'a>,
        tiers: &BTreeMap<String, u32>,
        groups: &Cursor<'a>,
        regions: &mut Regions<'a>,
    ) -> Option<()> {
        let mut seen = BTreeSet::new();
        for (group, modes) in groups.present()? {
            let branch = Branch {
                path: format!("{}{CUSTOM}/regions/{group}", part.path),
                threshold: part.threshold,
                tiers: tiers.clone(),
            };
            if group == OTHER_REGIONS {
                self.read_modes(&branch, &modes, &mut regions.other)?;
                continue;
            }
            for region in group.split(',').map(str::trim) {
                check_region(region, &modes, &mut seen)?;
                let region = regions.named.entry(region.to_owned()).or_default();
                self.read_modes(&branch, &modes, region)?;
            }
        }
        Some(())
    }

    /// `{"execution_modes": {"batch": {"pricing_config": …}}}`, or in a mode `{"context_tiers": {"gt-272k": …}}`.
    fn read_modes(
        &self,
        branch: &Branch,
        modes: &Cursor<'a>,
        region: &mut Region<'a>,
    ) -> Option<()> {
        for (name, field) in modes.present()? {
            if name != "execution_modes" {
                region
                    .entry
                    .keep(&format!("{}/{name}", branch.path), field.json);
                continue;
            }
            for (mode, prices) in field.present()? {
                let mode = prices.key_as_name(mode)?;
                let path = format!("{}/execution_modes/{mode}", branch.path);
                self.read_mode(branch, (&mode, &path), &prices, region)?;
            }
        }
        Some(())
    }

    fn read_mode(
        &self,
        branch: &Branch,
        (mode, path): (&str, &str),
        prices: &Cursor<'a>,
        region: &mut Region<'a>,
    ) -> Option<()> {
        for (name, field) in prices.present()? {
            let path = format!("{path}/{name}");
            match name {
                MARK => self.read_list(&path, (mode, branch.threshold), &field, region)?,
                "context_tiers" => {
                    for (tier, prices) in field.present()? {
                        let path = format!("{path}/{tier}");
                        let known = branch.tiers.get(tier).copied();
                        let Some(threshold) = known.or_else(|| tier_threshold(tier)) else {
                            region.entry.keep(&path, prices.json);
                            region.entry.note(
                                "A context tier without a stated length is kept under `unmapped`.",
                            );
                            continue;
                        };
                        let threshold = threshold.max(branch.threshold);
                        for (name, field) in prices.present()? {
                            let path = format!("{path}/{name}");
                            if name == MARK {
                                self.read_list(&path, (mode, threshold), &field, region)?;
                            } else {
                                region.entry.keep(&path, field.json);
                            }
                        }
                    }
                }
                _ => region.entry.keep(&path, field.json),
            }
        }
        Some(())
    }

    /// Reads a list of prices, `{"pay_as_you_go": …}`.
    fn read_list(
        &self,
        path: &str,
        place: (&str, u32),
        list: &Cursor<'a>,
        region: &mut Region<'a>,
    ) -> Option<()> {
        for (name, field) in list.present()? {
            let path = format!("{path}/{name}");
            if name == PRICES {
                self.add(region, &path, place, &field)?;
            } else {
                region.entry.keep(&path, field.json);
            }
        }
        Some(())
    }

    fn sheet(&self, region: Region<'a>, name: &str, currency: &str) -> Option<PriceSheet> {
        let offer = self.offer;
        let Region {
            mut entry,
            mut prices,
        } = region;
        let mut cache_write_billing = prices.settle(&mut entry, offer);
        prices.drop_flat_tiers(&mut entry);
        let has_base_write = prices.has_base_write();
        let others = prices.other_names();
        let (mut rates, other_meters) = prices.finish(offer);
        note_free(&mut entry, &rates);
        if undo_slip_of_router(&mut entry, &offer.provider, &offer.model, &mut rates) {
            cache_write_billing = CacheWriteBilling::AsInput;
        } else if has_base_write {
            entry.note_lifetime("Portkey", offer.write_lifetime_s);
        }
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        if !is_usable(self.cursor, &entry, &rates, &others) {
            return None;
        }
        if offer.provider != self.slug {
            entry.keep_value("portkey_provider", self.slug.into());
        }
        let (unmapped, notes) = entry.finish();
        let names = self.parts.used.iter().map(|part| part.name.clone());
        Some(PriceSheet {
            aliases: names.filter(|name| *name != offer.model).collect(),
            region: name.to_owned(),
            currency: currency.to_owned(),
            cache_write_billing,
            service_tiers: service_tiers(offer, &rates),
            other_meters,
            sources: vec![Source::entry(SourceFormat::Portkey, CATALOG_URL, self.key)],
            notes,
            unmapped,
            ..offer.sheet(rates)
        })
    }
}

/// Reads the price per request; the price per answer is always 0.
fn read_fixed_cost<'a>(region: &mut Region<'a>, path: &str, costs: &Cursor<'a>) -> Option<()> {
    for (name, field) in costs.present()? {
        let path = format!("{path}/{name}");
        if name == "request" {
            let meter = ("requests", "per_1000", CALLS_PER_PRICE);
            region
                .prices
                .add_meter(&mut region.entry, meter, &path, &field)?;
        } else {
            region.entry.keep(&path, field.json);
        }
    }
    Some(())
}

/// `{"0": "lte-272k", "272000": "gt-272k"}`
fn read_tiers(custom: &Cursor<'_>) -> Option<BTreeMap<String, u32>> {
    let Some(map) = custom.at("context_tier_map").filter(|map| !map.is_null()) else {
        return Some(BTreeMap::new());
    };
    let mut tiers = BTreeMap::new();
    for (start, name) in map.entries()? {
        let Some(start) = whole_number(&Json::Number(start.into())) else {
            return name.refuse(
                format!("`{}` is not a number of tokens", shortened(start)),
                "write the map from thresholds to the names of tiers: {\"0\": \"lte-272k\", \"272000\": \"gt-272k\"}",
            );
        };
        tiers.insert(name.name()?, start);
    }
    Some(tiers)
}

/// Checks that a region is in one group only.
fn check_region<'g>(
    region: &'g str,
    prices: &Cursor<'_>,
    seen: &mut BTreeSet<&'g str>,
) -> Option<()> {
    prices.key_as_name(region)?;
    if !seen.insert(region) {
        return prices.refuse(
            format!("the region `{}` has two lists of prices", shortened(region)),
            "name a region once, alone or in a group such as \"us,eu\"",
        );
    }
    if seen.len() > MOST_REGIONS {
        return prices.refuse(
            format!("the entry has more than {MOST_REGIONS} regions"),
            format!("list up to {MOST_REGIONS} regions"),
        );
    }
    Some(())
}

/// The service tiers with their known properties.
fn service_tiers(offer: &Offer, rates: &[RateCell]) -> BTreeMap<String, ServiceTier> {
    let mut tiers = BTreeMap::new();
    if offer.provider == "anthropic" && rates.iter().any(|rate| rate.service_tier == "fast") {
        tiers.insert("fast".to_owned(), fast_mode());
    }
    name_priority(&mut tiers, rates, &offer.provider);
    tiers
}

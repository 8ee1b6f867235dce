//! All prices of an entry, and the intervals between the days on which they change.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::constraint::{Constraint, schedule};
use super::prices::{Prices, Reader};
use crate::catalog::entry::Entry;
use crate::catalog::hours::Hours;
use crate::catalog::offer::Offer;
use crate::catalog::values::is_name;
use crate::sheet::{JsonObject, PriceSheet, RateCell, ServiceTier};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Most prices in the list of an entry, most variants, and most days of change: far above any real entry.
const MOST_PRICES: usize = 64;
/// Synonyms of one service tier at `OpenAI`.
const ONE_TIER: [&str; 2] = ["fast", "priority"];

/// Prices with their validity.
struct Conditional<'a> {
    path: String,
    json: &'a Json,
    constraint: Constraint,
    prices: Prices,
}

/// Prices of a service tier.
struct Variant<'a> {
    service_tier: String,
    request: JsonObject,
    price: Conditional<'a>,
}

/// All prices of an entry.
pub(super) struct Timeline<'a> {
    list: Vec<Conditional<'a>>,
    variants: Vec<Variant<'a>>,
}

impl<'a> Timeline<'a> {
    fn add_notes(&self, entry: &mut Entry<'_>) {
        let mut variants = self.variants.iter();
        if variants.any(|variant| variant.price.constraint.date().is_some()) {
            entry.note("genai-prices dates a price variant by the day on which it was verified.");
        }
        let hours: Vec<_> = self
            .list
            .iter()
            .filter_map(|price| price.constraint.hours())
            .collect();
        let overlap = hours
            .iter()
            .enumerate()
            .any(|(index, one)| hours[index + 1..].iter().any(|other| one.overlaps(*other)));
        if overlap {
            entry.note("Where hours overlap, the price listed later applies.");
        }
    }

    /// The standard prices and those of variants.
    fn all(&self) -> impl Iterator<Item = &Conditional<'a>> {
        let variants = self.variants.iter().map(|variant| &variant.price);
        self.list.iter().chain(variants)
    }

    /// The days on which a price changes.
    fn dates(&self) -> BTreeSet<Timestamp> {
        self.all()
            .filter_map(|price| price.constraint.date())
            .collect()
    }

    /// Whether a cache write has no stated lifetime.
    pub(super) fn has_write_of_unknown_lifetime(&self) -> bool {
        self.all()
            .any(|price| price.prices.has_write_of_unknown_lifetime())
    }

    /// Names of the other priced items.
    pub(super) fn other_meters(&self) -> impl Iterator<Item = &str> {
        let others = self.list.iter().flat_map(|price| &price.prices.others);
        let names: BTreeSet<_> = others.map(|other| other.meter.as_str()).collect();
        names.into_iter()
    }

    /// Sheets of the intervals between days of change with a token price. Prices that apply in none of them are kept under `unmapped`.
    pub(super) fn intervals(&self, entry: &mut Entry<'a>, offer: &Offer) -> Vec<PriceSheet> {
        let dates = self.dates().into_iter().map(Some);
        let starts: Vec<_> = [None].into_iter().chain(dates).collect();
        let mut used = BTreeSet::new();
        let mut intervals: Vec<PriceSheet> = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            // Of the applicable prices, the last listed one counts.
            let holds = |price: &Conditional<'_>| price.constraint.holds_from(*start);
            let Some(base) = self.list.iter().rposition(holds) else {
                continue;
            };
            if !self.list[base].prices.has_token_price() {
                continue;
            }
            let hourly = self.hourly_after(base);
            used.extend(hourly.iter().copied().chain([base]));
            let mut interval = self.interval(base, &hourly, *start, offer);
            interval.valid_to = starts.get(index + 1).copied().flatten();
            match intervals.last_mut() {
                Some(last) if last.valid_to == *start && has_what(last, &interval) => {
                    last.valid_to = interval.valid_to;
                }
                _ => intervals.push(interval),
            }
        }
        for (index, price) in self.list.iter().enumerate() {
            if !intervals.is_empty() && !used.contains(&index) {
                entry.keep(&price.path, price.json);
                entry.note(
                    "A price that never applies, or is not per token, was kept under `unmapped`.",
                );
            }
        }
        intervals
    }

    /// Indices of the prices that replace a base at some hours: those listed after it, unless a later one has the same hours.
    fn hourly_after(&self, base: usize) -> Vec<usize> {
        let hours = |index: usize| self.list[index].constraint.hours();
        let is_last = |index: &usize| {
            hours(*index).is_some()
                && self.list[*index].prices.has_token_price()
                && !(index + 1..self.list.len()).any(|later| hours(later) == hours(*index))
        };
        (base + 1..self.list.len()).filter(is_last).collect()
    }

    fn interval(
        &self,
        base: usize,
        hourly: &[usize],
        start: Option<Timestamp>,
        offer: &Offer,
    ) -> PriceSheet {
        let nothing = Prices::default();
        let base = &self.list[base].prices;
        let mut interval = PriceSheet {
            valid_from: start,
            other_meters: base.others.clone(),
            ..offer.sheet(base.cells(RateCell::STANDARD, None, &nothing))
        };
        let hourly = hourly.iter().map(|index| &self.list[*index]);
        let hourly = hourly.filter_map(|price| Some((price.constraint.hours()?, &price.prices)));
        add_hourly(&mut interval, RateCell::STANDARD, base, hourly);
        // The base differs by hour, so nothing is inherited from it alone.
        let inherited = if interval.schedules.is_empty() {
            base
        } else {
            &nothing
        };
        for (service_tier, prices) in self.variants_from(start) {
            add_variant(&mut interval, &service_tier, &prices, inherited);
        }
        for variant in &self.variants {
            if let Some(hours) = variant.price.constraint.hours() {
                let hourly = [(hours, &variant.price.prices)];
                add_hourly(
                    &mut interval,
                    &variant.service_tier,
                    base,
                    hourly.into_iter(),
                );
            }
        }
        for variant in &self.variants {
            name_request(&mut interval, variant);
        }
        interval
    }

    /// The applicable prices of each service tier; of two variants of a tier, the first counts.
    fn variants_from(&self, start: Option<Timestamp>) -> Vec<(String, Prices)> {
        let mut tiers: Vec<(String, Prices)> = Vec::new();
        for variant in &self.variants {
            if !variant.price.constraint.holds_from(start) {
                continue;
            }
            match tiers
                .iter_mut()
                .find(|(name, _)| *name == variant.service_tier)
            {
                Some((_, prices)) => prices.or_else(&variant.price.prices),
                None => tiers.push((variant.service_tier.clone(), variant.price.prices.clone())),
            }
        }
        tiers
    }
}

/// Whether both sell the same.
fn has_what(one: &PriceSheet, other: &PriceSheet) -> bool {
    one.rates == other.rates
        && one.schedules == other.schedules
        && one.service_tiers == other.service_tiers
        && one.other_meters == other.other_meters
}

/// Adds the prices limited to some hours; equal ones share a schedule.
fn add_hourly<'p>(
    sheet: &mut PriceSheet,
    service_tier: &str,
    base: &Prices,
    hourly: impl Iterator<Item = (Hours, &'p Prices)>,
) {
    let mut groups: Vec<(&Prices, Vec<Hours>)> = Vec::new();
    for (hours, prices) in hourly {
        match groups.iter_mut().find(|(known, _)| *known == prices) {
            Some((_, known)) => known.push(hours),
            None => groups.push((prices, vec![hours])),
        }
    }
    for (prices, hours) in groups {
        let name = add_schedule(sheet, prices, base, &hours);
        let cells = prices.cells(service_tier, Some(&name), &Prices::default());
        sheet.rates.extend(cells);
    }
}

/// Adds a schedule for these hours and returns its name.
fn add_schedule(sheet: &mut PriceSheet, prices: &Prices, base: &Prices, hours: &[Hours]) -> String {
    let wanted = schedule(hours);
    if let Some((name, _)) = sheet.schedules.iter().find(|(_, known)| **known == wanted) {
        return name.clone();
    }
    let by_level = match prices.level().partial_cmp(&base.level()) {
        Some(std::cmp::Ordering::Greater) => "peak".to_owned(),
        Some(std::cmp::Ordering::Less) => "off_peak".to_owned(),
        _ => hours[0].name(),
    };
    let numbered = format!("schedule {}", sheet.schedules.len() + 1);
    let name = [by_level, hours[0].name()]
        .into_iter()
        .find(|name| !sheet.schedules.contains_key(name))
        .unwrap_or(numbered);
    sheet.schedules.insert(name.clone(), wanted);
    name
}

fn add_variant(sheet: &mut PriceSheet, service_tier: &str, prices: &Prices, inherited: &Prices) {
    let cells = prices.cells(service_tier, None, inherited);
    let sold_as_standard = |cell: &RateCell| RateCell {
        service_tier: RateCell::STANDARD.to_owned(),
        ..cell.clone()
    };
    let is_twin = |name: &&str| {
        let known = sheet
            .rates
            .iter()
            .filter(|cell| cell.service_tier == **name);
        known
            .map(sold_as_standard)
            .eq(cells.iter().map(sold_as_standard))
    };
    if ONE_TIER.contains(&service_tier)
        && let Some(twin) = ONE_TIER.iter().find(|name| is_twin(name))
        && let Some(tier) = sheet.service_tiers.get_mut(*twin)
    {
        tier.aliases.push(service_tier.to_owned());
        return;
    }
    sheet.rates.extend(cells);
    let tier = ServiceTier::default();
    sheet.service_tiers.insert(service_tier.to_owned(), tier);
}

fn name_request(sheet: &mut PriceSheet, variant: &Variant<'_>) {
    let is_sold = sheet
        .rates
        .iter()
        .any(|cell| cell.service_tier == variant.service_tier);
    if is_sold {
        let tier = sheet
            .service_tiers
            .entry(variant.service_tier.clone())
            .or_default();
        tier.request.clone_from(&variant.request);
    }
}

fn few<'a>(list: &Cursor<'a>) -> Option<Vec<Cursor<'a>>> {
    let items = list.items()?;
    if items.len() > MOST_PRICES {
        return list.refuse(
            format!("a list of {} prices", items.len()),
            format!("list up to {MOST_PRICES} prices"),
        );
    }
    Some(items)
}

impl<'a> Reader<'_, 'a> {
    pub(super) fn timeline(&mut self, cursor: &Cursor<'a>) -> Option<Timeline<'a>> {
        let list = self.entry.take("prices");
        let list = list.map_or(Some(Vec::new()), |list| self.list(&list))?;
        let never_ends = |price: &Conditional<'_>| price.constraint.hours().is_none();
        if !list.is_empty() && !list.iter().any(never_ends) {
            return cursor.refuse(
                "every price is limited to some hours",
                "list one price without `start_time` and `end_time`",
            );
        }
        let variants = self.entry.take("price_variants");
        let variants = variants.map_or(Some(Vec::new()), |variants| self.variants(&variants))?;
        let timeline = Timeline { list, variants };
        let dates = timeline.dates().len();
        if dates > MOST_PRICES {
            return cursor.refuse(
                format!("the prices change on {dates} days"),
                format!("write up to {MOST_PRICES} days"),
            );
        }
        timeline.add_notes(self.entry);
        Some(timeline)
    }

    /// Prices as an object, or a list of `{"constraint": …, "prices": {…}}`.
    fn list(&mut self, prices: &Cursor<'a>) -> Option<Vec<Conditional<'a>>> {
        if !matches!(prices.json, Json::Array(_)) {
            let path = "prices".to_owned();
            return Some(vec![Conditional {
                prices: self.prices(&path, prices)?,
                path,
                json: prices.json,
                constraint: Constraint::Always,
            }]);
        }
        let mut list = Vec::new();
        for (index, price) in few(prices)?.iter().enumerate() {
            list.push(self.conditional(format!("prices/{index}"), price)?);
        }
        Some(list)
    }

    fn conditional(&mut self, path: String, price: &Cursor<'a>) -> Option<Conditional<'a>> {
        let fields = price.fields()?;
        let constraint = match fields.get_or_null("constraint") {
            Some(constraint) => Constraint::read(&constraint)?,
            None => Constraint::Always,
        };
        let prices = fields.required("prices", "write the prices: {\"input_mtok\": …}")?;
        let prices = self.prices(&format!("{path}/prices"), &prices)?;
        for (name, field) in price.entries()? {
            if !["constraint", "prices", "when"].contains(&name) {
                self.entry.keep(&format!("{path}/{name}"), field.json);
            }
        }
        Some(Conditional {
            path,
            json: price.json,
            constraint,
            prices,
        })
    }

    /// Reads `[{"when": {"processing": "batch"}, "prices": {…}, "constraint": {…}}]`; a variant without a token price is kept.
    fn variants(&mut self, variants: &Cursor<'a>) -> Option<Vec<Variant<'a>>> {
        let mut read: Vec<Variant<'_>> = Vec::new();
        for (index, item) in few(variants)?.into_iter().enumerate() {
            let request = read_when(&item)?;
            let price = self.conditional(format!("price_variants/{index}"), &item)?;
            let path = &price.path;
            if !price.prices.has_token_price() {
                self.entry.keep(path, item.json);
                continue;
            }
            for other in &price.prices.others {
                let stated = Value::from(other.price.to_string());
                self.entry
                    .keep_value(&format!("{path}/{}", other.meter), stated);
            }
            let service_tier = tier_name(&item, &request, &read)?;
            read.push(Variant {
                service_tier,
                request,
                price,
            });
        }
        Some(read)
    }
}

/// The texts of a request that select a variant.
fn read_when(variant: &Cursor<'_>) -> Option<JsonObject> {
    let fields = variant.fields()?;
    let when = fields.required(
        "when",
        "write the request fields that select the variant, such as {\"processing\": \"batch\"}",
    )?;
    let mut request = JsonObject::new();
    for (name, field) in when.entries()? {
        when.key_as_name(name)?;
        request.insert(name.to_owned(), Value::from(field.name()?));
    }
    if request.is_empty() {
        return when.refuse(
            "the variant has no condition",
            "write the request fields that select it, such as {\"processing\": \"batch\"}",
        );
    }
    Some(request)
}

/// Name of the tier: the values of `when`, with their field names if another tier has the same values.
fn tier_name(variant: &Cursor<'_>, request: &JsonObject, known: &[Variant<'_>]) -> Option<String> {
    let joined = |part: &dyn Fn((&String, &Value)) -> String| {
        let parts: Vec<_> = request.iter().map(part).collect();
        parts.join(",")
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let short = joined(&|(_, value)| text(value));
    let is_taken = |name: &str| {
        let is_other =
            |known: &Variant<'_>| known.service_tier == name && known.request != *request;
        name == RateCell::STANDARD || known.iter().any(is_other)
    };
    let name = if is_taken(&short) {
        joined(&|(name, value)| format!("{name}={}", text(value)))
    } else {
        short
    };
    if !is_name(&name) || is_taken(&name) {
        return variant.refuse(
            "the variant's condition is too long, or repeated",
            "select each variant by a short, distinct text",
        );
    }
    Some(name)
}

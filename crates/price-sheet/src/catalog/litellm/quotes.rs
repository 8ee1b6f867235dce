//! The token prices of an entry: flat fields, bands of `tiered_pricing`, off-peak prices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::off_peak;
use super::rate_name::{RateName, WRITE};
use crate::catalog::entry::Entry;
use crate::catalog::meter::{Meter, Quote, cell, write_billing};
use crate::catalog::offer::Offer;
use crate::sheet::{CacheWriteBilling, ContextTier, JsonObject, RateCell, Schedule};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Factor from prices per token to prices per million tokens.
const TOKENS_PER_PRICE: u32 = 1_000_000;
/// Name of the cache-read price, and the older one that is listed next to it.
const CACHE_READ: &str = "cache_read_input_token_cost";
const CACHE_HIT: &str = "input_cost_per_token_cache_hit";

/// All token prices of an entry.
pub(super) struct Quotes<'a> {
    quotes: BTreeMap<RateName, Quote<'a>>,
    pub(super) schedules: BTreeMap<String, Schedule>,
}

impl<'a> Quotes<'a> {
    /// Takes every token price out of an entry. Of two fields for one price, the first counts.
    pub(super) fn take(entry: &mut Entry<'a>) -> Self {
        let mut quotes = Self {
            quotes: BTreeMap::new(),
            schedules: BTreeMap::new(),
        };
        if let Some(tiered) = entry.take("tiered_pricing") {
            quotes.add_bands(entry, &tiered);
        }
        for (name, rate, field) in entry.take_all(RateName::parse) {
            quotes.add(entry, name.to_owned(), &field, rate);
        }
        if let Some((field, rate)) = entry.take(CACHE_HIT).zip(RateName::parse(CACHE_READ)) {
            quotes.add(entry, CACHE_HIT.to_owned(), &field, rate);
        }
        if let Some(pricing) = entry.take("off_peak_pricing") {
            quotes.add_off_peak(entry, &pricing);
        }
        quotes.keep_unclear_zeros(entry);
        quotes
    }

    fn add(&mut self, entry: &mut Entry<'a>, path: String, field: &Cursor<'a>, place: RateName) {
        let Some(price) = entry.decimal(&path, field, TOKENS_PER_PRICE) else {
            return;
        };
        let json = field.json;
        Quote { path, json, price }.add(&mut self.quotes, place, entry);
    }

    /// Reads `[{"range": [from, to], "input_cost_per_token": …}]`; a band without a token range has another unit.
    fn add_bands(&mut self, entry: &mut Entry<'a>, tiered: &Cursor<'a>) {
        let bands = matches!(tiered.json, Json::Array(_)).then(|| tiered.items());
        let Some(bands) = bands.flatten() else {
            entry.keep("tiered_pricing", tiered.json);
            return;
        };
        let mut left = Vec::new();
        for (index, band) in bands.iter().enumerate() {
            match band_start(band.json) {
                Some(start) => left.extend(self.add_band(entry, index, start, band)),
                None => left.push(Value::from(band.json)),
            }
        }
        if !left.is_empty() {
            entry.keep_value("tiered_pricing", Value::Array(left));
        }
    }

    fn add_band(
        &mut self,
        entry: &mut Entry<'a>,
        index: usize,
        start: u32,
        band: &Cursor<'a>,
    ) -> Option<Value> {
        let mut left = JsonObject::new();
        for (name, field) in band.present()? {
            match RateName::parse(name).filter(|rate| rate.min_prompt_tokens == 0) {
                Some(rate) => {
                    let rate = RateName {
                        min_prompt_tokens: start,
                        ..rate
                    };
                    let path = format!("tiered_pricing/{index}/{name}");
                    self.add(entry, path, &field, rate);
                }
                None => {
                    left.insert(name.to_owned(), Value::from(field.json));
                }
            }
        }
        let has_more_than_range = left.keys().any(|name| name != "range");
        has_more_than_range.then_some(Value::Object(left))
    }

    fn add_off_peak(&mut self, entry: &mut Entry<'a>, pricing: &Cursor<'a>) {
        let schedule = match pricing.json {
            Json::Object(fields) if fields.keys().any(|name| RateName::parse(name).is_some()) => {
                off_peak::read_schedule(fields)
            }
            _ => None,
        };
        let Some((schedule, fields)) = schedule.zip(pricing.entries()) else {
            entry.keep("off_peak_pricing", pricing.json);
            entry.note("The off-peak prices could not be read and are kept under `unmapped`.");
            return;
        };
        let mut left = JsonObject::new();
        for (name, field) in fields {
            match RateName::parse(name) {
                Some(rate) if *field.json != Json::Null => {
                    let place = RateName {
                        is_off_peak: true,
                        ..rate
                    };
                    self.add(entry, format!("off_peak_pricing/{name}"), &field, place);
                }
                None if !off_peak::SCHEDULE_FIELDS.contains(&name) => {
                    left.insert(name.to_owned(), Value::from(field.json));
                }
                _ => {}
            }
        }
        entry.keep_rest("off_peak_pricing", left);
        self.schedules.insert(off_peak::NAME.to_owned(), schedule);
    }

    /// Keeps tiers with all prices 0 next to a priced base under `unmapped`: they are missing values rather than free.
    fn keep_unclear_zeros(&mut self, entry: &mut Entry<'a>) {
        let priced: BTreeSet<_> = self
            .quotes
            .iter()
            .filter(|(_, quote)| !quote.price.is_zero())
            .map(|(place, _)| place.cell())
            .collect();
        if !priced.contains(&(RateCell::STANDARD, 0, false)) {
            return;
        }
        for (_, quote) in self
            .quotes
            .extract_if(.., |place, _| !priced.contains(&place.cell()))
        {
            quote.keep(entry);
            entry.note("A tier whose prices are all 0 beside a priced base is unclear; it is kept under `unmapped`.");
        }
    }

    /// Billing of cache writes: a write price of 0 next to a priced input means that writes are billed as input.
    pub(super) fn settle_cache_writes(&mut self, entry: &mut Entry<'a>) -> CacheWriteBilling {
        let is_input_priced = self
            .quotes
            .iter()
            .any(|(place, quote)| place.meter == Meter::Input && !quote.price.is_zero());
        let zeros: Vec<_> = self
            .quotes
            .extract_if(.., |place, quote| {
                is_input_priced && place.meter.is_write() && quote.price.is_zero()
            })
            .collect();
        let meters = self.quotes.keys().map(|place| &place.meter);
        let billing = write_billing(meters, !zeros.is_empty());
        if billing == CacheWriteBilling::Priced {
            for (_, zero) in zeros {
                zero.keep(entry);
            }
        }
        billing
    }

    /// Whether a cache write has no stated lifetime.
    pub(super) fn has_base_write(&self) -> bool {
        self.quotes.keys().any(|place| place.meter == WRITE)
    }

    /// The cells of a sheet, in their order.
    pub(super) fn cells(self, offer: &Offer) -> Vec<RateCell> {
        let mut cells = BTreeMap::new();
        for (place, quote) in self.quotes {
            let cell = cells
                .entry(place.cell())
                .or_insert_with(|| empty_cell(place, offer));
            let lifetime_s = Some(offer.write_lifetime_s);
            place.meter.set(cell, quote.price, lifetime_s);
        }
        let mut cells: Vec<_> = cells.into_values().collect();
        cells.sort_by(|left, right| left.key().cmp(&right.key()));
        cells
    }
}

fn empty_cell(place: RateName, offer: &Offer) -> RateCell {
    let min_prompt_tokens = place.min_prompt_tokens;
    // Higher rates of xAI apply from the threshold on, all others above it.
    let inclusive = min_prompt_tokens > 0 && offer.provider == "xai";
    let schedule = place.is_off_peak.then_some(off_peak::NAME);
    let tier = ContextTier {
        min_prompt_tokens,
        inclusive,
    };
    cell(place.service_tier, tier, schedule, [], None)
}

/// The lower end of a band. A band from 1 is the same as a band from 0.
fn band_start(band: &Json) -> Option<u32> {
    let [from, _to] = band.at("range")?.items() else {
        return None;
    };
    let start = crate::catalog::values::whole_number(from)?;
    Some(if start == 1 { 0 } else { start })
}

//! The prices of one region by mode and context tier, with corrections of known errors.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::entry::Entry;
use crate::catalog::meter::{Meter, Quote, cell, other_meter, write_billing};
use crate::catalog::offer::Offer;
use crate::sheet::{CacheWriteBilling, ContextTier, JsonObject, OtherMeter, RateCell};
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::units::Decimal;

/// Factor from hundredths per token to prices per million tokens.
const TOKENS_PER_PRICE: u32 = 10_000;
/// Factor from hundredths per call to prices per thousand calls, chosen to be a whole number.
pub(super) const CALLS_PER_PRICE: u32 = 10;

/// Meters by field name; of two names for one price, the first counts.
const METERS: [(&str, Meter); 9] = [
    ("request_token", Meter::Input),
    ("request_text_token", Meter::Input),
    ("response_token", Meter::Output),
    ("response_text_token", Meter::Output),
    ("reasoning_token", Meter::Reasoning),
    ("cache_read_input_token", Meter::CacheRead),
    ("cache_read_text_input_token", Meter::CacheRead),
    ("cached_text_input_token", Meter::CacheRead),
    ("cache_write_input_token", WRITE),
];
/// A cache write, whose time to live Portkey does not state.
const WRITE: Meter = Meter::CacheWrite(None);
/// Prices per token other than text tokens.
const OTHER_TOKENS: [(&str, &str); 7] = [
    ("request_audio_token", "input_audio"),
    ("response_audio_token", "output_audio"),
    ("cache_read_audio_input_token", "cache_read_audio"),
    ("request_image_token", "input_image"),
    ("response_image_token", "output_image"),
    ("cache_read_image_input_token", "cache_read_image"),
    ("cached_image_input_token", "cache_read_image"),
];
/// The prices per call of a tool, under `additional_units`.
const CALLS: &str = "\
    attachment_search code_execution enterprise_web_search file_search maps search web_search \
    x_search";
const ADDITIONAL: &str = "additional_units";

type Cell<'a> = BTreeMap<Meter, Quote<'a>>;

/// All prices of a region.
#[derive(Default)]
pub(super) struct Prices<'a> {
    cells: BTreeMap<(String, u32), (ContextTier, Cell<'a>)>,
    meters: BTreeMap<&'static str, OtherMeter>,
    /// Whether a price was stated twice with different values.
    pub(super) differ: bool,
    /// Names of the other priced items.
    others: BTreeSet<String>,
}

impl<'a> Prices<'a> {
    /// Adds a price list such as `{"request_token": {"price": 0.00025}}`. Of two lists for one place the first counts;
    /// differing prices of the second are kept under `unmapped`. `None` means that a fault is recorded.
    pub(super) fn add(
        &mut self,
        entry: &mut Entry<'a>,
        place: (&str, ContextTier),
        path: &str,
        list: &Cursor<'a>,
    ) -> Option<()> {
        let mut left: BTreeMap<&str, Cursor<'a>> = list.present()?.into_iter().collect();
        let mut cell = Cell::new();
        for (name, meter) in METERS {
            if let Some(field) = left.remove(name) {
                let path = format!("{path}/{name}");
                read_quote(entry, &mut cell, meter, path, &field)?;
            }
        }
        if let Some(field) = left.remove(ADDITIONAL) {
            let path = format!("{path}/{ADDITIONAL}");
            self.add_units(entry, &mut cell, &path, &field)?;
        }
        for (name, meter) in OTHER_TOKENS {
            if let Some(field) = left.remove(name) {
                let path = format!("{path}/{name}");
                self.add_meter(
                    entry,
                    (meter, "per_1m_tokens", TOKENS_PER_PRICE),
                    &path,
                    &field,
                )?;
            }
        }
        for (name, field) in left {
            entry.keep(&format!("{path}/{name}"), field.json);
            self.others.insert(name.to_owned());
        }
        self.add_cell(entry, place, cell);
        Some(())
    }

    /// Adds the prices of tools, of writes with a longer lifetime, and of unknown units.
    fn add_units(
        &mut self,
        entry: &mut Entry<'a>,
        cell: &mut Cell<'a>,
        path: &str,
        units: &Cursor<'a>,
    ) -> Option<()> {
        for (name, field) in units.present()? {
            let path = format!("{path}/{name}");
            if name == "cache_write_1h" {
                read_quote(entry, cell, Meter::CacheWrite(Some(3_600)), path, &field)?;
            } else if let Some(call) = CALLS.split(' ').find(|call| *call == name) {
                self.add_meter(
                    entry,
                    (call, "per_1000_calls", CALLS_PER_PRICE),
                    &path,
                    &field,
                )?;
            } else {
                entry.keep(&path, field.json);
                self.others.insert(name.to_owned());
            }
        }
        Some(())
    }

    /// Adds the price of another item; a price of 0 is a missing value and kept under `unmapped`.
    pub(super) fn add_meter(
        &mut self,
        entry: &mut Entry<'a>,
        (meter, unit, factor): (&'static str, &str, u32),
        path: &str,
        field: &Cursor<'a>,
    ) -> Option<()> {
        let price = read_price(entry, path, field, factor)?;
        let known = self.meters.get(meter);
        if price.is_zero() || known.is_some_and(|known| known.price != price) {
            entry.keep(path, field.json);
        } else if known.is_none() {
            self.meters.insert(meter, other_meter(meter, unit, price));
        }
        Some(())
    }

    fn add_cell(
        &mut self,
        entry: &mut Entry<'a>,
        (service_tier, context_tier): (&str, ContextTier),
        cell: Cell<'a>,
    ) {
        let key = (service_tier.to_owned(), context_tier.min_prompt_tokens);
        let Some((_, known)) = self.cells.get(&key) else {
            if !cell.is_empty() {
                self.cells.insert(key, (context_tier, cell));
            }
            return;
        };
        for (meter, quote) in &cell {
            let first = known.get(meter);
            if first.is_none_or(|first| first.price != quote.price) {
                quote.keep(entry);
                self.differ |= first.is_some() || !quote.price.is_zero();
            }
        }
    }

    /// Names of the priced items other than text tokens.
    pub(super) fn other_names(&self) -> Vec<String> {
        let meters = self.meters.keys().map(|meter| (*meter).to_owned());
        self.others.iter().cloned().chain(meters).collect()
    }

    /// Whether there is a token price.
    pub(super) fn has_cells(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Corrects known errors and returns the billing of cache writes.
    pub(super) fn settle(&mut self, entry: &mut Entry<'a>, offer: &Offer) -> CacheWriteBilling {
        let is_gemini_of_google = ["google", "google-vertex"].contains(&offer.provider.as_str())
            && offer.model.contains("gemini");
        let mut writes_cost_input = false;
        let mut zeros = Vec::new();
        for (_, cell) in self.cells.values_mut() {
            let Some(input) = price_of(cell, Meter::Input).filter(|input| !input.is_zero()) else {
                continue;
            };
            zeros.extend(take_if(cell, WRITE, Decimal::is_zero));
            if let Some(zero) = take_if(cell, Meter::CacheRead, Decimal::is_zero) {
                zero.keep(entry);
                entry.note("A cache read of 0 beside a priced input is unclear; it is kept under `unmapped`.");
            }
            if is_gemini_of_google {
                undo_misfiled_read(entry, cell, &input);
                let write = take_if(cell, WRITE, |write| *write == input);
                writes_cost_input |= write.is_some();
            } else if offer.provider == "byteplus"
                && let Some(fee) = take_if(cell, WRITE, |write| *write < input)
            {
                cell.insert(Meter::Storage, fee);
                entry.note("Portkey lists BytePlus's storage fee per hour as a cache write; read as a fee per hour.");
            }
        }
        let meters = self.cells.values().flat_map(|(_, cell)| cell.keys());
        let billing = write_billing(meters, writes_cost_input || !zeros.is_empty());
        if billing == CacheWriteBilling::Priced {
            for zero in zeros {
                zero.keep(entry);
            }
        }
        billing
    }

    /// Drops the cells of longer prompts if all have the prices of the shortest ones, and adds a note.
    pub(super) fn drop_flat_tiers(&mut self, entry: &mut Entry<'a>) {
        const MOST_NAMED: usize = 16;
        let tiers: BTreeSet<_> = self.cells.keys().map(|(tier, _)| tier.clone()).collect();
        let mut dropped = BTreeSet::new();
        for tier in tiers {
            let Some((_, base)) = self.cells.get(&(tier.clone(), 0)) else {
                continue;
            };
            let longer = || {
                self.cells
                    .range((tier.clone(), 1)..=(tier.clone(), u32::MAX))
            };
            if longer().all(|(_, (_, cell))| is_same(base, cell)) {
                let keys: Vec<_> = longer().map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.cells.remove(&key);
                    dropped.insert(key.1);
                }
            }
        }
        let named: Vec<_> = dropped
            .iter()
            .take(MOST_NAMED)
            .map(u32::to_string)
            .collect();
        if !named.is_empty() {
            entry.note(&format!(
                "Prompts beyond {} tokens are listed at the prices of shorter ones.",
                named.join(", ")
            ));
        }
    }

    /// Whether a cache write has no stated lifetime.
    pub(super) fn has_base_write(&self) -> bool {
        self.cells
            .values()
            .any(|(_, cell)| cell.contains_key(&WRITE))
    }

    /// The cells of a sheet in their order, and the other meters.
    pub(super) fn finish(self, offer: &Offer) -> (Vec<RateCell>, Vec<OtherMeter>) {
        let cells = self.cells.into_iter();
        let mut rates: Vec<_> = cells
            .map(|((service_tier, _), (context_tier, prices))| {
                let prices = prices
                    .into_iter()
                    .map(|(meter, quote)| (meter, quote.price));
                let lifetime_s = Some(offer.write_lifetime_s);
                cell(&service_tier, context_tier, None, prices, lifetime_s)
            })
            .collect();
        rates.sort_by(|left, right| left.key().cmp(&right.key()));
        (rates, self.meters.into_values().collect())
    }
}

fn read_quote<'a>(
    entry: &mut Entry<'a>,
    cell: &mut Cell<'a>,
    meter: Meter,
    path: String,
    field: &Cursor<'a>,
) -> Option<()> {
    let price = read_price(entry, &path, field, TOKENS_PER_PRICE)?;
    let json = field.json;
    Quote { path, json, price }.add(cell, meter, entry);
    Some(())
}

/// The price in `{"price": 0.00025}`; other fields are kept under `unmapped`.
fn read_price<'a>(
    entry: &mut Entry<'a>,
    path: &str,
    field: &Cursor<'a>,
    factor: u32,
) -> Option<Decimal> {
    let Some(price) = field.at("price").filter(|price| !price.is_null()) else {
        let name = path.rsplit('/').next().unwrap_or_default();
        return field.refuse(
            format!(
                "`{}` is {} without a `price`",
                shortened(name),
                field.json.kind()
            ),
            "write the price in hundredths of the currency, such as {\"price\": 0.00025}; leave the field out if no price is published",
        );
    };
    let mut beside = JsonObject::new();
    for (name, other) in field.present()? {
        if name != "price" {
            beside.insert(name.to_owned(), other.json.into());
        }
    }
    entry.keep_rest(path, beside);
    entry.decimal(path, &price, factor)
}

fn is_same(one: &Cell<'_>, other: &Cell<'_>) -> bool {
    let [one, other] =
        [one, other].map(|cell| cell.iter().map(|(meter, quote)| (meter, &quote.price)));
    one.eq(other)
}

fn price_of(cell: &Cell<'_>, meter: Meter) -> Option<Decimal> {
    cell.get(&meter).map(|quote| quote.price.clone())
}

fn take_if<'a>(
    cell: &mut Cell<'a>,
    meter: Meter,
    is_meant: impl Fn(&Decimal) -> bool,
) -> Option<Quote<'a>> {
    cell.get(&meter).filter(|quote| is_meant(&quote.price))?;
    cell.remove(&meter)
}

/// Corrects Gemini's cache prices: Google's reads cost less than input, writes as much as input, and storage is charged per
/// hour. So a read above the input price is that fee, and a cheaper write beside it is the read.
fn undo_misfiled_read<'a>(entry: &mut Entry<'a>, cell: &mut Cell<'a>, input: &Decimal) {
    let fee = take_if(cell, Meter::CacheRead, |read| read > input);
    let write = take_if(cell, WRITE, |write| write < input);
    match (fee, write) {
        (Some(fee), Some(read)) => {
            cell.insert(Meter::Storage, fee);
            cell.insert(Meter::CacheRead, read);
            entry.note("Portkey lists Gemini's storage fee per hour as a cache read, and the cache read as a write; read as what they are.");
        }
        (fee, write) => {
            for unclear in fee.into_iter().chain(write) {
                unclear.keep(entry);
                entry.note("Google's cache reads cost less than input and its cache writes no less; other prices are kept under `unmapped`.");
            }
        }
    }
}

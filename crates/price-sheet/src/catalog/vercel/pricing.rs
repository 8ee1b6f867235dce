//! The prices of a model: cells by service tier and length of the prompt, for each region.

use std::collections::BTreeMap;

use crate::catalog::entry::Entry;
use crate::catalog::meter::{Meter, other_meter};
use crate::catalog::rules::context_tier_of;
use crate::catalog::values::whole_number;
use crate::sheet::{ContextTier, OtherMeter, PriceSheet, RateCell};
use unroof_base::input::cursor::Cursor;

const MILLION: u32 = 1_000_000;
const METERS: [(&str, Meter); 4] = [
    ("input", Meter::Input),
    ("output", Meter::Output),
    ("input_cache_read", Meter::CacheRead),
    ("input_cache_write", Meter::CacheWrite(None)),
];
/// Prices other than for text tokens: field, meter, unit, factor. The list writes 10 for Anthropic's 10 $ per 1,000 searches.
const OTHERS: [(&str, &str, &str, u32); 3] = [
    ("web_search", "web_search", "per_1000_calls", 1),
    (
        "audio_input_token_cost",
        "input_audio",
        "per_1m_tokens",
        MILLION,
    ),
    (
        "audio_output_token_cost",
        "output_audio",
        "per_1m_tokens",
        MILLION,
    ),
];
/// Prices of a service tier, with those of long prompts.
const FAST: &str = "fast";
const LONG: &str = "long_context";

type Fields<'a> = BTreeMap<&'a str, Cursor<'a>>;

/// The prices in a region.
pub(super) struct Region {
    pub(super) name: String,
    pub(super) rates: Vec<RateCell>,
}

/// All prices of a model.
pub(super) struct Pricing {
    /// The prices of each region, first those without one.
    pub(super) regions: Vec<Region>,
    pub(super) other_meters: Vec<OtherMeter>,
    unread: Vec<String>,
}

impl Pricing {
    /// The prices of a model of an author; none if a fault is recorded.
    pub(super) fn read<'a>(
        entry: &mut Entry<'a>,
        pricing: &Cursor<'a>,
        author: &str,
        write_lifetime_s: u32,
    ) -> Option<Self> {
        let mut fields: Fields<'a> = pricing.present()?.into_iter().collect();
        let regional = fields.remove("regional");
        let mut reader = Reader {
            entry,
            author,
            write_lifetime_s,
            cells: BTreeMap::new(),
        };
        let mut regions = vec![Region {
            name: PriceSheet::DEFAULT_REGION.to_owned(),
            rates: reader.region("pricing", &mut fields)?,
        }];
        for (name, region) in regional.map_or(Some(Vec::new()), |field| field.entries())? {
            let path = format!("pricing/regional/{name}");
            let mut fields: Fields<'a> = region.present()?.into_iter().collect();
            let name = region.key_as_name(name)?;
            let rates = reader.region(&path, &mut fields)?;
            reader.keep(&path, fields);
            if rates.iter().any(RateCell::prices_tokens) {
                regions.push(Region { name, rates });
            }
        }
        let mut other_meters = Vec::new();
        for (name, meter, unit, factor) in OTHERS {
            if let Some(field) = fields.remove(name) {
                let path = format!("pricing/{name}");
                let price = reader.entry.decimal(&path, &field, factor)?;
                other_meters.push(other_meter(meter, unit, price));
            }
        }
        let unread = fields.keys().map(|name| (*name).to_owned()).collect();
        reader.keep("pricing", fields);
        Some(Self {
            regions,
            other_meters,
            unread,
        })
    }

    /// Names of the prices other than for text tokens.
    pub(super) fn other_names(&self) -> Vec<String> {
        let meters = self.other_meters.iter().map(|meter| meter.meter.clone());
        meters.chain(self.unread.iter().cloned()).collect()
    }
}

/// Reads prices into cells by service tier and threshold.
struct Reader<'e, 'a> {
    entry: &'e mut Entry<'a>,
    author: &'e str,
    write_lifetime_s: u32,
    cells: BTreeMap<(String, u32), RateCell>,
}

impl<'a> Reader<'_, 'a> {
    /// The cells of a region, whose fields are taken out.
    fn region(&mut self, path: &str, fields: &mut Fields<'a>) -> Option<Vec<RateCell>> {
        let fast = fields.remove(FAST);
        let tiers = fields.remove("service_tiers");
        self.prices(path, RateCell::STANDARD, 0, fields)?;
        if let Some(fast) = fast {
            self.service_tier(&format!("{path}/{FAST}"), FAST, &fast)?;
        }
        for (name, tier) in tiers.map_or(Some(Vec::new()), |field| field.entries())? {
            let path = format!("{path}/service_tiers/{name}");
            self.service_tier(&path, &tier.key_as_name(name)?, &tier)?;
        }
        Some(std::mem::take(&mut self.cells).into_values().collect())
    }

    /// `{"input": …, "output": …, "long_context": {"threshold": 272000, "input": …}}`
    fn service_tier(&mut self, path: &str, name: &str, tier: &Cursor<'a>) -> Option<()> {
        let mut fields: Fields<'a> = tier.present()?.into_iter().collect();
        let long = fields.remove(LONG);
        self.prices(path, name, 0, &mut fields)?;
        self.keep(path, fields);
        let Some(long) = long else {
            return Some(());
        };
        let path = format!("{path}/{LONG}");
        let mut fields: Fields<'a> = long.present()?.into_iter().collect();
        let threshold = fields.remove("threshold");
        let Some(start) = threshold.and_then(|field| whole_number(field.json)) else {
            self.entry.keep(&path, long.json);
            return Some(());
        };
        self.prices(&path, name, start, &mut fields)?;
        self.keep(&path, fields);
        Some(())
    }

    /// Takes the prices of all meters out, from a length of the prompt on.
    fn prices(
        &mut self,
        path: &str,
        tier: &str,
        start: u32,
        fields: &mut Fields<'a>,
    ) -> Option<()> {
        for (name, meter) in METERS {
            let steps = fields.remove(format!("{name}_tiers").as_str());
            let steps = steps.map_or(Some(Vec::new()), |steps| steps.items())?;
            for (index, step) in steps.into_iter().enumerate() {
                let path = format!("{path}/{name}_tiers/{index}");
                self.step(&path, tier, meter, &step)?;
            }
            if let Some(field) = fields.remove(name) {
                let path = format!("{path}/{name}");
                self.set(&path, tier, start, meter, &field)?;
            }
        }
        Some(())
    }

    /// `{"cost": "0.00001", "min": 200001}`: the price of prompts from `min` on. `max` is the `min` of the next step.
    fn step(&mut self, path: &str, tier: &str, meter: Meter, step: &Cursor<'a>) -> Option<()> {
        let fields = step.fields()?;
        let start = fields.get_or_null("min").map_or(Some(0), |min| {
            let start = whole_number(min.json);
            if start.is_none() {
                min.fault("`min` is not a number of tokens", "write a whole number");
            }
            start
        })?;
        let cost = fields.required(
            "cost",
            "write the price of a token: {\"cost\": \"0.00001\"}",
        )?;
        self.set(&format!("{path}/cost"), tier, start, meter, &cost)
    }

    /// Sets a price; a second one for the same place is kept if it differs.
    fn set(
        &mut self,
        path: &str,
        service_tier: &str,
        start: u32,
        meter: Meter,
        field: &Cursor<'a>,
    ) -> Option<()> {
        let price = self.entry.decimal(path, field, MILLION)?;
        let tier = match start {
            0 | 1 => ContextTier::default(),
            start => context_tier_of(self.author, start),
        };
        let place = (service_tier.to_owned(), tier.min_prompt_tokens);
        let cell = self.cells.entry(place).or_insert_with(|| RateCell {
            source: Some(0),
            ..RateCell::new(service_tier, tier, None)
        });
        let known = match meter {
            Meter::Input => cell.input.as_ref(),
            Meter::Output => cell.output.as_ref(),
            Meter::CacheRead => cell.cache_read.as_ref(),
            _ => cell.cache_write.first().map(|write| &write.price),
        };
        match known {
            Some(known) if *known != price => self.entry.keep(path, field.json),
            Some(_) => {}
            None => meter.set(cell, price, Some(self.write_lifetime_s)),
        }
        if meter.is_write() {
            self.entry.note_lifetime("Vercel", self.write_lifetime_s);
        }
        Some(())
    }

    /// Keeps the fields that are left.
    fn keep(&mut self, path: &str, fields: Fields<'a>) {
        for (name, field) in fields {
            self.entry.keep(&format!("{path}/{name}"), field.json);
        }
    }
}

//! A set of prices: each a number, or a base price with tiers for longer prompts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::catalog::entry::Entry;
use crate::catalog::meter::{self, Meter};
use crate::catalog::offer::Offer;
use crate::catalog::rules::{context_tier_of, has_only};
use crate::sheet::{ContextTier, JsonObject, MOST_COUNT, OtherMeter, RateCell};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;

const METERS: [(&str, Meter); 7] = [
    ("input_mtok", Meter::Input),
    ("output_mtok", Meter::Output),
    ("output_reasoning_mtok", Meter::Reasoning),
    ("cache_read_mtok", Meter::CacheRead),
    ("cache_write_mtok", WRITE),
    ("cache_write_5m_mtok", Meter::CacheWrite(Some(300))),
    ("cache_write_1h_mtok", Meter::CacheWrite(Some(3_600))),
];
/// A cache write without a stated time to live.
const WRITE: Meter = Meter::CacheWrite(None);

/// Suffixes of other price names, and their units.
const UNITS: [(&str, &str); 6] = [
    ("_gpixels", "per_1000000000_pixels"),
    ("_hours", "per_hour"),
    ("_kcount", "per_1000"),
    ("_kpages", "per_1000_pages"),
    ("_mchars", "per_1m_characters"),
    ("_mtok", "per_1m_tokens"),
];

/// A price by prompt length: the base and the tiers in order.
#[derive(Debug, Clone, PartialEq)]
struct Steps {
    base: Decimal,
    tiers: BTreeMap<(u32, bool), Decimal>,
}

impl Steps {
    fn at(&self, threshold: (u32, bool)) -> &Decimal {
        self.tiers
            .range(..=threshold)
            .next_back()
            .map_or(&self.base, |(_, price)| price)
    }
}

/// The prices of one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Prices {
    tokens: BTreeMap<Meter, Steps>,
    pub(super) others: Vec<OtherMeter>,
    /// Lifetime of a written token if none is stated, in seconds.
    write_lifetime_s: u32,
}

/// Reads the prices of an entry.
pub(super) struct Reader<'r, 'a> {
    pub(super) entry: &'r mut Entry<'a>,
    pub(super) offer: &'r Offer,
}

impl<'a> Reader<'_, 'a> {
    /// Reads `{"input_mtok": {"base": 2, "tiers": [{"start": 200000, "price": 4}]}, "output_mtok": 12}`; unknown fields are
    /// kept under their path.
    pub(super) fn prices(&mut self, path: &str, prices: &Cursor<'a>) -> Option<Prices> {
        let mut read = Prices {
            write_lifetime_s: self.offer.write_lifetime_s,
            ..Prices::default()
        };
        let mut left = JsonObject::new();
        for (name, field) in prices.present()? {
            let path = format!("{path}/{name}");
            let meter = METERS.iter().find(|(written, _)| *written == name);
            if let Some((_, meter)) = meter {
                read.tokens.insert(*meter, self.steps(&path, &field)?);
            } else if let Some((meter, unit)) =
                other_meter(name).filter(|_| !matches!(field.json, Json::Object(_)))
            {
                let price = self.entry.decimal(&path, &field, 1)?;
                read.others.push(meter::other_meter(&meter, unit, price));
            } else {
                left.insert(name.to_owned(), Value::from(field.json));
            }
        }
        self.entry.keep_rest(path, left);
        Some(read)
    }

    fn steps(&mut self, path: &str, field: &Cursor<'a>) -> Option<Steps> {
        if !matches!(field.json, Json::Object(_)) {
            return Some(Steps {
                base: self.entry.decimal(path, field, 1)?,
                tiers: BTreeMap::new(),
            });
        }
        let fields = field.fields()?;
        let base = fields.required("base", "write the price of short prompts")?;
        let base = self.entry.decimal(&format!("{path}/base"), &base, 1)?;
        let mut tiers = BTreeMap::new();
        let list = fields.required(
            "tiers",
            "write the prices of longer prompts: [{\"start\": 200000, \"price\": 4}]",
        )?;
        for (index, tier) in list.items()?.into_iter().enumerate() {
            let (place, price) = self.tier(&format!("{path}/tiers/{index}"), &tier)?;
            let is_known = tiers.keys().any(|(tokens, _)| *tokens == place.0);
            if is_known || place.0 == 0 {
                return tier.refuse(
                    format!("a second price from {} prompt tokens on", place.0),
                    "keep one price per prompt length",
                );
            }
            tiers.insert(place, price);
        }
        has_only(field, &["base", "tiers"])?;
        Some(Steps { base, tiers })
    }

    fn tier(&mut self, path: &str, tier: &Cursor<'a>) -> Option<((u32, bool), Decimal)> {
        let fields = tier.fields()?;
        let hint = "write the prompt length above which the tier applies";
        let start = fields
            .required("start", hint)?
            .whole_number(1..=MOST_COUNT)?;
        let price = fields.required("price", "write the price beyond that length")?;
        let price = self.entry.decimal(&format!("{path}/price"), &price, 1)?;
        has_only(tier, &["price", "start"])?;
        let tier = context_tier_of(&self.offer.provider, start);
        Some(((tier.min_prompt_tokens, tier.inclusive), price))
    }
}

impl Prices {
    pub(super) fn has_token_price(&self) -> bool {
        !self.tokens.is_empty()
    }

    pub(super) fn has_write_of_unknown_lifetime(&self) -> bool {
        self.tokens.contains_key(&WRITE) && !self.tokens.contains_key(&Meter::CacheWrite(Some(300)))
    }

    /// Input price, else output price, to compare two sets.
    pub(super) fn level(&self) -> Option<&Decimal> {
        let steps = self.tokens.get(&Meter::Input);
        steps
            .or_else(|| self.tokens.get(&Meter::Output))
            .map(|steps| &steps.base)
    }

    /// Adds missing prices; existing ones are kept.
    pub(super) fn or_else(&mut self, other: &Self) {
        for (meter, steps) in &other.tokens {
            self.tokens.entry(*meter).or_insert_with(|| steps.clone());
        }
    }

    /// The cells, one per prompt length at which a price changes. Unchanged prices carry over, and so do the prices of
    /// `inherited` that are missing here, as the catalog defines.
    pub(super) fn cells(
        &self,
        service_tier: &str,
        schedule: Option<&str>,
        inherited: &Self,
    ) -> Vec<RateCell> {
        let own = self.tokens.values().flat_map(|steps| steps.tiers.keys());
        let thresholds: BTreeSet<_> = own.copied().chain([(0, false)]).collect();
        let mut all = self.clone();
        all.or_else(inherited);
        let is_unknown = all.has_write_of_unknown_lifetime();
        let lifetime_s = is_unknown.then_some(self.write_lifetime_s);
        thresholds
            .into_iter()
            .map(|threshold| {
                let (min_prompt_tokens, inclusive) = threshold;
                let tier = ContextTier {
                    min_prompt_tokens,
                    inclusive,
                };
                let prices = all.tokens.iter();
                let prices = prices.map(|(meter, steps)| (*meter, steps.at(threshold).clone()));
                meter::cell(service_tier, tier, schedule, prices, lifetime_s)
            })
            .collect()
    }
}

/// `input_audio_mtok` is `input_audio` per million tokens; searches are called as elsewhere.
fn other_meter(name: &str) -> Option<(String, &'static str)> {
    if name == "web_searches_kcount" {
        return Some(("web_search".to_owned(), "per_1000_calls"));
    }
    UNITS.iter().find_map(|(end, unit)| {
        let meter = name.strip_suffix(end)?;
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_clear = (1..=64).contains(&meter.len()) && meter.chars().all(is_word);
        is_clear.then(|| (meter.to_owned(), *unit))
    })
}

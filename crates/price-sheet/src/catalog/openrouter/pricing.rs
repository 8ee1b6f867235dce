//! The prices of an entry: default prices, and overrides resolved to cells.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::schedule::{Conditions, Hours, MOST_CONDITIONS, Week};
use crate::catalog::entry::Entry;
use crate::catalog::meter::{self, Meter, other_meter, write_billing};
use crate::catalog::rules::context_tier;
use crate::catalog::values::whole_number;
use crate::sheet::{Basis, CacheWriteBilling, ContextTier, OtherMeter, RateCell, Schedule};
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;

const MILLION: u32 = 1_000_000;
const THOUSAND: u32 = 1_000;
const PATH: &str = "pricing";
const OVERRIDES: &str = "overrides";
/// Most combinations of times and prompt lengths; a sheet has fewer cells.
const MOST_COMBINATIONS: usize = 1_024;
/// Most schedules of a sheet.
const MOST_SCHEDULES: usize = 64;

const METERS: [(&str, Meter); 6] = [
    ("prompt", Meter::Input),
    ("completion", Meter::Output),
    ("internal_reasoning", Meter::Reasoning),
    ("input_cache_read", Meter::CacheRead),
    ("input_cache_write", Meter::CacheWrite(Some(300))),
    ("input_cache_write_1h", Meter::CacheWrite(Some(3_600))),
];
/// Prices other than for text tokens: field, meter, unit, factor. An image price can be per image or per token.
const OTHERS: [(&str, &str, &str, u32); 6] = [
    ("audio", "input_audio", "per_1m_tokens", MILLION),
    ("audio_output", "output_audio", "per_1m_tokens", MILLION),
    ("image_token", "input_image", "per_1m_tokens", MILLION),
    (
        "input_audio_cache",
        "cache_read_audio",
        "per_1m_tokens",
        MILLION,
    ),
    ("request", "requests", "per_1000", THOUSAND),
    ("web_search", "web_search", "per_1000_calls", THOUSAND),
];

type Prices = BTreeMap<Meter, Decimal>;
type Fields<'a> = BTreeMap<&'a str, Cursor<'a>>;

/// Prices under conditions, all of which must hold.
struct Override {
    tier: Option<ContextTier>,
    /// Index of the time condition.
    hours: Option<usize>,
    prices: Prices,
}

impl Override {
    fn start(&self) -> u32 {
        self.tier.map_or(0, |tier| tier.min_prompt_tokens)
    }

    fn holds(&self, start: u32, holding: Conditions) -> bool {
        self.start() <= start && self.hours.is_none_or(|hours| holding & 1 << hours != 0)
    }

    /// Whether the prices are for exactly these times and lengths, not for more.
    fn is_for(&self, start: u32, holding: Conditions) -> bool {
        self.holds(start, holding)
            && self.start() == start
            && (holding == 0) == self.hours.is_none()
    }
}

/// Prices for one time, and prompts from one length.
#[derive(Clone, PartialEq)]
struct Cell {
    tier: ContextTier,
    prices: Prices,
    basis: Basis,
}

/// A cell with the name of its schedule, if it has one.
type Scheduled = (Option<String>, Cell);

/// All prices of an entry.
pub(super) struct Pricing {
    /// The cells of a sheet in their order.
    pub(super) rates: Vec<RateCell>,
    /// The schedules that the cells name.
    pub(super) schedules: BTreeMap<String, Schedule>,
    pub(super) other_meters: Vec<OtherMeter>,
    /// Names of the priced items other than text tokens.
    pub(super) others: Vec<String>,
    pub(super) cache_write_billing: CacheWriteBilling,
    /// Whether all input and output prices are 0.
    pub(super) is_free: bool,
}

/// State while reading the fields.
struct Reader<'e, 'a> {
    entry: &'e mut Entry<'a>,
    /// Factor from the listed price to the paid price of a million tokens.
    factor: u32,
    writes_cost_input: bool,
}

impl Pricing {
    /// `None` means that a fault is recorded.
    pub(super) fn read<'a>(
        entry: &mut Entry<'a>,
        field: &Cursor<'a>,
        service_tier: &str,
    ) -> Option<Self> {
        let mut fields: Fields<'a> = field.present()?.into_iter().collect();
        refuse_varying(&fields)?;
        let factor = read_discount(entry, &mut fields, field)?;
        let overrides = fields.remove(OVERRIDES);
        let mut meters = Vec::new();
        let mut reader = Reader {
            entry,
            factor,
            writes_cost_input: false,
        };
        let base = reader.prices(&mut fields, PATH, None)?;
        let mut conditions = Vec::new();
        let overrides = match overrides {
            Some(list) => reader.overrides(&list, &base, &mut conditions)?,
            None => Vec::new(),
        };
        for (name, meter, unit, factor) in OTHERS {
            let Some(other) = fields.remove(name) else {
                continue;
            };
            // A price of 0 means no charge of this kind.
            let path = format!("{PATH}/{name}");
            let price = reader.entry.decimal(&path, &other, factor)?;
            if price.is_zero() {
                reader.entry.keep(&path, other.json);
            } else {
                meters.push(other_meter(meter, unit, price));
            }
        }
        let writes_cost_input = reader.writes_cost_input;
        let mut others: Vec<_> = meters.iter().map(|meter| meter.meter.clone()).collect();
        for (name, other) in fields {
            entry.keep(&format!("{PATH}/{name}"), other.json);
            others.push(name.to_owned());
        }
        let (cells, schedules) = resolve(&base, &overrides, &conditions, field)?;
        let priced = cells.iter().flat_map(|(_, cell)| cell.prices.keys());
        Some(Self {
            cache_write_billing: write_billing(priced, writes_cost_input),
            is_free: is_free(&cells),
            rates: rates_of(cells, service_tier),
            schedules,
            other_meters: meters,
            others,
        })
    }
}

fn is_free(cells: &[Scheduled]) -> bool {
    let is_zero = |meter| {
        let mut prices = cells.iter().map(|(_, cell)| cell.prices.get(&meter));
        prices.all(|price| price.is_some_and(Decimal::is_zero))
    };
    is_zero(Meter::Input) && is_zero(Meter::Output)
}

fn rates_of(cells: Vec<Scheduled>, service_tier: &str) -> Vec<RateCell> {
    let priced = cells
        .into_iter()
        .filter(|(_, cell)| !cell.prices.is_empty());
    let rates = priced.map(|(schedule, cell)| RateCell {
        basis: cell.basis,
        ..meter::cell(
            service_tier,
            cell.tier,
            schedule.as_deref(),
            cell.prices,
            None,
        )
    });
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by(|left, right| left.key().cmp(&right.key()));
    rates
}

impl<'a> Reader<'_, 'a> {
    /// Takes the token prices out of some fields. `base` has the prices that apply where a field is missing.
    fn prices(
        &mut self,
        fields: &mut Fields<'a>,
        path: &str,
        base: Option<&Prices>,
    ) -> Option<Prices> {
        let mut prices = Prices::new();
        for (name, meter) in METERS {
            let Some(field) = fields.remove(name) else {
                continue;
            };
            let path = format!("{path}/{name}");
            let price = self.entry.decimal(&path, &field, self.factor)?;
            let input = prices
                .get(&Meter::Input)
                .or(base.and_then(|base| base.get(&Meter::Input)));
            let is_gap = price.is_zero() && input.is_some_and(|input| !input.is_zero());
            match meter {
                Meter::CacheWrite(_) if is_gap => {
                    self.writes_cost_input = true;
                }
                Meter::CacheRead if is_gap => {
                    self.entry.keep(&path, field.json);
                    self.entry.note("A cache read of 0 beside a priced input is unclear; it is kept under `unmapped`.");
                }
                _ => {
                    prices.insert(meter, price);
                }
            }
        }
        Some(prices)
    }

    fn overrides(
        &mut self,
        list: &Cursor<'a>,
        base: &Prices,
        conditions: &mut Vec<Hours>,
    ) -> Option<Vec<Override>> {
        let mut overrides = Vec::new();
        for (index, item) in list.items()?.into_iter().enumerate() {
            let path = format!("{PATH}/{OVERRIDES}/{index}");
            let mut fields: Fields<'a> = item.present()?.into_iter().collect();
            let Some((tier, hours)) = read_conditions(&fields) else {
                self.entry.keep(&path, item.json);
                self.entry
                    .note("An override whose conditions are unclear is kept under `unmapped`.");
                continue;
            };
            fields.retain(|name, _| !CONDITIONS.contains(name));
            let prices = self.prices(&mut fields, &path, Some(base))?;
            for (name, field) in fields {
                self.entry.keep(&format!("{path}/{name}"), field.json);
            }
            let hours = hours.map(|hours| {
                let known = conditions.iter().position(|known| *known == hours);
                known.unwrap_or_else(|| {
                    conditions.push(hours);
                    conditions.len() - 1
                })
            });
            if conditions.len() > MOST_CONDITIONS {
                return list.refuse(
                    format!("the overrides have more than {MOST_CONDITIONS} time conditions"),
                    format!("list up to {MOST_CONDITIONS} different times"),
                );
            }
            if !prices.is_empty() {
                overrides.push(Override {
                    tier,
                    hours,
                    prices,
                });
            }
        }
        Some(overrides)
    }
}

/// Rejects -1, the price of a router.
fn refuse_varying(fields: &Fields<'_>) -> Option<()> {
    for (name, _) in METERS {
        let Some(field) = fields.get(name) else {
            continue;
        };
        if let Json::Text(written) | Json::Number(written) = field.json
            && written.trim() == "-1"
        {
            return field.refuse(
                format!(
                    "`{name}` is -1: the price depends on the model to which the request is routed"
                ),
                "use one of the router's models or endpoints",
            );
        }
    }
    Some(())
}

/// Factor from the listed price of a token to the paid price of a million tokens.
fn read_discount<'a>(
    entry: &mut Entry<'a>,
    fields: &mut Fields<'a>,
    pricing: &Cursor<'a>,
) -> Option<u32> {
    let Some(field) = fields.remove("discount") else {
        return Some(MILLION);
    };
    let millionths = entry
        .decimal(&format!("{PATH}/discount"), &field, MILLION)?
        .to_string();
    let Some(millionths) = millionths
        .parse::<u32>()
        .ok()
        .filter(|share| *share < MILLION)
    else {
        return field.refuse(
            format!("the discount is {} millionths", shortened(&millionths)),
            "write the share of the price that is not paid: 0 or more, below 1, with up to 6 decimals",
        );
    };
    if millionths > 0 {
        entry.keep(PATH, pricing.json);
        let percent = f64::from(millionths) / 10_000.0;
        entry.note(&format!("Token prices are what is paid after a discount of {percent}%; the list prices are kept under `unmapped`."));
    }
    Some(MILLION - millionths)
}

const CONDITIONS: [&str; 4] = ["min_prompt_tokens", "utc_start", "utc_end", "utc_days"];

/// Tier and times of an override; None if they are unclear or missing.
fn read_conditions(fields: &Fields<'_>) -> Option<(Option<ContextTier>, Option<Hours>)> {
    let [tokens, start, end, days] =
        CONDITIONS.map(|name| fields.get(name).map(|field| field.json));
    let tier = match tokens {
        Some(tokens) => Some(context_tier(whole_number(tokens)?)),
        None => None,
    };
    let is_timed = start.or(end).or(days).is_some();
    let hours = if is_timed {
        Some(Hours::read(start, end, days)?)
    } else {
        None
    };
    (tier.is_some() || is_timed).then_some((tier, hours))
}

type Resolved = (Vec<Scheduled>, BTreeMap<String, Schedule>);

/// The cells for all times and prompt lengths at which prices differ.
fn resolve(
    base: &Prices,
    overrides: &[Override],
    conditions: &[Hours],
    pricing: &Cursor<'_>,
) -> Option<Resolved> {
    let week = Week::new(conditions);
    let mut tiers = BTreeMap::from([(0, ContextTier::default())]);
    for tier in overrides.iter().filter_map(|over| over.tier) {
        tiers.entry(tier.min_prompt_tokens).or_insert(tier);
    }
    let combinations = tiers.len() * (week.sets().count() + 1);
    if combinations > MOST_COMBINATIONS {
        return pricing.refuse(
            format!("the overrides have {combinations} combinations of times and prompt lengths"),
            format!("write overrides with up to {MOST_COMBINATIONS} of them"),
        );
    }
    let default = cells_at(0, base, overrides, &tiers);
    let mut groups: Vec<(Vec<Cell>, Vec<Conditions>)> = Vec::new();
    for holding in week.sets() {
        let cells = cells_at(holding, base, overrides, &tiers);
        if is_same(&cells, &default) {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| is_same(known, &cells)) {
            Some((_, sets)) => sets.push(holding),
            None => groups.push((cells, vec![holding])),
        }
    }
    if groups.len() > MOST_SCHEDULES {
        return pricing.refuse(
            format!("the overrides make {} schedules", groups.len()),
            format!("write prices for up to {MOST_SCHEDULES} different times"),
        );
    }
    let mut schedules = BTreeMap::new();
    let names: Vec<_> = groups
        .iter()
        .map(|(group, _)| name_of(group, &default))
        .collect();
    let mut cells: Vec<_> = default.into_iter().map(|cell| (None, cell)).collect();
    for ((group, sets), name) in groups.into_iter().zip(names) {
        let name = free_name(name, &schedules);
        schedules.insert(name.clone(), week.schedule(&sets));
        cells.extend(group.into_iter().map(|cell| (Some(name.clone()), cell)));
    }
    Some((cells, schedules))
}

/// The cells at times at which these conditions apply, without derived cells equal to that of shorter prompts.
fn cells_at(
    holding: Conditions,
    base: &Prices,
    overrides: &[Override],
    tiers: &BTreeMap<u32, ContextTier>,
) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for (start, tier) in tiers {
        let mut prices = base.clone();
        for over in overrides.iter().filter(|over| over.holds(*start, holding)) {
            prices.extend(over.prices.clone());
        }
        let is_base = *start == 0 && holding == 0;
        let is_stated = is_base || overrides.iter().any(|over| over.is_for(*start, holding));
        let is_new = cells.last().is_none_or(|last| last.prices != prices);
        if is_stated || is_new {
            cells.push(Cell {
                tier: *tier,
                prices,
                basis: if is_stated {
                    Basis::Stated
                } else {
                    Basis::Computed
                },
            });
        }
    }
    cells
}

fn is_same(one: &[Cell], other: &[Cell]) -> bool {
    let [one, other] = [one, other].map(|cells| cells.iter().map(|cell| (cell.tier, &cell.prices)));
    one.eq(other)
}

/// Name by whether input costs more or less than by default, at the shortest prompts at which it differs.
fn name_of(cells: &[Cell], default: &[Cell]) -> &'static str {
    let input = |cell: &Cell| cell.prices.get(&Meter::Input).cloned();
    let orders = cells.iter().filter_map(|cell| {
        let start = cell.tier.min_prompt_tokens;
        let usual = default
            .iter()
            .rfind(|usual| usual.tier.min_prompt_tokens <= start)?;
        Some(input(cell)?.cmp(&input(usual)?))
    });
    match orders.into_iter().find(|order| order.is_ne()) {
        Some(Ordering::Less) => "off_peak",
        Some(_) => "peak",
        None => "scheduled",
    }
}

fn free_name(name: &str, taken: &BTreeMap<String, Schedule>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains_key(name))
        .unwrap_or_default()
}

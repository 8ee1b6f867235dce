//! Sheets of one offer united, where they contradict each other in nothing.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::difference::contradictions;
use super::whole::{add_missing, joined_rates};
use crate::sheet::{
    Basis, CacheWriteBilling, Limits, MOST_RATE_CELLS, MOST_SOURCES, Modifier, OtherMeter,
    PriceSheet, RateCell, ServiceTier,
};
use unroof_base::input::body::MOST_ENTRIES;

/// A statement on which two sheets of one offer differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Name of the cell or the field, such as `batch cache read above 200000 tokens`.
    pub of: String,
    /// Value of the first sheet.
    pub first: String,
    /// Value of the second sheet.
    pub second: String,
}

impl Contradiction {
    fn new(of: impl Into<String>, first: impl Display, second: impl Display) -> Self {
        Self {
            of: of.into(),
            first: first.to_string(),
            second: second.to_string(),
        }
    }
}

/// The sheet of an offer with what two sheets of it state.
///
/// ```
/// use unroof_price_sheet::sheet::compare::united;
/// use unroof_price_sheet::sheet::{PriceSheet, RateCell};
///
/// let sheet = |input: Option<&str>, output: Option<&str>| {
///     let price = |price: Option<&str>| price.and_then(|price| price.parse().ok());
///     let cell = RateCell { input: price(input), output: price(output), ..RateCell::default() };
///     PriceSheet::new("acme", "m-1", vec![cell])
/// };
/// let both = united(&sheet(Some("1"), None), &sheet(Some("1.0"), Some("4"))).unwrap();
/// assert_eq!(both.rates[0].output, "4".parse().ok());
/// let differing = united(&sheet(Some("1"), None), &sheet(Some("2"), None)).unwrap_err();
/// assert_eq!((differing.of.as_str(), differing.second.as_str()), ("input", "2"));
/// ```
///
/// # Errors
/// The [`Contradiction`] between them.
pub fn united(first: &PriceSheet, second: &PriceSheet) -> Result<PriceSheet, Contradiction> {
    differing_offer(first, second).map_or(Ok(()), Err)?;
    differing_price(first, second).map_or(Ok(()), Err)?;
    let mut sheet = first.clone();
    let moved = second_cells(&mut sheet, second);
    let Some(rates) = joined_rates(&sheet.rates, &moved) else {
        return Err(Contradiction::new("a price", "one", "another"));
    };
    sheet.rates = rates;
    add_what_is_missing(&mut sheet, second);
    too_long(&sheet).map_or(Ok(sheet), Err)
}

/// A field that both sheets state, with different values.
fn differing<T: PartialEq + fmt::Debug>(
    of: &str,
    first: Option<&T>,
    second: Option<&T>,
) -> Option<Contradiction> {
    let (first, second) = first.zip(second)?;
    let is_same = first == second;
    (!is_same).then(|| Contradiction::new(of, format!("{first:?}"), format!("{second:?}")))
}

/// A difference in what the prices are of and how they are meant.
fn differing_offer(first: &PriceSheet, second: &PriceSheet) -> Option<Contradiction> {
    let billing = |sheet: &PriceSheet| {
        let billing = sheet.cache_write_billing;
        (billing != CacheWriteBilling::NotPublished).then_some(billing)
    };
    let fields = [
        differing("currency", Some(&first.currency), Some(&second.currency)),
        differing("valid_to", Some(&first.valid_to), Some(&second.valid_to)),
        differing(
            "upstream_provider",
            first.upstream_provider.as_ref(),
            second.upstream_provider.as_ref(),
        ),
        differing(
            "quantization",
            first.quantization.as_ref(),
            second.quantization.as_ref(),
        ),
        differing(
            "context_tier_semantics",
            Some(&first.context_tier_semantics),
            Some(&second.context_tier_semantics),
        ),
        differing(
            "context_tier_measure",
            Some(&first.context_tier_measure),
            Some(&second.context_tier_measure),
        ),
        differing(
            "cache_write_billing",
            billing(first).as_ref(),
            billing(second).as_ref(),
        ),
    ];
    fields.into_iter().flatten().next()
}

/// A difference in a price or a factor.
fn differing_price(first: &PriceSheet, second: &PriceSheet) -> Option<Contradiction> {
    if let Some(price) = contradictions(first, second).into_iter().next() {
        let (before, after) = price.before.zip(price.after)?;
        return Some(Contradiction::new(price.price, before, after));
    }
    let schedules = shared(&first.schedules, &second.schedules).find_map(|(name, one, other)| {
        differing(&format!("schedule {name}"), Some(one), Some(other))
    });
    let tiers = || {
        shared(&first.service_tiers, &second.service_tiers)
            .find_map(|(name, one, other)| differing_factor(name, one, other))
    };
    let modifiers = || {
        pairs(&first.modifiers, &second.modifiers, is_same_modifier)
            .find(|(one, other)| one.multiplier != other.multiplier)
            .map(|(one, other)| Contradiction::new(&one.name, &one.multiplier, &other.multiplier))
    };
    let meters = || {
        pairs(&first.other_meters, &second.other_meters, is_same_meter)
            .find(|(one, other)| one.price != other.price)
            .map(|(one, other)| Contradiction::new(&one.meter, &one.price, &other.price))
    };
    schedules.or_else(tiers).or_else(modifiers).or_else(meters)
}

fn differing_factor(name: &str, one: &ServiceTier, other: &ServiceTier) -> Option<Contradiction> {
    let (factor, others) = one
        .price_multiplier
        .as_ref()
        .zip(other.price_multiplier.as_ref())?;
    (factor != others)
        .then(|| Contradiction::new(format!("{name} price multiplier"), factor, others))
}

/// The entries that two maps have under the same name.
fn shared<'a, T>(
    first: &'a BTreeMap<String, T>,
    second: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a T, &'a T)> {
    first
        .iter()
        .filter_map(|(name, one)| Some((name.as_str(), one, second.get(name)?)))
}

/// The items of two lists that are of the same thing.
fn pairs<'a, T>(
    first: &'a [T],
    second: &'a [T],
    is_same: fn(&T, &T) -> bool,
) -> impl Iterator<Item = (&'a T, &'a T)> {
    first.iter().filter_map(move |one| {
        let mut others = second.iter();
        Some((one, others.find(|other| is_same(one, other))?))
    })
}

fn is_same_modifier(one: &Modifier, other: &Modifier) -> bool {
    (&one.name, &one.when, &one.applies_to) == (&other.name, &other.when, &other.applies_to)
}

fn is_same_meter(one: &OtherMeter, other: &OtherMeter) -> bool {
    (&one.meter, &one.unit) == (&other.meter, &other.unit)
}

/// The cells of the second sheet, whose sources follow those of the first.
fn second_cells(sheet: &mut PriceSheet, second: &PriceSheet) -> Vec<RateCell> {
    let places: Vec<Option<u32>> = second
        .sources
        .iter()
        .map(|source| {
            let known = sheet.sources.iter().position(|known| known == source);
            let place = known.or_else(|| {
                let place = sheet.sources.len();
                (place < MOST_SOURCES).then(|| sheet.sources.push(source.clone()))?;
                Some(place)
            });
            place.and_then(|place| u32::try_from(place).ok())
        })
        .collect();
    let moved = |cell: &RateCell| {
        let place = cell.source.and_then(|place| usize::try_from(place).ok());
        RateCell {
            source: place.and_then(|place| *places.get(place)?),
            ..cell.clone()
        }
    };
    let mut cells: Vec<RateCell> = second.rates.iter().map(moved).collect();
    // A price that one of them states is not computed.
    for own in &mut sheet.rates {
        if let Some(other) = cells.iter_mut().find(|cell| cell.key() == own.key())
            && own.basis != other.basis
        {
            (own.basis, other.basis) = (Basis::Stated, Basis::Stated);
        }
    }
    cells
}

/// Adds what the sheet states beside its cells.
fn add_what_is_missing(sheet: &mut PriceSheet, second: &PriceSheet) {
    let other = second.clone();
    if sheet.cache_write_billing == CacheWriteBilling::NotPublished {
        sheet.cache_write_billing = other.cache_write_billing;
    }
    fill(&mut sheet.upstream_provider, other.upstream_provider);
    fill(&mut sheet.canonical_model, other.canonical_model);
    fill(&mut sheet.quantization, other.quantization);
    fill(&mut sheet.released, other.released);
    fill(&mut sheet.retires_at, other.retires_at);
    fill(&mut sheet.status, other.status);
    sheet.limits = larger_limits(&sheet.limits, &other.limits);
    for (name, tier) in &mut sheet.service_tiers {
        let others = other.service_tiers.get(name);
        fill(
            &mut tier.price_multiplier,
            others.and_then(|tier| tier.price_multiplier.clone()),
        );
    }
    add_missing(&mut sheet.service_tiers, &other.service_tiers);
    add_missing(&mut sheet.schedules, &other.schedules);
    add_new(&mut sheet.modifiers, other.modifiers, is_same_modifier);
    add_new(&mut sheet.other_meters, other.other_meters, is_same_meter);
    add_new(
        &mut sheet.capacity_offers,
        other.capacity_offers,
        |one, other| one.name == other.name,
    );
    add_new(&mut sheet.evidence, other.evidence, |one, other| {
        one == other
    });
    add_new(&mut sheet.aliases, other.aliases, |one, other| one == other);
    add_new(&mut sheet.notes, other.notes, |one, other| one == other);
    sheet.aliases.truncate(MOST_ENTRIES);
    sheet.evidence.truncate(MOST_ENTRIES);
    sheet.notes.truncate(MOST_ENTRIES);
    for (name, value) in other.unmapped {
        sheet.unmapped.entry(name).or_insert(value);
    }
}

fn fill<T>(own: &mut Option<T>, other: Option<T>) {
    *own = own.take().or(other);
}

fn add_new<T>(own: &mut Vec<T>, others: Vec<T>, is_same: fn(&T, &T) -> bool) {
    for other in others {
        if !own.iter().any(|known| is_same(known, &other)) {
            own.push(other);
        }
    }
}

/// The larger of two limits each: an entry that states less knows less.
fn larger_limits(one: &Limits, other: &Limits) -> Limits {
    Limits {
        context: one.context.max(other.context),
        max_input: one.max_input.max(other.max_input),
        max_output: one.max_output.max(other.max_output),
        cache_min_tokens: one.cache_min_tokens.max(other.cache_min_tokens),
    }
}

/// A list that is longer than a sheet may have.
fn too_long(sheet: &PriceSheet) -> Option<Contradiction> {
    let lists = [
        ("rate cells", sheet.rates.len(), MOST_RATE_CELLS),
        ("service tiers", sheet.service_tiers.len(), MOST_ENTRIES),
        ("schedules", sheet.schedules.len(), MOST_ENTRIES),
        ("modifiers", sheet.modifiers.len(), MOST_ENTRIES),
        ("other meters", sheet.other_meters.len(), MOST_ENTRIES),
    ];
    let long = lists.into_iter().find(|(_, count, most)| count > most);
    long.map(|(of, count, most)| {
        Contradiction::new(format!("number of {of}"), format!("up to {most}"), count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{CacheWrite, ContextTier, Source, SourceFormat};

    fn cell(tier: &str, above: u32, input: &str, output: &str) -> RateCell {
        let threshold = ContextTier {
            min_prompt_tokens: above,
            inclusive: false,
        };
        let mut cell = RateCell::new(tier, threshold, None);
        (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
        cell.source = Some(0);
        cell
    }

    fn sheet(key: &str, rates: Vec<RateCell>) -> PriceSheet {
        let source = Source::entry(SourceFormat::Litellm, "https://example.com/", key);
        PriceSheet {
            sources: vec![source],
            aliases: vec![key.to_owned()],
            ..PriceSheet::new("acme", "m", rates)
        }
    }

    fn modifier(multiplier: &str) -> Modifier {
        Modifier {
            name: "us".to_owned(),
            when: serde_json::Map::new(),
            multiplier: multiplier.parse().unwrap(),
            applies_to: Vec::new(),
        }
    }

    fn tier(multiplier: Option<&str>) -> BTreeMap<String, ServiceTier> {
        let tier = ServiceTier {
            price_multiplier: multiplier.and_then(|factor| factor.parse().ok()),
            ..ServiceTier::default()
        };
        [("fast".to_owned(), tier)].into()
    }

    #[test]
    fn two_sheets_of_an_offer_give_the_prices_factors_and_sources_of_both_in_either_order() {
        let mut with_write = cell("standard", 0, "1.0", "");
        with_write.cache_write.push(CacheWrite {
            ttl_seconds: Some(300),
            price: "1.25".parse().unwrap(),
        });
        let one = PriceSheet {
            modifiers: vec![modifier("1.1")],
            service_tiers: tier(None),
            cache_write_billing: CacheWriteBilling::Priced,
            ..sheet("one", vec![with_write])
        };
        let other = PriceSheet {
            service_tiers: tier(Some("2")),
            ..sheet(
                "other",
                vec![cell("standard", 0, "1", "4"), cell("batch", 0, "0.5", "2")],
            )
        };
        let both = united(&one, &other).unwrap();
        assert_eq!(both.id(), united(&other, &one).unwrap().id());
        let priced = both.rates.iter().map(|cell| cell.prices().len());
        assert_eq!(priced.collect::<Vec<_>>(), [3, 2]);
        assert_eq!(both.rates[1].source, Some(1));
        assert_eq!(both.sources[1].locator.as_deref(), Some("other"));
        assert_eq!((both.modifiers.len(), both.aliases.len()), (1, 2));
        assert_eq!(
            both.service_tiers["fast"].price_multiplier,
            "2".parse().ok()
        );
        assert_eq!(both.cache_write_billing, CacheWriteBilling::Priced);
    }

    #[test]
    fn a_contradiction_names_the_cell_and_both_values() {
        let base = sheet("one", vec![cell("batch", 200_000, "1", "4")]);
        let with = |change: fn(&mut PriceSheet)| {
            let mut sheet = base.clone();
            change(&mut sheet);
            sheet
        };
        let cases: [(PriceSheet, PriceSheet, &str); 5] = [
            (
                base.clone(),
                sheet("other", vec![cell("batch", 200_000, "1", "5")]),
                "batch output above 200000 tokens: 4 5",
            ),
            (
                with(|sheet| sheet.modifiers = vec![modifier("1.1")]),
                with(|sheet| sheet.modifiers = vec![modifier("1.2")]),
                "us: 1.1 1.2",
            ),
            (
                with(|sheet| sheet.service_tiers = tier(Some("2"))),
                with(|sheet| sheet.service_tiers = tier(Some("6"))),
                "fast price multiplier: 2 6",
            ),
            (
                base.clone(),
                with(|sheet| "EUR".clone_into(&mut sheet.currency)),
                "currency: \"USD\" \"EUR\"",
            ),
            (
                with(|sheet| sheet.cache_write_billing = CacheWriteBilling::Priced),
                with(|sheet| sheet.cache_write_billing = CacheWriteBilling::AsInput),
                "cache_write_billing: Priced AsInput",
            ),
        ];
        for (one, other, expected) in cases {
            let Contradiction { of, first, second } = united(&one, &other).unwrap_err();
            assert_eq!(format!("{of}: {first} {second}"), expected);
        }
    }
}

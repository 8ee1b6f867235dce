//! The cells of a sheet that price one request: by service tier, time and context.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::clock_window::applies;
use super::usage::Usage;
use crate::sheet::{
    ContextTier, ContextTierMeasure, ContextTierSemantics, Modifier, PriceSheet, RateCell,
};
use unroof_base::input::cursor::{one_of_hint, shortened};
use unroof_base::units::Decimal;

/// The reason why something has no price, and a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) hint: String,
}

impl Missing {
    pub(super) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: hint.into(),
        }
    }
}

/// A cell with its place in the sheet.
pub(super) type Placed<'s> = (usize, &'s RateCell);

/// The cells that price a request.
pub(super) struct Tariff<'s> {
    pub(super) sheet: &'s PriceSheet,
    /// The tier's name in the sheet.
    pub(super) service_tier: &'s str,
    /// Name of the schedule that applies.
    pub(super) schedule: Option<&'s str>,
    /// The tier's multiplier, where the cells are those of the standard tier.
    pub(super) multiplier: Option<&'s Decimal>,
    /// The modifiers that the usage names.
    pub(super) modifiers: Vec<&'s Modifier>,
    /// Tokens counted against the thresholds.
    pub(super) context_tokens: u64,
    /// One cell, or with marginal semantics all of them, by threshold.
    pub(super) cells: Vec<Placed<'s>>,
    /// Assumptions of the choice.
    pub(super) notes: Vec<String>,
}

impl<'s> Tariff<'s> {
    /// Chooses the cells for a usage at a time.
    pub(super) fn choose(
        sheet: &'s PriceSheet,
        usage: &Usage,
        at: Timestamp,
    ) -> Result<Self, Missing> {
        check_validity(sheet, at)?;
        let service_tier = tier_of(sheet, usage.service_tier.as_deref())?;
        let own = cells_of(sheet, service_tier);
        let stated = sheet.service_tiers.get(service_tier);
        let multiplier = stated
            .and_then(|tier| tier.price_multiplier.as_ref())
            .filter(|_| own.is_empty());
        let has_own_cells = !own.is_empty();
        let cells = if multiplier.is_some() {
            cells_of(sheet, RateCell::STANDARD)
        } else {
            own
        };
        let mut notes = Vec::new();
        let (schedule, cells) = at_time(sheet, service_tier, cells, at, &mut notes)?;
        let context_tokens = context_tokens(sheet, usage, &cells, &mut notes);
        let cells = in_context(sheet, cells, context_tokens, &mut notes)?;
        let mut tariff = Self {
            sheet,
            service_tier,
            schedule,
            multiplier,
            modifiers: Vec::new(),
            context_tokens,
            cells,
            notes,
        };
        if has_own_cells && service_tier != RateCell::STANDARD {
            tariff.check_long_context()?;
        }
        tariff.modifiers = modifiers(sheet, usage)?;
        Ok(tariff)
    }

    /// A tier without a cell for long prompts is not sold there, where the standard tier has one.
    fn check_long_context(&self) -> Result<(), Missing> {
        if self.sheet.context_tier_semantics == ContextTierSemantics::Marginal {
            return Ok(());
        }
        let begun = |tier: &ContextTier| has_begun(*tier, self.context_tokens);
        let start = |cell: &RateCell| cell.context_tier.min_prompt_tokens;
        let own = self.cells.iter().map(|(_, cell)| start(cell)).max();
        let standard = cells_of(self.sheet, RateCell::STANDARD).into_iter();
        let standard = standard.filter(|(_, cell)| begun(&cell.context_tier));
        let standard = standard.map(|(_, cell)| start(cell)).max();
        if standard > own {
            let tokens = standard.unwrap_or_default();
            return Err(Missing::new(
                format!(
                    "the service tier `{}` has no price for prompts beyond {tokens} tokens, where the standard tier has another one",
                    self.service_tier
                ),
                "look up whether the provider sells the tier for long prompts; price it as `standard` if it falls back",
            ));
        }
        Ok(())
    }
}

fn check_validity(sheet: &PriceSheet, at: Timestamp) -> Result<(), Missing> {
    let hint = "send the sheet in force at that time, or name the offer";
    match (sheet.valid_from, sheet.valid_to) {
        (Some(from), _) if at < from => Err(Missing::new(
            format!("the sheet is valid from {from}"),
            hint,
        )),
        (_, Some(to)) if at >= to => Err(Missing::new(
            format!("the sheet was valid until {to}"),
            hint,
        )),
        _ => Ok(()),
    }
}

/// The tier of a name: of a cell or a tier, an alias, or the `service_tier` that a request states to select it.
fn tier_of<'s>(sheet: &'s PriceSheet, name: Option<&str>) -> Result<&'s str, Missing> {
    let name = name.unwrap_or(RateCell::STANDARD);
    let of_cells = sheet.rates.iter().map(|cell| cell.service_tier.as_str());
    let declared = sheet.service_tiers.keys().map(String::as_str);
    let known: BTreeSet<&str> = of_cells
        .chain(declared)
        .chain([RateCell::STANDARD])
        .collect();
    if let Some(tier) = known.get(name) {
        return Ok(tier);
    }
    let mut tiers = sheet.service_tiers.iter();
    let selected = tiers.find(|(_, tier)| {
        let selector = tier
            .request
            .get("service_tier")
            .and_then(|value| value.as_str());
        tier.aliases.iter().any(|alias| alias == name) || selector == Some(name)
    });
    let tier = selected.map(|(tier, _)| tier.as_str());
    tier.ok_or_else(|| {
        Missing::new(
            format!("the sheet has no service tier `{}`", shortened(name)),
            one_of_hint(name, &known.into_iter().collect::<Vec<_>>()),
        )
    })
}

fn cells_of<'s>(sheet: &'s PriceSheet, service_tier: &str) -> Vec<Placed<'s>> {
    let cells = sheet.rates.iter().enumerate();
    cells
        .filter(|(_, cell)| cell.service_tier == service_tier)
        .collect()
}

/// The modifiers that a usage names.
fn modifiers<'s>(sheet: &'s PriceSheet, usage: &Usage) -> Result<Vec<&'s Modifier>, Missing> {
    let mut named = Vec::new();
    for name in usage.modifiers.iter().flatten() {
        let mut modifiers = sheet.modifiers.iter();
        let Some(modifier) = modifiers.find(|modifier| modifier.name == *name) else {
            let known = sheet.modifiers.iter().map(|modifier| &*modifier.name);
            let known: Vec<&str> = known.collect();
            return Err(Missing::new(
                format!("the sheet has no modifier `{name}`"),
                if known.is_empty() {
                    "leave `modifiers` out: the sheet has none".to_owned()
                } else {
                    one_of_hint(name, &known)
                },
            ));
        };
        if !named.contains(&modifier) {
            named.push(modifier);
        }
    }
    Ok(named)
}

/// The cells of the schedule that applies at a time, or those without a schedule.
fn at_time<'s>(
    sheet: &'s PriceSheet,
    service_tier: &str,
    cells: Vec<Placed<'s>>,
    at: Timestamp,
    notes: &mut Vec<String>,
) -> Result<(Option<&'s str>, Vec<Placed<'s>>), Missing> {
    if cells.is_empty() {
        let other: BTreeSet<&str> = sheet.rates.iter().map(|cell| &*cell.service_tier).collect();
        let other: Vec<&str> = other.into_iter().collect();
        return Err(Missing::new(
            format!(
                "the sheet has no prices of the service tier `{}`",
                shortened(service_tier)
            ),
            format!("it has prices of {}", other.join(", ")),
        ));
    }
    let named = cells
        .iter()
        .filter_map(|(_, cell)| cell.schedule.as_deref());
    let named: BTreeSet<&str> = named.collect();
    let holds = |name: &&str| {
        sheet
            .schedules
            .get(*name)
            .is_some_and(|schedule| applies(schedule, at))
    };
    let holding: Vec<&str> = named.into_iter().filter(holds).collect();
    let schedule = match holding.as_slice() {
        [] => None,
        [schedule] => Some(*schedule),
        several => {
            return Err(Missing::new(
                format!("the schedules {} apply at once", several.join(" and ")),
                "correct the sheet: at most one schedule applies at a time",
            ));
        }
    };
    let calendar = schedule.and_then(|name| sheet.schedules.get(name)?.except_calendar.as_ref());
    if let (Some(name), Some(calendar)) = (schedule, calendar) {
        notes.push(format!(
            "The schedule `{name}` excepts the days of `{calendar}`, which are not known; the time is taken for another day."
        ));
    }
    let cells: Vec<_> = cells
        .into_iter()
        .filter(|(_, cell)| cell.schedule.as_deref() == schedule)
        .collect();
    if cells.is_empty() {
        return Err(Missing::new(
            "the sheet has prices for scheduled hours alone, and none applies at this time",
            "add the prices of the other hours",
        ));
    }
    Ok((schedule, cells))
}

/// Tokens that the sheet counts against its thresholds.
fn context_tokens(
    sheet: &PriceSheet,
    usage: &Usage,
    cells: &[Placed<'_>],
    notes: &mut Vec<String>,
) -> u64 {
    let has_tiers = cells
        .iter()
        .any(|(_, cell)| cell.context_tier.min_prompt_tokens > 0);
    let prompt = usage.prompt();
    match sheet.context_tier_measure {
        ContextTierMeasure::PromptTokens => prompt,
        ContextTierMeasure::PromptPlusOutputTokens => prompt + u64::from(usage.output_tokens),
        ContextTierMeasure::Session => usage.session_tokens.map_or_else(
            || {
                if has_tiers {
                    notes.push("The sheet counts the tokens of a session for its context tiers; the usage states no `session_tokens`, so its prompt alone is counted.".to_owned());
                }
                prompt
            },
            u64::from,
        ),
        ContextTierMeasure::Unknown => {
            if has_tiers {
                notes.push("The sheet does not state which tokens count for its context tiers; those of the prompt are counted.".to_owned());
            }
            prompt
        }
    }
}

/// Whether a request of so many tokens is in a tier.
fn has_begun(tier: ContextTier, tokens: u64) -> bool {
    let start = u64::from(tier.min_prompt_tokens);
    start == 0 || tokens > start || (tier.inclusive && tokens == start)
}

/// The cell of the highest threshold that the request is beyond; with marginal semantics all cells.
fn in_context<'s>(
    sheet: &PriceSheet,
    mut cells: Vec<Placed<'s>>,
    tokens: u64,
    notes: &mut Vec<String>,
) -> Result<Vec<Placed<'s>>, Missing> {
    cells.sort_by_key(|(_, cell)| cell.context_tier.min_prompt_tokens);
    let lowest = cells[0].1.context_tier;
    if !has_begun(lowest, tokens) {
        let start = lowest.min_prompt_tokens;
        return Err(Missing::new(
            format!("the sheet has no price for prompts of up to {start} tokens"),
            "add the prices of short prompts",
        ));
    }
    if sheet.context_tier_semantics == ContextTierSemantics::Marginal {
        return Ok(cells);
    }
    let has_several = cells.len() > 1;
    let chosen: Vec<_> = cells
        .into_iter()
        .rfind(|(_, cell)| has_begun(cell.context_tier, tokens))
        .into_iter()
        .collect();
    let is_higher = chosen
        .iter()
        .any(|(_, cell)| cell.context_tier.min_prompt_tokens > 0);
    if sheet.context_tier_semantics == ContextTierSemantics::Unknown && has_several && is_higher {
        notes.push("The sheet does not state whether a context tier reprices the whole request; it is taken to.".to_owned());
    }
    Ok(chosen)
}

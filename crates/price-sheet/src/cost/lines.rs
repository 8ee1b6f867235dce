//! The lines of a cost, and their sum.

use std::num::NonZeroU64;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

use super::amount::Amount;
use super::answer::{CellUsed, Cost, CostLine, Factor, SheetUsed, SourceCost, TariffUsed};
use super::prices::find;
use super::tariff::{Missing, Placed, Tariff};
use super::usage::{Meter, Metered, Usage};
use crate::sheet::compare::Cells;
use crate::sheet::{ContextTierMeasure, PriceSheet, RateCell};
use unroof_base::units::Decimal;

const SECONDS_PER_HOUR: u64 = 3_600;

/// The sheet that prices a usage, with its period in `valid_from` and `valid_to`.
#[derive(Debug, Clone)]
pub struct SheetInForce {
    /// Id of the stored sheet.
    pub id: String,
    /// Sheet in force.
    pub sheet: PriceSheet,
    /// Source whose price is in force, for a stored sheet.
    pub source: Option<String>,
    /// Sheets of other sources, whether they agree or not.
    pub others: Vec<OtherSheet>,
}

/// The sheet of another source.
#[derive(Debug, Clone)]
pub struct OtherSheet {
    /// Source that states the sheet.
    pub source: String,
    /// Id of the stored sheet.
    pub id: String,
    /// Sheet that another source states.
    pub sheet: PriceSheet,
}

impl SheetInForce {
    /// A sheet that the request carries.
    #[must_use]
    pub fn stated(sheet: PriceSheet) -> Self {
        Self {
            id: sheet.id().to_string(),
            sheet,
            source: None,
            others: Vec::new(),
        }
    }
}

/// The cost of a usage at a time.
#[must_use]
pub fn cost(id: Option<String>, priced_by: &SheetInForce, usage: &Usage, at: Timestamp) -> Cost {
    let sheet = &priced_by.sheet;
    // As precise as times are stored.
    let cut = TimestampRound::new()
        .smallest(Unit::Microsecond)
        .mode(RoundMode::Floor);
    let at = at.round(cut).unwrap_or(at);
    let bill = Bill::new(sheet, usage, at);
    let (total, priced) = (bill.total(), bill.priced());
    let sources = sources(priced_by, usage, at, &bill);
    let mut notes = bill.notes;
    notes.extend(contradictions(sheet, usage));
    Cost {
        id,
        currency: sheet.currency.clone(),
        is_rounded: bill.is_rounded,
        at,
        tariff: bill.tariff,
        lines: bill.lines,
        sheet: SheetUsed {
            id: priced_by.id.clone(),
            provider: sheet.provider.clone(),
            model: sheet.model.clone(),
            region: sheet.region.clone(),
            valid_from: sheet.valid_from,
            valid_to: sheet.valid_to,
            source: priced_by.source.clone(),
        },
        sources,
        notes,
        modifiers_left_out: left_out(sheet, usage),
        other_meters_left_out: sheet
            .other_meters
            .iter()
            .map(|meter| meter.meter.clone())
            .collect(),
        total,
        priced,
    }
}

/// The modifiers that a usage does not name.
fn left_out(sheet: &PriceSheet, usage: &Usage) -> Vec<String> {
    let named = usage.modifiers.as_deref().unwrap_or_default();
    let modifiers = sheet.modifiers.iter().map(|modifier| &modifier.name);
    modifiers
        .filter(|name| !named.contains(name))
        .cloned()
        .collect()
}

/// Costs by the sources of the sheet and by those of other sheets.
fn sources(priced_by: &SheetInForce, usage: &Usage, at: Timestamp, bill: &Bill) -> Vec<SourceCost> {
    let sheet = &priced_by.sheet;
    let total = bill.total();
    let cells = Cells::of(sheet);
    let mut names: Vec<&str> = sheet
        .sources
        .iter()
        .map(|source| source.format.name())
        .collect();
    names.extend(priced_by.source.as_deref());
    names.sort_unstable();
    names.dedup();
    let own = names.into_iter().map(|source| SourceCost {
        source: source.to_owned(),
        sheet_id: priced_by.id.clone(),
        currency: sheet.currency.clone(),
        total: total.clone(),
        agrees: true,
    });
    let others = priced_by.others.iter().map(|other| {
        // The store lists it as the current statement of its source, so the dates of the sheet do not matter.
        let undated = PriceSheet {
            valid_from: None,
            valid_to: None,
            ..other.sheet.clone()
        };
        let other_bill = Bill::new(&undated, usage, at);
        // It says nothing of the cells that it does not state, where it has no other price for those that it does.
        let is_silent = bill.places() != other_bill.places() && Cells::of(&undated).agree(&cells);
        let other_total = other_bill.total().filter(|_| !is_silent);
        let is_same_currency = undated.currency == sheet.currency;
        SourceCost {
            source: other.source.clone(),
            sheet_id: other.id.clone(),
            currency: undated.currency,
            agrees: is_same_currency && total.is_some() && other_total == total,
            total: other_total,
        }
    });
    own.chain(others).collect()
}

/// Statements of a usage that the sheet's limits rule out.
fn contradictions(sheet: &PriceSheet, usage: &Usage) -> Vec<String> {
    let (prompt, output) = (usage.prompt(), u64::from(usage.output_tokens));
    let limits = &sheet.limits;
    let mut notes = Vec::new();
    let has_cached = prompt > usage.uncached();
    if let Some(least) = limits
        .cache_min_tokens
        .filter(|least| prompt < u64::from(*least) && has_cached)
    {
        notes.push(format!("The usage has cached tokens in a prompt of {prompt} tokens; the provider caches from {least} tokens on."));
    }
    let limits = [
        ("prompt and output", prompt + output, limits.context),
        ("prompt", prompt, limits.max_input),
        ("output", output, limits.max_output),
    ];
    for (part, tokens, limit) in limits {
        if let Some(most) = limit.filter(|most| tokens > u64::from(*most)) {
            notes.push(format!(
                "The {part} has {tokens} tokens; the provider's limit is {most}."
            ));
        }
    }
    notes
}

/// The lines of a usage.
struct Bill {
    tariff: Option<TariffUsed>,
    lines: Vec<CostLine>,
    notes: Vec<String>,
    is_rounded: bool,
}

impl Bill {
    fn new(sheet: &PriceSheet, usage: &Usage, at: Timestamp) -> Self {
        let mut bill = Self {
            tariff: None,
            lines: Vec::new(),
            notes: Vec::new(),
            is_rounded: false,
        };
        match Tariff::choose(sheet, usage, at) {
            Ok(tariff) => bill.add_all(usage, &tariff),
            Err(missing) => {
                let held = usage.cache_storage.iter().flatten();
                let held = held.map(|held| stored(held.tokens, Some(held.seconds)));
                let lines = usage.metered().into_iter().chain(held);
                let lines = lines.map(|metered| unpriced_line(&metered, None, missing.clone()));
                bill.lines.extend(lines);
                // An empty usage has no line that could carry the reason.
                if bill.lines.is_empty() {
                    bill.notes.push(format!("Not priced: {}.", missing.reason));
                }
            }
        }
        bill
    }

    fn add_all(&mut self, usage: &Usage, tariff: &Tariff<'_>) {
        let sheet = tariff.sheet;
        self.notes.clone_from(&tariff.notes);
        let counts_output =
            sheet.context_tier_measure == ContextTierMeasure::PromptPlusOutputTokens;
        for metered in usage.metered() {
            let is_generated = [Meter::Output, Meter::Reasoning].contains(&metered.meter);
            let parts = if is_generated && !counts_output {
                vec![(cell_at(tariff, usage.prompt()), metered.tokens)]
            } else {
                bands(tariff, &metered)
            };
            for (cell, tokens) in parts {
                let metered = Metered { tokens, ..metered };
                self.add(tariff, cell, &metered);
            }
        }
        for held in held(usage, tariff) {
            self.add(tariff, tariff.cells[0], &held);
        }
        let cells = tariff.cells.iter().filter(|(index, _)| {
            let mut lines = self.lines.iter();
            lines.any(|line| line.cell == Some(*index)) || tariff.cells.len() == 1
        });
        self.tariff = Some(TariffUsed {
            service_tier: tariff.service_tier.to_owned(),
            schedule: tariff.schedule.map(str::to_owned),
            context_tokens: tariff.context_tokens,
            context_tier_measure: sheet.context_tier_measure,
            context_tier_semantics: sheet.context_tier_semantics,
            cells: cells
                .map(|(index, rate)| CellUsed {
                    index: *index,
                    rate: (*rate).clone(),
                })
                .collect(),
        });
    }

    /// Adds the line of a meter in a cell.
    fn add(&mut self, tariff: &Tariff<'_>, placed: Placed<'_>, metered: &Metered) {
        let line = self.priced_line(tariff, placed, metered);
        let line = line.unwrap_or_else(|missing| unpriced_line(metered, Some(placed.0), missing));
        self.lines.push(line);
    }

    fn priced_line(
        &mut self,
        tariff: &Tariff<'_>,
        (index, cell): Placed<'_>,
        metered: &Metered,
    ) -> Result<CostLine, Missing> {
        let is_held = metered.meter == Meter::CacheStorage;
        if is_held && metered.seconds.is_none() {
            return Err(Missing::new(
                "a cache write states no `ttl_seconds`, and the sheet prices storage per hour",
                "state `ttl_seconds`, or the time that the tokens are held as `cache_storage`; `[]` for a cache without storage fee",
            ));
        }
        let found = find(tariff.sheet, cell, metered)?;
        let factors = factors(tariff, metered.meter);
        let (units, divisor) = if is_held {
            let seconds = u64::from(metered.seconds.unwrap_or_default());
            (metered.tokens * seconds, NonZeroU64::new(SECONDS_PER_HOUR))
        } else {
            (metered.tokens, None)
        };
        let multipliers = factors.iter().map(|factor| &factor.multiplier);
        let (amount, is_rounded) = Amount::of_million(units, found.price, multipliers, divisor);
        self.is_rounded |= is_rounded;
        if let Some(note) = found.note.filter(|note| !self.notes.contains(note)) {
            self.notes.push(note);
        }
        Ok(CostLine {
            meter: metered.meter,
            tokens: metered.tokens,
            seconds: metered.seconds.or(found.ttl_seconds),
            price: Some(found.price.clone()),
            priced_as: found.priced_as,
            factors,
            cell: Some(index),
            amount: Some(amount),
            reason: None,
            hint: None,
        })
    }

    /// The service tier and the schedule that apply, and for each cell whether it is one for long prompts.
    fn places(&self) -> Option<(&str, Option<&str>, Vec<bool>)> {
        let tariff = self.tariff.as_ref()?;
        let cells = tariff.cells.iter();
        let is_long = cells.map(|cell| cell.rate.context_tier.min_prompt_tokens > 0);
        Some((
            &tariff.service_tier,
            tariff.schedule.as_deref(),
            is_long.collect(),
        ))
    }

    fn priced(&self) -> Amount {
        let amounts = self.lines.iter().filter_map(|line| line.amount.as_ref());
        amounts.fold(Amount::zero(), |sum, amount| sum.plus(amount))
    }

    fn total(&self) -> Option<Amount> {
        let is_whole = self.lines.iter().all(|line| line.amount.is_some());
        (is_whole && self.tariff.is_some()).then(|| self.priced())
    }
}

fn unpriced_line(metered: &Metered, cell: Option<usize>, missing: Missing) -> CostLine {
    CostLine {
        meter: metered.meter,
        tokens: metered.tokens,
        seconds: metered.seconds,
        price: None,
        priced_as: None,
        factors: Vec::new(),
        cell,
        amount: None,
        reason: Some(missing.reason),
        hint: Some(missing.hint),
    }
}

/// Factors on the price of a meter. The multiplier of a service tier is for tokens, not for their storage.
fn factors(tariff: &Tariff<'_>, meter: Meter) -> Vec<Factor> {
    let factor = |name: &str, multiplier: &Decimal| Factor {
        name: name.to_owned(),
        multiplier: multiplier.clone(),
    };
    let tier = tariff.multiplier.filter(|_| meter != Meter::CacheStorage);
    let tier = tier.map(|multiplier| factor(tariff.service_tier, multiplier));
    let modifiers = tariff
        .modifiers
        .iter()
        .filter(|modifier| meter.is_in(&modifier.applies_to));
    let modifiers = modifiers.map(|modifier| factor(&modifier.name, &modifier.multiplier));
    tier.into_iter().chain(modifiers).collect()
}

/// Tokens that are stored for a time.
fn stored(tokens: u32, seconds: Option<u32>) -> Metered {
    Metered {
        meter: Meter::CacheStorage,
        tokens: tokens.into(),
        seconds,
        place: 0,
    }
}

/// Stored tokens: as stated, or each cache write for its time to live where storage has a price.
fn held(usage: &Usage, tariff: &Tariff<'_>) -> Vec<Metered> {
    let held: Vec<Metered> = match &usage.cache_storage {
        Some(stated) => stated
            .iter()
            .map(|held| stored(held.tokens, Some(held.seconds)))
            .collect(),
        None if tariff.cells[0].1.cache_storage_per_hour.is_some() => {
            let writes = usage.cache_writes.iter().flatten();
            writes
                .map(|write| stored(write.tokens, write.ttl_seconds))
                .collect()
        }
        None => Vec::new(),
    };
    held.into_iter().filter(|held| held.tokens > 0).collect()
}

/// Start of a cell in tokens.
fn start(cell: &RateCell) -> u64 {
    cell.context_tier.min_prompt_tokens.into()
}

/// The cell of the last of so many tokens.
fn cell_at<'s>(tariff: &Tariff<'s>, tokens: u64) -> Placed<'s> {
    let mut cells = tariff.cells.iter().rev();
    let begun = cells.find(|(_, cell)| start(cell) < tokens);
    *begun.unwrap_or(&tariff.cells[0])
}

/// Tokens of a meter by cell: with one cell all of them, with marginal tiers those between its threshold and the next.
fn bands<'s>(tariff: &Tariff<'s>, metered: &Metered) -> Vec<(Placed<'s>, u64)> {
    if let [cell] = tariff.cells.as_slice() {
        return vec![(*cell, metered.tokens)];
    }
    let ends = tariff.cells.iter().skip(1).map(|(_, cell)| start(cell));
    let ends = ends.chain([u64::MAX]);
    let (first, last) = (metered.place, metered.place + metered.tokens);
    let parts = tariff.cells.iter().zip(ends).map(|(placed, end)| {
        let from = first.max(start(placed.1));
        (*placed, last.min(end).saturating_sub(from))
    });
    parts.filter(|(_, tokens)| *tokens > 0).collect()
}

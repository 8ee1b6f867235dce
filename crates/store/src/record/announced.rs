//! Rows of the change feed and of disagreements: what a plan means in words and numbers.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::derive::RetirementNews;
use super::names::ChangeKind;
use super::offers::Retirement;
use super::plan::{OfferPlan, Plan};
use super::recording::{Listing, Recording};
use super::work::Work;
use crate::StoreError;
use unroof_base::units::Decimal;
use unroof_price_sheet::history::{Event, News, UNKNOWN_START};
use unroof_price_sheet::sheet::compare::difference::{
    PriceDifference, contradiction_words, contradictions, first_words, in_words, price_differences,
};
use unroof_price_sheet::sheet::compare::new_source::new_source_in_words;
use unroof_price_sheet::sheet::{PriceSheet, SheetId};

/// Names under which a change is listed.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) canonical_model: Option<String>,
    pub(crate) region: String,
    pub(crate) sheet_id: Option<Uuid>,
    pub(crate) estimate_id: Option<Uuid>,
}

/// A row of the change feed without its number.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) observed_at: Timestamp,
    pub(crate) subject: Subject,
    pub(crate) summary: String,
    pub(crate) price: Option<PriceDifference>,
    pub(crate) in_force: bool,
    pub(crate) valid_from: Option<Timestamp>,
    pub(crate) previous_sheet_id: Option<Uuid>,
}

/// A disagreement between two catalogs that is new.
#[derive(Debug, Clone)]
pub(crate) struct Disagreement {
    pub(crate) id: Uuid,
    pub(crate) offer_id: Uuid,
    pub(crate) sheet: PriceSheet,
    pub(crate) catalog: String,
    pub(crate) sheet_id: Uuid,
    pub(crate) other_catalog: String,
    pub(crate) other_sheet_id: Uuid,
    /// Whether the other price is under quarantine.
    pub(crate) is_flagged: bool,
    pub(crate) differences: String,
    pub(crate) largest_factor: Option<f64>,
    pub(crate) observed_at: Timestamp,
}

/// News of a plan.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    pub(crate) changes: Vec<Change>,
    pub(crate) disagreements: Vec<Disagreement>,
    /// Disagreements that are settled, and when.
    pub(crate) settled: Vec<(Uuid, Timestamp)>,
    /// Names of the offers whose rows are written.
    pub(crate) names: HashMap<Uuid, [String; 3]>,
}

/// A sheet that is named in news, with its listed estimate.
#[derive(Debug, Clone)]
pub(crate) struct NamedSheet {
    pub(crate) sheet: PriceSheet,
    pub(crate) canonical_model: Option<String>,
    pub(crate) estimate_id: Option<Uuid>,
}

impl NamedSheet {
    /// The sheet of a recording.
    pub(crate) fn of(recording: &Recording) -> Self {
        Self {
            sheet: recording.sheet.clone(),
            canonical_model: recording.canonical_model.clone(),
            estimate_id: Some(recording.estimate_id),
        }
    }
}

/// All sheets that are named in the news of a plan.
#[derive(Debug, Default)]
pub(crate) struct NamedSheets(pub(crate) HashMap<Uuid, NamedSheet>);

impl NamedSheets {
    fn named(&self, id: Uuid) -> Result<&NamedSheet, StoreError> {
        self.0.get(&id).ok_or(StoreError::Damaged(id))
    }

    fn sheet(&self, id: Uuid) -> Result<&PriceSheet, StoreError> {
        Ok(&self.named(id)?.sheet)
    }

    fn subject(&self, id: Uuid) -> Result<Subject, StoreError> {
        let named = self.named(id)?;
        Ok(Subject {
            provider: named.sheet.provider.clone(),
            model: named.sheet.model.clone(),
            canonical_model: named.canonical_model.clone(),
            region: named.sheet.region.clone(),
            sheet_id: Some(id),
            estimate_id: named.estimate_id,
        })
    }
}

impl Announced {
    /// News of a plan, given the sheets that it names.
    ///
    /// # Errors
    /// A stored document is damaged.
    pub(crate) fn of(work: &Work, plan: &Plan, sheets: &NamedSheets) -> Result<Self, StoreError> {
        let mut announced = Self::default();
        for offer in &plan.offers {
            for news in &offer.derived.news {
                announced.changes.extend(rows_of(news, offer, sheets)?);
            }
            announced.add_retirements(offer, sheets)?;
            announced.compare(offer, sheets)?;
            for row in &offer.derived.written {
                let sheet = sheets.sheet(row.period.sheet_id)?;
                let names = [&sheet.provider, &sheet.model, &sheet.region].map(Clone::clone);
                announced.names.insert(offer.id, names);
            }
        }
        announced.add_act(work, plan, sheets)?;
        announced.add_estimates(work, plan);
        if work.undoes {
            for change in &mut announced.changes {
                change.summary = format!("an import is undone: {}", change.summary);
            }
        }
        Ok(announced)
    }

    /// Retirements of an offer in force. Where they are all that is new of its sheet, they say so alone.
    fn add_retirements(
        &mut self,
        offer: &OfferPlan,
        sheets: &NamedSheets,
    ) -> Result<(), StoreError> {
        for news in &offer.derived.retirements {
            let is_same = |change: &Change| {
                change.kind == ChangeKind::HistoryBackfilled
                    && change.in_force
                    && change.subject.sheet_id == Some(news.sheet_id)
                    && change.previous_sheet_id.is_some()
            };
            self.changes.retain(|change| !is_same(change));
            self.changes.push(Change {
                kind: ChangeKind::OfferRetiring,
                observed_at: offer.seen_at,
                subject: sheets.subject(news.sheet_id)?,
                summary: words_of_retirement(news),
                price: Some(PriceDifference {
                    place: None,
                    price: "retires_at".to_owned(),
                    before: seconds(news.before),
                    after: seconds(news.after),
                }),
                in_force: true,
                valid_from: (news.starts_at != UNKNOWN_START).then_some(news.starts_at),
                previous_sheet_id: None,
            });
        }
        Ok(())
    }

    /// An act on a price that is not in force is news of its own.
    fn add_act(
        &mut self,
        work: &Work,
        plan: &Plan,
        sheets: &NamedSheets,
    ) -> Result<(), StoreError> {
        let Some(act) = work.act.as_ref().filter(|_| plan.has_acted) else {
            return Ok(());
        };
        let kind = if act.because.is_some() {
            ChangeKind::SheetWithdrawn
        } else {
            ChangeKind::SheetReinstated
        };
        let is_meant = |change: &&mut Change| {
            change.kind == kind && change.subject.sheet_id == Some(act.sheet_id)
        };
        let summary = act.because.as_ref().map_or_else(
            || "the withdrawal is undone".to_owned(),
            |because| format!("withdrawn: {because}"),
        );
        if let Some(change) = self.changes.iter_mut().find(is_meant) {
            change.summary = summary;
            return Ok(());
        }
        let change = Change {
            kind,
            observed_at: work.now,
            subject: sheets.subject(act.sheet_id)?,
            summary,
            price: None,
            in_force: false,
            valid_from: None,
            previous_sheet_id: None,
        };
        self.changes.insert(0, change);
        Ok(())
    }

    /// Adds new estimates of models. Another estimate of a sheet is not news; that of its model is.
    fn add_estimates(&mut self, work: &Work, plan: &Plan) {
        for (recording, step) in work.recordings.iter().zip(&plan.steps) {
            let is_pool = matches!(recording.listing, Listing::Pooled { .. });
            if !(step.is_update && is_pool) {
                continue;
            }
            let place = recording.place();
            self.changes.push(Change {
                kind: ChangeKind::EstimateUpdated,
                observed_at: recording.observed_at,
                subject: Subject {
                    provider: place.provider.to_owned(),
                    model: place.model.to_owned(),
                    canonical_model: recording.canonical_model.clone(),
                    region: place.region.to_owned(),
                    sheet_id: place.of.map(|of| of.sheet_id),
                    estimate_id: Some(recording.estimate_id),
                },
                summary: "estimate of several hosts' sheets stored".to_owned(),
                price: None,
                in_force: step.is_in_force,
                valid_from: None,
                previous_sheet_id: None,
            });
        }
    }

    /// Compares the other sources' statements with the price in force; finds new and settled disagreements.
    fn compare(&mut self, offer: &OfferPlan, sheets: &NamedSheets) -> Result<(), StoreError> {
        let Some(stated) = &offer.derived.stated else {
            return Ok(());
        };
        let mut found: Vec<Uuid> = Vec::new();
        for (in_force, other) in stated
            .in_force
            .iter()
            .flat_map(|id| stated.others.iter().map(move |other| (*id, other)))
        {
            let is_it = |seen: &&super::offers::Seen| seen.sheet.sheet_id == in_force;
            let catalog = offer.after.seen.iter().find(is_it);
            let catalog = catalog.map_or("", |seen| &seen.sheet.catalog);
            let open = offer.disagreements.iter().find(|open| {
                open.sheet_id == in_force
                    && open.other_sheet_id == other.sheet_id
                    && open.other_catalog == other.source
                    && open.is_flagged == other.is_flagged
            });
            if let Some(open) = open {
                found.push(open.id);
                continue;
            }
            let sheet = sheets.sheet(in_force)?;
            let contradictions = contradictions(sheet, sheets.sheet(other.sheet_id)?);
            if contradictions.is_empty() {
                continue;
            }
            let factors = contradictions.iter().filter_map(PriceDifference::factor);
            let id = format!(
                "{}\n{}\n{in_force}\n{}\n{}\n{}",
                offer.id, other.source, other.sheet_id, offer.seen_at, other.is_flagged
            );
            self.disagreements.push(Disagreement {
                id: SheetId::digest(id.as_bytes()),
                offer_id: offer.id,
                catalog: catalog.to_owned(),
                sheet_id: in_force,
                other_catalog: other.source.clone(),
                other_sheet_id: other.sheet_id,
                is_flagged: other.is_flagged,
                differences: contradiction_words(&contradictions, sheet),
                largest_factor: factors.reduce(f64::max),
                observed_at: offer.seen_at,
                sheet: sheet.clone(),
            });
        }
        let settled = offer
            .disagreements
            .iter()
            .filter(|open| !found.contains(&open.id));
        self.settled
            .extend(settled.map(|open| (open.id, offer.seen_at)));
        Ok(())
    }
}

/// The rows of a piece of news: one for each price that changes.
fn rows_of(
    news: &News,
    offer: &OfferPlan,
    sheets: &NamedSheets,
) -> Result<Vec<Change>, StoreError> {
    let sheet = sheets.sheet(news.sheet_id)?;
    let previous = news.previous_sheet_id.map(|id| sheets.sheet(id));
    let previous = previous.transpose()?;
    let same_tariff = previous.filter(|_| news.event == Event::Backfilled && news.in_force);
    let kind = match news.event {
        Event::Added => ChangeKind::OfferAdded,
        Event::Changed => ChangeKind::PriceChanged,
        Event::SourceAdded => ChangeKind::SourceAdded,
        Event::Scheduled => ChangeKind::PriceScheduled,
        Event::Delisted => ChangeKind::OfferDelisted,
        Event::Relisted => ChangeKind::OfferRelisted,
        Event::Withdrawn => ChangeKind::SheetWithdrawn,
        Event::Reinstated => ChangeKind::SheetReinstated,
        Event::Expired => ChangeKind::PriceExpired,
        Event::Backfilled => same_tariff.map_or(ChangeKind::HistoryBackfilled, |previous| {
            kind_of_other_sheet(previous, sheet)
        }),
    };
    let mut summary = match (previous, news.event) {
        (_, Event::Delisted) => "no longer listed by any catalog".to_owned(),
        (_, Event::Expired) => "the stated end of the price has come".to_owned(),
        (_, Event::Withdrawn) => "withdrawn".to_owned(),
        (_, Event::Backfilled) if same_tariff.is_none() => {
            format!("a price of the past is known: {}", first_words(sheet))
        }
        (Some(previous), Event::SourceAdded) => new_source_in_words(previous, sheet),
        (Some(previous), _) => in_words(previous, sheet),
        (None, _) => first_words(sheet),
    };
    if news.event == Event::Scheduled {
        summary = format!("from {}: {summary}", time_in_words(news.starts_at));
    }
    let change = Change {
        kind,
        observed_at: offer.seen_at,
        subject: sheets.subject(news.sheet_id)?,
        summary,
        price: None,
        in_force: news.in_force,
        valid_from: (news.starts_at != UNKNOWN_START).then_some(news.starts_at),
        previous_sheet_id: news.previous_sheet_id,
    };
    Ok(rows_of_cells(change, news.event, previous, sheet))
}

/// A row for each price that changes, or one for all.
fn rows_of_cells(
    change: Change,
    event: Event,
    previous: Option<&PriceSheet>,
    sheet: &PriceSheet,
) -> Vec<Change> {
    let has_cells = matches!(event, Event::Changed | Event::Scheduled);
    let Some(previous) = previous.filter(|_| has_cells) else {
        return vec![change];
    };
    let cells = price_differences(previous, sheet).into_iter();
    let cells = cells.filter(|cell| !cell.is_unchanged());
    let rows: Vec<Change> = cells
        .map(|cell| Change {
            price: Some(cell),
            ..change.clone()
        })
        .collect();
    if rows.is_empty() { vec![change] } else { rows }
}

/// A retirement in words.
fn words_of_retirement(news: &RetirementNews) -> String {
    match (news.before, news.after) {
        (_, Some(Retirement(Some(at)))) => format!("is no longer sold from {}", time_in_words(at)),
        (_, Some(Retirement(None))) => "is deprecated, without a date".to_owned(),
        (Some(Retirement(Some(at))), None) => {
            format!("the retirement at {} is cancelled", time_in_words(at))
        }
        (_, None) => "is no longer deprecated".to_owned(),
    }
}

/// A stated time: a day alone where it is midnight, since announcements name days.
fn time_in_words(at: Timestamp) -> String {
    let at = at.to_zoned(TimeZone::UTC);
    let format = if at.time() == Time::midnight() {
        "%Y-%m-%d"
    } else {
        "%Y-%m-%d %H:%M UTC"
    };
    at.strftime(format).to_string()
}

/// Seconds from 1970 to a retirement, as the value of a change.
fn seconds(retirement: Option<Retirement>) -> Option<Decimal> {
    let at = retirement?.0?;
    at.as_second().to_string().parse().ok()
}

/// Meaning of another sheet with the same prices.
fn kind_of_other_sheet(before: &PriceSheet, after: &PriceSheet) -> ChangeKind {
    if before.limits != after.limits {
        ChangeKind::LimitsChanged
    } else if before.canonical_model != after.canonical_model
        || before.upstream_provider != after.upstream_provider
        || before.quantization != after.quantization
    {
        ChangeKind::IdentityChanged
    } else {
        ChangeKind::HistoryBackfilled
    }
}

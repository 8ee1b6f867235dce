//! The periods of an offer and its news, derived from its facts. Pure: what is to be written is written elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::offers::{Offer, Retirement};
use unroof_price_sheet::history::{
    Ending, Event, News, Observation, Period, StartBasis, Stated, Withdrawal, name_new_sources,
    news, price_at, stated_at, timeline,
};

/// A stored period and its place in the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredPeriod {
    pub(crate) key: (i64, i64),
    pub(crate) period: Period,
    pub(crate) catalog: String,
    pub(crate) observed_at: Timestamp,
    pub(crate) withdrawn: Option<(Timestamp, String)>,
    /// Whether its start and its end were announced.
    pub(crate) has_begun: bool,
    pub(crate) has_ended: bool,
}

impl StoredPeriod {
    /// A price that was withdrawn before it began has an empty period, which no history counts.
    fn is_empty(&self) -> bool {
        self.period.ends_at() == Some(self.period.starts_at)
    }
}

/// A statement of another source that may differ from the price in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Other {
    pub(crate) source: String,
    pub(crate) sheet_id: Uuid,
    pub(crate) price_id: Uuid,
    /// Whether it is under quarantine.
    pub(crate) is_flagged: bool,
}

/// The price in force, with what all sources state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StatedPrices {
    pub(crate) in_force: Option<Uuid>,
    pub(crate) others: BTreeSet<Other>,
}

/// News of the retirement of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetirementNews {
    /// Announcement of the source before.
    pub(crate) before: Option<Retirement>,
    /// Announcement now; none where it is cancelled.
    pub(crate) after: Option<Retirement>,
    /// The sheet in force.
    pub(crate) sheet_id: Uuid,
    /// Start of the price.
    pub(crate) starts_at: Timestamp,
}

/// Rows that follow from the facts of an offer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Derived {
    /// Rows of periods that go away.
    pub(crate) gone: Vec<(i64, i64)>,
    /// Rows of periods that are new, with a key of 0, or differ.
    pub(crate) written: Vec<StoredPeriod>,
    pub(crate) news: Vec<News>,
    pub(crate) retirements: Vec<RetirementNews>,
    /// The history after it.
    pub(crate) periods: Vec<Period>,
    /// Statements of the sources, if they differ from before.
    pub(crate) stated: Option<StatedPrices>,
}

impl Derived {
    pub(crate) fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.written.is_empty()
            && self.news.is_empty()
            && self.retirements.is_empty()
            && self.stated.is_none()
    }

    /// Derives the periods of an offer whose facts have changed, as far as they matter at a time.
    pub(crate) fn new(
        stored: &[StoredPeriod],
        before: &Offer,
        after: &Offer,
        now: Timestamp,
    ) -> Self {
        let known: Vec<&StoredPeriod> = stored.iter().filter(|one| !one.is_empty()).collect();
        let mut announced = due(&known, now);
        let old: Vec<Period> = known.iter().map(|one| one.period.clone()).collect();
        let (observations, withdrawals) = (after.observations(), after.withdrawals());
        let periods = timeline(&observations, &withdrawals);
        let mut found = news(&old, &periods, now);
        if found.iter().any(|one| one.event == Event::Changed) {
            let known = without_new_sources(before, &observations);
            name_new_sources(&mut found, &old, &timeline(&known, &withdrawals), now);
        }
        announced.extend(found);
        let rows = rows(after, &observations, &withdrawals, periods.clone(), now);
        // A price that is listed still is seen all the time: that alone is not written.
        let is_listed = |row: &StoredPeriod| {
            let mut own = after.seen.iter().zip(&observations);
            !row.has_ended
                && own.any(|(seen, observation)| {
                    seen.last_at.is_none()
                        && observation.price_id == row.period.price_id
                        && observation.last_at >= row.period.last_seen_at
                })
        };
        let mut derived = Self {
            news: announced,
            ..Self::default()
        };
        derived.compare_rows(stored, rows, is_listed);
        let was = state(&before.observations(), &before.withdrawals(), &old, now);
        let is = state(&observations, &withdrawals, &periods, now);
        derived.stated = (was != is).then_some(is);
        if let Some(price) = price_at(&periods, now) {
            let known = price_at(&old, now).map(|_| announced_by(before, now));
            let known = known.unwrap_or_default();
            derived.retirements = retirements(&known, &announced_by(after, now), price, now);
        }
        derived.periods = periods;
        derived
    }

    /// Finds the rows that differ from the stored ones, also where only the last observation of an unlisted price differs.
    fn compare_rows(
        &mut self,
        stored: &[StoredPeriod],
        rows: Vec<StoredPeriod>,
        is_listed: impl Fn(&StoredPeriod) -> bool,
    ) {
        let mut left: Vec<&StoredPeriod> = stored.iter().collect();
        for mut row in rows {
            let is_same = |one: &&StoredPeriod| {
                one.period.starts_at == row.period.starts_at
                    && one.period.price_id == row.period.price_id
                    && one.is_empty() == row.is_empty()
            };
            match left.iter().position(is_same) {
                None => self.written.push(row),
                Some(index) => {
                    let one = left.swap_remove(index);
                    row.key = one.key;
                    let mut unseen = row.clone();
                    if is_listed(&row) {
                        unseen.period.last_seen_at = one.period.last_seen_at;
                    }
                    unseen.period.source.clone_from(&one.period.source);
                    if unseen != *one {
                        self.written.push(row);
                    }
                }
            }
        }
        self.gone = left.into_iter().map(|one| one.key).collect();
    }
}

/// The observations of the sources that had stated the offer before.
fn without_new_sources(before: &Offer, observations: &[Observation]) -> Vec<Observation> {
    let is_known = |one: &&Observation| before.seen.iter().any(|seen| seen.source == one.source);
    observations.iter().filter(is_known).cloned().collect()
}

/// News of prices that began or ended since their offer was last written.
fn due(known: &[&StoredPeriod], now: Timestamp) -> Vec<News> {
    let mut announced: Option<&StoredPeriod> = None;
    let mut news = Vec::new();
    let piece = |event, one: &StoredPeriod, previous: Option<Uuid>, in_force| News {
        event,
        sheet_id: one.period.sheet_id,
        previous_sheet_id: previous,
        starts_at: one.period.starts_at,
        in_force,
    };
    for one in known.iter().filter(|one| one.period.starts_at <= now) {
        if one.has_begun {
            announced = Some(one);
        } else if one.period.covers(now) {
            let previous = announced.filter(|announced| {
                !announced.has_ended || announced.period.ends_at() == Some(one.period.starts_at)
            });
            let previous = previous.map(|announced| announced.period.sheet_id);
            news.push(piece(Event::Changed, one, previous, true));
            announced = Some(one);
        }
    }
    let is_over =
        |one: &&StoredPeriod| !one.has_ended && one.period.ends_at().is_some_and(|end| end <= now);
    if let Some(one) = announced.filter(is_over) {
        let event = match one.period.end {
            Some((_, Ending::Delisted)) => Event::Delisted,
            Some((_, Ending::Withdrawn)) => Event::Withdrawn,
            _ => Event::Expired,
        };
        let covers = known.iter().any(|other| other.period.covers(now));
        news.extend((!covers).then(|| piece(event, one, None, false)));
    }
    news
}

/// Retirements that the sources announce at a time, if they announce one.
type Announced<'a> = BTreeMap<&'a str, Option<Retirement>>;

fn announced_by(offer: &Offer, at: Timestamp) -> Announced<'_> {
    let observations = offer.observations();
    let stated = stated_at(&observations, &offer.withdrawals(), at);
    let sheets = stated.iter().filter_map(|one| {
        let seen = offer.seen.iter();
        let mut seen = seen.filter(|seen| {
            seen.source == one.observation.source && seen.sheet.sheet_id == one.observation.sheet_id
        });
        seen.next()
    });
    sheets
        .map(|seen| (seen.source.as_str(), seen.sheet.retirement))
        .collect()
}

/// Retirements that no source announced before, and those that a source cancelled which still lists the offer.
fn retirements(
    before: &Announced<'_>,
    after: &Announced<'_>,
    price: &Period,
    now: Timestamp,
) -> Vec<RetirementNews> {
    let mut named = BTreeSet::new();
    let mut news = Vec::new();
    for (source, announced) in after {
        let known = before.get(source).copied().flatten();
        let is_past = |one: &Retirement| one.0.is_some_and(|at| at <= now);
        let (was, is) = (known, announced.filter(|one| !is_past(one)));
        let is_over = |all: &Announced<'_>, one: Option<Retirement>| {
            one.is_some() && !all.values().any(|other| *other == one)
        };
        let is_news = is_over(before, is);
        let is_called_off = announced.is_none() && is_over(after, was);
        if (is_news || is_called_off) && named.insert((is_news, is.or(was))) {
            news.push(RetirementNews {
                before: was,
                after: is,
                sheet_id: price.sheet_id,
                starts_at: price.starts_at,
            });
        }
    }
    news
}

fn state(
    observations: &[Observation],
    withdrawals: &[Withdrawal],
    periods: &[Period],
    now: Timestamp,
) -> StatedPrices {
    let Some(price) = price_at(periods, now) else {
        return StatedPrices::default();
    };
    let others = stated_at(observations, withdrawals, now).into_iter();
    let others = others.filter(|other| other.observation.price_id != price.price_id);
    let other = |one: Stated<'_>| Other {
        source: one.observation.source.clone(),
        sheet_id: one.observation.sheet_id,
        price_id: one.observation.price_id,
        is_flagged: one.is_flagged,
    };
    StatedPrices {
        in_force: Some(price.sheet_id),
        others: others.map(other).collect(),
    }
}

/// Rows of the periods, with an empty one for each price that was withdrawn before it began.
fn rows(
    offer: &Offer,
    observations: &[Observation],
    withdrawals: &[Withdrawal],
    periods: Vec<Period>,
    now: Timestamp,
) -> Vec<StoredPeriod> {
    let because = |sheet_id: Uuid, at: Timestamp| {
        let withdrawal = offer
            .withdrawals
            .iter()
            .find(|withdrawal| withdrawal.sheet_id == sheet_id && withdrawal.at == at);
        withdrawal.map(|withdrawal| (at, withdrawal.because.clone()))
    };
    let mut rows: Vec<StoredPeriod> = Vec::with_capacity(periods.len());
    for period in periods {
        let withdrawn = match period.end {
            Some((at, Ending::Withdrawn)) => because(period.sheet_id, at),
            _ => None,
        };
        rows.push(row(offer, observations, period, withdrawn, now));
    }
    for withdrawal in withdrawals
        .iter()
        .filter(|withdrawal| withdrawal.seen_again_at.is_none())
    {
        let Some(observation) = observations
            .iter()
            .find(|one| one.sheet_id == withdrawal.sheet_id)
        else {
            continue;
        };
        let Some(starts_at) = observation
            .valid_from
            .filter(|start| *start >= withdrawal.at)
        else {
            continue;
        };
        let period = Period {
            sheet_id: observation.sheet_id,
            price_id: observation.price_id,
            source: observation.source.clone(),
            starts_at,
            start_basis: StartBasis::Stated,
            not_before: None,
            last_seen_at: observation.last_at,
            end: Some((starts_at, Ending::Withdrawn)),
            is_flagged: false,
        };
        let mut row = row(
            offer,
            observations,
            period,
            because(withdrawal.sheet_id, withdrawal.at),
            now,
        );
        (row.has_begun, row.has_ended) = (true, true);
        rows.push(row);
    }
    rows
}

fn row(
    offer: &Offer,
    observations: &[Observation],
    period: Period,
    withdrawn: Option<(Timestamp, String)>,
    now: Timestamp,
) -> StoredPeriod {
    let seen = observations
        .iter()
        .filter(|one| one.price_id == period.price_id && one.last_at >= period.starts_at);
    let first_at = seen.map(|one| one.first_at).min();
    let sheet = offer
        .seen
        .iter()
        .find(|seen| seen.sheet.sheet_id == period.sheet_id && seen.source == period.source);
    let has_ended = period.ends_at().is_some_and(|end| end <= now);
    StoredPeriod {
        key: (0, 0),
        catalog: sheet.map_or_else(|| period.source.clone(), |seen| seen.sheet.catalog.clone()),
        observed_at: first_at.unwrap_or(period.last_seen_at),
        withdrawn,
        has_begun: period.starts_at <= now,
        has_ended,
        period,
    }
}

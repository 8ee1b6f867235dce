//! The stored periods of prices, compared with those that follow from the facts.

use jiff::Timestamp;
use uuid::Uuid;

use super::differing;
use super::fault::{Fault, Subject};
use crate::connect::query::Query;
use crate::connect::version::take_numbers;
use crate::record::announced::Announced;
use crate::record::derive::{Derived, StoredPeriod};
use crate::record::known;
use crate::record::offers::Offer;
use crate::record::plan::{Known, OfferPlan, Plan};
use crate::record::ready::Ready;
use crate::record::tables;
use crate::record::work::Work;
use crate::{Store, StoreError};

/// The result for a page of offers.
#[derive(Debug, Default)]
pub struct HistoryPage {
    /// Number of its offers that were compared.
    pub offers: usize,
    /// The last of them; none after the last page.
    pub last: Option<Uuid>,
    /// Faults of the offers of the page.
    pub faults: Vec<Fault>,
}

// Each half is read from an index, no further than the page.
const OFFERS: &str = "
    SELECT offer_id FROM (
        SELECT * FROM (
            SELECT DISTINCT offer_id FROM observations WHERE offer_id > $1 ORDER BY offer_id LIMIT $2) AS seen
        UNION
        SELECT * FROM (
            SELECT DISTINCT offer_id FROM price_periods WHERE offer_id > $1 ORDER BY offer_id LIMIT $2) AS priced
    ) AS offers
    ORDER BY offer_id LIMIT $2";

impl Store {
    /// Compares the histories of the offers after an id, as of a time.
    ///
    /// # Errors
    /// The query fails.
    pub async fn check_histories(
        &self,
        after: Uuid,
        limit: u32,
        now: Timestamp,
    ) -> Result<HistoryPage, StoreError> {
        let query = Query::new(OFFERS).bind(after).bind(i64::from(limit));
        let offers: Vec<(Uuid,)> = self.rows(query).await?;
        let offers: Vec<Uuid> = offers.into_iter().map(|(id,)| id).collect();
        let last = offers.last().copied();
        Ok(HistoryPage {
            offers: offers.len(),
            last,
            faults: self.history_faults(&offers, now).await?,
        })
    }

    /// Compares the histories of some offers, as of a time.
    ///
    /// # Errors
    /// The query fails.
    pub async fn history_faults(
        &self,
        offers: &[Uuid],
        now: Timestamp,
    ) -> Result<Vec<Fault>, StoreError> {
        match self.known_of(offers).await {
            Ok(known) => Ok(faults(offers, known, now)),
            // The page is read offer by offer, to find whose sheet that is.
            Err(StoreError::Damaged(_)) => self.faults_one_by_one(offers, now).await,
            Err(error) => Err(error),
        }
    }

    async fn faults_one_by_one(
        &self,
        offers: &[Uuid],
        now: Timestamp,
    ) -> Result<Vec<Fault>, StoreError> {
        let mut found = Vec::new();
        for offer in offers {
            match self.known_of(&[*offer]).await {
                Ok(known) => found.extend(faults(&[*offer], known, now)),
                Err(StoreError::Damaged(sheet)) => found.push(Fault {
                    subject: Subject::Offer(*offer),
                    detail: format!("its price sheet {sheet} is damaged"),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Facts and periods of some offers, all as of one moment.
    async fn known_of(&self, offers: &[Uuid]) -> Result<Known, StoreError> {
        let work = Work {
            again: offers.to_vec(),
            ..Work::default()
        };
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.snapshot().await?;
        let known = known::load(&mut tx, &work).await?;
        tx.commit().await?;
        Ok(known)
    }
}

impl Store {
    /// Derives the periods of some offers again from what was seen. A repair is no news.
    ///
    /// # Errors
    /// The query fails, or a sheet is damaged; then nothing is changed.
    pub async fn mend_histories(&self, offers: &[Uuid], now: Timestamp) -> Result<(), StoreError> {
        let work = Work {
            now,
            again: offers.to_vec(),
            ..Work::default()
        };
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        let base = take_numbers(&mut tx, 0).await?.last;
        let known = known::load(&mut tx, &work).await?;
        let plan = Plan {
            offers: mended(offers, known, now),
            ..Plan::default()
        };
        let sheets = known::load_sheets(&mut tx, &work, plan.wanted_sheets(&work)).await?;
        let announced = Announced::of(&work, &plan, &sheets)?;
        let count = tables::numbers(&plan, &announced);
        let numbers = take_numbers(&mut tx, count).await?;
        let ready = Ready {
            version: base,
            plan,
            announced,
            count,
        };
        tables::write(&mut tx, &work, ready.parts(), (base, numbers.heads)).await?;
        tx.commit().await?;
        self.advance_version(numbers.last);
        Ok(())
    }
}

/// The offers with those of their periods that differ from what was seen.
fn mended(offers: &[Uuid], mut known: Known, now: Timestamp) -> Vec<OfferPlan> {
    let plan = |id: &Uuid| {
        let facts = known.offers.remove(id).unwrap_or_default();
        let stored = known.periods.remove(id).unwrap_or_default();
        OfferPlan {
            id: *id,
            derived: differing_periods(&facts, &stored, now),
            before: facts.clone(),
            after: facts,
            disagreements: Vec::new(),
            seen_at: now,
        }
    };
    offers.iter().map(plan).collect()
}

/// The periods that are to be written or removed, so that the stored ones follow from the facts.
fn differing_periods(facts: &Offer, stored: &[StoredPeriod], now: Timestamp) -> Derived {
    let now = facts.newest().map_or(now, |newest| newest.max(now));
    let derived = Derived::new(stored, facts, facts, now);
    let is_other = |one: &StoredPeriod| {
        let known = stored.iter().find(|stored| stored.key == one.key);
        known.is_none_or(|stored| !differing_parts(stored, one).is_empty())
    };
    Derived {
        written: derived.written.into_iter().filter(is_other).collect(),
        gone: derived.gone,
        ..Derived::default()
    }
}

fn faults(offers: &[Uuid], mut known: Known, now: Timestamp) -> Vec<Fault> {
    let mut found = Vec::new();
    for offer_id in offers {
        let facts = known.offers.remove(offer_id).unwrap_or_default();
        let stored = known.periods.remove(offer_id).unwrap_or_default();
        let differences = differences(&facts, &stored, now);
        found.extend(differences.into_iter().map(|detail| Fault {
            subject: Subject::Offer(*offer_id),
            detail,
        }));
    }
    found
}

/// The periods that differ, each in words.
fn differences(facts: &Offer, stored: &[StoredPeriod], now: Timestamp) -> Vec<String> {
    let derived = differing_periods(facts, stored, now);
    let of_key = |key: (i64, i64)| stored.iter().find(move |one| one.key == key);
    let gone = derived.gone.iter().filter_map(|key| of_key(*key));
    let gone = gone.map(|one| format!("{} does not follow from what was seen", named(one)));
    let other = derived.written.iter().map(|one| match of_key(one.key) {
        None => format!("{} is missing", named(one)),
        Some(stored) => {
            let parts = differing_parts(stored, one).join(", ");
            format!("{} has another {parts}", named(stored))
        }
    });
    gone.chain(other).collect()
}

fn named(one: &StoredPeriod) -> String {
    let (sheet, start) = (one.period.sheet_id, one.period.starts_at);
    format!("the period of {sheet} from {start}")
}

/// The parts of a stored period that differ from the derived one. A start or end whose time has come is announced a moment
/// later; of a price that is listed still, the last observation is written when its offer changes.
fn differing_parts(stored: &StoredPeriod, derived: &StoredPeriod) -> Vec<&'static str> {
    let (was, is) = (&stored.period, &derived.period);
    let is_due = |was: bool, is: bool| was == is || is;
    let is_seen_since = !derived.has_ended && was.last_seen_at < is.last_seen_at;
    differing([
        ("end", was.end == is.end),
        ("basis of its start", was.start_basis == is.start_basis),
        ("earliest start", was.not_before == is.not_before),
        (
            "last observation",
            is_seen_since || was.last_seen_at == is.last_seen_at,
        ),
        ("quarantine", was.is_flagged == is.is_flagged),
        ("sheet", was.sheet_id == is.sheet_id),
        ("catalog", stored.catalog == derived.catalog),
        (
            "first observation",
            stored.observed_at == derived.observed_at,
        ),
        ("withdrawal", stored.withdrawn == derived.withdrawn),
        (
            "announced start",
            is_due(stored.has_begun, derived.has_begun),
        ),
        ("announced end", is_due(stored.has_ended, derived.has_ended)),
    ])
}

//! The rules of the record: what facts become in the tables, by plans against rows in memory.

mod periods;
mod sheets;
mod sources;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::access::Actor;
use crate::record::announced::{Announced, Change, NamedSheet, NamedSheets};
use crate::record::checksum::Document;
use crate::record::checksum::read_sheet;
use crate::record::effect::Effect;
use crate::record::names::ChangeKind;
use crate::record::offers::{ObservedBy, SheetFacts};
use crate::record::plan::{Acted, Known, OpenDisagreement, Plan};
use crate::record::recording::{EstimateRecord, Listing, Recording};
use crate::record::snapshots::among::{Neighbours, SnapshotAmong, SnapshotAt};
use crate::record::tables;
use crate::record::work::{Act, ListedOffer, Work};
use unroof_price_sheet::catalog::offer_id;
use unroof_price_sheet::sheet::PriceSheet;

/// Start of a day, counted from one in 2023.
fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_006_400 + day * 86_400).unwrap()
}

/// A sheet of the offer that all rules are about, with the price of a million generated tokens in US dollars.
fn sheet(output: &str) -> PriceSheet {
    let document = json!({
        "schema": "pricesheet/v1", "provider": "acme", "model": "m", "canonical_model": "author/m", "currency": "USD",
        "unit": "per_1m_tokens", "rates": [{"input": "1", "output": output}],
        "sources": [{"url": "https://acme.example/prices", "format": "official", "locator": "m"}],
    });
    read_sheet(Uuid::nil(), &document.to_string()).unwrap()
}

/// The id of the offer that all rules are about.
fn offer() -> Uuid {
    let sheet = sheet("1");
    offer_id(&sheet.provider, &sheet.model, &sheet.region)
}

/// The estimate of a sheet alone, by an id that follows from that of the sheet.
fn estimate_of(sheet: &PriceSheet) -> Uuid {
    Uuid::from_u128(sheet.id().0.as_u128() ^ 1)
}

/// A question about a sheet, with an estimate that fits a machine.
fn asked(sheet: &PriceSheet, at: Timestamp) -> Recording {
    let mut recording = Recording::new(sheet.clone(), at, estimate_of(sheet));
    recording.is_observed = false;
    recording.estimate = Some(EstimateRecord {
        id: recording.estimate_id,
        engine_version: "0",
        readings_defined: 0,
        conflicts: 0,
        is_misfit: false,
        numbers: "{}".to_owned(),
        document: Document::new("{}".to_owned()),
    });
    recording
}

/// A sheet that is posted as seen now.
fn posted(sheet: &PriceSheet, at: Timestamp) -> Recording {
    let mut recording = asked(sheet, at);
    recording.is_observed = true;
    recording.observed_by = Some(ObservedBy::post(true));
    recording
}

/// A recording with another estimate of its sheet.
fn with_estimate(mut recording: Recording, id: u128) -> Recording {
    recording.estimate_id = Uuid::from_u128(id);
    if let Some(estimate) = &mut recording.estimate {
        estimate.id = recording.estimate_id;
    }
    recording
}

/// A recording whose estimate fits a machine, or none.
fn with_fit(mut recording: Recording, is_misfit: bool) -> Recording {
    if let Some(estimate) = &mut recording.estimate {
        estimate.is_misfit = is_misfit;
    }
    recording
}

/// A plan with its news, as they are written to the tables.
struct Written {
    /// The effect on the rows.
    plan: Plan,
    /// The rows of the feed and of disagreements.
    announced: Announced,
}

impl Written {
    /// Kinds of the news, each with whether its sheet is in force.
    fn news(&self) -> Vec<(ChangeKind, bool)> {
        let news = self.announced.changes.iter();
        news.map(|change| (change.kind, change.in_force)).collect()
    }

    /// The only piece of news.
    fn only_news(&self) -> &Change {
        let [change] = self.announced.changes.as_slice() else {
            panic!("{:?}", self.news());
        };
        change
    }

    /// The effect of the first recording on the price.
    fn effect(&self) -> Option<&Effect> {
        self.plan.steps[0].effect.as_ref()
    }
}

/// The rows of the tables.
#[derive(Default)]
struct Tables {
    /// All rows but snapshots, as a recording reads them.
    known: Known,
    /// Complete snapshots of catalogs.
    snapshots: Vec<SnapshotAt>,
    /// The last number of a row of periods.
    last: i64,
}

impl Tables {
    /// Tables with a price that was posted on day 1.
    fn with(price: &PriceSheet) -> Self {
        let mut tables = Self::default();
        tables.record(vec![posted(price, day(1))]);
        tables
    }

    /// Records in one transaction.
    fn record(&mut self, recordings: Vec<Recording>) -> Written {
        self.commit(&Work::of(recordings))
    }

    /// Derives the offer again at a time.
    fn again(&mut self, now: Timestamp) -> Written {
        self.commit(&Work {
            now,
            again: vec![offer()],
            ..Work::default()
        })
    }

    /// Withdraws a sheet, or undoes that.
    fn act(&mut self, sheet: &PriceSheet, because: Option<&str>, now: Timestamp) -> Written {
        self.commit(&Work {
            now,
            act: Some(Act {
                offer_id: offer(),
                sheet_id: sheet.id().0,
                because: because.map(str::to_owned),
                actor: Actor::COMMAND_LINE,
            }),
            ..Work::default()
        })
    }

    /// A whole catalog is read, and states these sheets of the offer; some entries cannot be read.
    fn snapshot(
        &mut self,
        source: &str,
        at: Timestamp,
        listed: &[PriceSheet],
        unparsed: &[&str],
    ) -> Written {
        let recording = |sheet: &PriceSheet| Recording::new(sheet.clone(), at, estimate_of(sheet));
        let facts = |sheet: &PriceSheet| SheetFacts::new(sheet, sheet.id().0, false);
        self.commit(&Work {
            now: at,
            recordings: listed.iter().map(recording).collect(),
            snapshot: Some(SnapshotAt {
                source: source.to_owned(),
                scopes: vec![String::new()],
                at,
                unparsed: Arc::new(unparsed.iter().map(|entry| (*entry).to_owned()).collect()),
            }),
            listed: vec![ListedOffer {
                offer_id: offer(),
                provider: "acme".to_owned(),
                sheets: listed.iter().map(facts).collect(),
            }],
            completes: true,
            ..Work::default()
        })
    }

    /// Plans some work, given the rows that a query for it would find, and keeps the rows that are planned.
    fn commit(&mut self, work: &Work) -> Written {
        let plan = Plan::make(work, self.known(work)).unwrap();
        let mut sheets = NamedSheets::default();
        for id in plan.wanted_sheets(work) {
            let mut recordings = work.recordings.iter();
            let recorded = recordings.find(|recording| recording.sheet_id == id);
            let stored = || NamedSheet {
                sheet: read_sheet(id, &self.known.sheets[&id]).unwrap(),
                canonical_model: None,
                estimate_id: None,
            };
            let named = recorded.map_or_else(stored, NamedSheet::of);
            sheets.0.insert(id, named);
        }
        let announced = Announced::of(work, &plan, &sheets).unwrap();
        self.keep(work, &plan, &announced);
        Written { plan, announced }
    }

    /// The rows that the queries for some work find, with the snapshots around each observation.
    fn known(&self, work: &Work) -> Known {
        let mut known = self.known.clone();
        for (offer, provider) in work.providers() {
            known.offers.entry(offer).or_default().provider = provider;
        }
        for seen in known.offers.values_mut().flat_map(|offer| &mut offer.seen) {
            let own = || {
                self.snapshots
                    .iter()
                    .filter(|snapshot| snapshot.source == seen.source)
            };
            let is_next = |snapshot: &&SnapshotAt| {
                let entry = seen.sheet.entry.as_ref();
                seen.last_at.is_some_and(|last_at| snapshot.at > last_at)
                    && !entry.is_some_and(|entry| snapshot.unparsed.contains(entry))
            };
            let next = own().filter(is_next).map(|snapshot| snapshot.at).min();
            (seen.newest_snapshot, seen.next_snapshot) =
                (own().map(|snapshot| snapshot.at).max(), next);
        }
        if let Some(snapshot) = &work.snapshot {
            let own = || {
                self.snapshots
                    .iter()
                    .filter(|one| one.source == snapshot.source)
            };
            let times = || own().map(|one| one.at);
            let around = Neighbours {
                previous: times().filter(|at| *at < snapshot.at).max(),
                next: times().filter(|at| *at > snapshot.at).min(),
                newest: times().max(),
                is_known: times().any(|at| at == snapshot.at),
            };
            known.snapshot = Some(SnapshotAmong {
                snapshot: snapshot.clone(),
                scopes: HashMap::from([(String::new(), around)]),
            });
            let same = own().filter(|one| one.at == snapshot.at);
            known.unparsed = same.flat_map(|one| one.unparsed.iter().cloned()).collect();
        }
        known
    }

    /// Keeps the rows of a plan, and the snapshot and the version that are written with them.
    fn keep(&mut self, work: &Work, plan: &Plan, announced: &Announced) {
        self.keep_sheets(work, plan);
        self.keep_offers(plan);
        self.keep_disagreements(announced);
        if let Some(snapshot) = &work.snapshot {
            self.snapshots
                .retain(|one| (&one.source, one.at) != (&snapshot.source, snapshot.at));
            self.snapshots.push(snapshot.clone());
        }
        if !plan.is_empty() {
            self.known.version += tables::numbers(plan, announced);
        }
    }

    /// Keeps sheets, estimates, and the last listing of each sheet without assumptions.
    fn keep_sheets(&mut self, work: &Work, plan: &Plan) {
        let known = &mut self.known;
        known.sheets.clone_from(&plan.sheets);
        known.questions.clone_from(&plan.questions);
        known.misfits.clone_from(&plan.misfits);
        for (recording, step) in work.recordings.iter().zip(&plan.steps) {
            if step.inserts_estimate {
                known.estimates.insert(recording.estimate_id);
            }
            if step.inserts_listing && matches!(recording.listing, Listing::Offer { .. }) {
                let (sheet, estimate) = (recording.sheet_id, recording.estimate_id);
                known.listings.insert(sheet, estimate);
            }
        }
    }

    /// Keeps the facts and the periods of offers, each new row under a number of its own.
    fn keep_offers(&mut self, plan: &Plan) {
        for offer in &plan.offers {
            self.known.offers.insert(offer.id, offer.after.clone());
            let periods = self.known.periods.entry(offer.id).or_default();
            periods.retain(|row| !offer.derived.gone.contains(&row.key));
            for row in &offer.derived.written {
                let mut row = row.clone();
                if row.key == (0, 0) {
                    self.last += 1;
                    row.key = (self.last, 0);
                }
                // No column has it.
                row.period.source.clear();
                periods.retain(|one| one.key != row.key);
                periods.push(row);
            }
            periods.sort_by_key(|row| (row.period.starts_at, row.key));
        }
    }

    /// Keeps the disagreements that are open.
    fn keep_disagreements(&mut self, announced: &Announced) {
        for new in &announced.disagreements {
            let open = OpenDisagreement {
                id: new.id,
                sheet_id: new.sheet_id,
                other_catalog: new.other_catalog.clone(),
                other_sheet_id: new.other_sheet_id,
                is_flagged: new.is_flagged,
            };
            let all = self.known.disagreements.entry(new.offer_id).or_default();
            all.push(open);
        }
        for (settled, _) in &announced.settled {
            let all = self.known.disagreements.values_mut();
            all.for_each(|all| all.retain(|open| open.id != *settled));
        }
    }
}

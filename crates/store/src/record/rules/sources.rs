//! Rules of several sources: snapshots of catalogs, disagreements, and effects of a sheet.

use super::*;
use crate::record::effect::Other;
use unroof_price_sheet::history::{Ending, StartBasis};

/// Tables with a price that the catalog `one` lists since day 1.
fn listed(price: &PriceSheet) -> Tables {
    let mut tables = Tables::default();
    tables.snapshot("one", day(1), std::slice::from_ref(price), &[]);
    tables
}

impl Tables {
    /// End of the last period.
    fn end(&self) -> Option<(Timestamp, Ending)> {
        self.known.periods[&offer()].last().unwrap().period.end
    }
}

#[test]
fn a_snapshot_that_finds_the_same_price_writes_no_period_and_no_news() {
    let mut tables = listed(&sheet("2"));
    let written = tables.snapshot("one", day(2), &[sheet("2")], &[]);
    let derived = &written.plan.offers[0].derived;
    assert!(derived.written.is_empty() && derived.gone.is_empty());
    assert_eq!(written.news(), []);
}

#[test]
fn a_price_that_a_catalog_no_longer_lists_ends_with_that_snapshot() {
    let mut tables = listed(&sheet("2"));
    let written = tables.snapshot("one", day(2), &[], &[]);
    assert_eq!(written.news(), [(ChangeKind::OfferDelisted, false)]);
    assert_eq!(tables.end(), Some((day(2), Ending::Delisted)));
    let written = tables.snapshot("one", day(3), &[sheet("2")], &[]);
    assert_eq!(written.news(), [(ChangeKind::OfferRelisted, true)]);
}

#[test]
fn a_posted_price_does_not_end_with_a_snapshot() {
    let mut tables = Tables::with(&sheet("2"));
    let written = tables.snapshot("one", day(2), &[], &[]);
    assert_eq!((written.news(), tables.end()), (Vec::new(), None));
}

#[test]
fn an_entry_that_cannot_be_read_is_not_gone_until_a_snapshot_without_it() {
    let mut tables = listed(&sheet("2"));
    let written = tables.snapshot("one", day(2), &[], &["m"]);
    assert_eq!((written.news(), tables.end()), (Vec::new(), None));
    tables.snapshot("one", day(3), &[], &[]);
    assert_eq!(tables.end(), Some((day(3), Ending::Delisted)));
}

#[test]
fn an_entry_that_the_same_snapshot_reads_when_repeated_is_no_longer_unparsed() {
    let mut tables = listed(&sheet("2"));
    tables.snapshot("one", day(2), &[], &["m", "other"]);
    let written = tables.snapshot("one", day(2), &[sheet("2")], &["other"]);
    assert_eq!(written.plan.now_read, BTreeSet::from(["m".to_owned()]));
}

#[test]
fn two_catalogs_disagree_once_until_one_follows_the_other() {
    let mut tables = listed(&sheet("2"));
    let written = tables.snapshot("two", day(2), &[sheet("3")], &[]);
    let [found] = written.announced.disagreements.as_slice() else {
        panic!("{:?}", written.announced);
    };
    let sheets = (sheet("2").id().0, sheet("3").id().0);
    assert_eq!((found.sheet_id, found.other_sheet_id), sheets);
    assert_eq!((found.largest_factor, found.is_flagged), (Some(1.5), false));
    let id = found.id;
    let written = tables.snapshot("three", day(3), &[sheet("2")], &[]);
    assert!(written.announced.disagreements.is_empty() && written.announced.settled.is_empty());
    let written = tables.snapshot("two", day(4), &[sheet("2")], &[]);
    assert_eq!(written.announced.settled, [(id, day(4))]);
}

#[test]
fn a_new_source_that_states_more_takes_the_place_of_another_without_a_change_of_the_price() {
    let mut tables = listed(&sheet("2"));
    let mut fuller = sheet("2");
    fuller.rates[0].cache_read = Some("1".parse().unwrap());
    let written = tables.snapshot("two", day(2), std::slice::from_ref(&fuller), &[]);
    assert_eq!(written.news(), [(ChangeKind::SourceAdded, true)]);
    let row = tables.known.periods[&offer()].last().unwrap();
    assert_eq!(row.period.sheet_id, fuller.id().0);
    assert_eq!(row.period.start_basis, StartBasis::SourceAdded);
}

#[test]
fn a_retirement_is_news_when_it_is_announced_and_when_it_is_cancelled() {
    let retiring = PriceSheet {
        retires_at: Some(day(100)),
        ..sheet("2")
    };
    let mut tables = listed(&sheet("2"));
    let announced = tables.snapshot("one", day(2), std::slice::from_ref(&retiring), &[]);
    let again = tables.snapshot("one", day(3), &[retiring], &[]);
    let cancelled = tables.snapshot("one", day(4), &[sheet("2")], &[]);
    let retires = [(ChangeKind::OfferRetiring, true)];
    assert_eq!(
        (announced.news(), again.news(), cancelled.news()),
        (retires.to_vec(), Vec::new(), retires.to_vec())
    );
    let at = |written: &Written| {
        let price = written.only_news().price.clone().unwrap();
        [price.before, price.after].map(|at| at.map(|at| at.to_string()))
    };
    let stated = Some(day(100).as_second().to_string());
    assert_eq!(at(&announced), [None, stated.clone()]);
    assert_eq!(at(&cancelled), [stated, None]);
}

#[test]
fn a_posted_sheet_confirms_the_price_of_a_catalog_or_counts_less_or_is_quarantined() {
    let price = sheet("2");
    let in_force = Other {
        sheet_id: price.id().0,
        source: "one".to_owned(),
    };
    let same = PriceSheet {
        quantization: Some("fp8".to_owned()),
        ..sheet("2")
    };
    let effect = |sheet: &PriceSheet| {
        let written = listed(&price).record(vec![posted(sheet, day(2))]);
        written.effect().cloned().unwrap()
    };
    assert_eq!(effect(&price), Effect::InForce);
    assert_eq!(effect(&same), Effect::Confirms(in_force.clone()));
    assert_eq!(effect(&sheet("3")), Effect::Outranked(in_force.clone()));
    assert_eq!(effect(&sheet("200")), Effect::Quarantined(in_force));
}

#[test]
fn a_sheet_that_was_replaced_or_withdrawn_since_it_was_seen_brings_no_price_back() {
    let price = sheet("2");
    let mut tables = Tables::with(&price);
    tables.record(vec![posted(&sheet("3"), day(3))]);
    let sent_again = tables.record(vec![posted(&price, day(4))]);
    assert_eq!(
        (sent_again.effect(), sent_again.plan.is_empty()),
        (Some(&Effect::Past), true)
    );
    let mut tables = Tables::with(&price);
    tables.act(&price, Some("mistyped"), day(3));
    let mut of_the_past = posted(&price, day(2));
    of_the_past.observed_by = Some(ObservedBy::post(false));
    let written = tables.record(vec![of_the_past]);
    assert_eq!(
        (written.effect(), written.news()),
        (Some(&Effect::Withdrawn), Vec::new())
    );
    assert_eq!(tables.end(), Some((day(3), Ending::Withdrawn)));
}

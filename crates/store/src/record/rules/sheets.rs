//! Rules of sheets, estimates and their listings.

use super::*;
use crate::record::plan::SheetStep;

/// A sheet with a source at another address.
fn with_source(mut sheet: PriceSheet, url: &str) -> PriceSheet {
    let mut source = sheet.sources[0].clone();
    source.url = url.to_owned();
    sheet.sources = vec![source];
    sheet
}

/// The estimate of several hosts' sheets.
fn pooled(at: Timestamp, is_stated: bool, id: u128) -> Recording {
    let mut recording = with_estimate(posted(&sheet("2"), at), id);
    recording.listing = Listing::Pooled { is_stated };
    recording
}

#[test]
fn a_new_sheet_is_stored_with_its_estimate_and_its_listing_under_one_version() {
    let mut tables = Tables::default();
    let written = tables.record(vec![posted(&sheet("2"), day(1))]);
    let step = &written.plan.steps[0];
    assert_eq!(step.sheet, SheetStep::Insert);
    assert!(step.inserts_estimate && step.inserts_listing && step.is_observation);
    assert!(!step.reveals && !step.is_update);
    assert_eq!(tables.known.version, 1);
}

#[test]
fn a_sheet_that_is_sent_again_at_once_writes_nothing_and_makes_no_version() {
    let mut tables = Tables::with(&sheet("2"));
    let at_once = day(1) + jiff::SignedDuration::from_mins(59);
    let written = tables.record(vec![posted(&sheet("2"), at_once)]);
    assert!(written.plan.is_empty());
    assert_eq!(written.effect(), Some(&Effect::InForce));
    assert_eq!(tables.known.version, 1);
    let later = day(1) + jiff::SignedDuration::from_mins(60);
    let written = tables.record(vec![posted(&sheet("2"), later)]);
    assert!(written.plan.steps[0].is_observation);
    assert_eq!((written.news(), tables.known.version), (Vec::new(), 2));
}

#[test]
fn only_an_offer_of_which_all_is_repeated_is_unchanged() {
    let (same, other) = (posted(&sheet("2"), day(1)), posted(&sheet("3"), day(1)));
    let repeated = BTreeSet::from([(offer(), same.sheet_id)]);
    let unchanged = |recordings| Work::of(recordings).unchanged(&repeated);
    assert_eq!(unchanged(vec![same.clone()]), BTreeSet::from([offer()]));
    assert_eq!(unchanged(vec![same, other]), BTreeSet::new());
}

#[test]
fn the_sheet_of_a_question_is_stored_and_states_no_price() {
    let mut tables = Tables::default();
    let written = tables.record(vec![asked(&sheet("2"), day(1))]);
    assert_eq!(written.plan.steps[0].sheet, SheetStep::Insert);
    assert!(written.plan.questions.contains(&sheet("2").id().0));
    assert!(written.plan.offers.is_empty() && written.announced.changes.is_empty());
    assert_eq!(written.effect(), None);
}

#[test]
fn the_sheet_of_a_question_becomes_a_price_when_a_source_states_it() {
    let mut tables = Tables::default();
    tables.record(vec![asked(&sheet("2"), day(1))]);
    let written = tables.record(vec![posted(&sheet("2"), day(2))]);
    let step = &written.plan.steps[0];
    assert!(step.reveals && step.sheet == SheetStep::Nothing && !step.inserts_estimate);
    assert_eq!(written.news(), [(ChangeKind::OfferAdded, true)]);
    assert!(tables.known.questions.is_empty());
}

#[test]
fn a_known_sheet_takes_another_place_as_a_source_but_no_later_reading_of_a_known_one() {
    let mut tables = Tables::with(&sheet("2"));
    let mut read_later = sheet("2");
    read_later.sources[0].retrieved_at = Some("2026-05-01".to_owned());
    let written = tables.record(vec![posted(&read_later, day(1))]);
    assert_eq!(written.plan.steps[0].sheet, SheetStep::Nothing);
    let other = with_source(sheet("2"), "https://other.example");
    let written = tables.record(vec![posted(&other, day(1))]);
    assert_eq!(written.plan.steps[0].sheet, SheetStep::AddSources);
    let document = &tables.known.sheets[&other.id().0];
    let stored = read_sheet(other.id().0, document).unwrap();
    let urls: Vec<&str> = stored
        .sources
        .iter()
        .map(|source| source.url.as_str())
        .collect();
    assert_eq!(
        urls,
        ["https://acme.example/prices", "https://other.example"]
    );
}

#[test]
fn a_question_adds_no_source_to_a_known_sheet() {
    let mut tables = Tables::with(&sheet("2"));
    let other = with_source(sheet("2"), "https://other.example");
    assert!(tables.record(vec![asked(&other, day(1))]).plan.is_empty());
}

#[test]
fn of_two_equal_sheets_in_one_transaction_one_is_stored() {
    let both = vec![posted(&sheet("2"), day(1)), posted(&sheet("2"), day(1))];
    let written = Tables::default().record(both);
    let second = &written.plan.steps[1];
    assert_eq!(second.sheet, SheetStep::Nothing);
    assert!(!second.inserts_estimate && !second.inserts_listing);
    assert_eq!(written.plan.offers[0].after.seen.len(), 1);
}

#[test]
fn another_estimate_of_a_known_price_is_listed_without_news() {
    let mut tables = Tables::with(&sheet("2"));
    let written = tables.record(vec![with_estimate(posted(&sheet("2"), day(1)), 7)]);
    let step = &written.plan.steps[0];
    assert!(step.inserts_estimate && step.inserts_listing && step.is_update && step.is_in_force);
    assert_eq!(written.news(), []);
}

#[test]
fn an_estimate_with_stated_assumptions_is_listed_once_and_replaces_no_other() {
    let mut tables = Tables::with(&sheet("2"));
    let mut stated = with_estimate(asked(&sheet("2"), day(1)), 7);
    stated.listing = Listing::Stated;
    let written = tables.record(vec![stated.clone(), stated]);
    let listed: Vec<bool> = written
        .plan
        .steps
        .iter()
        .map(|step| step.inserts_listing)
        .collect();
    assert_eq!(listed, [true, false]);
    let listed = &tables.known.listings[&sheet("2").id().0];
    assert_eq!(*listed, estimate_of(&sheet("2")));
}

#[test]
fn an_estimate_of_several_hosts_is_news_once_and_none_where_assumptions_are_stated() {
    let mut tables = Tables::with(&sheet("2"));
    let written = tables.record(vec![pooled(day(1), false, 7)]);
    let news = written.only_news();
    assert_eq!(news.kind, ChangeKind::EstimateUpdated);
    assert_eq!(
        (news.subject.provider.as_str(), news.subject.sheet_id),
        ("pooled", None)
    );
    assert_eq!(tables.record(vec![pooled(day(1), false, 7)]).news(), []);
    assert_eq!(tables.record(vec![pooled(day(1), true, 8)]).news(), []);
}

#[test]
fn a_source_and_no_question_says_that_a_known_sheet_fits_no_machine() {
    let mut tables = Tables::with(&sheet("2"));
    let written = tables.record(vec![with_fit(asked(&sheet("2"), day(1)), true)]);
    assert!(written.plan.is_empty() && tables.known.misfits.is_empty());
    let written = tables.record(vec![with_fit(posted(&sheet("2"), day(1)), true)]);
    assert!(written.plan.steps[0].is_other_fit);
    assert!(written.plan.offers[0].derived.written[0].period.is_flagged);
}

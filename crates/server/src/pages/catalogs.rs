//! `/ui/catalogs`: for operators, the imports of every catalog, what they refused, and where catalogs disagree.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use uuid::Uuid;

use super::answer;
use super::layout::{Page, Tab};
use crate::answers::Answers;
use unroof_base::units::readable;
use unroof_edge::Problem;
use unroof_import::Refusal;
use unroof_report::names::offer_address;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table};
use unroof_report::words::{count, or_dash};
use unroof_store::{
    DbTime, DisagreementRow, ImportOrder, ImportOutcome, ImportRow, ImportSelection, Selection,
    Store, StoreError,
};

/// Imports that are looked at.
const IMPORTS: u32 = 200;
/// Imports listed one by one.
const SHOWN: usize = 20;
/// Most disagreements that are listed.
const DISAGREEMENTS: u32 = 50;
/// Hours after which the last good import of a catalog is called old.
const OLD_HOURS: i64 = 36;

/// The page.
pub(super) async fn show(
    State(answers): State<Arc<Answers>>,
    headers: HeaderMap,
) -> Response<Body> {
    let imports = match Imports::read(&answers.store).await {
        Ok(imports) => imports,
        Err(error) => return answer::of(&answers, &error.into()),
    };
    // The age of an import is shown in hours.
    let hour = answers.now().as_second() / 3600;
    let question = format!("catalogs {hour} {:x}", imports.state());
    answer::page(&answers, &question, &headers, || page(&answers, &imports)).await
}

/// Imports, newest first. An outcome changes without a new version of the store.
struct Imports {
    newest: Vec<ImportRow>,
    held: Vec<ImportRow>,
}

impl Imports {
    async fn read(store: &Store) -> Result<Self, StoreError> {
        let newest = async |of: ImportSelection| {
            store.imports(&of, ImportOrder::NEWEST, None, IMPORTS).await
        };
        let held = ImportSelection {
            outcome: vec![ImportOutcome::Held.name().to_owned()],
            ..ImportSelection::default()
        };
        Ok(Self {
            newest: newest(ImportSelection::default()).await?,
            held: newest(held).await?,
        })
    }

    /// A number that changes with an import or its outcome.
    fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for row in self.newest.iter().chain(&self.held) {
            (row.id, row.outcome.name()).hash(&mut hasher);
        }
        hasher.finish()
    }
}

async fn page(answers: &Answers, imports: &Imports) -> Result<Page, Problem> {
    let store = &answers.store;
    let Imports {
        newest: imports,
        held,
    } = imports;
    let disagreements = store
        .disagreements(&Selection::default(), None, None, DISAGREEMENTS)
        .await?;
    let mut disagreements = disagreements;
    let size = |row: &DisagreementRow| row.largest_factor.unwrap_or(f64::INFINITY);
    disagreements.sort_by(|left, right| size(right).total_cmp(&size(left)));
    let last = last_of_each(imports);
    let ids: Vec<Uuid> = last
        .iter()
        .filter_map(|last| Some(last.whole?.id))
        .collect();
    let refusals = store.refusals(&ids).await?.into_iter();
    let refusals: HashMap<Uuid, Vec<Refusal>> = refusals
        .map(|row| (row.id, Refusal::read(&row.refusals)))
        .collect();
    let now = answers.now();
    let content = html! {
        h1 { (finding(held, &last, now)) }
        p.note { "The last import of every source, what it refused and why, and the prices on which catalogs disagree. " a href="/imports" { "JSON" } }
        @if last.is_empty() {
            div.empty {
                p { "No catalog was imported yet." }
                p { "Once: " code { "unroof import https://models.dev/api.json" } }
                p { "Every day: " code { "unroof serve --refresh models.dev=https://models.dev/api.json@24h" } }
            }
        } @else {
            @for import in held { (to_decide(import)) }
            (sources(&last, now))
            h2 { "Refused entries" }
            @for last in &last { (refused(last, &refusals)) }
        }
        @if !last.is_empty() || !disagreements.is_empty() {
            h2 { "Where catalogs disagree" }
            (disagreements_table(&disagreements))
        }
        @if !imports.is_empty() {
            h2 { "Imports" }
            (runs(&imports[..imports.len().min(SHOWN)]))
        }
    };
    Ok(Page {
        title: "Catalogs".to_owned(),
        tab: Some(Tab::Catalogs),
        content,
    })
}

/// The catalog of an import.
fn catalog(import: &ImportRow) -> &str {
    import.catalog.as_deref().unwrap_or("unknown format")
}

/// The imports of a source that show its state.
struct Last<'a> {
    newest: &'a ImportRow,
    /// The newest that succeeded, also one that found the catalog unchanged.
    good: Option<&'a ImportRow>,
    /// The newest that read the whole catalog.
    whole: Option<&'a ImportRow>,
}

/// By source and catalog, in the order of their names; imports come newest first.
fn last_of_each(imports: &[ImportRow]) -> Vec<Last<'_>> {
    let name = |import: &ImportRow| (import.catalog.clone(), import.source.clone());
    let mut names: Vec<_> = imports.iter().map(name).collect();
    names.sort();
    names.dedup();
    let of_name = |wanted: (Option<String>, String)| {
        let of_it: Vec<&ImportRow> = imports
            .iter()
            .filter(|import| name(import) == wanted)
            .collect();
        let with = |outcomes: &[ImportOutcome]| {
            let mut newest = of_it.iter();
            newest
                .find(|import| outcomes.contains(&import.outcome))
                .copied()
        };
        Some(Last {
            newest: of_it.first()?,
            good: with(&[ImportOutcome::Done, ImportOutcome::NotModified]),
            whole: with(&[ImportOutcome::Done]),
        })
    };
    names.into_iter().filter_map(of_name).collect()
}

impl Last<'_> {
    fn name(&self) -> &str {
        catalog(self.newest)
    }

    /// Hours since the last import that succeeded.
    fn age(&self, now: Timestamp) -> Option<i64> {
        let ended = Timestamp::from(self.good?.ended_at?);
        Some((now.as_second() - ended.as_second()) / 3600)
    }
}

fn finding(held: &[ImportRow], last: &[Last<'_>], now: Timestamp) -> String {
    let is_new = |last: &Last<'_>| last.age(now).is_some_and(|hours| hours <= OLD_HOURS);
    let read: BTreeSet<&str> = last
        .iter()
        .filter(|last| is_new(last))
        .map(Last::name)
        .collect();
    let all: BTreeSet<&str> = last.iter().map(Last::name).collect();
    let listed = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
    let held = listed(&mut held.iter().map(catalog));
    let old = listed(&mut all.difference(&read).copied());
    match (last.len(), held.as_str(), old.as_str()) {
        (0, ..) => "No catalog is imported".to_owned(),
        (_, "", "") => format!("Every catalog was read in the last {OLD_HOURS} hours"),
        (_, "", old) => format!("Not read in the last {OLD_HOURS} hours: {old}"),
        (_, held, _) => format!("Held until you decide: an import of {held}"),
    }
}

/// An import that is held, with its difference and the commands that end it.
fn to_decide(held: &ImportRow) -> Markup {
    html! {
        div.empty {
            p { b { (catalog(held)) } " from " (held.source) " would change too much to be imported unseen: "
                (held.difference.as_deref().unwrap_or_default()) "." }
            p { code { "unroof imports accept " (held.id) } " imports it, "
                code { "unroof imports discard " (held.id) } " forgets it." }
        }
    }
}

fn sources(last: &[Last<'_>], now: Timestamp) -> Markup {
    html! {
        (scrolling("Sources", &table(&[
            Text("Catalog"), Text("Source"), Text("Last good import"), Number("Entries"), Number("New"), Number("Unchanged"), Number("Copies"),
            Number("Too little"), Number("Refused"), Text("Newest"),
        ], &html! { @for last in last { (source(last, now)) } })))
    }
}

fn source(last: &Last<'_>, now: Timestamp) -> Markup {
    let counts = |of: fn(&ImportRow) -> i64| html! { td.number { (or_dash(last.whole, |row| count(of(row)))) } };
    html! {
        tr {
            th scope="row" { (last.name()) }
            td { (last.newest.source) }
            td {
                @match (last.good.and_then(|good| good.ended_at), last.age(now)) {
                    (Some(ended), Some(hours)) => {
                        (time(ended)) " " span.tag.bad[hours > OLD_HOURS].good[hours <= OLD_HOURS] { @if hours == 0 { "this hour" } @else { (hours) " h ago" } }
                    }
                    _ => span.tag.bad { "never" }
                }
            }
            (counts(|row| row.entries)) (counts(|row| row.estimated)) (counts(|row| row.unchanged))
            (counts(|row| row.duplicates)) (counts(|row| row.not_identifiable)) (counts(|row| row.refused))
            td { (outcome(last.newest)) }
        }
    }
}

fn outcome(row: &ImportRow) -> Markup {
    let tone = match row.outcome {
        ImportOutcome::Failed | ImportOutcome::Held => "tag bad",
        ImportOutcome::Running | ImportOutcome::Discarded | ImportOutcome::Undone => "tag",
        _ => "tag good",
    };
    html! {
        span class=(tone) { (row.outcome.name().replace('_', " ")) }
        @if let Some(error) = &row.error { " " small { (error) } }
    }
}

fn refused(last: &Last<'_>, refusals: &HashMap<Uuid, Vec<Refusal>>) -> Markup {
    let Some(whole) = last.whole else {
        return html! { p { (last.name()) ": no import has read the whole catalog." } };
    };
    let known = refusals.get(&whole.id).map_or(&[][..], Vec::as_slice);
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for refusal in known {
        match by_reason
            .iter_mut()
            .find(|(reason, _)| *reason == refusal.reason)
        {
            Some((_, entries)) => entries.push(&refusal.entry),
            None => by_reason.push((&refusal.reason, vec![&refusal.entry])),
        }
    }
    by_reason.sort_by_key(|(_, entries)| std::cmp::Reverse(entries.len()));
    let kept = usize::try_from(whole.refused).is_ok_and(|refused| refused > known.len());
    html! {
        @if whole.refused == 0 {
            p { (last.name()) ": no entry is refused." }
        } @else {
            details {
                summary { (last.name()) ": " (count(whole.refused)) " of " (count(whole.entries)) " entries are refused" }
                @if known.is_empty() { p.note { "The reasons are not stored. The next import stores them." } }
                @else if kept { p.note { "The first " (known.len()) " are stored. The report of an import lists them all." } }
                dl.reasons {
                    @for (reason, entries) in &by_reason {
                        dt { (entries.len()) @if entries.len() == 1 { " entry: " } @else { " entries: " } (reason) "." }
                        dd { (entries.iter().take(8).copied().collect::<Vec<_>>().join(", ")) @if entries.len() > 8 { ", …" } }
                    }
                }
            }
        }
    }
}

fn disagreements_table(rows: &[DisagreementRow]) -> Markup {
    html! {
        @if rows.is_empty() {
            p.empty { "All catalogs that list an offer state the same prices of it." }
        } @else {
            (scrolling("Disagreements", &table(&[Text("Offer"), Text("Disagreement"), Number("Factor"), Text("Since")], &html! {
                @for row in rows {
                    tr {
                        th scope="row" { a href=(offer_address(&row.provider, &row.model)) { (row.model) } " " small { (row.provider) } }
                        td {
                            (row.catalog) ", whose prices are in force, and " (row.other_catalog) " state different prices: "
                            (row.differences) "."
                            @if row.flagged { " " span.tag.bad title="Far from other sources, or fits no machine" { "quarantine" } }
                        }
                        td.number { (or_dash(row.largest_factor, readable)) }
                        td { (time(row.observed_at)) }
                    }
                }
            })))
            @if rows.len() == DISAGREEMENTS as usize { p { a href="/disagreements" { "All disagreements as JSON" } } }
        }
    }
}

fn runs(imports: &[ImportRow]) -> Markup {
    html! {
        (scrolling("Imports", &table(&[Text("Start"), Text("Catalog"), Text("Source"), Text("Outcome"), Number("Entries"), Number("New")], &html! {
            @for row in imports {
                tr {
                    td { (time(row.started_at)) }
                    td { (row.catalog.as_deref().unwrap_or("–")) }
                    td { (row.source) }
                    td { (outcome(row)) }
                    td.number { (count(row.entries)) }
                    td.number { (count(row.estimated)) }
                }
            }
        })))
    }
}

fn time(at: DbTime) -> Markup {
    let at = Timestamp::from(at);
    html! { time datetime=(at.to_string()) { (at.strftime("%Y-%m-%d %H:%M").to_string()) } }
}

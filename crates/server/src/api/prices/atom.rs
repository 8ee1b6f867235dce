//! `/changes.atom`: the feed of changes for feed readers (RFC 4287).

use std::collections::BTreeMap;
use std::sync::Arc;

use atom_syndication::{Category, Content, Entry, Feed, FixedDateTime, Generator, Link, Person};
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use jiff::Timestamp;
use unroof_price_sheet::sheet::SheetId;

use crate::answers::Answers;
use crate::list::page::{Limit, link_with};
use crate::query::query;
use crate::service::extract::Query;
use unroof_edge::{CachedBody, KnownTag, Reply, Running, Since, StoreRefusals, Text, Unchanged};
use unroof_store::{ChangeFilter, ChangeKind, ChangeRow, ChangesFrom};

query! {
    /// Filter and page of the Atom feed.
    AtomQuery {
        /// Entries before this sequence number; the newest if left out.
        #[param(nullable = false, value_type = Option<i64>, minimum = 0)]
        before: Option<Since>,
        /// Most entries of a page.
        #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
        limit: Limit,
        changes,
    }
}

/// Show the changes as an Atom feed
///
/// The last committed first. An entry has the change in words, its kind as category and a link to the sheet; its id
/// stays the same on every replica and page. The link `next` leads to older entries.
#[utoipa::path(
    get,
    path = "/changes.atom",
    tag = "changes",
    params(AtomQuery, KnownTag),
    responses(
        (status = 200, description = "A page of the feed", body = String, content_type = "application/atom+xml",
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn show_atom_feed(
    State(answers): State<Arc<Answers>>,
    Query(mut query): Query<AtomQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let filter = query.filter();
    let before = query.before.map_or(i64::MAX, |Since(before)| before);
    let Limit(limit) = query.limit;
    // The links of the feed are those of the address that was asked for.
    let question = format!("changes.atom {uri}");
    let body = async || {
        let permit = answers.permit_to_write().await?;
        // One extra row shows whether another page follows.
        let from = ChangesFrom::Before(before);
        let mut rows = answers.store.changes_from(&filter, from, limit + 1).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|last| link_with(&uri, "before", &last.sequence.to_string()));
        let mut text = Text::new(&answers.budget)?;
        let write = move |_: &Running| {
            let link = next.as_ref().map(|next| format!("<{next}>; rel=\"next\""));
            let feed = feed(&rows, &filter, &uri, next);
            text.write_with(|text| feed.write_to(text).map(drop))?;
            let body = text.finish()?;
            Ok(CachedBody::new(
                body,
                "application/atom+xml; charset=utf-8",
                link,
            ))
        };
        permit.run(write).await?
    };
    answers.polled(question, &headers, body).await
}

fn feed(rows: &[ChangeRow], filter: &ChangeFilter, uri: &Uri, next: Option<String>) -> Feed {
    let newest = rows
        .iter()
        .map(|row| Timestamp::from(row.observed_at))
        .max();
    let address = uri
        .path_and_query()
        .map_or(uri.path(), |address| address.as_str());
    let mut links = vec![link("self", address.to_owned(), ATOM)];
    links.extend(next.map(|next| link("next", next, ATOM)));
    links.push(link("alternate", "/changes".to_owned(), "application/json"));
    Feed {
        title: "unroof: changes of prices and estimates".into(),
        // Filters are feeds of their own.
        id: urn(&format!("changes.atom {filter:?}")),
        updated: time(newest.unwrap_or(Timestamp::UNIX_EPOCH)),
        authors: vec![person("unroof")],
        generator: Some(Generator {
            value: "unroof".to_owned(),
            uri: Some(env!("CARGO_PKG_REPOSITORY").to_owned()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        links,
        entries: rows.iter().map(entry).collect(),
        namespaces: BTreeMap::new(),
        ..Feed::default()
    }
}

const ATOM: &str = "application/atom+xml";

fn entry(row: &ChangeRow) -> Entry {
    let seen_at = time(row.observed_at.into());
    let json = |rel, address| link(rel, address, "application/json");
    let sheet = row
        .sheet_id
        .map(|id| json("alternate", format!("/price-sheets/{id}")));
    let estimate = row
        .estimate_id
        .map(|id| json("related", format!("/estimates/{id}")));
    // The number is one of this database; the rest differs in another one.
    let key = format!(
        "change {} {} {} {} {} {} {:?} {:?}",
        row.sequence,
        Timestamp::from(row.observed_at),
        row.kind.name(),
        row.provider,
        row.model,
        row.region,
        row.sheet_id,
        row.cell,
    );
    Entry {
        title: plain(&title(row)).into(),
        id: urn(&key),
        updated: seen_at,
        published: Some(seen_at),
        authors: vec![person(&plain(&row.provider))],
        categories: vec![Category {
            term: row.kind.name().to_owned(),
            ..Category::default()
        }],
        links: sheet.into_iter().chain(estimate).collect(),
        content: Some(Content {
            value: Some(plain(&row.summary)),
            content_type: Some("text".to_owned()),
            ..Content::default()
        }),
        ..Entry::default()
    }
}

/// The change as a headline: `openai gpt-5.4: output 15 → 12`.
fn title(row: &ChangeRow) -> String {
    let offer = format!("{} {}", row.provider, row.model);
    let price = |price: Option<f64>| price.map_or("none".to_owned(), |price| price.to_string());
    let (old, new) = (price(row.old_value), price(row.new_value));
    match (&row.cell, row.kind) {
        (Some(cell), ChangeKind::PriceScheduled) => {
            let from = row.valid_from.map(Timestamp::from);
            let from = from.map_or_else(String::new, |from| format!(" from {from}"));
            format!("{offer}: {cell} {old} → {new}{from}")
        }
        (Some(cell), _) => format!("{offer}: {cell} {old} → {new}"),
        (None, kind) => format!("{offer}: {}", headline(kind)),
    }
}

fn headline(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::PriceChanged => "new price",
        ChangeKind::PriceScheduled => "new price announced",
        ChangeKind::SourceAdded => "listed by another source for the first time",
        ChangeKind::OfferAdded => "new offer",
        ChangeKind::OfferDelisted => "no longer listed",
        ChangeKind::OfferRelisted => "listed again",
        ChangeKind::OfferRetiring => "will be retired",
        ChangeKind::LimitsChanged => "other limits",
        ChangeKind::IdentityChanged => "other name or form of the model",
        ChangeKind::HistoryBackfilled => "prices or dates of the past",
        ChangeKind::PriceExpired => "the price has ended",
        ChangeKind::SheetWithdrawn => "price withdrawn",
        ChangeKind::SheetReinstated => "price reinstated",
        ChangeKind::EstimateUpdated => "new estimate",
    }
}

/// A name by content that needs no registry.
fn urn(text: &str) -> String {
    SheetId::digest(text.as_bytes()).urn().to_string()
}

fn time(time: Timestamp) -> FixedDateTime {
    let text = time.to_string();
    text.parse().expect("a time as RFC 3339 writes it")
}

fn person(name: &str) -> Person {
    Person {
        name: name.to_owned(),
        ..Person::default()
    }
}

fn link(rel: &str, href: String, media_type: &str) -> Link {
    Link {
        rel: rel.to_owned(),
        href,
        mime_type: Some(media_type.to_owned()),
        ..Link::default()
    }
}

/// The characters that XML 1.0 has.
fn plain(text: &str) -> String {
    let is_of_xml = |character: &char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().filter(is_of_xml).collect()
}

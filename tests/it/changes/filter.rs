//! The filters of the feed, its Atom form and its summary.

use atom_syndication::Feed;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use unroof_store::ChangeFilter;

use crate::support::{Api, TestDatabase, on_each_database, sheet_of, with};

/// Three offers, of which one has doubled, one has halved and one has a name that became known.
async fn filled(database: &TestDatabase) -> Api {
    let api = database.api().await;
    for model in ["a", "b", "c"] {
        api.store(&sheet_of(model)).await;
    }
    let input = |model, price| with(sheet_of(model), "/rates/0/input", json!(price));
    api.store(&input("a", "2.50")).await;
    api.store(&input("b", "0.3125")).await;
    let named = with(sheet_of("c"), "/canonical_model", json!("acme/c"));
    api.store(&named).await;
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filters_find_the_same_in_the_list_and_in_memory() {
    on_each_database(async |database: &TestDatabase| {
        let api = filled(database).await;
        let store = database.store().await;
        let all = store
            .changes(&ChangeFilter::default(), 0, 100)
            .await
            .unwrap();
        for (query, count) in [
            ("", 6),
            ("kind=price.changed", 2),
            ("kind=price.changed,offer.added", 5),
            ("provider=acme", 6),
            ("provider=other", 0),
            ("model=a,b", 4),
            ("model=a,c&kind=offer.added", 2),
            ("model=a,c&kind=offer.added,price.changed", 3),
            ("canonical_model=acme/c", 1),
            ("canonical_model=acme/c,acme/d&provider=acme&model=c", 1),
            ("in_force=true", 6),
            ("in_force=false", 0),
            ("min_factor=2", 2),
            ("min_factor=3&kind=price.changed", 1),
            ("min_factor=5", 0),
        ] {
            let listed = api.get(&format!("/changes?{query}")).await.rows();
            assert_eq!(
                listed.len(),
                count,
                "{}: {query}: {listed:#?}",
                database.name
            );
            let filter: ChangeFilter = serde_json::from_value(filter_of(query)).unwrap();
            let found: Vec<Value> = all
                .iter()
                .filter(|row| filter.has(row))
                .map(|row| serde_json::to_value(row).unwrap())
                .collect();
            assert_eq!(listed, found, "{}: {query}", database.name);
        }
    })
    .await;
}

/// A query as the body of a webhook states it.
fn filter_of(query: &str) -> Value {
    let mut filter = json!({});
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        filter[name.as_ref()] = match name.as_ref() {
            "in_force" | "min_factor" => serde_json::from_str(&value).unwrap(),
            _ => value.split(',').collect(),
        };
    }
    filter
}

#[tokio::test]
async fn filters_that_are_none_are_400() {
    let api = TestDatabase::sqlite().api().await;
    let many = format!("model={}", vec!["m"; 65].join(","));
    for query in [
        "kind=",
        "kind=sheet.changed",
        "kind=price.changed,",
        "in_force=1",
        "min_factor=0.5",
        "min_factor=NaN",
        "min_factor=inf",
        "provider=%00",
        "kind=price.changed&kind=offer.added",
        many.as_str(),
    ] {
        for path in ["/changes", "/changes/stream", "/changes.atom"] {
            api.get(&format!("{path}?{query}")).await.problem(400);
        }
    }
    for query in [
        "window=0d",
        "window=367d",
        "window=1000h",
        "window=30",
        "window=1w",
        "limit=0",
        "limit=101",
        "kind=price.changed",
    ] {
        api.get(&format!("/changes/summary?{query}"))
            .await
            .problem(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_becomes_known_is_no_new_period_and_no_new_price() {
    on_each_database(async |database: &TestDatabase| {
        let api = filled(database).await;
        let rows = api.get("/changes?model=c").await.rows();
        let kinds: Vec<&Value> = rows.iter().map(|row| &row["kind"]).collect();
        assert_eq!(
            kinds,
            ["offer.added", "identity.changed"],
            "{}",
            database.name
        );
        assert_eq!(rows[1]["canonical_model"], "acme/c");
        assert_eq!(rows[1]["in_force"], true);
        assert_eq!(rows[1]["cell"], Value::Null);
        let history = api.get("/offers/acme/c/history").await.rows();
        assert_eq!(history.len(), 1, "{history:#?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_atom_feed_has_every_change_once_with_an_id_that_stays() {
    on_each_database(async |database: &TestDatabase| {
        let api = filled(database).await;
        let first = api.get("/changes.atom?limit=4").await;
        assert_eq!(
            first.header("content-type"),
            Some("application/atom+xml; charset=utf-8")
        );
        let tag = first.header("etag").unwrap();
        let path = "/changes.atom?limit=4";
        let again = api.ask(Method::GET, path, &[("if-none-match", tag)]).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        let feed = Feed::read_from(first.text().as_bytes()).unwrap();
        let next = feed
            .links()
            .iter()
            .find(|link| link.rel() == "next")
            .unwrap();
        let second = api.get(next.href()).await;
        let rest = Feed::read_from(second.text().as_bytes()).unwrap();
        assert!(rest.links().iter().all(|link| link.rel() != "next"));
        assert_eq!((feed.entries().len(), rest.entries().len()), (4, 2));
        assert_eq!(feed.id(), rest.id());
        let ids = |feeds: &[&Feed]| {
            let entries = feeds.iter().flat_map(|feed| feed.entries());
            entries
                .map(|entry| entry.id().to_owned())
                .collect::<Vec<_>>()
        };
        let replica = database.api().await.get("/changes.atom").await;
        let whole = Feed::read_from(replica.text().as_bytes()).unwrap();
        assert_eq!(ids(&[&whole]), ids(&[&feed, &rest]), "{}", database.name);
        let distinct: std::collections::BTreeSet<String> = ids(&[&whole]).into_iter().collect();
        assert_eq!(distinct.len(), 6);
        // What RFC 4287 demands of a feed and of every entry.
        assert!(!whole.authors().is_empty() && !whole.title().is_empty());
        assert!(whole.links().iter().any(|link| link.rel() == "self"));
        for entry in whole.entries() {
            assert!(entry.id().starts_with("urn:uuid:"), "{}", entry.id());
            assert!(!entry.title().is_empty() && entry.content().is_some());
            assert_eq!(entry.categories().len(), 1);
        }
        let filtered = api.get("/changes.atom?model=a&min_factor=2").await;
        let filtered = Feed::read_from(filtered.text().as_bytes()).unwrap();
        let titles: Vec<&str> = filtered
            .entries()
            .iter()
            .map(|entry| &*entry.title().value)
            .collect();
        assert_eq!(titles, ["acme a: input 1.25 → 2.5"]);
        assert_ne!(filtered.id(), whole.id());
    })
    .await;
}

#[tokio::test]
async fn an_empty_atom_feed_and_names_with_markup_are_well_formed() {
    let api = TestDatabase::sqlite().api().await;
    let empty = api.get("/changes.atom").await;
    let empty = Feed::read_from(empty.text().as_bytes()).unwrap();
    assert!(empty.entries().is_empty());
    api.store(&sheet_of("<a> & \"b\" ]]> \u{ffff}")).await;
    let reply = api.get("/changes.atom").await;
    assert!(!reply.text().contains('\u{ffff}'));
    let feed = Feed::read_from(reply.text().as_bytes()).unwrap();
    let title = &feed.entries()[0].title().value;
    assert!(title.contains("<a> & \"b\" ]]>"), "{title}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_summary_counts_by_day_and_kind_and_names_the_largest_moves() {
    on_each_database(async |database: &TestDatabase| {
        let api = filled(database).await;
        // A price that returns to its first value has not moved; a price that becomes free has no factor, and has moved most.
        for (model, price) in [("d", "1.00"), ("d", "9.00"), ("e", "1.00"), ("e", "0")] {
            let sheet = with(sheet_of(model), "/rates/0/input", json!(price));
            api.infer(&sheet).await;
        }
        // A sheet that was replaced would not count as seen again: this one has a limit as well.
        let back = with(sheet_of("d"), "/rates/0/input", json!("1.00"));
        let back = with(back, "/limits", json!({"context": 7_777}));
        api.infer(&back).await;
        let summary = api.get("/changes/summary?window=30d").await.json();
        let counts = |rows: &Value| -> i64 {
            let rows = rows.as_array().unwrap().iter();
            rows.map(|row| row["changes"].as_i64().unwrap()).sum()
        };
        let all = api.get("/changes").await.rows().len();
        assert_eq!(counts(&summary["kinds"]), i64::try_from(all).unwrap());
        assert_eq!(counts(&summary["days"]), counts(&summary["kinds"]));
        assert_eq!(summary["window"], "30d");
        let moves = |name: &str| -> Vec<(String, String, Option<f64>)> {
            let rows = summary[name].as_array().unwrap().iter();
            let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
            rows.map(|row| {
                (
                    text(row, "model"),
                    text(row, "cell"),
                    row["factor"].as_f64(),
                )
            })
            .collect()
        };
        let named = |model: &str, factor| (model.to_owned(), "input".to_owned(), factor);
        assert_eq!(
            moves("rises"),
            [named("a", Some(2.0))],
            "{}: {summary:#}",
            database.name
        );
        assert_eq!(
            moves("falls"),
            [named("e", None), named("b", Some(4.0))],
            "{}: {summary:#}",
            database.name
        );
        let large = api.get("/changes?min_factor=1000000").await.rows();
        let large: Vec<&Value> = large.iter().map(|row| &row["model"]).collect();
        assert_eq!(large, ["e"], "{}", database.name);
        let store = database.store().await;
        let all = store
            .changes(&ChangeFilter::default(), 0, 100)
            .await
            .unwrap();
        let filter: ChangeFilter = serde_json::from_value(json!({"min_factor": 1e6})).unwrap();
        assert_eq!(all.iter().filter(|row| filter.has(row)).count(), 1);
        let of_b = api
            .get("/changes/summary?model=b&provider=acme")
            .await
            .json();
        assert_eq!((&of_b["rises"], counts(&of_b["kinds"])), (&json!([]), 2));
        let none = api
            .get("/changes/summary?provider=other&window=1h")
            .await
            .json();
        assert_eq!((&none["days"], &none["falls"]), (&json!([]), &json!([])));
    })
    .await;
}

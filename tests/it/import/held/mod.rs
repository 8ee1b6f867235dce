//! Imports that would end or change too much: held until they are accepted, and imports of parts of a catalog.

mod parts;
mod undo;

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Router;
use axum::http::Method;
use axum::routing::get;
use serde_json::{Map, Value, json};
use unroof_edge::Limits;
use unroof_server::App;

use super::{lines, summary};
use crate::support::{Api, Reply, TestDatabase, clock, on_each_database};

/// A catalog of one model, which many sellers have at one price each, in micro-dollars per token: one estimate per price.
fn catalog(prices: impl IntoIterator<Item = (usize, u32)>) -> Value {
    let entry = |(seller, price): (usize, u32)| {
        let entry = json!({
            "litellm_provider": format!("seller-{seller}"), "mode": "chat",
            "input_cost_per_token": format!("{price}e-6"), "output_cost_per_token": "4e-5",
        });
        (format!("seller-{seller}/m-1"), entry)
    };
    Value::Object(prices.into_iter().map(entry).collect::<Map<_, _>>())
}

/// The last line of an import.
async fn import(api: &Api, query: &str, catalog: &Value) -> Value {
    let path = format!("/catalogs{query}");
    let reply = api.post(&path, catalog.to_string()).await;
    lines(&reply).pop().unwrap()
}

async fn act(api: &Api, id: &Value, action: &str) -> Reply {
    let path = format!("/imports/{}/{action}", id.as_str().unwrap());
    api.ask(Method::POST, &path, &[]).await
}

/// Number of prices in force.
async fn in_force(api: &Api) -> usize {
    let rows = api.get("/price-sheets?as_of=2026-11-22T00:00:00Z&limit=2000");
    rows.await.rows().len()
}

async fn changes(api: &Api) -> usize {
    api.get("/changes?limit=2000").await.rows().len()
}

/// Ids of all imports. The clock of a test is fixed, so that they are not in their order.
async fn ids(api: &Api) -> Vec<Value> {
    let rows = api.get("/imports?limit=2000").await.rows();
    rows.iter().map(|row| row["id"].clone()).collect()
}

/// Imports a catalog; the id of the import.
async fn imported(api: &Api, query: &str, catalog: &Value) -> Value {
    let known = ids(api).await;
    let last = import(api, query, catalog).await;
    assert_eq!(last["type"], "done", "{last}");
    let mut new = ids(api).await.into_iter();
    new.find(|id| !known.contains(id)).unwrap()
}

/// The imports of an outcome.
async fn of_outcome(api: &Api, outcome: &str) -> Vec<Value> {
    api.get(&format!("/imports?outcome={outcome}")).await.rows()
}

#[tokio::test(flavor = "multi_thread")]
async fn eleven_entries_that_are_sent_onto_659_offers_are_held_and_end_none() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let whole = catalog((0..659).map(|seller| (seller, 5)));
        let first = import(&api, "?only_changed=true", &whole).await;
        assert_eq!(
            first["type"], "done",
            "the first import of a catalog: {first}"
        );
        let before = (in_force(&api).await, changes(&api).await);
        assert_eq!(before.0, 659);
        // The page is kept, and an import that is held changes no price.
        let held_page = async || {
            let page = api.get("/ui/catalogs").await;
            page.text().contains("Held until you decide")
        };
        assert!(!held_page().await);
        let cut = catalog((0..11).map(|seller| (seller, 50)));
        let held = import(&api, "", &cut).await;
        assert_eq!(held["type"], "held", "{held}");
        let row = &of_outcome(&api, "held").await[0];
        assert_eq!(
            (&row["id"], &row["difference"]),
            (&held["id"], &held["difference"])
        );
        let difference = held["difference"].as_str().unwrap();
        for part in [
            "+0 −648 ~11 (11 by more",
            "; ends seller-100/m-1, ",
            " and 643 more",
        ] {
            assert!(difference.contains(part), "{difference}");
        }
        assert_eq!((in_force(&api).await, changes(&api).await), before);
        assert!(held_page().await);
        let page = api.get("/ui/catalogs").await;
        assert!(page.text().contains("+0 −648 ~11"), "{}", page.text());
        // The right file afterwards changes nothing.
        let again = import(&api, "?only_changed=true", &whole).await;
        assert_eq!(
            (&again["type"], &again["unchanged"]),
            (&json!("done"), &json!(659))
        );
        assert_eq!((in_force(&api).await, changes(&api).await), before);
        assert_eq!(act(&api, &held["id"], "discard").await.status, 204);
        assert_eq!(act(&api, &held["id"], "discard").await.status, 204);
        assert!(!held_page().await);
        act(&api, &held["id"], "accept").await.problem(409);
        act(&api, &held["id"], "undo").await.problem(409);
        assert_eq!((in_force(&api).await, changes(&api).await), before);
        assert_eq!(
            database.number("SELECT count(*) FROM held_imports").await,
            0
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_import_is_recorded_once_it_is_accepted() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
        let held = import(&api, "", &catalog((0..4).map(|seller| (seller, 5)))).await;
        assert_eq!(
            held["difference"].as_str().map(|words| &words[..10]),
            Some("+0 −6 ~0"),
            "{held}"
        );
        let accepted = act(&api, &held["id"], "accept").await;
        assert_eq!(summary(&lines(&accepted))["unchanged"], 4);
        assert_eq!(in_force(&api).await, 4);
        let delisted = api.get("/changes?kind=offer.delisted").await.rows();
        assert_eq!(delisted.len(), 6);
        let done = of_outcome(&api, "done").await;
        let row = done.iter().find(|row| row["id"] == held["id"]).unwrap();
        assert_eq!(row["difference"], held["difference"]);
        act(&api, &held["id"], "accept").await.problem(409);
        act(&api, &held["id"], "discard").await.problem(409);
        let actions: Vec<Value> = api.get("/audit").await.rows();
        let accepted = actions
            .iter()
            .find(|row| row["action"] == "import.accepted");
        assert_eq!(accepted.unwrap()["subject_id"], held["id"], "{actions:?}");
        assert_eq!(
            database.number("SELECT count(*) FROM held_imports").await,
            0
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_import_is_refused_once_where_the_record_has_moved_on() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
        let held = import(&api, "", &catalog((0..4).map(|seller| (seller, 5)))).await;
        let earlier =
            "UPDATE held_imports SET options = replace(options, '2026-11-21', '2026-11-20')";
        database.execute(earlier).await;
        import(
            &api,
            "?observed_at=2026-11-19T00:00:00Z",
            &catalog((0..9).map(|seller| (seller, 5))),
        )
        .await;
        let refused = act(&api, &held["id"], "accept").await.problem(409);
        let row = &of_outcome(&api, "held").await[0];
        let difference = row["difference"].as_str().unwrap();
        assert!(difference.starts_with("+0 −5 ~0"), "{difference}");
        assert!(
            refused["detail"].as_str().unwrap().contains(difference),
            "{refused}"
        );
        let accepted = act(&api, &held["id"], "accept").await;
        assert_eq!(accepted.status, 200, "{}", accepted.text());
        // It was seen before the first import, which still lists all of them.
        assert_eq!(in_force(&api).await, 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_held_by_a_fifth_of_the_offers_or_prices_and_not_by_one_or_two() {
    let cases: [(usize, &[u32], &str); 7] = [
        (10, &[5; 8], "done"),
        (10, &[5; 7], "held"),
        (15, &[5; 12], "done"),
        (5, &[5; 3], "done"),
        // Two of ten prices, three, and three by a factor of three.
        (10, &[5, 5, 5, 5, 5, 5, 5, 5, 16, 16], "done"),
        (10, &[5, 5, 5, 5, 5, 5, 5, 16, 16, 16], "held"),
        (10, &[5, 5, 5, 5, 5, 5, 5, 15, 15, 15], "done"),
    ];
    for (before, after, expected) in cases {
        let api = TestDatabase::sqlite().api().await;
        import(&api, "", &catalog((0..before).map(|seller| (seller, 5)))).await;
        let next = catalog(after.iter().copied().enumerate());
        let dry = import(&api, "?dry_run=true", &next).await;
        assert_eq!(dry["type"], "done", "{dry}");
        let last = import(&api, "", &next).await;
        assert_eq!(last["type"], expected, "{before} {after:?}: {last}");
        assert_eq!(last["difference"], dry["difference"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_file_is_held_and_a_later_one_takes_its_place() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
    let foreign = import(&api, "", &catalog((90..91).map(|seller| (seller, 5)))).await;
    assert!(
        foreign["difference"]
            .as_str()
            .unwrap()
            .starts_with("+1 −10 ~0"),
        "{foreign}"
    );
    let other = import(&api, "", &catalog((80..81).map(|seller| (seller, 5)))).await;
    let held = of_outcome(&api, "held").await;
    assert_eq!((held.len(), &held[0]["id"]), (1, &other["id"]));
    let discarded = of_outcome(&api, "discarded").await;
    assert_eq!(discarded[0]["id"], foreign["id"]);
    assert_eq!(
        database.number("SELECT count(*) FROM held_imports").await,
        1
    );
    // The sheets of the foreign file are not known.
    assert!(
        api.get("/price-sheets?provider=seller-90")
            .await
            .rows()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_refresh_is_held_too_and_is_not_fetched_again_at_once() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
        let cut = catalog((0..2).map(|seller| (seller, 5))).to_string();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/catalog.json", get(async move || cut));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let limits = Limits {
            skip_models: true,
            refresh_allow_private: true,
            ..Limits::default()
        };
        let app = App::new(database.store().await, clock(), limits);
        let refresh = format!("litellm=http://{address}/catalog.json@1h");
        let jobs = app.jobs().start(&[refresh.parse().unwrap()]);
        for _ in 0..600 {
            if !of_outcome(&api, "held").await.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(jobs);
        let runs = api.get("/imports").await.rows();
        let outcomes: Vec<&Value> = runs.iter().map(|run| &run["outcome"]).collect();
        assert_eq!(
            outcomes
                .iter()
                .filter_map(|one| one.as_str())
                .collect::<BTreeSet<_>>(),
            BTreeSet::from(["held", "done"])
        );
        assert_eq!((outcomes.len(), in_force(&api).await), (2, 10));
    })
    .await;
}

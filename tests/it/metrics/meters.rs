//! Metrics of imports, webhooks and change streams.

#![expect(
    clippy::float_cmp,
    reason = "what is shown is what is stored, to the last digit"
)]

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::{ImportOrder, ImportOutcome, ImportRow, ImportSelection, Store};
use uuid::Uuid;

use super::{Replica, Scrape, labelled, value};
use crate::changes::webhooks::{Hand, Receiver};
use crate::server::LONGEST_WAIT;
use crate::support::{NOW, TestDatabase, clock, on_each_database, sheet, sheet_of};

const SUCCESS: &str = "unroof_import_last_success_timestamp_seconds";
const REFUSED: &str = "unroof_import_refused_entries";
const ENTRIES: &str = "unroof_import_entries";
const LITELLM: &str = r#"{catalog="litellm"}"#;
/// An address that does not answer.
const REFRESH: &str = "litellm=http://ann@127.0.0.1:9/prices.json?key=secret@2h";

fn seconds(time: &str) -> f64 {
    time.parse::<Timestamp>()
        .unwrap()
        .as_duration()
        .as_secs_f64()
}

/// Two entries that are read, and one that is refused.
fn catalog() -> Value {
    let entry = |provider: &str, input: f64| {
        json!({
            "litellm_provider": provider, "mode": "chat", "max_input_tokens": 200_000,
            "input_cost_per_token": input, "output_cost_per_token": 1.5e-5,
        })
    };
    json!({"a": entry("acme", 3e-6), "b": entry("acme", 2e-6), "wrong": entry("acme", -1.0)})
}

impl Replica {
    /// Imports the catalog, and knows of a refresh that has not run.
    pub(crate) async fn import(&self) {
        self.know_refresh();
        let reply = self.api.post("/catalogs", catalog().to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    fn know_refresh(&self) {
        drop(self.app.jobs().start(&[REFRESH.parse().unwrap()]));
    }
}

/// Records a run as a refresh does.
async fn record(store: &Store, source: &str, outcome: ImportOutcome, at: &str) {
    let all = ImportSelection::default();
    let rows = store.imports(&all, ImportOrder::NEWEST, None, 1).await;
    let at: Timestamp = at.parse().unwrap();
    let run = ImportRow {
        id: Uuid::new_v4(),
        ended_at: Some(at.into()),
        outcome,
        entries: 0,
        refused: 0,
        ..rows.unwrap().remove(0)
    };
    let begun = store.begin_import(
        run.id,
        source,
        Some("litellm"),
        at.into(),
        &unroof_store::access::Actor::SERVICE,
    );
    let _running = begun.await.unwrap();
    store.end_import(&run).await.unwrap();
}

fn assert_imported(scrape: &Scrape, last: &str) {
    assert_eq!(labelled(scrape, SUCCESS, LITELLM), seconds(last));
    assert_eq!(labelled(scrape, REFUSED, LITELLM), 1.0);
    assert_eq!(labelled(scrape, ENTRIES, LITELLM), 3.0);
}

#[tokio::test]
async fn the_last_good_import_of_a_catalog_outlives_failures_restarts_and_the_database() {
    on_each_database(async |database: &TestDatabase| {
        let replica = Replica::new(database).await;
        assert!(!replica.scrape().await.contains_key(SUCCESS));
        replica.import().await;
        assert_imported(&replica.scrape().await, NOW);
        // A catalog that was found unchanged is as good as one that was read; one that failed is not.
        let (unchanged, failed) = ("2026-11-22T06:00:00Z", "2026-11-23T06:00:00Z");
        let source = "http://127.0.0.1:9/prices.json";
        let outcomes = [
            (ImportOutcome::NotModified, unchanged),
            (ImportOutcome::Failed, failed),
        ];
        for (outcome, at) in outcomes {
            record(&replica.store, source, outcome, at).await;
        }
        assert_imported(&replica.scrape().await, unchanged);
        let restarted = Replica::new(database).await;
        assert_imported(&restarted.scrape().await, unchanged);
        restarted.store.close().await;
        let away = restarted.scrape().await;
        assert_eq!(value(&away, "unroof_database_up"), 0.0);
        assert_imported(&away, unchanged);
    })
    .await;
}

#[tokio::test]
async fn a_refresh_shows_its_own_imports_without_secrets() {
    on_each_database(async |database: &TestDatabase| {
        let replica = Replica::new(database).await;
        let (success, interval) = (
            "unroof_refresh_last_success_timestamp_seconds",
            "unroof_refresh_interval_seconds",
        );
        assert!(!replica.scrape().await.contains_key(interval));
        // The import is by request: it says nothing of the address.
        replica.import().await;
        let source = r#"{catalog="litellm",source="http://127.0.0.1:9/prices.json"}"#;
        let scrape = replica.scrape().await;
        assert_eq!(labelled(&scrape, interval, source), 7200.0);
        assert_eq!(labelled(&scrape, success, source), 0.0);
        assert_eq!(scrape[success].samples.len(), 1);
        let at = "2026-11-22T06:00:00Z";
        let address = "http://127.0.0.1:9/prices.json";
        record(&replica.store, address, ImportOutcome::Done, at).await;
        let scrape = replica.scrape().await;
        assert_eq!(labelled(&scrape, success, source), seconds(at));
        // Its catalog had no entry.
        assert_eq!(labelled(&scrape, REFUSED, LITELLM), 0.0);
    })
    .await;
}

async fn scrape_until(replica: &Replica, holds: impl Fn(&Scrape) -> bool) -> Scrape {
    let began = Instant::now();
    loop {
        let scrape = replica.scrape().await;
        if holds(&scrape) {
            return scrape;
        }
        assert!(began.elapsed() < LONGEST_WAIT, "{scrape:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_counted_by_outcome() {
    on_each_database(async |database: &TestDatabase| {
        let hand = Hand::new();
        let limits = Limits {
            webhook_allow_private: true,
            webhook_rest: Duration::from_millis(20),
            webhook_gathering: Duration::from_millis(20),
            ..Limits::default()
        };
        let store = database.store().await;
        let replica = Replica::of(App::new(store.clone(), hand.clock(), limits), store);
        let receiver = Receiver::default();
        receiver.answers.lock().unwrap().extend([500, 200, 410]);
        let address = receiver.listen().await;
        let attempts = |scrape: &Scrape| {
            ["delivered", "retried", "failed", "unwanted"].map(|outcome| {
                let labels = format!("{{outcome=\"{outcome}\"}}");
                labelled(scrape, "unroof_webhook_delivery_attempts_total", &labels)
            })
        };
        let webhooks = |scrape: &Scrape| {
            [
                "s_enabled",
                "s_disabled",
                "_deliveries_retrying",
                "_changes_waiting",
            ]
            .map(|name| value(scrape, &format!("unroof_webhook{name}")))
        };
        let idle = replica.scrape().await;
        assert_eq!((attempts(&idle), webhooks(&idle)), ([0.0; 4], [0.0; 4]));
        let body = json!({"url": format!("http://{address}/hook")});
        let added = replica.api.post("/webhooks", body.to_string()).await;
        assert_eq!(added.status, 201, "{}", added.text());
        let sending = tokio::spawn(replica.app.jobs().clone().follow_changes());
        replica.api.store(&sheet()).await;
        let retried = |scrape: &Scrape| webhooks(scrape) == [1.0, 0.0, 1.0, 1.0];
        let scrape = scrape_until(&replica, retried).await;
        assert_eq!(attempts(&scrape), [0.0, 1.0, 0.0, 0.0]);
        hand.advance(Duration::from_mins(1));
        let delivered = |scrape: &Scrape| webhooks(scrape) == [1.0, 0.0, 0.0, 0.0];
        let scrape = scrape_until(&replica, delivered).await;
        assert_eq!(attempts(&scrape), [1.0, 1.0, 0.0, 0.0]);
        replica.api.store(&sheet_of("m-2")).await;
        let disabled = |scrape: &Scrape| webhooks(scrape) == [0.0, 1.0, 0.0, 0.0];
        let scrape = scrape_until(&replica, disabled).await;
        assert_eq!(attempts(&scrape), [1.0, 1.0, 0.0, 1.0]);
        sending.abort();
    })
    .await;
}

#[tokio::test]
async fn open_streams_are_counted_until_their_clients_leave() {
    let database = TestDatabase::sqlite();
    let limits = Limits {
        streams: 3,
        ..Limits::default()
    };
    let store = database.store().await;
    let replica = Replica::of(App::new(store.clone(), clock(), limits), store);
    let open = async || {
        let request = Request::get("/changes/stream").body(Body::empty()).unwrap();
        let response = replica.api.begin(request).await;
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        body.frame().await.unwrap().unwrap();
        body
    };
    let streams = async || {
        let scrape = replica.scrape().await;
        ["open", "limit"].map(|name| value(&scrape, &format!("unroof_change_streams_{name}")))
    };
    assert_eq!(streams().await, [0.0, 3.0]);
    let (one, other) = (open().await, open().await);
    assert_eq!(streams().await, [2.0, 3.0]);
    drop(one);
    assert_eq!(streams().await, [1.0, 3.0]);
    drop(other);
    assert_eq!(streams().await, [0.0, 3.0]);
}

#[tokio::test]
async fn a_database_that_takes_no_writes_shows() {
    let database = TestDatabase::sqlite();
    let replica = Replica::new(&database).await;
    let writable = async || value(&replica.scrape().await, "unroof_database_writable");
    assert_eq!(writable().await, 1.0);
    let path = database.url.strip_prefix("sqlite:").unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(writable().await, 0.0);
}

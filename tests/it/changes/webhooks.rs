//! Webhooks: allowed receivers, deliveries, retries.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::task::JoinSet;
use unroof::clock::Clock;
use unroof::http::{App, Limits};
use unroof::storage::Store;

use super::{Prepared, models};
use crate::server::LONGEST_WAIT;
use crate::support::{Api, NOW, TestDatabase, on_each_database, on_postgres};

/// A receiver that answers as configured, and keeps what it was sent.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    /// Statuses of the next answers; 200 after these.
    pub(crate) answers: Arc<Mutex<VecDeque<u16>>>,
    received: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    /// Response time.
    delay: Duration,
}

impl Receiver {
    /// One that takes so long.
    pub(crate) fn slow(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    pub(crate) async fn listen(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(take).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// The body of the first request.
    pub(crate) fn first_body(&self) -> Value {
        let received = self.received.lock().unwrap();
        serde_json::from_str(&received[0].1).unwrap()
    }

    /// Waits for so many requests in all.
    pub(crate) async fn wait_for(&self, count: usize) {
        let began = Instant::now();
        while self.count() < count {
            assert!(
                began.elapsed() < LONGEST_WAIT,
                "{} of {count}",
                self.count()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Nothing more comes for a while.
    pub(crate) async fn assert_silent(&self) {
        let count = self.count();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(self.count(), count);
    }

    /// The models of all changes received, in the order in which they came.
    fn models(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let bodies = received
            .iter()
            .map(|(_, body)| serde_json::from_str(body).unwrap());
        bodies.flat_map(|body: Value| models_of(&body)).collect()
    }
}

fn models_of(body: &Value) -> Vec<String> {
    let changes = body["data"].as_array().unwrap().iter();
    changes
        .map(|change| change["model"].as_str().unwrap().to_owned())
        .collect()
}

async fn take(
    State(receiver): State<Receiver>,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    tokio::time::sleep(receiver.delay).await;
    let body = String::from_utf8(body.to_vec()).unwrap();
    receiver.received.lock().unwrap().push((headers, body));
    let status = receiver.answers.lock().unwrap().pop_front().unwrap_or(200);
    // Where it leads must not be asked.
    let headers = [(header::LOCATION, "/elsewhere")];
    (
        StatusCode::from_u16(status).unwrap(),
        headers,
        "x".repeat(100_000),
    )
}

/// A clock that advances on demand.
#[derive(Clone)]
pub(crate) struct Hand(Arc<Mutex<Timestamp>>);

impl Hand {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(NOW.parse().unwrap())))
    }

    pub(crate) fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Clock::new(move || *now.lock().unwrap())
    }

    pub(crate) fn advance(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

/// A replica that sends.
pub(crate) struct Sender {
    pub(crate) api: Api,
    pub(crate) store: Store,
    _background: JoinSet<()>,
}

impl Sender {
    pub(crate) async fn new(database: &TestDatabase, hand: &Hand, allows_private: bool) -> Self {
        let limits = Limits {
            webhook_allow_private: allows_private,
            webhook_rest: Duration::from_millis(20),
            webhook_gathering: Duration::from_millis(20),
            ..Limits::default()
        };
        Self::start(database, hand.clock(), limits).await
    }

    /// One that may send to this machine.
    async fn with(database: &TestDatabase, clock: Clock, gathering: Duration) -> Self {
        let limits = Limits {
            webhook_allow_private: true,
            webhook_rest: Duration::from_millis(20),
            webhook_gathering: gathering,
            ..Limits::default()
        };
        Self::start(database, clock, limits).await
    }

    async fn start(database: &TestDatabase, clock: Clock, limits: Limits) -> Self {
        let store = database.store().await;
        let app = App::new(store.clone(), clock, limits);
        let mut background = JoinSet::new();
        background.spawn(app.jobs().clone().follow_changes());
        Self {
            api: Api::new(app),
            store,
            _background: background,
        }
    }

    async fn add(&self, body: &Value) -> Value {
        let reply = self.api.post("/webhooks", body.to_string()).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let webhook = reply.json();
        let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
        assert_eq!(reply.header("location"), Some(path.as_str()));
        webhook
    }

    pub(crate) async fn add_at(&self, address: SocketAddr) -> String {
        let webhook = self
            .add(&json!({"url": format!("http://{address}/hook")}))
            .await;
        webhook["id"].as_str().unwrap().to_owned()
    }

    async fn deliveries(&self, id: &str) -> Vec<Value> {
        self.api
            .get(&format!("/webhooks/{id}/deliveries"))
            .await
            .rows()
    }

    /// Waits until the last delivery is as it should be.
    pub(crate) async fn wait_for_last(
        &self,
        id: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let began = Instant::now();
        loop {
            let rows = self.deliveries(id).await;
            match rows.first() {
                Some(last) if holds(last) => return last.clone(),
                last => assert!(began.elapsed() < LONGEST_WAIT, "never {what}: {last:?}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_sent_in_order_and_signed() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let prepared = Prepared::new();
        prepared.record(&sender.store, &["before".to_owned()]).await;
        let url = format!("http://{}/hook", receiver.listen().await);
        let secret = format!("whsec_{}", STANDARD.encode([7; 24]));
        let verifier = Webhook::new(&secret).unwrap();
        let webhook = sender.add(&json!({"url": url, "secret": secret})).await;
        assert_eq!(webhook.get("secret"), None);
        let id = webhook["id"].as_str().unwrap();
        let all = models(0..250);
        for batch in all.chunks(125) {
            prepared.record(&sender.store, batch).await;
        }
        let began = Instant::now();
        while receiver.models().len() < all.len() && began.elapsed() < LONGEST_WAIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), all, "{}", database.name);
        let mut next = None;
        let deliveries = receiver.received.lock().unwrap().clone();
        for (headers, body) in deliveries {
            let header = |name: &str| headers[name].to_str().unwrap().to_owned();
            let now: Timestamp = NOW.parse().unwrap();
            assert_eq!(header("webhook-timestamp"), now.as_second().to_string());
            let signed = verifier.sign(&header("webhook-id"), now.as_second(), body.as_bytes());
            assert_eq!(header("webhook-signature"), signed.unwrap());
            assert_eq!(header("content-type"), "application/json");
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(
                (&body["type"], &body["webhook_id"]),
                (&json!("changes"), &json!(id))
            );
            let sent_at: Timestamp = body["timestamp"].as_str().unwrap().parse().unwrap();
            assert_eq!(sent_at, now);
            let changes = body["data"].as_array().unwrap();
            assert!((1..=100).contains(&changes.len()), "{}", changes.len());
            assert_eq!(body["next_since"], changes.last().unwrap()["sequence"]);
            let (since, limit) = (next.unwrap_or(1), changes.len());
            let listed = format!("/changes?since={since}&limit={limit}");
            assert_eq!(sender.api.get(&listed).await.rows(), *changes);
            next = body["next_since"].as_i64();
        }
        sender
            .wait_for_last(id, "delivered", |last| last["state"] == "delivered")
            .await;
        let rows = sender.deliveries(id).await;
        assert_eq!(rows.len(), receiver.count());
        assert_eq!(rows[0]["next_since"].as_i64(), next);
        assert_eq!(
            (&rows[0]["attempts"], &rows[0]["status"]),
            (&json!(1), &json!(200))
        );
        // The same, a page each.
        let mut path = format!("/webhooks/{id}/deliveries?limit=1");
        for row in &rows {
            let page = sender.api.get(&path).await;
            assert_eq!(page.rows(), std::slice::from_ref(row));
            let cursor = page.json()["next_cursor"].as_str().map(str::to_owned);
            path = format!(
                "/webhooks/{id}/deliveries?limit=1&cursor={}",
                cursor.unwrap_or_default()
            );
        }
        assert!(path.ends_with("cursor="));
        receiver.assert_silent().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_sent_again_eight_times_within_a_day_and_then_the_next() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let id = sender.add_at(receiver.listen().await).await;
        // A redirect is not followed, and counts as no.
        receiver
            .answers
            .lock()
            .unwrap()
            .extend([500, 302, 404, 503, 429, 401, 307, 418]);
        let prepared = Prepared::new();
        prepared.record(&sender.store, &models(0..2)).await;
        let rests = [30, 120, 600, 1_800, 7_200, 21_600, 43_200].map(Duration::from_secs);
        let mut whole = Duration::ZERO;
        for (made, rest) in rests.into_iter().enumerate() {
            receiver.wait_for(made + 1).await;
            let last = sender
                .wait_for_last(&id, "answered", |last| {
                    last["attempts"] == made + 1 && last["next_attempt_at"].is_string()
                })
                .await;
            assert_eq!(last["state"], "pending", "{}", database.name);
            let at = |name: &str| last[name].as_str().unwrap().parse::<Timestamp>().unwrap();
            let planned = Duration::try_from(at("next_attempt_at") - at("attempted_at")).unwrap();
            assert!(
                planned >= rest && planned <= rest.mul_f64(1.1),
                "{planned:?}"
            );
            // What came meanwhile waits.
            if made == 0 {
                prepared.record(&sender.store, &models(2..3)).await;
            }
            hand.advance(planned.checked_sub(Duration::from_secs(1)).unwrap());
            if made < 2 {
                receiver.assert_silent().await;
            }
            hand.advance(Duration::from_secs(1));
            whole += planned;
        }
        assert!(whole < Duration::from_hours(24), "{whole:?}");
        // The eighth fails too, and what comes after it is delivered.
        receiver.wait_for(9).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        let rows = sender.deliveries(&id).await;
        assert_eq!((rows.len(), &rows[1]["state"]), (2, &json!("failed")));
        assert_eq!(
            (&rows[1]["attempts"], &rows[1]["status"]),
            (&json!(8), &json!(418))
        );
        assert_eq!(rows[1]["next_attempt_at"], Value::Null);
        let deliveries = receiver.received.lock().unwrap().clone();
        let ids: Vec<_> = deliveries
            .iter()
            .map(|(headers, _)| &headers["webhook-id"])
            .collect();
        assert!(
            ids[..8].iter().all(|id| *id == ids[0]) && ids[8] != ids[0],
            "{ids:?}"
        );
        // Every attempt sends the same bytes.
        assert!(
            deliveries[..8]
                .iter()
                .all(|(_, body)| *body == deliveries[0].1)
        );
        let bodies: Vec<Value> = deliveries
            .iter()
            .map(|(_, body)| serde_json::from_str(body).unwrap())
            .collect();
        assert_eq!(
            (models_of(&bodies[0]), models_of(&bodies[8])),
            (models(0..2), models(2..3))
        );
        // A month later they are forgotten.
        hand.advance(Duration::from_hours(31 * 24));
        prepared.record(&sender.store, &models(3..4)).await;
        receiver.wait_for(10).await;
        sender
            .wait_for_last(&id, "delivered", |last| {
                last["next_since"] == 4 && last["state"] == "delivered"
            })
            .await;
        assert_eq!(sender.deliveries(&id).await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_or_removed_gets_no_more_deliveries() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let prepared = Prepared::new();
        let gone = sender.add_at(receiver.listen().await).await;
        receiver.answers.lock().unwrap().push_back(410);
        prepared.record(&sender.store, &models(0..1)).await;
        sender
            .wait_for_last(&gone, "failed", |last| last["state"] == "failed")
            .await;
        prepared.record(&sender.store, &models(1..2)).await;
        receiver.assert_silent().await;
        let shown = sender.api.get(&format!("/webhooks/{gone}")).await.json();
        assert!(shown["disabled_at"].is_string(), "{shown}");
        let removed = sender.add_at(receiver.listen().await).await;
        let path = format!("/webhooks/{removed}");
        for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
            assert_eq!(
                sender.api.ask(Method::DELETE, &path, &[]).await.status,
                status
            );
        }
        sender.api.get(&path).await.problem(404);
        sender
            .api
            .get(&format!("{path}/deliveries"))
            .await
            .problem(404);
        prepared.record(&sender.store, &models(2..3)).await;
        receiver.assert_silent().await;
        assert_eq!(receiver.count(), 1);
        // One without a listener is tried again, and says why.
        let unused = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap()
        };
        let id = sender.add_at(unused).await;
        prepared.record(&sender.store, &models(3..4)).await;
        let last = sender
            .wait_for_last(&id, "refused", |last| last["error"].is_string())
            .await;
        assert_eq!(
            (&last["state"], &last["status"]),
            (&json!("pending"), &Value::Null)
        );
    })
    .await;
}

#[tokio::test]
async fn secrets_are_shown_once_and_not_weak() {
    let (hand, database) = (Hand::new(), TestDatabase::sqlite());
    let sender = Sender::new(&database, &hand, true).await;
    let url = "https://hooks.example.com/unroof";
    let made = sender.add(&json!({"url": url})).await;
    let secret = made["secret"].as_str().unwrap();
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
    assert_eq!(key.unwrap().len(), 32);
    let other = sender.add(&json!({"url": url})).await;
    assert_ne!(other["secret"], made["secret"]);
    let id = made["id"].as_str().unwrap();
    for path in [
        "/webhooks".to_owned(),
        format!("/webhooks/{id}"),
        format!("/webhooks/{id}/deliveries"),
    ] {
        let shown = sender.api.get(&path).await;
        assert!(
            !shown.text().contains("secret") && !shown.text().contains(secret),
            "{path}"
        );
    }
    let listed = sender.api.get("/webhooks").await.rows();
    assert_eq!((listed.len(), &listed[0]["url"]), (2, &json!(url)));
    let of_length = |length| format!("whsec_{}", STANDARD.encode(vec![7; length]));
    for wrong in [
        String::new(),
        "at-least-16-characters".to_owned(),
        of_length(23),
        of_length(65),
        of_length(24).replace("whsec_", ""),
        of_length(25).trim_end_matches('=').to_owned(),
        of_length(24).replace('B', "-"),
    ] {
        let body = json!({"url": url, "secret": wrong});
        let problem = sender
            .api
            .post("/webhooks", body.to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/secret", "{problem}");
    }
    // There is room for 64.
    for _ in 2..64 {
        sender.add(&json!({"url": url})).await;
    }
    let full = sender
        .api
        .post("/webhooks", json!({"url": url}).to_string())
        .await;
    assert_eq!(full.problem(409)["type"], "/problems/full");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_not_of_the_internet_are_refused_however_they_are_spelled() {
    let (hand, database, receiver) = (Hand::new(), TestDatabase::sqlite(), Receiver::default());
    let sender = Sender::new(&database, &hand, false).await;
    let address = receiver.listen().await;
    let port = address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        for scheme in ["http", "https"] {
            let body = json!({"url": format!("{scheme}://{host}:{port}/hook")});
            let problem = sender
                .api
                .post("/webhooks", body.to_string())
                .await
                .problem(422);
            assert_eq!(problem["errors"][0]["pointer"], "/url", "{host}: {problem}");
        }
    }
    for url in [
        "ftp://hooks.example.com/",
        "https://ann:secret@hooks.example.com/",
        "hooks.example.com",
        "/hook",
    ] {
        let problem = sender
            .api
            .post("/webhooks", json!({"url": url}).to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], "/url", "{url}: {problem}");
    }
    // A name that led elsewhere when it was added is looked at again before anything is sent.
    let careless = App::new(
        database.store().await,
        hand.clock(),
        Limits {
            webhook_allow_private: true,
            ..Limits::default()
        },
    );
    let url = format!("http://localhost:{port}/hook");
    let added = Api::new(careless)
        .post("/webhooks", json!({"url": url}).to_string())
        .await;
    assert_eq!(added.status, StatusCode::CREATED);
    Prepared::new().record(&sender.store, &models(0..1)).await;
    let id = added.id();
    let last = sender
        .wait_for_last(&id, "refused", |last| last["error"].is_string())
        .await;
    assert!(
        last["error"].as_str().unwrap().contains("not a public one"),
        "{last}"
    );
    assert_eq!(receiver.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_replicas_one_sends_and_another_continues_when_it_dies() {
    on_postgres(async |database: &TestDatabase| {
        let receiver = Receiver::slow(Duration::from_millis(20));
        let hand = Hand::new();
        let mut senders = Vec::new();
        for _ in 0..3 {
            senders.push(Sender::new(database, &hand, true).await);
        }
        let id = senders[0].add_at(receiver.listen().await).await;
        let prepared = Prepared::new();
        let all = models(0..600);
        for (number, batch) in all.chunks(20).enumerate() {
            prepared.record(&senders[number % 3].store, batch).await;
        }
        let began = Instant::now();
        while receiver.models().len() < all.len() && began.elapsed() < LONGEST_WAIT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), all);
        senders[0]
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        receiver.assert_silent().await;
        // One takes the right to send and dies.
        drop(senders);
        let count = receiver.count();
        let dying = database.store().await;
        prepared.record(&dying, &models(600..601)).await;
        let now = *hand.0.lock().unwrap();
        let until = now + Duration::from_secs(30);
        let lease = dying.lease_webhook(now, until).await.unwrap();
        assert!(lease.is_some());
        assert!(
            dying.lease_webhook(now, until).await.unwrap().is_none(),
            "leased twice"
        );
        let heir = Sender::new(database, &hand, true).await;
        receiver.assert_silent().await;
        hand.advance(Duration::from_secs(31));
        receiver.wait_for(count + 1).await;
        heir.wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        assert_eq!(receiver.models(), models(0..601));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_with_the_library_of_standard_webhooks_verifies_a_message_and_no_other() {
    let (database, receiver) = (TestDatabase::sqlite(), Receiver::default());
    let sender = Sender::with(&database, Clock::system(), Duration::from_millis(20)).await;
    let url = format!("http://{}/hook", receiver.listen().await);
    let webhook = sender.add(&json!({"url": url})).await;
    let verifier = Webhook::new(webhook["secret"].as_str().unwrap()).unwrap();
    Prepared::new().record(&sender.store, &models(0..1)).await;
    receiver.wait_for(1).await;
    let (headers, body) = receiver.received.lock().unwrap()[0].clone();
    verifier.verify(body.as_bytes(), &headers).unwrap();
    let other = body.replace("m-0000", "m-0001");
    assert!(verifier.verify(other.as_bytes(), &headers).is_err());
    let stranger = Webhook::from_bytes(vec![7; 32]).unwrap();
    assert!(stranger.verify(body.as_bytes(), &headers).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_come_one_after_the_other_are_one_message_within_a_second() {
    on_each_database(async |database: &TestDatabase| {
        let receiver = Receiver::default();
        let gathering = Limits::default().webhook_gathering;
        assert!(gathering < Duration::from_secs(1));
        let sender = Sender::with(database, Hand::new().clock(), gathering).await;
        let id = sender.add_at(receiver.listen().await).await;
        let prepared = Prepared::new();
        // The tables are warm, and the loop of the sender waits.
        prepared.record(&sender.store, &models(0..1)).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        for model in models(1..4) {
            prepared.record(&sender.store, &[model]).await;
        }
        let took = began.elapsed();
        receiver.wait_for(2).await;
        if took < gathering / 2 {
            let last = receiver.received.lock().unwrap()[1].1.clone();
            let last: Value = serde_json::from_str(&last).unwrap();
            assert_eq!(models_of(&last), models(1..4), "{}", database.name);
        }
        while receiver.models().len() < 4 {
            assert!(began.elapsed() < LONGEST_WAIT);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), models(0..4));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_with_a_filter_is_sent_what_passes_it_and_passes_over_the_rest() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let url = format!("http://{}/hook", receiver.listen().await);
        let filter =
            json!({"kind": ["offer.added"], "model": ["m-0001", "m-0205"], "in_force": true});
        let webhook = sender.add(&json!({"url": url, "filter": filter})).await;
        assert_eq!(webhook["filter"], filter);
        let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
        let prepared = Prepared::new();
        for batch in models(0..250).chunks(125) {
            prepared.record(&sender.store, batch).await;
        }
        let began = Instant::now();
        loop {
            let shown = sender.api.get(&path).await.json();
            assert_eq!(shown["filter"], filter);
            if shown["since"] == 250 {
                break;
            }
            assert!(began.elapsed() < LONGEST_WAIT, "{shown}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(receiver.models(), ["m-0001", "m-0205"], "{}", database.name);
        prepared.record(&sender.store, &models(250..260)).await;
        receiver.assert_silent().await;
    })
    .await;
}

#[tokio::test]
async fn a_filter_that_is_none_is_refused_at_its_place() {
    let (hand, database) = (Hand::new(), TestDatabase::sqlite());
    let sender = Sender::new(&database, &hand, true).await;
    for (filter, pointer) in [
        (json!("price.changed"), "/filter"),
        (json!({"kind": "price.changed"}), "/filter/kind"),
        (
            json!({"kind": ["price.changed", "sheet.changed"]}),
            "/filter/kind/1",
        ),
        (json!({"provider": [""]}), "/filter/provider/0"),
        (json!({"model": vec!["m"; 65]}), "/filter/model"),
        (json!({"in_force": "true"}), "/filter/in_force"),
        (json!({"min_factor": 0.5}), "/filter/min_factor"),
        (json!({"region": ["global"]}), "/filter/region"),
    ] {
        let body = json!({"url": "https://hooks.example.com/unroof", "filter": filter});
        let problem = sender
            .api
            .post("/webhooks", body.to_string())
            .await
            .problem(422);
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
}

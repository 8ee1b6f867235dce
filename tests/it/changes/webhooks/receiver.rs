//! A receiver of webhooks, a clock that is advanced by hand, and a replica that sends.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::Store;
use unroof_store::clock::Clock;

use crate::server::LONGEST_WAIT;
use crate::support::{Api, NOW, TestDatabase};

/// A receiver that answers as configured, and keeps what it was sent.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    /// Statuses of the next answers; 200 after these.
    pub(crate) answers: Arc<Mutex<VecDeque<u16>>>,
    pub(super) received: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    /// Time until the receiver responds.
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
    pub(super) fn models(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let bodies = received
            .iter()
            .map(|(_, body)| serde_json::from_str(body).unwrap());
        bodies.flat_map(|body: Value| models_of(&body)).collect()
    }
}

pub(super) fn models_of(body: &Value) -> Vec<String> {
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
pub(crate) struct Hand(pub(super) Arc<Mutex<Timestamp>>);

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

    pub(crate) fn set_back(&self, time: Duration) {
        *self.0.lock().unwrap() -= time;
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
    pub(super) async fn with(database: &TestDatabase, clock: Clock, gathering: Duration) -> Self {
        let limits = Limits {
            webhook_allow_private: true,
            webhook_rest: Duration::from_millis(20),
            webhook_gathering: gathering,
            ..Limits::default()
        };
        Self::start(database, clock, limits).await
    }

    /// One on a store of its own, that may send to this machine.
    pub(super) fn of_store(store: Store, hand: &Hand) -> Self {
        let limits = Limits {
            webhook_allow_private: true,
            webhook_rest: Duration::from_millis(20),
            webhook_gathering: Duration::from_millis(20),
            ..Limits::default()
        };
        Self::begin(store, hand.clock(), limits)
    }

    async fn start(database: &TestDatabase, clock: Clock, limits: Limits) -> Self {
        Self::begin(database.store().await, clock, limits)
    }

    fn begin(store: Store, clock: Clock, limits: Limits) -> Self {
        let app = App::new(store.clone(), clock, limits);
        let mut background = JoinSet::new();
        background.spawn(app.jobs().clone().follow_changes());
        Self {
            api: Api::new(app),
            store,
            _background: background,
        }
    }

    pub(super) async fn add(&self, body: &Value) -> Value {
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

    pub(super) async fn deliveries(&self, id: &str) -> Vec<Value> {
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

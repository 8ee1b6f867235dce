//! A receiver of OTLP and of webhooks on this machine.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::server::LONGEST_WAIT;

/// Messages and requests that were received.
#[derive(Debug, Default)]
struct Received {
    spans: Vec<Span>,
    resource: Vec<KeyValue>,
    headers: Vec<HeaderMap>,
    /// Heads of requests to any other path.
    others: Vec<HeaderMap>,
}

/// Takes traces, and whatever is sent to other paths.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    pub(super) address: String,
    received: Arc<Mutex<Received>>,
}

impl Receiver {
    /// One that listens until the end of the program.
    pub(super) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let receiver = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            received: Arc::default(),
        };
        let router = Router::new()
            .route("/v1/traces", post(take_traces))
            .fallback(take_other)
            .with_state(receiver.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        receiver
    }

    /// Waits for what is found among all that was received.
    fn wait_for<T>(&self, what: &str, found: impl Fn(&Received) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            let received = self.received.lock().unwrap();
            if let Some(found) = found(&received) {
                return found;
            }
            assert!(began.elapsed() < LONGEST_WAIT, "no {what}: {received:#?}");
            drop(received);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The first span of a name.
    pub(super) fn span(&self, name: &str) -> Span {
        self.wait_for(name, |received| {
            let mut spans = received.spans.iter();
            spans.find(|span| span.name == name).cloned()
        })
    }

    /// The first span of a name below another.
    pub(super) fn child(&self, parent: &Span, name: &str) -> Span {
        self.wait_for(name, |received| {
            let is_child = |span: &&Span| span.parent_span_id == parent.span_id;
            let mut spans = received.spans.iter().filter(is_child);
            spans.find(|span| span.name == name).cloned()
        })
    }

    /// The spans that were received so far.
    pub(super) fn spans(&self) -> Vec<Span> {
        self.received.lock().unwrap().spans.clone()
    }

    /// An attribute of the process that sent.
    pub(super) fn of_resource(&self, name: &str) -> String {
        self.wait_for(name, |received| text_of(&received.resource, name))
    }

    /// A header of every message that was received.
    pub(super) fn headers(&self, name: &str) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let values = received.headers.iter().filter_map(|head| head.get(name));
        values
            .map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }

    /// The head of the first request to another path.
    pub(super) fn other(&self) -> HeaderMap {
        self.wait_for("other request", |received| received.others.first().cloned())
    }
}

/// The text of an attribute.
pub(super) fn text_of(attributes: &[KeyValue], name: &str) -> Option<String> {
    let mut attributes = attributes.iter();
    let attribute = attributes.find(|attribute| attribute.key == name)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

async fn take_traces(State(to): State<Receiver>, headers: HeaderMap, body: Bytes) {
    let message = ExportTraceServiceRequest::decode(body).unwrap();
    let mut received = to.received.lock().unwrap();
    received.headers.push(headers);
    for of_process in message.resource_spans {
        received.resource = of_process.resource.unwrap().attributes;
        let spans = of_process.scope_spans.into_iter();
        received.spans.extend(spans.flat_map(|scope| scope.spans));
    }
}

async fn take_other(State(receiver): State<Receiver>, headers: HeaderMap) -> StatusCode {
    receiver.received.lock().unwrap().others.push(headers);
    StatusCode::NO_CONTENT
}

//! Heads of requests through the router that is served, on a small database.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts as Head;
use axum::http::response::Parts as Reply;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt;
use unroof_edge::Limits;
use unroof_server::{App, router};
use unroof_store::clock::Clock;
use unroof_store::{Store, StoreLimits};

/// Sheets that are stored, so that lists have pages.
const SHEETS: [&str; 2] = [
    include_str!("../../examples/google_gemini-2.5-pro.json"),
    include_str!("../../examples/openai_gpt-6-sol.json"),
];

/// The router with its dependencies.
pub struct Service {
    runtime: Runtime,
    router: Router,
    _folder: TempDir,
}

/// Started once: its database is made, and joint estimates take a while.
pub static SERVICE: LazyLock<Service> = LazyLock::new(Service::start);

impl Service {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts");
        let folder = tempfile::tempdir().expect("a folder is made");
        let url = format!("sqlite:{}", folder.path().join("unroof.db").display());
        let router = runtime.block_on(async {
            let store = Store::open(
                &url.parse().expect("a database has this address"),
                StoreLimits::default(),
            )
            .await;
            let store = store.expect("the database opens");
            store.migrate().await.expect("the tables are made");
            router(App::new(
                store,
                Clock::new(|| Timestamp::UNIX_EPOCH),
                Limits::default(),
            ))
        });
        let service = Self {
            runtime,
            router,
            _folder: folder,
        };
        for sheet in SHEETS {
            let request = Request::post("/infer").header(header::CONTENT_TYPE, "application/json");
            let (reply, _) = service.send(request.body(sheet.into()).expect("a request"));
            assert_eq!(reply.status, StatusCode::CREATED);
        }
        service
    }

    fn send(&self, request: Request<Body>) -> (Reply, Vec<u8>) {
        self.runtime.block_on(async {
            let response = self
                .router
                .clone()
                .oneshot(request)
                .await
                .expect("the router never fails");
            let (reply, body) = response.into_parts();
            let body = body.collect().await.expect("a body comes whole");
            (reply, body.to_bytes().into())
        })
    }

    /// Sends a request without a body. `None` where the text is not a head: a server never gets to see such a request.
    pub fn check_head(&self, text: &[u8]) -> Option<()> {
        let request = read_head(text)?;
        let (head, body) = request.into_parts();
        let (reply, answer) = self.send(Request::from_parts(head.clone(), body));
        check_reply(&head, &reply, &answer);
        Some(())
    }
}

/// `GET /estimates?limit=2`, and a line per header: `accept: text/csv`.
fn read_head(text: &[u8]) -> Option<Request<Body>> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let (method, uri) = split_at(lines.next()?, b' ')?;
    let mut request = Request::builder().method(method).uri(uri);
    for line in lines {
        let (name, value) = split_at(line, b':')?;
        request = request.header(name, value.trim_ascii());
    }
    request.body(Body::empty()).ok()
}

fn split_at(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == separator)?;
    Some((&text[..place], &text[place + 1..]))
}

fn check_reply(head: &Head, reply: &Reply, body: &[u8]) {
    let status = reply.status;
    let what = || {
        format!(
            "{} {} {status}: {}",
            head.method,
            head.uri,
            body.escape_ascii()
        )
    };
    assert!(!status.is_server_error(), "{}", what());
    assert!(reply.headers.contains_key("x-request-id"), "{}", what());
    let content_type = reply
        .headers
        .get(header::CONTENT_TYPE)
        .map(HeaderValue::as_bytes);
    if status.is_client_error() {
        // Under `/ui` a problem is a page.
        let is_page =
            head.uri.path().starts_with("/ui") && content_type == Some(b"text/html; charset=utf-8");
        let is_problem = content_type == Some(b"application/problem+json");
        assert!(is_page || is_problem, "{}", what());
    }
    let is_json = content_type.is_some_and(|content_type| content_type.ends_with(b"json"));
    if head.method == Method::HEAD || !is_json {
        return;
    }
    let document: Value =
        serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", what()));
    if status.is_client_error() {
        assert_eq!(document["status"], status.as_u16(), "{}", what());
    }
}

//! Bare axum: what the service is compared with, without anything that it does besides answering; and subscribers of streams.
//!
//! `scripts/bench` runs it:
//!
//! | argument | role |
//! |---|---|
//! | `serve [DATABASE]` | a body from memory, a 304, a row by its key with sqlx, and events that every subscriber gets |
//! | `subscribe COUNT ADDRESS PATH` | opens streams; for every line on its input, `METHOD PATH BODY`, it sends that request and prints the milliseconds until the first and the last stream have an event of it |
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::BufRead;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use uuid::Uuid;

/// Largest body from memory.
const LARGEST: usize = 4 << 20;
/// Events that wait for a subscriber.
const WAITING: usize = 16;
/// Time between two changes.
const BETWEEN: Duration = Duration::from_millis(100);
const JSON: (header::HeaderName, &str) = (header::CONTENT_TYPE, "application/json");
const TAG: &str = "\"a-tag\"";

#[derive(Clone)]
struct Shared {
    body: Bytes,
    events: broadcast::Sender<String>,
    rows: Option<PgPool>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match arguments.as_slice() {
        ["serve"] => runtime.block_on(serve(None)),
        ["serve", database] => runtime.block_on(serve(Some(database))),
        ["subscribe", count, address, path] => {
            let count = count.parse().unwrap();
            runtime.block_on(subscribe(count, address, path));
        }
        _ => println!("skipped: scripts/bench runs this next to the service"),
    }
}

async fn serve(database: Option<&str>) {
    let pool = PgPoolOptions::new()
        .max_connections(8)
        .test_before_acquire(false);
    let shared = Shared {
        body: vec![b' '; LARGEST].into(),
        events: broadcast::Sender::new(WAITING),
        rows: database.map(|database| pool.connect_lazy(database).unwrap()),
    };
    let router = Router::new()
        .route("/bytes/{size}", get(bytes))
        .route("/tagged", get(tagged))
        .route("/rows/{id}", get(row))
        .route("/events", get(events).post(publish))
        .with_state(shared);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    axum::serve(listener, router).await.unwrap();
}

/// The last part of the path.
fn last_part<Part: std::str::FromStr<Err: std::fmt::Debug>>(request: &Request) -> Part {
    let (_, part) = request.uri().path().rsplit_once('/').unwrap();
    part.parse().unwrap()
}

async fn bytes(State(shared): State<Shared>, request: Request) -> Response {
    let size: usize = last_part(&request);
    ([JSON], shared.body.slice(..size)).into_response()
}

async fn tagged(State(shared): State<Shared>, request: Request) -> Response {
    let known = request.headers().get(header::IF_NONE_MATCH);
    if known.is_some_and(|known| known == TAG) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, TAG)]).into_response();
    }
    ([JSON], shared.body.slice(..1024)).into_response()
}

async fn row(State(shared): State<Shared>, request: Request) -> Response {
    let id: Uuid = last_part(&request);
    let row = sqlx::query_scalar("SELECT document FROM estimates WHERE id = $1").bind(id);
    let document: Option<String> = row.fetch_optional(&shared.rows.unwrap()).await.unwrap();
    document.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |document| ([JSON], document).into_response(),
    )
}

async fn events(State(shared): State<Shared>) -> Response {
    let begun = stream::once(async { Ok::<_, Infallible>(Event::default().comment("")) });
    let news = stream::unfold(shared.events.subscribe(), async |mut events| {
        let text = events.recv().await.ok()?;
        Some((Ok(Event::default().data(text)), events))
    });
    Sse::new(stream::StreamExt::chain(begun, news)).into_response()
}

async fn publish(State(shared): State<Shared>, text: String) -> StatusCode {
    shared.events.send(text).unwrap();
    StatusCode::NO_CONTENT
}

async fn subscribe(count: usize, address: &str, path: &str) {
    let (came, mut coming) = mpsc::unbounded_channel();
    for number in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        send(&mut stream, address, "GET", path, "").await;
        tokio::spawn(note_events(number, stream, came.clone()));
    }
    // Every stream says that it has begun.
    wait_for_all(&mut coming, count, b"HTTP/1.1 200").await;
    println!("{count} streams");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (method, path, body) = (word(), word(), word());
        let mut trigger = TcpStream::connect(address).await.unwrap();
        // What else belongs to the change before.
        tokio::time::sleep(BETWEEN).await;
        while coming.try_recv().is_ok() {}
        let began = Instant::now();
        send(&mut trigger, address, method, path, body).await;
        let (first, last) = wait_for_all(&mut coming, count, b"data:").await;
        let since = |at: Instant| at.duration_since(began).as_secs_f64() * 1e3;
        println!("{:.3} {:.3}", since(first), since(last));
    }
}

async fn send(stream: &mut TcpStream, address: &str, method: &str, path: &str, body: &str) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// The number of a stream, the time at which a piece of it came, and the piece.
type Came = (usize, Instant, Vec<u8>);

/// Says when each piece of a stream came.
async fn note_events(number: usize, mut stream: TcpStream, came: mpsc::UnboundedSender<Came>) {
    let mut piece = vec![0; 16 << 10];
    loop {
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "a stream has ended");
        let _ = came.send((number, Instant::now(), piece[..length].to_vec()));
    }
}

/// Waits until this text has come of every stream; when the first and the last of them came.
async fn wait_for_all(
    coming: &mut mpsc::UnboundedReceiver<Came>,
    count: usize,
    text: &[u8],
) -> (Instant, Instant) {
    let mut times = HashMap::new();
    while times.len() < count {
        let (number, at, piece) = coming.recv().await.unwrap();
        if piece.windows(text.len()).any(|part| part == text) {
            times.entry(number).or_insert(at);
        }
    }
    let (first, last) = (times.values().min(), times.values().max());
    (*first.unwrap(), *last.unwrap())
}

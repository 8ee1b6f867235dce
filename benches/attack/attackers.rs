//! The attackers: each kind continues until the process is stopped, and starts again as soon as it is refused.

use std::fmt::Write;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Variable with the address of the attacked service.
pub(crate) const TARGET: &str = "UNROOF_ATTACK_TARGET";

/// Connections whose answers stay unread.
const UNREAD: usize = 600;
/// Clients that leave while their catalog is read, and the bytes of the catalog.
const LEAVING: usize = 6;
const CATALOG_BYTES: usize = 11_700_000;
/// Webhooks a second, at names that no name server answers for.
const WEBHOOKS_A_SECOND: u64 = 94;
/// Clients that read lists of 2,000 rows.
const READERS: usize = 40;
/// Clients that send price sheets, and again at once when they are refused.
const FLOOD: usize = 520;
/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// Observations of the attackers.
#[derive(Default)]
struct Seen {
    /// By kind of attacker: answers of 2xx, of 503, others.
    counts: [[AtomicU64; 3]; 4],
    /// Ids of estimates that the service acknowledged.
    acknowledged: Mutex<Vec<String>>,
}

/// Kinds of attackers whose answers are counted.
#[derive(Clone, Copy)]
enum Kind {
    Leaving,
    Webhooks,
    Readers,
    Flood,
}

impl Seen {
    fn count(&self, kind: Kind, status: u16) {
        let class = match status {
            200..=299 => 0,
            503 => 1,
            _ => 2,
        };
        self.counts[kind as usize][class].fetch_add(1, Ordering::Relaxed);
    }
}

/// Attacks until standard input ends, and prints what was seen.
pub(crate) fn run() {
    let target = std::env::var(TARGET).unwrap();
    let target: Arc<str> = target.trim_start_matches("http://").into();
    let seen = Arc::new(Seen::default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(attack(target, Arc::clone(&seen)));
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    runtime.shutdown_background();
    let of = |kind: Kind| {
        let [done, refused, other] = &seen.counts[kind as usize];
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        json!({"2xx": count(done), "503": count(refused), "other": count(other)})
    };
    let counts = json!({"leaving": of(Kind::Leaving), "webhooks": of(Kind::Webhooks), "readers": of(Kind::Readers),
                        "flood": of(Kind::Flood)});
    println!(
        "{}",
        json!({"counts": counts, "acknowledged": *seen.acknowledged.lock().unwrap()})
    );
}

async fn attack(target: Arc<str>, seen: Arc<Seen>) {
    for _ in 0..UNREAD {
        tokio::spawn(leave_unread(Arc::clone(&target)));
    }
    let catalog: Arc<str> = request("/catalogs", &catalog()).into();
    for _ in 0..LEAVING {
        tokio::spawn(leave(
            Arc::clone(&target),
            Arc::clone(&catalog),
            Arc::clone(&seen),
        ));
    }
    for number in 0..READERS as u64 {
        tokio::spawn(read_lists(Arc::clone(&target), number, Arc::clone(&seen)));
    }
    for number in 0..FLOOD {
        tokio::spawn(flood(Arc::clone(&target), number, Arc::clone(&seen)));
    }
    let mut every = tokio::time::interval(Duration::from_micros(1_000_000 / WEBHOOKS_A_SECOND));
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0.. {
        every.tick().await;
        tokio::spawn(add_webhook(Arc::clone(&target), number, Arc::clone(&seen)));
    }
}

fn request(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Many small objects, which take the most memory for their bytes.
fn catalog() -> String {
    let entry = r#"{"litellm_provider":{},"a":{},"b":{},"c":{}}"#;
    let mut text = String::with_capacity(CATALOG_BYTES + 100);
    for number in 0.. {
        text.push_str(if number == 0 { "{" } else { "," });
        let _ = write!(text, "\"m-{number}\":{entry}");
        if text.len() > CATALOG_BYTES {
            break;
        }
    }
    text + "}"
}

/// Asks for a large answer and reads none of it.
async fn leave_unread(target: Arc<str>) {
    let body = r#"{"grid":{"batch":{"from":1,"to":4096,"points":100},"context_tokens":{"from":1,"to":1e6,"points":100}}}"#;
    let request = request("/simulate", body);
    loop {
        if let Ok(mut stream) = TcpStream::connect(&*target).await {
            let _ = stream.write_all(request.as_bytes()).await;
            // Not read, but watched: once it is closed, a new one is opened.
            let closed = async {
                while !stream
                    .ready(tokio::io::Interest::WRITABLE | tokio::io::Interest::ERROR)
                    .await
                    .is_ok_and(|now| now.is_error() || now.is_write_closed())
                {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_mins(1), closed).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sends a catalog and leaves as soon as it is sent.
async fn leave(target: Arc<str>, catalog: Arc<str>, seen: Arc<Seen>) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(&*target).await {
            let sent = stream.write_all(catalog.as_bytes()).await;
            seen.count(Kind::Leaving, if sent.is_ok() { 200 } else { 503 });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn read_lists(target: Arc<str>, number: u64, seen: Arc<Seen>) {
    let mut client = Client::new(target);
    for round in 0.. {
        // Another filter every time, so that no answer was made before.
        let minute = round % 60;
        let year = 1971 + (number + round / 60) % 900;
        let path = format!(
            "/estimates/latest?limit=2000&as_of={year}-01-01T00:{minute:02}:00Z&provider=acme"
        );
        let paths = [
            path,
            format!("/estimates?limit={}", 2000 - number - 40 * (round % 20)),
        ];
        let path = &paths[usize::from(round % 2 == 1)];
        let (status, _) = client
            .ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .await;
        seen.count(Kind::Readers, status);
    }
}

async fn flood(target: Arc<str>, number: usize, seen: Arc<Seen>) {
    let mut client = Client::new(target);
    let begun = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    for round in 0_u64.. {
        let model = format!("m-{begun}-{number}-{round}");
        let body = json!({
            "schema": "pricesheet/v1", "provider": "flood", "model": model, "currency": "USD", "unit": "per_1m_tokens",
            "rates": [{"input": "1.25", "output": "10.00"}],
            "sources": [{"url": "https://acme.example/prices", "format": "official"}],
        });
        let request = request("/infer", &body.to_string());
        loop {
            let (status, location) = client.ask(&request).await;
            seen.count(Kind::Flood, status);
            if status == 503 {
                continue;
            }
            seen.acknowledged.lock().unwrap().extend(location);
            break;
        }
    }
}

async fn add_webhook(target: Arc<str>, number: u64, seen: Arc<Seen>) {
    let body = json!({"url": format!("https://hook-{number}.unroof-attack.example/")}).to_string();
    let (status, _) = Client::new(target).ask(&request("/webhooks", &body)).await;
    seen.count(Kind::Webhooks, status);
}

/// One connection, opened again when it was closed.
struct Client {
    target: Arc<str>,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

impl Client {
    fn new(target: Arc<str>) -> Self {
        Self {
            target,
            stream: None,
            received: Vec::new(),
        }
    }

    /// The status of the answer, 0 where none came, and the id of the estimate that it leads to.
    async fn ask(&mut self, request: &str) -> (u16, Option<String>) {
        if let Ok(answer) = self.try_ask(request).await {
            return answer;
        }
        self.stream = None;
        tokio::time::sleep(PAUSE).await;
        (0, None)
    }

    async fn try_ask(&mut self, request: &str) -> std::io::Result<(u16, Option<String>)> {
        if self.stream.is_none() {
            self.stream = Some(TcpStream::connect(&*self.target).await?);
        }
        let stream = self.stream.as_mut().unwrap();
        stream.write_all(request.as_bytes()).await?;
        self.received.clear();
        let head_end = loop {
            let end = self
                .received
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
            receive(stream, &mut self.received).await?;
        };
        let head = String::from_utf8_lossy(&self.received[..head_end]).to_ascii_lowercase();
        let header = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
        };
        let status = head[9..12].parse().unwrap_or(0);
        let location = header("location: /estimates/");
        match header("content-length:") {
            Some(length) => {
                let mut left = head_end + length.parse::<usize>().unwrap_or(0);
                while self.received.len() < left {
                    // The body itself is of no interest.
                    left -= self.received.len();
                    self.received.clear();
                    receive(stream, &mut self.received).await?;
                }
            }
            None => {
                while !self.received.ends_with(b"0\r\n\r\n") {
                    let kept = self.received.len().saturating_sub(16);
                    self.received.drain(..kept);
                    receive(stream, &mut self.received).await?;
                }
            }
        }
        if header("connection:").is_some_and(|value| value == "close") {
            self.stream = None;
        }
        Ok((status, location))
    }
}

async fn receive(stream: &mut TcpStream, into: &mut Vec<u8>) -> std::io::Result<()> {
    if stream.read_buf(into).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

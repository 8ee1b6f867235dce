//! Costly reads, and floods of requests that are refused: what they leave for the others.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::server::{LONGEST_WAIT, Server, client, get, post};
use crate::support::{TestDatabase, on_each_database_blocking, sheet, sheet_of, wait_for};

/// Clients that ask again and again on their own connections until they are dropped.
struct Crowd {
    runtime: Option<Runtime>,
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Crowd {
    /// Starts so many clients, each of which sends what `request` makes of its number and the number of the request.
    fn new(
        server: &Server,
        clients: usize,
        request: impl Fn(usize, u64) -> String + Copy + Send + 'static,
    ) -> Self {
        let address: SocketAddr = server.address["http://".len()..].parse().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let answered = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        for number in 0..clients {
            let count = Arc::clone(&answered);
            let is_over = Arc::clone(&stop);
            runtime.spawn(async move {
                let mut asked = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(address).await else {
                        continue;
                    };
                    while !is_over.load(Ordering::Relaxed) {
                        asked += 1;
                        let asking = Box::pin(ask(&mut stream, request(number, asked))).await;
                        let Some(status) = asking else { break };
                        count.fetch_add(u64::from(status < 300), Ordering::Relaxed);
                    }
                }
            });
        }
        Self {
            runtime: Some(runtime),
            answered,
            stop,
        }
    }

    /// Requests that were answered within a time.
    fn served_within(&self, time: Duration) -> u64 {
        let before = self.answered.load(Ordering::Relaxed);
        std::thread::sleep(time);
        self.answered.load(Ordering::Relaxed) - before
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.runtime.take().unwrap().shutdown_background();
    }
}

/// Sends a request and takes the answer; its status.
async fn ask(stream: &mut TcpStream, request: String) -> Option<u16> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    let (head, length) = loop {
        let count = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        answer.extend_from_slice(&piece[..count]);
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1)?;
            let length: usize = length.lines().next()?.trim().parse().ok()?;
            break (head, end + 4 + length);
        }
    };
    let mut came = answer.len();
    while came < length {
        let count = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        came += count;
    }
    head.split(' ').nth(1)?.parse().ok()
}

fn serve(database: &TestDatabase, limits: &[&str]) -> Server {
    let place = [
        "--database-url",
        &database.url,
        "--listen",
        "127.0.0.1:0",
        "--log",
        "error",
    ];
    let patience = ["--pool-timeout", "20s", "--statement-timeout", "20s"];
    let patience = [&patience[..], &["--answer-timeout", "2m"]].concat();
    Server::start_with(&[&place[..], &patience, limits].concat())
}

/// The middle one of several times.
fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn time(work: impl Fn()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Lists an estimate so often.
const LISTINGS: &str = "
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 3000)
    INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
        canonical_model, region, currency, valid_from, valid_to, observed_at, stated_assumptions, observed)
    SELECT 1000000 + number, estimate_id, offer_id, sheet_id, duplicate_of, provider, model, canonical_model, region,
        currency, valid_from, valid_to, observed_at, stated_assumptions, observed
    FROM estimate_listings, numbers WHERE sequence < 1000000";

/// Held by a test that compares one time with another: two such tests are not measured together.
static MEASURING: Mutex<()> = Mutex::new(());

#[test]
fn large_pages_wait_their_turn_and_others_are_served_meanwhile() {
    let _measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    on_each_database_blocking(|database| {
        let server = serve(database, &[]);
        let client = client();
        let ask = |model: String| {
            let answer = post(
                &client,
                &format!("{}/infer", server.address),
                &sheet_of(&model),
            );
            assert_eq!(answer.unwrap().0, 201);
        };
        ask("listed".to_owned());
        wait_for(database.execute(LISTINGS));
        let inferring = |name: &str| {
            let times = (0..5).map(|number| time(|| ask(format!("{name}-{number}"))));
            middle(times.collect())
        };
        let living = || {
            let health = || assert_eq!(get(&client, &format!("{}/healthz", server.address)).0, 200);
            middle((0..15).map(|_| time(health)).collect())
        };
        let (alone, alone_living) = (inferring("before"), living());
        // Every question is another one: the time from which rows are wanted differs, and all rows are later.
        let crowd = Crowd::new(&server, 24, |number, asked| {
            let from = number as u64 * 1_000_000 + asked;
            format!("GET /estimates?limit=2000&from={from} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        });
        let began = Instant::now();
        while crowd.answered.load(Ordering::Relaxed) < 4 {
            assert!(began.elapsed() < LONGEST_WAIT, "no page was served");
            std::thread::sleep(Duration::from_millis(10));
        }
        let (beside, beside_living) = (inferring("beside"), living());
        drop(crowd);
        let seen = format!("{alone:?} {beside:?}, {alone_living:?} {beside_living:?}");
        assert!(beside < 8 * alone, "{}: {seen}", database.name);
        assert!(beside_living < alone, "{}: {seen}", database.name);
    });
}

/// Clients that are admitted, and clients that ask again at once when they are refused.
const ADMITTED: usize = 16;
const RUDE: usize = 300;
const PHASE: Duration = Duration::from_secs(3);
const MOST_ROUNDS: usize = 6;

#[test]
fn a_flood_of_refusals_leaves_the_admitted_requests_their_pace() {
    let _measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    on_each_database_blocking(|database| {
        let server = serve(database, &["--max-computing", "2", "--max-waiting", "14"]);
        let answer = post(&client(), &format!("{}/infer", server.address), &sheet());
        assert_eq!(answer.unwrap().0, 201);
        let accepted_of = |clients| {
            let crowd = Crowd::new(&server, clients, |_, _| {
                let sheet = sheet().to_string();
                format!(
                    "POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{sheet}",
                    sheet.len()
                )
            });
            let began = Instant::now();
            while crowd.answered.load(Ordering::Relaxed) == 0 {
                assert!(began.elapsed() < LONGEST_WAIT, "nothing was served");
                std::thread::sleep(Duration::from_millis(5));
            }
            crowd.served_within(PHASE)
        };
        // The machine may be busy with others: phases alternate, and what they sum up to is compared.
        let (mut alone, mut beside) = (0, 0);
        for round in 1..=MOST_ROUNDS {
            alone += accepted_of(ADMITTED);
            beside += accepted_of(RUDE);
            if round >= 2 && beside * 10 >= alone * 8 {
                return;
            }
        }
        panic!(
            "{}: {alone} alone, {beside} during the flood",
            database.name
        );
    });
}

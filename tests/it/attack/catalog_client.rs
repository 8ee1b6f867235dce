//! Clients that send catalogs, and what they see of the one place for imports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{LONGEST_WAIT, Server, client, post};
use crate::support::TestDatabase;

/// Time limit for reading a large catalog, unoptimised and on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// A server whose limits of time are those of a slow machine, with some of its own.
pub(super) fn serve(database: &TestDatabase, limits: &[&str]) -> Server {
    let arguments = [
        "--database-url",
        &database.url,
        "--listen",
        "127.0.0.1:0",
        "--pool-timeout",
        "5s",
        "--statement-timeout",
        "20s",
        "--answer-timeout",
        "300s",
    ];
    Server::start_with(&[&arguments[..], limits].concat())
}

/// A connection of which nothing has been read.
pub(super) struct Sender(TcpStream);

impl Sender {
    /// Sends the head of a request with a catalog.
    pub(super) fn begin(server: &Server, query: &str, length: usize) -> Self {
        let stream = TcpStream::connect(server.address.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(LONGEST_WAIT)).unwrap();
        let mut sender = Self(stream);
        sender.send(
            format!(
                "POST /catalogs{query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n"
            )
            .as_bytes(),
        );
        sender
    }

    /// Sends a whole catalog.
    pub(super) fn whole(server: &Server, query: &str, catalog: &str) -> Self {
        let mut sender = Self::begin(server, query, catalog.len());
        sender.send(catalog.as_bytes());
        sender
    }

    /// Whether all of it was taken: a server that has answered takes no more.
    pub(super) fn send(&mut self, text: &[u8]) -> bool {
        self.0.write_all(text).is_ok()
    }

    /// Reads until the answer holds a text; what came so far.
    pub(super) fn read_until(&mut self, text: &str) -> String {
        let mut read = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let count = self.0.read(&mut piece).unwrap_or(0);
            read.extend(&piece[..count]);
            let so_far = String::from_utf8_lossy(&read);
            if count == 0 || so_far.contains(text) {
                return so_far.into_owned();
            }
        }
    }

    /// Data received within a tenth of a second, if any.
    pub(super) fn read_at_once(&mut self) -> Option<String> {
        let soon = Some(Duration::from_millis(100));
        self.0.set_read_timeout(soon).unwrap();
        let read = self.read(4096);
        (!read.is_empty()).then(|| String::from_utf8_lossy(&read).into_owned())
    }

    /// Reads up to so many bytes.
    pub(super) fn read(&mut self, bytes: usize) -> Vec<u8> {
        let mut piece = vec![0; bytes];
        let count = self.0.read(&mut piece).unwrap_or(0);
        piece.truncate(count);
        piece
    }

    /// Reads what is left.
    pub(super) fn read_rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // What came before the connection broke counts.
        let _ = self.0.read_to_end(&mut rest);
        rest
    }
}

/// A catalog with one entry, which is refused, so that there is nothing to estimate.
fn small() -> String {
    let entry =
        json!({"litellm_provider": "acme", "mode": "embedding", "input_cost_per_token": 1e-6});
    json!({"acme/m-1": entry}).to_string()
}

/// A catalog of so many offers of one model, each with a price of its own.
pub(super) fn of_one_model(offers: usize) -> String {
    let entry = |number: usize| {
        format!(
            "\"p{number}/m-1\":{{\"litellm_provider\":\"p{number}\",\"mode\":\"chat\",\
             \"input_cost_per_token\":{}e-9,\"output_cost_per_token\":1e-5}}",
            number + 1
        )
    };
    let entries: Vec<String> = (0..offers).map(entry).collect();
    format!("{{{}}}", entries.join(","))
}

/// Waits until a catalog is taken; how long that was.
pub(super) fn wait_for_place(server: &Server) -> Duration {
    let began = Instant::now();
    let url = format!("{}/catalogs?dry_run=true", server.address);
    let catalog = serde_json::from_str(&small()).unwrap();
    loop {
        match post(&client(), &url, &catalog) {
            Some((200, lines)) => {
                assert!(lines.contains("\"type\":\"done\""), "{lines}");
                return began.elapsed();
            }
            Some((503, _)) => std::thread::sleep(Duration::from_millis(20)),
            other => panic!("{other:?}: {}", server.log()),
        }
    }
}

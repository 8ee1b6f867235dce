//! Slow, malformed, excessive and departed clients, and how the service stops. Seen from a socket.

mod answer_timeout;
mod browsers;
mod client;
mod connections;
mod edges;
mod healthcheck;
mod hosts;
mod leaving;
mod malformed;
mod overload;
#[cfg(target_os = "linux")]
mod process;
mod raw;
mod slow;
#[cfg(unix)]
mod stopping;
mod targets;

use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Reply, TestDatabase};
use client::Client;

/// A server with limits of its own on a database of its own.
struct Service {
    server: Server,
    _database: TestDatabase,
}

impl Service {
    fn with(limits: &[&str]) -> Self {
        let database = TestDatabase::sqlite();
        let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        let patience = ["--pool-timeout", "20s", "--statement-timeout", "20s"];
        Self {
            server: Server::start_with(&[&place[..], &patience, limits].concat()),
            _database: database,
        }
    }

    fn connect(&self) -> Client {
        Client::connect(&self.server.address)
    }

    /// Asks on a connection of its own.
    fn get(&self, path: &str) -> Reply {
        self.connect().ask(path)
    }

    /// Sends a question on a connection of its own.
    fn infer(&self, question: &Value) -> Reply {
        let mut client = self.connect();
        client.send(client::post("/infer", &question.to_string()));
        client.answer()
    }
}

/// A pool of the largest number of hosts; every number makes another question.
fn pool(number: usize) -> Value {
    let host = |host: usize| {
        json!({
            "schema": "pricesheet/v1", "provider": format!("host-{host}"), "model": "m-1",
            "canonical_model": format!("acme/m-{number}"), "currency": "USD", "unit": "per_1m_tokens",
            "rates": [{"input": format!("0.{}", 20 + host), "output": format!("1.{}", 11 + host * 37 % 88)}],
            "sources": [{"url": "https://acme.example/prices", "format": "official"}],
        })
    };
    json!({"price_sheets": (0..64).map(host).collect::<Vec<_>>()})
}

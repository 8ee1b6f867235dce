//! The service seen from outside: traces over OTLP, trace ids, slow answers and slow statements.

mod logged;
mod receiver;
#[cfg(unix)]
mod sent;

use serde_json::Value;

use crate::server::{Server, unroof};
use crate::support::TestDatabase;

/// The trace and span of a caller.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The header of a caller whose trace is recorded, or not.
fn traceparent(is_sampled: bool) -> String {
    format!("00-{TRACE}-{PARENT}-0{}", u8::from(is_sampled))
}

/// A server, on a database of its own unless it is given one.
struct Service {
    server: Server,
    _database: Option<TestDatabase>,
}

impl Service {
    fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let database = TestDatabase::sqlite();
        let service = Self::on(&database, arguments, environment);
        Self {
            _database: Some(database),
            ..service
        }
    }

    fn on(database: &TestDatabase, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        let patience = ["--pool-timeout", "20s", "--statement-timeout", "20s"];
        let mut command = unroof(&["serve", "--stop-notice", "0s"]);
        command
            .args([&place[..], &patience, arguments].concat())
            .envs(environment.iter().copied());
        Self {
            server: Server::spawn(command),
            _database: None,
        }
    }

    /// One that sends traces to a receiver within a moment.
    fn reporting_to(receiver: &receiver::Receiver, arguments: &[&str]) -> Self {
        let endpoint = ["--otlp-endpoint", &receiver.address];
        Self::with(
            &[&endpoint[..], arguments].concat(),
            &[("OTEL_BSP_SCHEDULE_DELAY", "50")],
        )
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.address)
    }

    /// Sends a request with these headers; the status and the document of the answer.
    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let mut request = crate::server::client().get(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.call().unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        let document = serde_json::from_str(&text).unwrap_or_default();
        (answer.status().as_u16(), document)
    }

    /// Estimates a sheet and stores it.
    fn infer(&self, headers: &[(&str, &str)]) {
        self.post("/infer", headers, &crate::support::sheet());
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) {
        let mut request = crate::server::client()
            .post(self.url(path))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send(body.to_string()).unwrap();
        assert_eq!(answer.status(), 201);
    }
}

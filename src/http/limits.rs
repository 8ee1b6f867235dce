//! How much a client may take of the service, and for how long.

use std::time::Duration;

use axum::http::HeaderValue;

/// Limits of the service; those of the database are in [`crate::storage::StoreLimits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; whoever comes beyond gets 503.
    pub connections: usize,
    /// Bytes of a request's line and headers.
    pub head_bytes: usize,
    /// How long a request's head may take, and how long a connection may rest between requests.
    pub head_time: Duration,
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Bytes of a body that is a whole catalog.
    pub catalog_bytes: usize,
    /// Bytes of bodies and answers at once, beside those of [`Self::cache_bytes`]; what comes beyond gets 503.
    pub bytes_in_flight: usize,
    /// How long a body may take.
    pub body_time: Duration,
    /// How long the answer may take once the body is there.
    pub answer_time: Duration,
    /// How long a client may leave what it is sent unread.
    pub write_time: Duration,
    /// Answers worked out at once.
    pub computing: usize,
    /// Requests that wait for their answer to be worked out; whoever comes beyond gets 503.
    pub waiting: usize,
    /// Streams of changes at once; whoever comes beyond gets 503.
    pub streams: usize,
    /// How long a stream may be silent before a comment is sent.
    pub heartbeat: Duration,
    /// Whether webhooks may lead to addresses that are not of the internet.
    pub webhook_allow_private: bool,
    /// How long before it is looked whether another process left a delivery behind.
    pub webhook_rest: Duration,
    /// Bytes of answers that are kept for those who poll.
    pub cache_bytes: u64,
    /// How long `/readyz` says no before new connections are refused, once the process is asked to stop.
    pub stop_notice: Duration,
    /// How long requests under way may take to finish after that.
    pub drain_time: Duration,
    /// Origins whose pages may read the answers.
    pub allowed_origins: Vec<HeaderValue>,
    /// Names of hosts that requests may be for, besides addresses and `localhost`.
    pub allowed_hosts: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2048,
            head_bytes: 128 * 1024,
            head_time: Duration::from_secs(10),
            body_bytes: 1024 * 1024,
            catalog_bytes: 64 * 1024 * 1024,
            bytes_in_flight: 512 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(10),
            write_time: Duration::from_secs(30),
            computing: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            waiting: 128,
            streams: 256,
            heartbeat: Duration::from_secs(15),
            webhook_allow_private: false,
            webhook_rest: Duration::from_secs(30),
            cache_bytes: 64 * 1024 * 1024,
            stop_notice: Duration::from_secs(1),
            drain_time: Duration::from_secs(10),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
        }
    }
}

impl Limits {
    /// The same where no body is larger than what one may take of the bytes in flight.
    pub(super) fn within_budget(self) -> Self {
        let most = self.bytes_in_flight / 2;
        Self {
            body_bytes: self.body_bytes.min(most),
            catalog_bytes: self.catalog_bytes.min(most),
            ..self
        }
    }
}

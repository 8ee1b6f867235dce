//! Limits on connections, memory and time.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::HeaderValue;
use unroof_store::Retention;

/// Route of the stream of changes.
const CHANGE_STREAM: &str = "/changes/stream";

const MIB: u64 = 1024 * 1024;
/// Memory of a connection besides its request's line and headers.
const BYTES_OF_CONNECTION: usize = 144 * 1024;
/// Memory of the program, its data and its database connections.
const BYTES_OF_PROGRAM: u64 = 60 * MIB;
/// Memory of an import.
const BYTES_OF_IMPORT: u64 = 512 * MIB;

/// Limits of the service; those of the database are in [`unroof_store::StoreLimits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent connections; more are refused with 503.
    pub connections: usize,
    /// Concurrent connections of one address, or of an IPv6 /64, that is no trusted proxy's; more are refused with 503.
    pub connections_per_address: Option<usize>,
    /// Budget of one client; no limit if none.
    pub client: Option<ClientLimits>,
    /// Bytes of questions that a client without a key can store; they come back within a day. No limit if none.
    pub anonymous_bytes: Option<NonZeroU32>,
    /// Size of a request's line and headers, in bytes.
    pub head_bytes: usize,
    /// Timeout for a request's line and headers, and for an idle connection.
    pub head_time: Duration,
    /// Size of a body, in bytes.
    pub body_bytes: usize,
    /// Size of a body that is a whole catalog, in bytes.
    pub catalog_bytes: usize,
    /// Bytes of all bodies and responses in memory, besides [`Self::cache_bytes`]; requests beyond it are refused with 503.
    pub bytes_in_flight: usize,
    /// Timeout for a body.
    pub body_time: Duration,
    /// Timeout for the response once the body is read.
    pub answer_time: Duration,
    /// Time beyond which an answer is logged as slow; never if zero.
    pub slow_answer: Duration,
    /// Timeout for a client that does not read the response.
    pub write_time: Duration,
    /// Answers computed at once.
    pub computing: usize,
    /// Memory of all answers that are computed at once, in bytes.
    pub computing_bytes: usize,
    /// Requests queued for computing; more are refused with 503.
    pub waiting: usize,
    /// Concurrent change streams; more are refused with 503.
    pub streams: usize,
    /// Interval between the comments that keep an idle stream open.
    pub heartbeat: Duration,
    /// Whether webhooks may point to private addresses.
    pub webhook_allow_private: bool,
    /// Whether catalogs may be refreshed from private addresses.
    pub refresh_allow_private: bool,
    /// True if another process estimates models.
    pub skip_models: bool,
    /// Interval at which the database is checked, if it is.
    pub check_every: Option<Duration>,
    /// Time for which rows are kept.
    pub retention: Retention,
    /// Interval between searches for deliveries left by another process.
    pub webhook_rest: Duration,
    /// Time for which changes are gathered before a webhook is sent them.
    pub webhook_gathering: Duration,
    /// Size of the response cache, in bytes.
    pub cache_bytes: u64,
    /// Time between the stop signal, from which `/readyz` reports 503, and the refusal of new connections.
    pub stop_notice: Duration,
    /// Time that open requests then have to finish.
    pub drain_time: Duration,
    /// Origins that CORS allows.
    pub allowed_origins: Vec<HeaderValue>,
    /// Allowed host names, besides IP addresses and `localhost`.
    pub allowed_hosts: Vec<String>,
}

/// Budget of a client, in points: `POINTS` of the service say what each request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Points that come back each second.
    pub rate: NonZeroU32,
    /// Points that can be spent at once.
    pub burst: NonZeroU32,
}

impl ClientLimits {
    /// A budget of bytes that come back within a day.
    #[must_use]
    pub fn of_a_day(bytes: NonZeroU32) -> Self {
        const SECONDS: u32 = 24 * 60 * 60;
        let rate = NonZeroU32::new(bytes.get() / SECONDS).unwrap_or(NonZeroU32::MIN);
        Self { rate, burst: bytes }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: None,
            client: None,
            anonymous_bytes: None,
            head_bytes: 128 * 1024,
            head_time: Duration::from_secs(10),
            body_bytes: 1024 * 1024,
            catalog_bytes: 64 * 1024 * 1024,
            bytes_in_flight: 160 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(10),
            slow_answer: Duration::from_secs(1),
            write_time: Duration::from_secs(30),
            computing: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            computing_bytes: 384 * 1024 * 1024,
            waiting: 128,
            streams: 256,
            heartbeat: Duration::from_secs(15),
            webhook_allow_private: false,
            refresh_allow_private: false,
            skip_models: false,
            check_every: None,
            retention: Retention::default(),
            webhook_rest: Duration::from_secs(30),
            webhook_gathering: Duration::from_millis(500),
            cache_bytes: 32 * 1024 * 1024,
            stop_notice: Duration::from_secs(1),
            drain_time: Duration::from_secs(10),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
        }
    }
}

impl Limits {
    /// The limits, with body sizes lowered to the memory budget of one request.
    #[must_use]
    pub fn within_budget(self) -> Self {
        let most = self.bytes_in_flight / 2;
        Self {
            body_bytes: self.body_bytes.min(most),
            catalog_bytes: self.catalog_bytes.min(most),
            ..self
        }
    }

    /// Memory that the service takes at most, in bytes.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let connections = self.connections * (self.head_bytes + BYTES_OF_CONNECTION);
        let counted = connections + self.bytes_in_flight + self.computing_bytes;
        counted as u64 + self.cache_bytes + BYTES_OF_PROGRAM + BYTES_OF_IMPORT
    }

    /// Whether an answer that took so long is logged. A stream begins when there is something to send.
    #[must_use]
    pub fn is_slow(&self, route: &str, took: Duration) -> bool {
        !self.slow_answer.is_zero() && took >= self.slow_answer && route != CHANGE_STREAM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limits_take_less_than_the_memory_that_the_packages_allow_with_any_number_of_cores()
     {
        for computing in [1, 2, 16, 128] {
            let limits = Limits {
                computing,
                ..Limits::default()
            };
            assert_eq!(limits.most_bytes(), 1_420 * MIB);
            assert!(limits.most_bytes() < 1_536 * MIB);
        }
    }
}

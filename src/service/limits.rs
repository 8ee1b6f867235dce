//! The limits of the service as flags.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::HeaderValue;
use clap::Args;
use jiff::SignedDuration;

use unroof_edge::{ClientLimits, Limits};
use unroof_server::{LARGEST_ANSWER, host_name};
use unroof_store::StoreLimits;

/// Limits on connections, memory and time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArguments {
    /// Concurrent connections; more are refused with 503. At most what the open-files limit allows
    #[arg(long, env = "UNROOF_MAX_CONNECTIONS", default_value_t = Limits::default().connections, value_name = "COUNT", value_parser = count)]
    max_connections: usize,
    /// Concurrent connections of one address, or of an IPv6 /64, besides trusted proxies; 503 beyond it. 0 is no limit. 128
    /// if left out, and no limit where callers need no key
    #[arg(long, env = "UNROOF_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", value_parser = most)]
    connections_per_address: Option<u32>,
    /// Points that a client gets back each second: a read costs 1, what is computed 20 or more, and an unchanged answer none. 0 is no
    /// limit. 50 if left out, and no limit where callers need no key
    #[arg(long, env = "UNROOF_CLIENT_RATE", value_name = "POINTS", value_parser = most)]
    client_rate: Option<u32>,
    /// Points that a client can spend at once; 429 beyond it. Those of twenty seconds if left out
    #[arg(long, env = "UNROOF_CLIENT_BURST", value_name = "POINTS", value_parser = points)]
    client_burst: Option<NonZeroU32>,
    /// Bytes of questions that a client without a key can store; they come back within a day, and 429 beyond it. 0 is no limit.
    /// 16 MiB if left out, and no limit where callers need no key
    #[arg(long, env = "UNROOF_ANONYMOUS_BYTES", value_name = "BYTES", value_parser = clap::value_parser!(u32))]
    anonymous_bytes: Option<u32>,
    /// Size of a request's line and headers, in bytes; 431 beyond it
    #[arg(long, env = "UNROOF_MAX_HEAD_BYTES", default_value_t = Limits::default().head_bytes, value_name = "BYTES", value_parser = head_bytes)]
    max_head_bytes: usize,
    /// Timeout for a request's line and headers, and for an idle connection
    #[arg(long, env = "UNROOF_HEAD_TIMEOUT", default_value_t = Time(Limits::default().head_time), value_name = "TIME", value_parser = time)]
    head_timeout: Time,
    /// Size of a body, in bytes; 413 beyond it
    #[arg(long, env = "UNROOF_MAX_BODY_BYTES", default_value_t = Limits::default().body_bytes, value_name = "BYTES", value_parser = count)]
    max_body_bytes: usize,
    /// Size of a catalog sent to /catalogs, in bytes; 413 beyond it
    #[arg(long, env = "UNROOF_MAX_CATALOG_BYTES", default_value_t = Limits::default().catalog_bytes, value_name = "BYTES", value_parser = count)]
    max_catalog_bytes: usize,
    /// Memory for all bodies and responses larger than 64 KiB, in bytes, besides the response cache; 503 beyond it
    #[arg(long, env = "UNROOF_MAX_BYTES_IN_FLIGHT", default_value_t = Limits::default().bytes_in_flight, value_name = "BYTES", value_parser = bytes_in_flight)]
    max_bytes_in_flight: usize,
    /// Timeout for a body; 408 beyond it
    #[arg(long, env = "UNROOF_BODY_TIMEOUT", default_value_t = Time(Limits::default().body_time), value_name = "TIME", value_parser = time)]
    body_timeout: Time,
    /// Timeout for the response once the body is read; 503 beyond it
    #[arg(long, env = "UNROOF_ANSWER_TIMEOUT", default_value_t = Time(Limits::default().answer_time), value_name = "TIME", value_parser = time)]
    answer_timeout: Time,
    /// Timeout for a client that does not read the response
    #[arg(long, env = "UNROOF_WRITE_TIMEOUT", default_value_t = Time(Limits::default().write_time), value_name = "TIME", value_parser = time)]
    write_timeout: Time,
    /// Answers computed at once; one per core if left out
    #[arg(long, env = "UNROOF_MAX_COMPUTING", value_name = "COUNT", value_parser = count)]
    max_computing: Option<usize>,
    /// Memory of all answers that are computed at once, in bytes; requests wait for it
    #[arg(long, env = "UNROOF_MAX_COMPUTING_BYTES", default_value_t = Limits::default().computing_bytes, value_name = "BYTES", value_parser = computing_bytes)]
    max_computing_bytes: usize,
    /// Requests queued for computing; more are refused with 503
    #[arg(
        long,
        env = "UNROOF_MAX_WAITING",
        default_value_t = Limits::default().waiting,
        value_name = "COUNT"
    )]
    max_waiting: usize,
    /// Concurrent change streams; more are refused with 503. Each uses a connection. Where clients are limited, one has at most
    /// a quarter of them
    #[arg(long, env = "UNROOF_STREAMS", default_value_t = Limits::default().streams, value_name = "COUNT", value_parser = count)]
    streams: usize,
    /// Interval between the comments that keep an idle stream open
    #[arg(long, env = "UNROOF_HEARTBEAT", default_value_t = Time(Limits::default().heartbeat), value_name = "TIME", value_parser = time)]
    heartbeat: Time,
    /// Allow webhooks to private addresses, such as this machine and its network
    #[arg(long, env = "UNROOF_WEBHOOK_ALLOW_PRIVATE")]
    webhook_allow_private: bool,
    /// Allow --refresh from private addresses, such as this machine and its network
    #[arg(long, env = "UNROOF_REFRESH_ALLOW_PRIVATE")]
    refresh_allow_private: bool,
    /// Leave the estimates of models to other replicas, or to `unroof import`
    #[arg(long, env = "UNROOF_SKIP_MODELS")]
    skip_models: bool,
    /// Size of the response cache for polling clients, in bytes
    #[arg(
        long,
        env = "UNROOF_CACHE_BYTES",
        default_value_t = Limits::default().cache_bytes,
        value_name = "BYTES"
    )]
    cache_bytes: u64,
    /// Time between SIGTERM, from which /readyz reports 503, and the refusal of new connections
    #[arg(long, env = "UNROOF_STOP_NOTICE", default_value_t = Time(Limits::default().stop_notice), value_name = "TIME", value_parser = time_or_none)]
    stop_notice: Time,
    /// Time that open requests then have to finish
    #[arg(long, env = "UNROOF_DRAIN_TIMEOUT", default_value_t = Time(Limits::default().drain_time), value_name = "TIME", value_parser = time_or_none)]
    drain_timeout: Time,
    /// Connections to the database; at most 8 to SQLite
    #[arg(long, env = "UNROOF_DATABASE_CONNECTIONS", default_value_t = StoreLimits::default().connections, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    database_connections: u32,
    /// Timeout for getting a database connection; 503 beyond it
    #[arg(long, env = "UNROOF_POOL_TIMEOUT", default_value_t = Time(StoreLimits::default().connection_wait), value_name = "TIME", value_parser = time)]
    pool_timeout: Time,
    /// Timeout for a database statement, and for a lock; 503 beyond it
    #[arg(long, env = "UNROOF_STATEMENT_TIMEOUT", default_value_t = Time(StoreLimits::default().statement), value_name = "TIME", value_parser = time)]
    statement_timeout: Time,
    /// Allowed CORS origin, such as `https://dashboard.example`; may be repeated
    #[arg(long = "allow-origin", env = "UNROOF_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',',
        value_parser = origin)]
    allow_origins: Vec<HeaderValue>,
    /// Allowed host name, such as `unroof.example`, besides IP addresses and `localhost`; may be repeated
    #[arg(long = "allow-host", env = "UNROOF_ALLOW_HOST", value_name = "NAME", value_delimiter = ',',
        value_parser = allowed_host)]
    allow_hosts: Vec<String>,
}

impl LimitArguments {
    /// Limits of the service.
    pub(crate) fn service(&self) -> Limits {
        let default = Limits::default();
        Limits {
            connections: self.max_connections,
            head_bytes: self.max_head_bytes,
            head_time: self.head_timeout.0,
            body_bytes: self.max_body_bytes,
            catalog_bytes: self.max_catalog_bytes,
            bytes_in_flight: self.max_bytes_in_flight,
            body_time: self.body_timeout.0,
            answer_time: self.answer_timeout.0,
            write_time: self.write_timeout.0,
            computing: self.max_computing.unwrap_or(default.computing),
            computing_bytes: self.max_computing_bytes,
            waiting: self.max_waiting,
            streams: self.streams,
            heartbeat: self.heartbeat.0,
            webhook_allow_private: self.webhook_allow_private,
            refresh_allow_private: self.refresh_allow_private,
            skip_models: self.skip_models,
            cache_bytes: self.cache_bytes,
            stop_notice: self.stop_notice.0,
            drain_time: self.drain_timeout.0,
            allowed_origins: self.allow_origins.clone(),
            allowed_hosts: self
                .allow_hosts
                .iter()
                .filter(|name| !name.is_empty())
                .cloned()
                .collect(),
            ..default
        }
    }

    /// The limits with those of one client, which has none by default where callers need no key.
    pub(crate) fn per_client(&self, limits: Limits, requires_keys: bool) -> Limits {
        let of_strangers = |default| if requires_keys { default } else { 0 };
        let connections = self.connections_per_address;
        let connections = connections.unwrap_or_else(|| of_strangers(CONNECTIONS_PER_ADDRESS));
        let rate = self.client_rate;
        let rate = rate.unwrap_or_else(|| of_strangers(CLIENT_RATE));
        let bytes = self.anonymous_bytes;
        let bytes = bytes.unwrap_or_else(|| of_strangers(ANONYMOUS_BYTES));
        let client = NonZeroU32::new(rate).map(|rate| ClientLimits {
            rate,
            burst: self.client_burst.unwrap_or(rate.saturating_mul(BURST_TIME)),
        });
        Limits {
            connections_per_address: (connections > 0).then_some(connections as usize),
            client,
            anonymous_bytes: NonZeroU32::new(bytes),
            ..limits
        }
    }

    /// Limits of the database.
    pub(crate) fn store(&self) -> StoreLimits {
        StoreLimits {
            connections: self.database_connections,
            connection_wait: self.pool_timeout.0,
            statement: self.statement_timeout.0,
            ..StoreLimits::default()
        }
    }
}

/// Connections of one address: a sixteenth of all by default, and enough for twenty browsers behind one address.
const CONNECTIONS_PER_ADDRESS: u32 = 128;
/// Points a second of one client: two and a half estimates, or a page with its charts several times a second.
const CLIENT_RATE: u32 = 50;
/// Bytes of questions of a client without a key: about 170 plain ones.
const ANONYMOUS_BYTES: u32 = 16 * 1024 * 1024;
/// Seconds of a rate that can be spent at once: by default 1000 points, fifty estimates or a catalog of 15 MiB.
const BURST_TIME: NonZeroU32 = NonZeroU32::new(20).expect("20 is more than 0");

/// A duration in flags, such as `500ms` or `10s`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(pub(crate) Duration);

impl fmt::Display for Time {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX);
        write!(to, "{time:#}")
    }
}

/// Most points of a budget.
const MOST_POINTS: u32 = 1_000_000;

const MOST_TIME: Duration = Duration::from_hours(1);

fn time(text: &str) -> Result<Time, String> {
    time_or_none(text).and_then(|time| {
        if time.0.is_zero() {
            Err("expected more than 0".to_owned())
        } else {
            Ok(time)
        }
    })
}

pub(crate) fn time_or_none(text: &str) -> Result<Time, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    parsed
        .and_then(|time| Duration::try_from(time).ok())
        .filter(|time| *time <= MOST_TIME)
        .map(Time)
        .ok_or_else(|| "expected a time of at most an hour, such as 500ms, 10s or 2m".to_owned())
}

fn count(text: &str) -> Result<usize, String> {
    let most = u32::MAX >> 4;
    let count = text.parse::<u32>().ok();
    count
        .filter(|count| (1..=most).contains(count))
        .map(|count| count as usize)
        .ok_or_else(|| format!("expected a number from 1 to {most}"))
}

fn most(text: &str) -> Result<u32, String> {
    if text == "0" {
        return Ok(0);
    }
    points(text).map(NonZeroU32::get)
}

fn points(text: &str) -> Result<NonZeroU32, String> {
    let points = count(text)
        .ok()
        .and_then(|points| u32::try_from(points).ok());
    points
        .and_then(NonZeroU32::new)
        .filter(|points| points.get() <= MOST_POINTS)
        .ok_or_else(|| format!("expected a number from 1 to {MOST_POINTS}"))
}

fn head_bytes(text: &str) -> Result<usize, String> {
    // The minimum of the HTTP library.
    count(text).and_then(|bytes| {
        if bytes < 8192 {
            Err("expected 8192 or more".to_owned())
        } else {
            Ok(bytes)
        }
    })
}

fn bytes_in_flight(text: &str) -> Result<usize, String> {
    // A single large response may use half of the budget.
    let least = 2 * LARGEST_ANSWER;
    let bytes = text.parse().ok().filter(|bytes| *bytes >= least);
    bytes.ok_or_else(|| format!("expected {least} or more"))
}

fn computing_bytes(text: &str) -> Result<usize, String> {
    // Enough for the computation that takes most.
    let least = 192 * 1024 * 1024;
    let bytes = text.parse().ok().filter(|bytes| *bytes >= least);
    bytes.ok_or_else(|| format!("expected {least} or more"))
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    let is_origin =
        url::Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == text);
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| is_origin)
        .ok_or_else(|| {
            "expected scheme, host and port without a path, such as https://dashboard.example"
                .to_owned()
        })
}

/// Accepts an empty name, so that a variable may end with a comma.
fn allowed_host(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    host_name(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitArguments,
    }

    #[test]
    fn flags_left_out_have_the_library_defaults() {
        let limits = Line::parse_from(["unroof"]).limits;
        assert_eq!(limits.service(), Limits::default());
        assert_eq!(limits.store(), StoreLimits::default());
    }

    #[test]
    fn clients_are_limited_by_default_where_they_need_keys() {
        let of = |flags: &[&str], requires_keys| {
            let flags = [&["unroof"], flags].concat();
            let arguments = Line::parse_from(flags).limits;
            let limits = arguments.per_client(Limits::default(), requires_keys);
            let client = limits.client;
            let points = client.map(|client| (client.rate.get(), client.burst.get()));
            let bytes = limits.anonymous_bytes.map(NonZeroU32::get);
            (points, limits.connections_per_address, bytes)
        };
        assert_eq!(of(&[], false), (None, None, None));
        let whole = (Some((50, 1000)), Some(128), Some(16 << 20));
        assert_eq!(of(&[], true), whole);
        let none = [
            "--client-rate=0",
            "--connections-per-address=0",
            "--anonymous-bytes=0",
        ];
        assert_eq!(of(&none, true), (None, None, None));
        let stated = [
            "--client-rate=5",
            "--connections-per-address=2",
            "--anonymous-bytes=3",
        ];
        assert_eq!(of(&stated, false), (Some((5, 100)), Some(2), Some(3)));
        assert_eq!(
            of(&["--client-burst=7"], true),
            (Some((50, 7)), whole.1, whole.2)
        );
    }

    #[test]
    fn limits_of_zero_are_rejected() {
        for (flag, value) in [
            ("--client-burst", "0"),
            ("--client-rate", "-1"),
            ("--client-rate", "1000001"),
            ("--head-timeout", "0s"),
            ("--head-timeout", "-1s"),
            ("--head-timeout", "10"),
            ("--head-timeout", "2h"),
            ("--max-connections", "0"),
            ("--max-head-bytes", "8191"),
            ("--max-body-bytes", "5000000000"),
            ("--max-bytes-in-flight", "1048576"),
            ("--database-connections", "0"),
            ("--allow-origin", "*"),
            ("--allow-origin", "https://dashboard.example/"),
            ("--allow-host", "*"),
            ("--allow-host", "http://unroof.example"),
            ("--allow-host", "unroof.example:8080"),
        ] {
            assert!(
                Line::try_parse_from(["unroof", flag, value]).is_err(),
                "{flag} {value}"
            );
        }
    }
}

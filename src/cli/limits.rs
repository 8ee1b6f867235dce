//! The limits of the service as flags.

use std::time::Duration;

use axum::http::HeaderValue;
use clap::Args;
use jiff::SignedDuration;

use crate::http::{LARGEST_ANSWER, Limits, host_name};
use crate::storage::StoreLimits;

/// How much the service takes on, and for how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// Connections at once; further ones get 503. No more than open files allow
    #[arg(long, env = "UNROOF_MAX_CONNECTIONS", default_value = "2048", value_name = "COUNT", value_parser = count)]
    max_connections: usize,
    /// Bytes of a request's line and headers; beyond it 431
    #[arg(long, env = "UNROOF_MAX_HEAD_BYTES", default_value = "131072", value_name = "BYTES", value_parser = head_bytes)]
    max_head_bytes: usize,
    /// How long a request's line and headers may take, and how long a connection may rest
    #[arg(long, env = "UNROOF_HEAD_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = duration)]
    head_timeout: Duration,
    /// Bytes of a body; beyond it 413
    #[arg(long, env = "UNROOF_MAX_BODY_BYTES", default_value = "1048576", value_name = "BYTES", value_parser = count)]
    max_body_bytes: usize,
    /// Bytes of a catalog sent to /catalogs; beyond it 413
    #[arg(long, env = "UNROOF_MAX_CATALOG_BYTES", default_value = "67108864", value_name = "BYTES", value_parser = count)]
    max_catalog_bytes: usize,
    /// Bytes of bodies and answers at once, beyond those up to 64 KiB and those kept for clients that poll; beyond it 503
    #[arg(long, env = "UNROOF_MAX_BYTES_IN_FLIGHT", default_value = "536870912", value_name = "BYTES", value_parser = bytes_in_flight)]
    max_bytes_in_flight: usize,
    /// How long a body may take; beyond it 408
    #[arg(long, env = "UNROOF_BODY_TIMEOUT", default_value = "30s", value_name = "TIME", value_parser = duration)]
    body_timeout: Duration,
    /// How long an answer may take once the body is there; beyond it 503
    #[arg(long, env = "UNROOF_ANSWER_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = duration)]
    answer_timeout: Duration,
    /// How long a client may leave what it is sent unread
    #[arg(long, env = "UNROOF_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME", value_parser = duration)]
    write_timeout: Duration,
    /// Answers worked out at once; one per core if left out
    #[arg(long, env = "UNROOF_MAX_COMPUTING", value_name = "COUNT", value_parser = count)]
    max_computing: Option<usize>,
    /// Requests that wait to be worked out; further ones get 503
    #[arg(
        long,
        env = "UNROOF_MAX_WAITING",
        default_value = "128",
        value_name = "COUNT"
    )]
    max_waiting: usize,
    /// Streams of changes at once; further ones get 503. Each takes a connection
    #[arg(long, env = "UNROOF_STREAMS", default_value = "256", value_name = "COUNT", value_parser = count)]
    streams: usize,
    /// How long a stream may be silent before a comment is sent
    #[arg(long, env = "UNROOF_HEARTBEAT", default_value = "15s", value_name = "TIME", value_parser = duration)]
    heartbeat: Duration,
    /// Lets webhooks lead to this machine, its network and other addresses that are not of the internet
    #[arg(long, env = "UNROOF_WEBHOOK_ALLOW_PRIVATE")]
    webhook_allow_private: bool,
    /// Bytes of answers kept for those who poll
    #[arg(
        long,
        env = "UNROOF_CACHE_BYTES",
        default_value = "67108864",
        value_name = "BYTES"
    )]
    cache_bytes: u64,
    /// How long /readyz says no before new connections are refused, after SIGTERM
    #[arg(long, env = "UNROOF_STOP_NOTICE", default_value = "1s", value_name = "TIME", value_parser = duration_or_none)]
    stop_notice: Duration,
    /// How long requests under way may take to finish after that
    #[arg(long, env = "UNROOF_DRAIN_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = duration_or_none)]
    drain_timeout: Duration,
    /// Connections to the database
    #[arg(long, env = "UNROOF_DATABASE_CONNECTIONS", default_value = "16", value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    database_connections: u32,
    /// How long a request waits for a connection to the database; beyond it 503
    #[arg(long, env = "UNROOF_POOL_TIMEOUT", default_value = "1s", value_name = "TIME", value_parser = duration)]
    pool_timeout: Duration,
    /// How long a statement may run, and how long it waits for a lock; beyond it 503
    #[arg(long, env = "UNROOF_STATEMENT_TIMEOUT", default_value = "2s", value_name = "TIME", value_parser = duration)]
    statement_timeout: Duration,
    /// Origin whose pages may read the answers, such as `https://dashboard.example`; may be repeated
    #[arg(long = "allow-origin", env = "UNROOF_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',',
        value_parser = origin)]
    allow_origins: Vec<HeaderValue>,
    /// Name that requests may be for, such as `unroof.example`, besides addresses and `localhost`; may be repeated
    #[arg(long = "allow-host", env = "UNROOF_ALLOW_HOST", value_name = "NAME", value_delimiter = ',',
        value_parser = allowed_host)]
    allow_hosts: Vec<String>,
}

impl LimitArguments {
    /// Limits of the service.
    pub(super) fn service(&self) -> Limits {
        let default = Limits::default();
        Limits {
            connections: self.max_connections,
            head_bytes: self.max_head_bytes,
            head_time: self.head_timeout,
            body_bytes: self.max_body_bytes,
            catalog_bytes: self.max_catalog_bytes,
            bytes_in_flight: self.max_bytes_in_flight,
            body_time: self.body_timeout,
            answer_time: self.answer_timeout,
            write_time: self.write_timeout,
            computing: self.max_computing.unwrap_or(default.computing),
            waiting: self.max_waiting,
            streams: self.streams,
            heartbeat: self.heartbeat,
            webhook_allow_private: self.webhook_allow_private,
            webhook_rest: default.webhook_rest,
            cache_bytes: self.cache_bytes,
            stop_notice: self.stop_notice,
            drain_time: self.drain_timeout,
            allowed_origins: self.allow_origins.clone(),
            allowed_hosts: self
                .allow_hosts
                .iter()
                .filter(|name| !name.is_empty())
                .cloned()
                .collect(),
        }
    }

    /// Limits of the database.
    pub(super) fn store(&self) -> StoreLimits {
        StoreLimits {
            connections: self.database_connections,
            connection_wait: self.pool_timeout,
            statement: self.statement_timeout,
        }
    }
}

const MOST_TIME: Duration = Duration::from_hours(1);

fn duration(text: &str) -> Result<Duration, String> {
    duration_or_none(text).and_then(|duration| {
        if duration.is_zero() {
            Err("a limit of no time lets nothing through".to_owned())
        } else {
            Ok(duration)
        }
    })
}

fn duration_or_none(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| *duration <= MOST_TIME)
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

fn head_bytes(text: &str) -> Result<usize, String> {
    // The HTTP library takes no less.
    count(text).and_then(|bytes| {
        if bytes < 8192 {
            Err("expected 8192 or more".to_owned())
        } else {
            Ok(bytes)
        }
    })
}

fn bytes_in_flight(text: &str) -> Result<usize, String> {
    // One large answer takes no more than half of them.
    let least = 2 * LARGEST_ANSWER;
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

/// An empty one names nothing, so that a variable may end with a comma.
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
    fn what_is_not_said_is_as_the_library_has_it() {
        let limits = Line::parse_from(["unroof"]).limits;
        assert_eq!(limits.service(), Limits::default());
        assert_eq!(limits.store(), StoreLimits::default());
    }

    #[test]
    fn limits_that_let_nothing_through_are_refused() {
        for (flag, value) in [
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

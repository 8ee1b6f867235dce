//! The HTTP client that sends traces. It blocks, and is used on threads that may.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use percent_encoding::percent_decode_str;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use crate::secrets::redacted;

/// Time for sending a batch, from the DNS lookup to the end of the response.
pub(super) const EXPORT_TIME: Duration = Duration::from_secs(5);
/// Most bytes of a response that are read.
const LONGEST_ANSWER: u64 = 1024 * 1024;

/// Sends traces, and logs once that the receiver does not take them.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    /// The receiver without a path, for the log.
    receiver: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    is_failing: AtomicBool,
}

impl Client {
    /// A client of this receiver, with the headers that the environment states.
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(EXPORT_TIME))
            .user_agent(concat!("unroof/", env!("CARGO_PKG_VERSION")));
        let headers = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        Self {
            agent: config.build().new_agent(),
            receiver: endpoint.to_string(),
            headers: stated_headers(&headers),
            is_failing: AtomicBool::new(false),
        }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.try_to_send(request);
        match &sent {
            Ok(answer) if answer.status().is_success() => self.note_success(),
            Ok(answer) => self.note_failure(&format!("the answer is {}", answer.status())),
            Err(error) => self.note_failure(&redacted(&error.to_string())),
        }
        Ok(sent?)
    }

    fn try_to_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let (mut head, body) = request.into_parts();
        for (name, value) in &self.headers {
            head.headers.insert(name, value.clone());
        }
        let answer = self.agent.run(Request::from_parts(head, &body[..]))?;
        let (head, mut body) = answer.into_parts();
        let body = body.with_config().limit(LONGEST_ANSWER).read_to_vec()?;
        Ok(Response::from_parts(head, Bytes::from(body)))
    }

    fn note_success(&self) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            let receiver = &self.receiver;
            tracing::info!(receiver, "traces are received again");
        }
    }

    fn note_failure(&self, error: &str) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let receiver = &self.receiver;
            tracing::warn!(
                receiver,
                error,
                "traces are not received; further failures are not logged"
            );
        }
    }
}

impl HttpClient for Client {
    fn send_bytes<'client, 'answer>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'client: 'answer,
        Self: 'answer,
    {
        // The exporter has a thread of its own, on which this future is the only one.
        Box::pin(ready(self.send(request)))
    }
}

/// Headers as `OTEL_EXPORTER_OTLP_HEADERS` states them: `name=value`, separated by commas, with `%` escapes.
fn stated_headers(text: &str) -> Vec<(HeaderName, HeaderValue)> {
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let value = HeaderValue::from_str(&value).ok()?;
        Some((name.trim().parse().ok()?, value))
    };
    text.split(',').filter_map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_specification_writes_them() {
        let read = stated_headers("authorization=Bearer%20abc, x-scope = team ,broken,=none,a b=c");
        let expected = [("authorization", "Bearer abc"), ("x-scope", "team")];
        let read: Vec<_> = read
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(read, expected);
    }
}

//! Fetches a catalog with conditional requests.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use ureq::config::RedirectAuthHeaders;

use unroof_telemetry::headers_of;
pub use unroof_telemetry::secrets::without_secrets;
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain, redacted};
use unroof_telemetry::{call_span, note_status};

/// Largest catalog, in bytes.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Timeout of a fetch.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// Validators of a fetched catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// Value of the header `ETag`.
    pub etag: Option<String>,
    /// Value of the header `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Result of a fetch.
#[derive(Debug)]
pub enum Fetched {
    /// The catalog is unchanged since that version.
    NotModified,
    /// A catalog with its version.
    Catalog(Vec<u8>, Version),
}

/// A fetch of a catalog that failed.
#[derive(Debug, thiserror::Error)]
#[error("{url} could not be fetched: {reason}")]
pub struct FetchError {
    url: String,
    reason: String,
}

/// Fetches a catalog unless it still has the known version. User name and password in the address are sent as Basic
/// authorization, after redirects only to the same host. Blocks.
///
/// # Errors
/// The server is unreachable, answers with an error, or times out.
pub fn fetch(url: &str, known: &Version) -> Result<Fetched, FetchError> {
    let failed_because = |reason: String| FetchError {
        url: without_secrets(url),
        reason,
    };
    if !is_certain(url) {
        return Err(failed_because(AMBIGUOUS.to_owned()));
    }
    let failed = |error: ureq::Error| failed_because(client_error(&error));
    let client = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST_WAIT))
        .user_agent(concat!("unroof/", env!("CARGO_PKG_VERSION")))
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .build()
        .new_agent();
    let (address, authorization) = without_credentials(url);
    let mut request = client
        .get(address)
        .header("accept", "application/json, */*;q=0.5");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    if let Some(etag) = &known.etag {
        request = request.header("if-none-match", etag);
    }
    if let Some(time) = &known.last_modified {
        request = request.header("if-modified-since", time);
    }
    let call = call_span("GET", url);
    for (name, value) in headers_of(&call) {
        request = request.header(name, value);
    }
    let called = request.call();
    note_status(
        &call,
        called.as_ref().ok().map(|answer| answer.status().as_u16()),
    );
    let mut answer = called.map_err(failed)?;
    if answer.status() == 304 {
        return Ok(Fetched::NotModified);
    }
    let header = |name| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let version = Version {
        etag: header("etag"),
        last_modified: header("last-modified"),
    };
    let read = answer
        .body_mut()
        .with_config()
        .limit(MOST_BYTES)
        .read_to_vec();
    Ok(Fetched::Catalog(read.map_err(failed)?, version))
}

/// Splits an address into the address without credentials and the value of `Authorization`.
#[must_use]
pub fn without_credentials(url: &str) -> (String, Option<String>) {
    let Ok(mut address) = url::Url::parse(url) else {
        return (url.to_owned(), None);
    };
    if address.username().is_empty() && address.password().is_none() {
        return (url.to_owned(), None);
    }
    let mut credentials: Vec<u8> = percent_decode_str(address.username()).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(address.password().unwrap_or_default()));
    let authorization = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    // Fails only for an address that cannot have credentials.
    let _ = address.set_username("");
    let _ = address.set_password(None);
    (address.into(), Some(authorization))
}

/// The client's error message without the address it quotes, its own or that of a redirect.
#[must_use]
pub fn client_error(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "the address cannot be fetched".to_owned(),
        ureq::Error::Protocol(error) => {
            let text = error.to_string();
            let (general, _) = text.split_once(": ").unwrap_or((&text, ""));
            format!("protocol: {general}")
        }
        error => redacted(&error.to_string()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_the_address_become_basic_authorization() {
        let cases = [
            ("https://host/a?b=c", "https://host/a?b=c", None),
            // The example of RFC 7617.
            (
                "https://Aladdin:open%20sesame@host/a",
                "https://host/a",
                Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ),
            (
                "https://token@host/",
                "https://host/",
                Some("Basic dG9rZW46"),
            ),
            (
                "https://:key@host/",
                "https://host/",
                Some("Basic OmtleQ=="),
            ),
            // In UTF-8 (section 2.1).
            (
                "https://test:123%C2%A3@host/",
                "https://host/",
                Some("Basic dGVzdDoxMjPCow=="),
            ),
        ];
        for (url, address, authorization) in cases {
            let expected = (address.to_owned(), authorization.map(str::to_owned));
            assert_eq!(without_credentials(url), expected, "{url}");
        }
    }
}

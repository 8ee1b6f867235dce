//! Fetches a catalog with conditional requests, and follows its redirects.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};
use url::{Host, Url};

use super::address::{NOT_PUBLIC, is_public, read_url};
use super::catalog_client;
use unroof_import::{MOST_BYTES, Version};
use unroof_telemetry::headers_of;
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain, redacted, without_secrets};
use unroof_telemetry::{call_span, note_status};

/// Timeout of a fetch with all of its redirects.
const LONGEST_WAIT: Duration = Duration::from_mins(2);
/// Most redirects that are followed.
const MOST_REDIRECTS: usize = 5;

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

impl FetchError {
    /// Whether it led to an address that is not public.
    #[must_use]
    pub fn is_not_public(&self) -> bool {
        self.reason == NOT_PUBLIC
    }
}

/// Fetches a catalog unless it still has the known version. The address and every address that it redirects to are public
/// ones, unless private ones are allowed. User name and password in the address are sent as Basic authorization, after
/// redirects only to the same origin. Blocks.
///
/// # Errors
/// The server is unreachable, answers with an error, redirects to where no catalog is fetched from, or times out.
pub fn fetch(url: &str, known: &Version, allows_private: bool) -> Result<Fetched, FetchError> {
    follow(url, known, allows_private).map_err(|reason| FetchError {
        url: without_secrets(url),
        reason,
    })
}

fn follow(url: &str, known: &Version, allows_private: bool) -> Result<Fetched, String> {
    if !is_certain(url) {
        return Err(AMBIGUOUS.to_owned());
    }
    let (address, authorization) = without_credentials(url);
    let mut place = Url::parse(&address).map_err(|_| CANNOT_BE_FETCHED)?;
    let origin = place.origin();
    let (client, ends_at) = (
        catalog_client(allows_private),
        Instant::now() + LONGEST_WAIT,
    );
    for _ in 0..=MOST_REDIRECTS {
        if !allows_private && is_private(&place) {
            return Err(NOT_PUBLIC.to_owned());
        }
        let authorization = authorization.as_deref();
        let authorization = authorization.filter(|_| place.origin() == origin);
        let longest = ends_at.saturating_duration_since(Instant::now());
        let answer = ask(&client, &place, known, authorization, longest)?;
        match answer.status().as_u16() {
            304 => return Ok(Fetched::NotModified),
            301 | 302 | 303 | 307 | 308 => place = redirected(&place, answer.headers())?,
            200..=299 => return catalog_in(answer),
            status => return Err(format!("http status: {status}")),
        }
    }
    Err(format!("it redirects more than {MOST_REDIRECTS} times"))
}

/// Whether the host is an address that is not public. A proxy of the environment, which looks up names itself, is not
/// asked for it either.
fn is_private(place: &Url) -> bool {
    match place.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        _ => false,
    }
}

/// One request, whose redirect is not followed.
fn ask(
    client: &Agent,
    place: &Url,
    known: &Version,
    authorization: Option<&str>,
    longest: Duration,
) -> Result<Response<Body>, String> {
    let call = call_span("GET", place.as_str());
    let headers = [
        ("authorization", authorization),
        ("if-none-match", known.etag.as_deref()),
        ("if-modified-since", known.last_modified.as_deref()),
    ];
    let mut request = client
        .get(place.as_str())
        .header("accept", "application/json, */*;q=0.5");
    for (name, value) in headers {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers_of(&call) {
        request = request.header(name, value);
    }
    let request = request.config().timeout_global(Some(longest)).build();
    let called = request.call();
    let status = called.as_ref().ok().map(|answer| answer.status().as_u16());
    note_status(&call, status);
    called.map_err(|error| client_error(&error))
}

/// The place to which an answer redirects. The message does not name it: it may hold a secret.
fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, String> {
    let location = headers.get("location").and_then(|text| text.to_str().ok());
    let location = location.ok_or("it redirects without an address")?;
    let joined = from
        .join(location)
        .map_err(|_| "it redirects to what is not a URL")?;
    let place = read_url(joined.as_str())
        .map_err(|reason| format!("it redirects to an address that is refused: {reason}"))?;
    if from.scheme() == "https" && place.scheme() != "https" {
        return Err("it redirects from https to http".to_owned());
    }
    Ok(place)
}

fn catalog_in(mut answer: Response<Body>) -> Result<Fetched, String> {
    let header = |name| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let version = Version {
        etag: header("etag"),
        last_modified: header("last-modified"),
    };
    let body = answer.body_mut().with_config().limit(MOST_BYTES);
    let read = body.read_to_vec().map_err(|error| client_error(&error))?;
    Ok(Fetched::Catalog(read, version))
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

/// Error of an address that is none of HTTP.
const CANNOT_BE_FETCHED: &str = "the address cannot be fetched";

/// The client's error message without the address it quotes, its own or that of a redirect.
#[must_use]
pub fn client_error(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => CANNOT_BE_FETCHED.to_owned(),
        ureq::Error::Other(reason) if reason.to_string() == NOT_PUBLIC => NOT_PUBLIC.to_owned(),
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
    fn a_redirect_leads_to_http_without_credentials_and_never_from_https_to_http() {
        let to = |from: &str, location: &str| {
            let from = Url::parse(from).unwrap();
            let headers = [("location".parse().unwrap(), location.parse().unwrap())];
            redirected(&from, &HeaderMap::from_iter(headers)).map(String::from)
        };
        let (plain, safe) = ("http://host/a", "https://host/a");
        assert_eq!(to(safe, "/b").unwrap(), "https://host/b");
        assert_eq!(to(safe, "//other/b").unwrap(), "https://other/b");
        assert_eq!(to(plain, "https://host/b").unwrap(), "https://host/b");
        assert_eq!(to(plain, "http://other/b").unwrap(), "http://other/b");
        for (from, location) in [
            (safe, "http://host/a"),
            (safe, "http://other/"),
            (plain, "file:///etc/passwd"),
            (plain, "http://ann:secret@host/"),
            (plain, "http://[bad/"),
        ] {
            assert!(to(from, location).is_err(), "{location}");
        }
        assert!(redirected(&Url::parse(plain).unwrap(), &HeaderMap::new()).is_err());
    }

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

//! Allowed hosts: protection against DNS rebinding, by which a page of another site reads and writes through its visitor's
//! browser.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::problem::{MISDIRECTED, Problem, UNREADABLE};
use crate::limit::limits::Limits;

/// Kind of a `Host` header or authority.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// An IP address, which no name server can redirect.
    Address,
    /// A name in lower case, without a trailing dot.
    Name(String),
}

/// Parses a host with or without a port. None if it is neither an address nor a possible host name; the other characters
/// that RFC 3986 allows, such as `,` or `%41`, occur in no host name.
fn read_host(text: &str) -> Option<Host> {
    let (host, port) = match text.find(']') {
        Some(end) => text.split_at(end + 1),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && (port.is_empty() || port.parse::<u16>().is_ok())
    };
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return None;
    }
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']')?;
        return address.parse::<Ipv6Addr>().ok().map(|_| Host::Address);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    if !is_name {
        return None;
    }
    if name.parse::<Ipv4Addr>().is_ok() {
        return Some(Host::Address);
    }
    Some(Host::Name(name.to_ascii_lowercase()))
}

/// Parses the value of `--allow-host`: a name without scheme, port and path, normalised as clients send it.
///
/// # Errors
/// The text is not a host name.
pub fn host_name(text: &str) -> Result<String, String> {
    let read = url::Host::parse(text).ok().map(|host| host.to_string());
    let read = read
        .filter(|_| !text.contains(':'))
        .and_then(|name| read_host(&name));
    match read {
        Some(Host::Name(name)) => Ok(name),
        Some(Host::Address) => Err("IP addresses are always allowed".to_owned()),
        None => Err(
            "expected a host name without scheme, port and path, such as unroof.example".to_owned(),
        ),
    }
}

/// Refuses requests for other hosts: 400 for a missing, repeated or malformed `Host` (RFC 9112, 3.2), 421 for a name that
/// is not allowed. HTTP/1.0 requests may leave it out, as load balancer checks do; no browser sends HTTP/1.0.
pub async fn require_known_host(
    State(limits): State<Arc<Limits>>,
    request: Request,
    next: Next,
) -> Response {
    match check_host(&limits.allowed_hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Refuses a request for a host that this service is not.
pub fn check_host(allowed: &[String], request: &Request) -> Result<(), Problem> {
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    match hosts.as_slice() {
        [] if request.version() != Version::HTTP_11 => {}
        [] => return Err(unclear("the header `Host` is missing")),
        [host] => check_one(
            allowed,
            host_of(host),
            "the header `Host` is not a host name",
        )?,
        _ => return Err(unclear("the header `Host` is repeated")),
    }
    // The target has a scheme, or the method is CONNECT.
    match request.uri().authority() {
        Some(authority) => check_one(
            allowed,
            read_host(authority.as_str()),
            "the request target has no host",
        ),
        None => Ok(()),
    }
}

/// A browser's statement of the site whose page sends a request.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a form was sent by a page of this service, or by no browser: a page of another site can make a browser send one.
pub fn is_from_own_page(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SITE) {
        return site == "same-origin";
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, authority)| host == Some(authority.as_bytes()))
}

fn host_of(value: &HeaderValue) -> Option<Host> {
    read_host(value.to_str().ok()?)
}

fn check_one(allowed: &[String], host: Option<Host>, unread: &str) -> Result<(), Problem> {
    match host {
        None => Err(unclear(unread)),
        Some(Host::Name(name)) if name != "localhost" && !allowed.contains(&name) => {
            let shown: String = name.chars().take(200).collect();
            let problem = Problem::new(MISDIRECTED, format!("the host `{shown}` is not allowed"));
            Err(problem
                .hint("if the name is yours, add it with `--allow-host` or UNROOF_ALLOW_HOST"))
        }
        Some(_) => Ok(()),
    }
}

fn unclear(detail: &str) -> Problem {
    Problem::new(UNREADABLE, detail).hint("send one header `Host` with the name you connect to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_a_name() {
        let name = |name: &str| Some(Host::Name(name.to_owned()));
        for (text, expected) in [
            ("127.0.0.1", Some(Host::Address)),
            ("127.0.0.1.:8080", Some(Host::Address)),
            ("[::1]:8080", Some(Host::Address)),
            ("[::1]", Some(Host::Address)),
            ("localhost:", name("localhost")),
            ("LocalHost.:65535", name("localhost")),
            ("my_host-1.Example", name("my_host-1.example")),
            ("2130706433", name("2130706433")),
            ("", None),
            (".", None),
            (":8080", None),
            ("a,b", None),
            ("a b", None),
            ("a:65536", None),
            ("a:99999999", None),
            ("a:-1", None),
            ("a:+1", None),
            ("a:1:2", None),
            ("user@a", None),
            ("a/b", None),
            ("a%41", None),
            ("[::1", None),
            ("::1", None),
            ("[::1]a", None),
            ("[fe80::1%eth0]", None),
            ("é", None),
        ] {
            assert_eq!(read_host(text), expected, "{text}");
        }
    }

    #[test]
    fn an_allowed_name_is_normalised_as_clients_send_it() {
        assert_eq!(
            host_name("Unroof.Example."),
            Ok("unroof.example".to_owned())
        );
        assert_eq!(
            host_name("bücher.example"),
            Ok("xn--bcher-kva.example".to_owned())
        );
        for text in [
            "",
            "*",
            "*.example",
            "a:80",
            "http://a",
            "a/b",
            "127.0.0.1",
            "[::1]",
            "a b",
            "a,b",
        ] {
            assert!(host_name(text).is_err(), "{text}");
        }
    }
}

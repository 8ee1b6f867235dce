//! Addresses of clients: the peer of a connection, and the client's address behind trusted proxies.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use hyper::Request;
use hyper::service::Service;

use unroof_store::access::TrustedProxies;

/// Peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The address of a TCP connection.
    Tcp(SocketAddr),
    /// A connection of the Unix socket.
    Unix,
}

impl Peer {
    /// Address of the peer; none on a Unix socket.
    #[must_use]
    pub fn address(self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip().to_canonical()),
            Self::Unix => None,
        }
    }

    /// The address of the client: that of this end, or what trusted proxies have handed on in `Forwarded` or in
    /// `X-Forwarded-For`. A header that cannot be read may be the one that the proxy has set: then it is the proxy's.
    #[must_use]
    pub fn client(self, proxies: &TrustedProxies, headers: &HeaderMap) -> Option<IpAddr> {
        if proxies.is_empty() {
            return self.address();
        }
        let hop_by_hop = |hops: &[&str]| proxies.client(self.address(), hops);
        let (Some(standard), Some(custom)) = (of_standard(headers), of_custom(headers)) else {
            return self.address();
        };
        match (standard, custom) {
            (standard, custom) if custom.is_empty() => hop_by_hop(&standard),
            (standard, custom) if standard.is_empty() => hop_by_hop(&custom),
            // Which of them the proxy has set is not known: a client may have written the other.
            (standard, custom) => {
                let client = hop_by_hop(&standard);
                if client == hop_by_hop(&custom) {
                    client
                } else {
                    self.address()
                }
            }
        }
    }
}

/// The parts of a header that may come several times; none if one of them is not ASCII.
fn texts(headers: &HeaderMap, name: HeaderName) -> Option<Vec<&str>> {
    let values = headers.get_all(name).into_iter();
    let texts: Result<Vec<&str>, _> = values.map(HeaderValue::to_str).collect();
    let parts = texts.ok()?.into_iter().flat_map(|text| text.split(','));
    Some(parts.map(str::trim).collect())
}

/// The address of a hop as `Forwarded` has it.
fn address_of(hop: &str) -> &str {
    let pairs = hop.split(';').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    named.next().map_or("", |(_, value)| value.trim())
}

/// The addresses in `Forwarded` (RFC 7239), the client's own first.
fn of_standard(headers: &HeaderMap) -> Option<Vec<&str>> {
    let hops = texts(headers, header::FORWARDED)?;
    Some(hops.into_iter().map(address_of).collect())
}

/// Addresses in `X-Forwarded-For`.
fn of_custom(headers: &HeaderMap) -> Option<Vec<&str>> {
    texts(headers, HeaderName::from_static("x-forwarded-for"))
}

/// A service that adds the connection to every request.
#[derive(Debug, Clone)]
pub struct FromPeer<S> {
    /// Stream of bytes.
    pub inner: S,
    /// Other end of the connection.
    pub peer: Peer,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for FromPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_trusted_proxy_hands_the_address_of_the_client_on() {
        let proxies: TrustedProxies = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
        let near = Peer::Tcp("10.0.0.1:5000".parse().unwrap());
        let client = |pairs: &[_]| near.client(&proxies, &headers(pairs)).unwrap().to_string();
        let standard = (
            "forwarded",
            "for=192.0.2.60;proto=https, FOR=\"[2001:db8::17]:4711\"",
        );
        assert_eq!(client(&[standard]), "2001:db8::17");
        let common = ("x-forwarded-for", "192.0.2.60, 10.0.0.9");
        assert_eq!(client(&[common]), "192.0.2.60");
        assert_eq!(
            client(&[("x-forwarded-for", "192.0.2.1"), common]),
            "192.0.2.60"
        );
        // One is the proxy's and the other the client's, unless both name the same.
        assert_eq!(client(&[standard, common]), "10.0.0.1");
        assert_eq!(
            client(&[("forwarded", "for=192.0.2.60"), common]),
            "192.0.2.60"
        );
        assert_eq!(client(&[("forwarded", "for=unknown")]), "10.0.0.1");
        let stranger = Peer::Tcp("203.0.113.5:80".parse().unwrap());
        let address = stranger.client(&proxies, &headers(&[common]));
        assert_eq!(address.unwrap().to_string(), "203.0.113.5");
    }

    #[test]
    fn of_a_client_whose_header_cannot_be_read_no_other_header_counts() {
        let proxies: TrustedProxies = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
        let near = Peer::Tcp("10.0.0.1:5000".parse().unwrap());
        for (unreadable, other) in [
            ("x-forwarded-for", ("forwarded", "for=192.0.2.60")),
            ("forwarded", ("x-forwarded-for", "192.0.2.60")),
            ("x-forwarded-for", ("x-forwarded-for", "192.0.2.60")),
        ] {
            let mut headers = headers(&[other]);
            headers.append(unreadable, HeaderValue::from_bytes(b"\xff").unwrap());
            let client = near.client(&proxies, &headers).unwrap();
            assert_eq!(client.to_string(), "10.0.0.1", "{unreadable}");
        }
    }
}

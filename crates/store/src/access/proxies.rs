//! Trusted proxies: whose word about a client's address and user is taken.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

/// A proxy that is trusted: a network, or every client of the Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedProxy {
    /// An address or a network.
    Network(IpNet),
    /// The processes that reach the Unix socket.
    Unix,
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        let network = network(text).map(Self::Network);
        network.map_err(|hint| format!("{hint}, or `unix` for the Unix socket"))
    }
}

/// A network as people write it: an address alone is a network too.
///
/// # Errors
/// The text is neither; the error says what to write.
pub fn network(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().ok();
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network = network.or_else(address).map(|network| network.trunc());
    network.ok_or_else(|| "write an address or a network such as 10.0.0.0/8 or fd00::/8".to_owned())
}

/// All proxies that are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<TrustedProxy>);

impl FromIterator<TrustedProxy> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = TrustedProxy>>(proxies: I) -> Self {
        Self(proxies.into_iter().collect())
    }
}

impl TrustedProxies {
    /// Whether none is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the other end of a connection is trusted; an end without an address is that of a Unix socket.
    #[must_use]
    pub fn trusts(&self, peer: Option<IpAddr>) -> bool {
        let peer = peer.map(|peer| peer.to_canonical());
        self.0.iter().any(|proxy| match (proxy, peer) {
            (TrustedProxy::Network(network), Some(peer)) => network.contains(&peer),
            (TrustedProxy::Unix, None) => true,
            _ => false,
        })
    }

    /// The address of the client, by the other end of its connection and the addresses that each proxy on the way has
    /// added, the client's own first. The last address that no trusted proxy has is the client's: what is before it the
    /// client may have written itself. An address that cannot be read ends the search.
    #[must_use]
    pub fn client(&self, peer: Option<IpAddr>, forwarded: &[&str]) -> Option<IpAddr> {
        let mut client = peer.map(|peer| peer.to_canonical());
        for text in forwarded.iter().rev() {
            if !self.trusts(client) {
                break;
            }
            let Some(address) = read_address(text) else {
                break;
            };
            client = Some(address);
        }
        client
    }
}

/// An address with or without a port, as `X-Forwarded-For` and `Forwarded` have it.
fn read_address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = bare.parse().ok().or_else(with_port)?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(texts: &[&str]) -> TrustedProxies {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn address(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[test]
    fn the_client_is_the_last_address_that_no_trusted_proxy_has() {
        let proxies = trusted(&["10.0.0.0/8", "::1"]);
        let near = address("10.0.0.1");
        let client = |forwarded: &[&str]| proxies.client(near, forwarded);
        assert_eq!(client(&[]), near);
        assert_eq!(client(&["203.0.113.9"]), address("203.0.113.9"));
        // What the client wrote itself is before what the proxy has added.
        assert_eq!(client(&["1.1.1.1", "203.0.113.9"]), address("203.0.113.9"));
        assert_eq!(
            client(&["203.0.113.9:4711", " 10.2.0.1 "]),
            address("203.0.113.9")
        );
        assert_eq!(client(&["\"[2001:db8::7]:80\""]), address("2001:db8::7"));
        assert_eq!(client(&["203.0.113.9", "unknown"]), near);
        // A stranger's word is not taken.
        let stranger = address("198.51.100.3");
        assert_eq!(proxies.client(stranger, &["10.0.0.9"]), stranger);
        assert_eq!(
            proxies.client(address("::ffff:10.0.0.1"), &["203.0.113.9"]),
            address("203.0.113.9")
        );
    }

    #[test]
    fn the_unix_socket_is_trusted_only_by_name() {
        assert!(!trusted(&["0.0.0.0/0", "::/0"]).trusts(None));
        assert!(trusted(&["unix"]).trusts(None));
        assert!(!trusted(&["unix"]).trusts(address("127.0.0.1")));
        assert!("10.0.0.0/33".parse::<TrustedProxy>().is_err());
        assert!("proxy.example".parse::<TrustedProxy>().is_err());
    }
}

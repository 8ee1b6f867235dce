//! Connections by the address of their other end.

use std::net::IpAddr;
use std::sync::Arc;

use super::places::{Place, Places, TooMany};
use crate::access::Access;
use crate::listen::peer::Peer;
use unroof_store::access::network_of;

/// Open connections of each address, or of each IPv6 /64.
#[derive(Debug, Clone)]
pub struct PerAddress {
    access: Arc<Access>,
    /// No limit if none.
    places: Option<Places<IpAddr>>,
}

impl PerAddress {
    /// At most so many connections of an address; any number if left out.
    pub fn new(most: Option<usize>, access: Arc<Access>) -> Self {
        Self {
            access,
            places: most.map(Places::new),
        }
    }

    /// Counts a connection until the result is dropped. A trusted proxy has the connections of all its clients, and the
    /// Unix socket has no address: neither is counted.
    ///
    /// # Errors
    /// The address has too many.
    pub fn count(&self, peer: Peer) -> Result<Option<Place<IpAddr>>, TooMany> {
        let (Some(places), Some(address)) = (&self.places, peer.address()) else {
            return Ok(None);
        };
        if self.access.proxies.trusts(Some(address)) {
            return Ok(None);
        }
        places.take(network_of(address)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::Tcp(address.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_number_of_connections_and_none_is_remembered() {
        let connections = PerAddress::new(Some(2), Arc::default());
        let here = peer("192.0.2.1:1");
        let held = [(); 2].map(|()| connections.count(here).unwrap());
        assert_eq!(connections.count(here).unwrap_err(), TooMany);
        let near = connections.count(peer("192.0.2.2:1")).unwrap();
        drop(held);
        let again = connections.count(here).unwrap();
        drop((near, again));
        assert!(connections.places.as_ref().unwrap().are_free());
        let held = ["[2001:db8::1]:1", "[2001:db8::2]:1"]
            .map(|address| connections.count(peer(address)).unwrap());
        assert!(connections.count(peer("[2001:db8::3]:1")).is_err());
        assert!(connections.count(peer("[2001:db8:0:1::3]:1")).is_ok());
        drop(held);
    }

    #[test]
    fn proxies_and_the_unix_socket_are_not_counted() {
        let access = Access {
            proxies: ["10.0.0.0/8".parse().unwrap()].into_iter().collect(),
            ..Access::default()
        };
        let connections = PerAddress::new(Some(1), Arc::new(access));
        for peer in [peer("10.0.0.1:1"), Peer::Unix] {
            let held = [(); 3].map(|()| connections.count(peer).unwrap());
            assert!(held.iter().all(Option::is_none));
        }
        let unlimited = PerAddress::new(None, Arc::default());
        let held = [(); 3].map(|()| unlimited.count(peer("192.0.2.1:1")).unwrap());
        assert!(held.iter().all(Option::is_none));
    }
}

//! Connections by the address of their other end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::peer::Peer;
use crate::access::{Access, network_of};

/// Open connections of each address, or of each IPv6 /64.
#[derive(Debug, Clone)]
pub(super) struct PerAddress {
    /// Connections of one address; no limit if none.
    most: Option<usize>,
    access: Arc<Access>,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A connection that counts for its address until it is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    address: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl PerAddress {
    pub(super) fn new(most: Option<usize>, access: Arc<Access>) -> Self {
        Self {
            most,
            access,
            open: Arc::default(),
        }
    }

    /// Counts a connection until the result is dropped. A trusted proxy has the connections of all its clients, and the
    /// Unix socket has no address: neither is counted.
    ///
    /// # Errors
    /// The address has too many.
    pub(super) fn count(&self, peer: Peer) -> Result<Option<Counted>, TooMany> {
        let (Some(most), Some(address)) = (self.most, peer.address()) else {
            return Ok(None);
        };
        if self.access.proxies.trusts(Some(address)) {
            return Ok(None);
        }
        let address = network_of(address);
        let mut open = locked(&self.open);
        let count = open.entry(address).or_default();
        if *count >= most {
            return Err(TooMany);
        }
        *count += 1;
        Ok(Some(Counted {
            address,
            open: Arc::clone(&self.open),
        }))
    }
}

/// The address has as many connections as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(locked(&connections.open).is_empty());
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

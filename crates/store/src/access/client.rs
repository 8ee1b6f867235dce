//! The client that a request counts for.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use uuid::Uuid;

use super::Identity;

/// Bits of an IPv6 address that a client cannot choose: one subscriber has at least all addresses after them.
const SUBSCRIBER_BITS: u32 = 64;

/// A client, as limits distinguish clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Client {
    /// The holder of a key, wherever its requests come from.
    Key(Uuid),
    /// A user that a trusted proxy has signed in.
    User(Arc<str>),
    /// A stranger, by [`network_of`] the address.
    Network(IpAddr),
    /// All strangers without an address: those of the Unix socket.
    Local,
}

impl Client {
    /// The client with an identity and an address.
    #[must_use]
    pub fn of(identity: &Identity, address: Option<IpAddr>) -> Self {
        match (identity, address) {
            (Identity::Key { id, .. }, _) => Self::Key(*id),
            (Identity::User(name), _) => Self::User(name.as_str().into()),
            (_, Some(address)) => Self::Network(network_of(address)),
            (_, None) => Self::Local,
        }
    }
}

/// A name that no other client has.
impl fmt::Display for Client {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(id) => write!(to, "key {id}"),
            Self::User(name) => write!(to, "user {name}"),
            Self::Network(address) => write!(to, "network {address}"),
            Self::Local => to.write_str("local"),
        }
    }
}

/// The addresses that count as one stranger: an IPv4 address alone, an IPv6 address with its whole /64.
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = u128::MAX << (u128::BITS - SUBSCRIBER_BITS);
            Ipv6Addr::from_bits(address.to_bits() & prefix).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(address: &str) -> Client {
        Client::of(&Identity::Anonymous, Some(address.parse().unwrap()))
    }

    #[test]
    fn a_stranger_is_an_ipv4_address_or_an_ipv6_network() {
        assert_ne!(stranger("192.0.2.1"), stranger("192.0.2.2"));
        assert_eq!(stranger("192.0.2.1"), stranger("::ffff:192.0.2.1"));
        assert_eq!(
            stranger("2001:db8:0:1::1"),
            stranger("2001:db8:0:1:ffff:ffff:ffff:ffff")
        );
        assert_ne!(stranger("2001:db8:0:1::1"), stranger("2001:db8:0:2::1"));
    }

    #[test]
    fn a_key_and_a_user_are_one_client_at_every_address() {
        let key = Identity::Key {
            id: Uuid::new_v4(),
            name: "desk".to_owned(),
        };
        for identity in [key, Identity::User("anna".to_owned())] {
            let here = Client::of(&identity, Some("192.0.2.1".parse().unwrap()));
            assert_eq!(here, Client::of(&identity, None));
            assert_ne!(here, Client::of(&Identity::Anonymous, None));
        }
    }
}

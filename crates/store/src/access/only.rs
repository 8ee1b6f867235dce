//! Limits of a key: some networks or providers, or any.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

/// Some values of a kind, or any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only<T>(Option<Arc<[T]>>);

impl<T> Only<T> {
    /// Any value.
    pub const ANY: Self = Self(None);

    /// Whether any value is allowed.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }
}

/// Only these; any if there are none.
impl<T> From<Vec<T>> for Only<T> {
    fn from(values: Vec<T>) -> Self {
        Self((!values.is_empty()).then(|| values.into()))
    }
}

impl<T: Display> Only<T> {
    /// The values as texts; none where any is allowed.
    fn texts(&self) -> Option<Vec<String>> {
        let values = self.0.as_ref()?;
        Some(values.iter().map(ToString::to_string).collect())
    }

    /// A list in JSON, as it is stored; none where any value is allowed.
    #[must_use]
    pub fn stored(&self) -> Option<String> {
        let texts = self.texts()?;
        Some(serde_json::Value::from(texts).to_string())
    }
}

/// A stored limit that cannot be read. Its key is not taken: without the limit it would allow more.
#[derive(Debug, thiserror::Error)]
#[error("the limit of a key cannot be read")]
pub struct UnreadableLimit;

impl<T: FromStr> TryFrom<Option<String>> for Only<T> {
    type Error = UnreadableLimit;

    fn try_from(stored: Option<String>) -> Result<Self, UnreadableLimit> {
        let Some(stored) = stored else {
            return Ok(Self::ANY);
        };
        let texts: Vec<String> = serde_json::from_str(&stored).map_err(|_| UnreadableLimit)?;
        let values = texts.iter().map(|text| text.parse());
        let values: Result<Arc<[T]>, _> = values.collect();
        values
            .map(|values| Self(Some(values)))
            .map_err(|_| UnreadableLimit)
    }
}

/// A list of texts; null where any value is allowed.
impl<T: Display> Serialize for Only<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts().serialize(serializer)
    }
}

/// The values, for people.
impl<T: Display> Display for Only<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.texts() {
            Some(texts) => to.write_str(&texts.join(", ")),
            None => to.write_str("any"),
        }
    }
}

impl Only<IpNet> {
    /// Whether a caller with this address is in one of the networks. One without an address, on the Unix socket, is in none.
    #[must_use]
    pub fn admits(&self, address: Option<IpAddr>) -> bool {
        let Some(networks) = &self.0 else {
            return true;
        };
        let address = address.map(|address| address.to_canonical());
        address.is_some_and(|address| networks.iter().any(|network| network.contains(&address)))
    }
}

impl Only<String> {
    /// The first of some names that is none of these.
    pub fn first_other<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let allowed = self.0.as_ref()?;
        names.find(|name| !allowed.iter().any(|one| one == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_stored_and_read_again_and_one_that_cannot_be_read_is_not_any() {
        let networks: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let networks = Only::from(networks);
        assert_eq!(
            Only::<IpNet>::try_from(networks.stored()).unwrap(),
            networks
        );
        assert!(Only::<IpNet>::ANY.stored().is_none());
        for damaged in ["", "null", "[\"10.0.0.0/33\"]", "{}"] {
            assert!(Only::<IpNet>::try_from(Some(damaged.to_owned())).is_err());
        }
        // An empty list allows nothing, wherever it comes from.
        let none = Only::<IpNet>::try_from(Some("[]".to_owned())).unwrap();
        assert!(!none.admits("10.0.0.1".parse().ok()));
    }

    #[test]
    fn a_network_has_its_addresses_in_both_forms_and_no_caller_without_one() {
        let networks = Only::from(vec!["10.0.0.0/8".parse::<IpNet>().unwrap()]);
        for (address, is_in) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("11.0.0.1", false),
        ] {
            assert_eq!(networks.admits(address.parse().ok()), is_in, "{address}");
        }
        assert!(!networks.admits(None) && Only::ANY.admits(None));
    }

    #[test]
    fn a_provider_is_named_by_all_of_its_letters() {
        let providers = Only::from(vec!["acme".to_owned()]);
        assert_eq!(providers.first_other(["acme", "acme"].into_iter()), None);
        for other in ["Acme", "acme-2", "acm", ""] {
            assert_eq!(
                providers.first_other(["acme", other].into_iter()),
                Some(other)
            );
        }
        assert_eq!(Only::<String>::ANY.first_other(["acme"].into_iter()), None);
    }
}

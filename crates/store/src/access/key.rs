//! Keys: secrets that are shown once and stored as hashes.

use std::collections::HashMap;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ipnet::IpNet;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{Only, Refused, Scope};

/// Beginning of every key, by which scanners of repositories and logs find one.
const PREFIX: &str = "unroof_";
/// Random bytes of a key.
const SECRET_BYTES: usize = 32;
/// Bytes of a hash by which a key is looked up, before all of it is compared.
const LOOKUP_BYTES: usize = 8;

/// SHA-256 of a key. The key has 256 random bits, so that a hash without a salt and without iterations protects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of a key as a client sends it.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    fn lookup(&self) -> [u8; LOOKUP_BYTES] {
        let mut lookup = [0; LOOKUP_BYTES];
        lookup.copy_from_slice(&self.0[..LOOKUP_BYTES]);
        lookup
    }
}

/// A new key: its text, which is shown once, and its hash, which is stored.
pub struct NewKey {
    /// `unroof_` and 43 characters of base64.
    pub text: String,
    /// The hash of the text.
    pub hash: KeyHash,
}

impl NewKey {
    /// A key of 256 bits from the operating system's random numbers.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self::of_text(format!(
            "{PREFIX}{}",
            URL_SAFE_NO_PAD.encode(secret)
        )))
    }

    /// A key that was made before, such as one from a file; none if it has another form than [`Self::random`] makes.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let secret = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (secret.len() == SECRET_BYTES).then(|| Self::of_text(text.to_owned()))
    }

    fn of_text(text: String) -> Self {
        Self {
            hash: KeyHash::of(&text),
            text,
        }
    }
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Id of the key.
    pub id: Uuid,
    /// Id of the key that it was made from if it is a session, else its own.
    pub origin: Uuid,
    /// Name of the key, for people.
    pub name: String,
    /// Scope of the key.
    pub scope: Scope,
    /// Time from which it is refused; never if none.
    pub expires_at: Option<Timestamp>,
    /// Networks from which it is taken.
    pub networks: Only<IpNet>,
    /// Providers whose prices it may write.
    pub providers: Only<String>,
}

impl Key {
    /// Whether it is refused from now on.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Checks whether it is taken now from a caller with an address.
    ///
    /// # Errors
    /// It has expired, or the address is in none of its networks.
    pub fn check(&self, now: Timestamp, address: Option<IpAddr>) -> Result<(), Refused> {
        if self.has_expired(now) {
            return Err(Refused::ExpiredKey);
        }
        if !self.networks.admits(address) {
            return Err(Refused::Network);
        }
        Ok(())
    }
}

/// All keys that are not revoked.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: HashMap<[u8; LOOKUP_BYTES], Vec<(KeyHash, Key)>>,
}

impl FromIterator<(KeyHash, Key)> for KeyRing {
    fn from_iter<I: IntoIterator<Item = (KeyHash, Key)>>(keys: I) -> Self {
        let mut ring = Self::default();
        for (hash, key) in keys {
            ring.keys
                .entry(hash.lookup())
                .or_default()
                .push((hash, key));
        }
        ring
    }
}

impl KeyRing {
    /// The key with this text, also one that has expired. The lookup sees only the hash, which a client cannot choose bit by
    /// bit; the hashes are compared in constant time.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<&Key> {
        let hash = KeyHash::of(text);
        let near = self.keys.get(&hash.lookup()).map_or(&[][..], Vec::as_slice);
        let same = near
            .iter()
            .find(|(stored, _)| bool::from(stored.0.ct_eq(&hash.0)));
        same.map(|(_, key)| key)
    }

    /// Whether there is a key that has not expired.
    #[must_use]
    pub fn has_usable(&self, now: Timestamp) -> bool {
        let mut keys = self.keys.values().flatten();
        keys.any(|(_, key)| !key.has_expired(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, expires_at: Option<Timestamp>) -> Key {
        let id = Uuid::new_v4();
        Key {
            id,
            origin: id,
            name: name.to_owned(),
            scope: Scope::Read,
            expires_at,
            networks: Only::ANY,
            providers: Only::ANY,
        }
    }

    #[test]
    fn a_key_is_found_by_its_text_alone_and_until_it_expires() {
        let [first, second] = [0, 1].map(|_| NewKey::random().unwrap());
        assert_ne!(first.text, second.text);
        let end: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        let before = end - jiff::SignedDuration::from_nanos(1);
        let ring: KeyRing = [
            (first.hash, key("first", None)),
            (second.hash, key("second", Some(end))),
        ]
        .into_iter()
        .collect();
        let found = |key: &NewKey| ring.find(&key.text).unwrap();
        assert_eq!(found(&first).name, "first");
        assert_eq!(found(&first).check(end, None), Ok(()));
        assert_eq!(found(&second).name, "second");
        assert_eq!(found(&second).check(before, None), Ok(()));
        assert_eq!(found(&second).check(end, None), Err(Refused::ExpiredKey));
        let third = NewKey::random().unwrap();
        assert_eq!(ring.find(&third.text), None);
        assert_eq!(ring.find(""), None);
    }

    #[test]
    fn a_key_that_is_limited_to_networks_is_refused_elsewhere() {
        let networks: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let key = Key {
            networks: networks.into(),
            ..key("desk", None)
        };
        let check = |address: &str| key.check(Timestamp::UNIX_EPOCH, address.parse().ok());
        assert_eq!(check("10.1.2.3"), Ok(()));
        assert_eq!(check("192.0.2.1"), Err(Refused::Network));
        assert_eq!(check("no address"), Err(Refused::Network));
    }

    #[test]
    fn a_key_that_has_expired_is_none_that_can_be_used() {
        let end: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        let before = end - jiff::SignedDuration::from_nanos(1);
        let hash = KeyHash::of("key");
        let ring: KeyRing = [(hash, key("guest", Some(end)))].into_iter().collect();
        assert!(ring.has_usable(before) && !ring.has_usable(end));
        let ring: KeyRing = [(hash, key("desk", None))].into_iter().collect();
        assert!(ring.has_usable(end));
        assert!(!KeyRing::default().has_usable(end));
    }

    #[test]
    fn a_key_has_256_bits_and_one_form() {
        let key = NewKey::random().unwrap();
        assert_eq!(key.text.len(), PREFIX.len() + 43);
        assert_eq!(NewKey::read(&key.text).unwrap().hash, key.hash);
        for wrong in [
            "",
            "unroof_",
            "unroof_AAAA",
            &key.text[7..],
            &format!("{}A", key.text),
        ] {
            assert!(NewKey::read(wrong).is_none(), "{wrong}");
        }
    }
}

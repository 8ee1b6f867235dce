//! The key that secrets of webhooks are encrypted with.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use uuid::Uuid;

/// Prefix of an encrypted secret; base64 of nonce, text and tag follows. No plain secret has it: those begin with `whsec_`.
pub(crate) const SEALED: &str = "sealed_v1_";
/// Length of a key, in bytes.
const KEY_BYTES: usize = 32;

/// The key that secrets are encrypted with.
pub struct SecretsKey(LessSafeKey);

/// Reason why a secret cannot be read or encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The service has no key.
    #[error("its secret is encrypted, and UNROOF_SECRETS_KEY is not set")]
    NoKey,
    /// The service has another key, or the secret is damaged.
    #[error("its secret was encrypted with another key than UNROOF_SECRETS_KEY, or is damaged")]
    OtherKey,
    /// A new secret cannot be encrypted.
    #[error("the system has no random numbers")]
    NoRandomNumbers,
}

impl SecretsKey {
    /// A key of 32 bytes in base64.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        let bytes = Some(bytes).filter(|bytes| bytes.len() == KEY_BYTES)?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?;
        Some(Self(LessSafeKey::new(key)))
    }

    /// Encrypts the secret of a webhook. It cannot be read as that of another one.
    pub(crate) fn seal(&self, webhook: Uuid, secret: &str) -> Result<String, SecretError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SecretError::NoRandomNumbers)?;
        let mut text = secret.as_bytes().to_vec();
        let place = Aad::from(webhook.as_bytes());
        let tag = self.0.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            place,
            &mut text,
        );
        let tag = tag.map_err(|_| SecretError::NoRandomNumbers)?;
        let sealed = [nonce.as_slice(), &text, tag.as_ref()].concat();
        Ok(format!("{SEALED}{}", STANDARD.encode(sealed)))
    }

    /// Decrypts what follows the prefix.
    pub(crate) fn open(&self, webhook: Uuid, sealed: &str) -> Option<String> {
        let mut sealed = STANDARD.decode(sealed).ok()?;
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let place = Aad::from(webhook.as_bytes());
        let plain = self.0.open_in_place(nonce, place, text).ok()?;
        String::from_utf8(plain.to_vec()).ok()
    }
}

/// Writes the type without the key.
impl fmt::Debug for SecretsKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("SecretsKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretsKey {
        SecretsKey::read(&STANDARD.encode([byte; KEY_BYTES])).unwrap()
    }

    #[test]
    fn a_secret_is_read_with_its_key_for_its_webhook_alone() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let stored = key(7).seal(own, "whsec_abc").unwrap();
        let again = key(7).seal(own, "whsec_abc").unwrap();
        assert_ne!(stored, again);
        let sealed = stored.strip_prefix(SEALED).unwrap();
        assert_eq!(key(7).open(own, sealed).as_deref(), Some("whsec_abc"));
        assert_eq!(key(8).open(own, sealed), None);
        assert_eq!(key(7).open(other, sealed), None);
        let mut bytes = STANDARD.decode(sealed).unwrap();
        for place in 0..bytes.len() {
            bytes[place] ^= 1;
            assert_eq!(key(7).open(own, &STANDARD.encode(&bytes)), None, "{place}");
            bytes[place] ^= 1;
        }
        assert_eq!(key(7).open(own, &STANDARD.encode([0; 5])), None);
    }

    #[test]
    fn a_key_has_32_bytes() {
        for text in [
            "",
            "secret",
            &STANDARD.encode([1; 31]),
            &STANDARD.encode([1; 33]),
        ] {
            assert!(SecretsKey::read(text).is_none(), "{text}");
        }
        assert_eq!(format!("{:?}", key(1)), "SecretsKey");
    }
}

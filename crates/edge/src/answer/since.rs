//! Positions in the feed of changes.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A position in the list of changes; 0 is before the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Since(pub i64);

impl Since {
    /// Reads the position after which a client wants changes.
    pub fn read(text: &str) -> Result<Self, String> {
        let place = text.parse().ok().filter(|place| *place >= 0);
        place
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a number from 0 to {}", i64::MAX))
    }
}

impl<'de> Deserialize<'de> for Since {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

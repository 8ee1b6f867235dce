//! Values of query parameters that filter the feed of changes.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use unroof_edge::some_of;
use unroof_store::ChangeKind;

/// Largest factor between two prices that a filter may state.
pub(crate) const LARGEST_FACTOR: f64 = 1e12;

/// Kinds of changes separated by commas.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kinds(pub(crate) Vec<ChangeKind>);

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut kinds = Vec::new();
        for name in text.split(',').map(str::trim) {
            let kind = ChangeKind::try_from(name.to_owned()).map_err(|_| {
                let shown: String = name.chars().take(100).collect();
                let known: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.name()).collect();
                D::Error::custom(format!("`{shown}` is not one of {}", known.join(", ")))
            })?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(Self(kinds))
    }
}

impl PartialSchema for Kinds {
    fn schema() -> RefOr<Schema> {
        some_of(ChangeKind::ALL.iter().map(|kind| kind.name()))
    }
}

impl ToSchema for Kinds {}

/// A factor between two prices: the larger over the smaller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor(pub(crate) f64);

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let factor = text.parse().ok();
        let factor = factor.filter(|factor: &f64| (1.0..=LARGEST_FACTOR).contains(factor));
        factor.map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a number from 1 to {LARGEST_FACTOR:e}"
            ))
        })
    }
}

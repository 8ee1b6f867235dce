//! Query parameters that filter the feed of changes: the same for the list, the stream, the Atom feed and the summary.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use unroof_edge::answer::names::some_of;
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

/// Declares a query with all parameters of the filter after its own.
macro_rules! filtered_query {
    ($(#[$about:meta])* $Query:ident { $($(#[$field_about:meta])* $field:ident: $Field:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields, default)]
        #[into_params(parameter_in = Query)]
        pub(crate) struct $Query {
            $($(#[$field_about])* $field: $Field,)*
            /// Kinds of changes, separated by commas; all if left out.
            #[param(nullable = false, inline)]
            kind: Option<$crate::api::prices::change_query::Kinds>,
            /// Billing provider; several separated by commas.
            #[param(nullable = false, inline)]
            provider: Option<unroof_edge::answer::names::Names>,
            /// Model name as the provider spells it; several separated by commas.
            #[param(nullable = false, inline)]
            model: Option<unroof_edge::answer::names::Names>,
            /// Canonical name, `author/model`; several separated by commas.
            #[param(nullable = false, inline)]
            canonical_model: Option<unroof_edge::answer::names::Names>,
            /// Whether the sheet is in force after the change.
            #[param(nullable = false)]
            in_force: Option<bool>,
            /// Smallest factor between the old and the new price, in either direction. Other changes are left
            /// out.
            #[param(nullable = false, value_type = Option<f64>, minimum = 1, maximum = 1e12)]
            min_factor: Option<$crate::api::prices::change_query::Factor>,
        }

        impl $Query {
            /// Filter that the query states.
            fn filter(&mut self) -> unroof_store::ChangeFilter {
                use $crate::api::prices::change_query::{Factor, Kinds};
                use unroof_edge::answer::names::Names;
                let Kinds(kind) = self.kind.take().unwrap_or_default();
                unroof_store::ChangeFilter {
                    kind,
                    provider: Names::list(self.provider.take()),
                    model: Names::list(self.model.take()),
                    canonical_model: Names::list(self.canonical_model.take()),
                    in_force: self.in_force,
                    min_factor: self.min_factor.map(|Factor(least)| least),
                }
            }
        }
    };
}

pub(crate) use filtered_query;

//! Scopes: what a caller may do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Scope of a caller. Each scope includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Read stored estimates, prices and changes.
    Read,
    /// Compute estimates and plans, and store questions.
    Ask,
    /// Send price sheets and catalogs that enter the record, and withdraw prices.
    Observe,
    /// Manage webhooks and keys, and read the audit log.
    Admin,
}

/// A text that is not the name of a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope: write read, ask, observe or admin")]
pub struct UnknownScope(pub String);

impl Scope {
    /// All scopes, from the narrowest to the widest.
    pub const ALL: [Self; 4] = [Self::Read, Self::Ask, Self::Observe, Self::Admin];

    /// Name of the scope.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Ask => "ask",
            Self::Observe => "observe",
            Self::Admin => "admin",
        }
    }

    /// The reason for which a key of this scope cannot be limited to providers; none if it can.
    #[must_use]
    pub const fn why_no_providers(self) -> Option<&'static str> {
        match self {
            Self::Observe => None,
            Self::Admin => Some("an admin makes keys without limits"),
            Self::Read | Self::Ask => Some("a key of this scope writes no prices"),
        }
    }

    /// Whether a caller with this scope may do what needs another one.
    #[must_use]
    pub fn includes(self, needed: Self) -> bool {
        self >= needed
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let known = Self::ALL.into_iter().find(|scope| scope.name() == name);
        known.ok_or_else(|| UnknownScope(name.to_owned()))
    }
}

impl TryFrom<String> for Scope {
    type Error = UnknownScope;

    fn try_from(name: String) -> Result<Self, UnknownScope> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_includes_those_before_it_and_no_other() {
        for (number, scope) in Scope::ALL.into_iter().enumerate() {
            for (other, needed) in Scope::ALL.into_iter().enumerate() {
                assert_eq!(scope.includes(needed), other <= number, "{scope} {needed}");
            }
            assert_eq!(scope.name().parse(), Ok(scope));
        }
        assert!("Read".parse::<Scope>().is_err());
    }
}

//! Access to a service, as its settings allow it.

use super::groups::GroupScopes;
use unroof_store::access::{Scope, TrustedProxies};

/// Access to a service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether a key decides what a caller may do. If not, every caller may do everything.
    pub requires_keys: bool,
    /// Scope of a caller without a key; nothing is allowed if none.
    pub anonymous: Option<Scope>,
    /// Proxies whose word about a client's address is taken.
    pub proxies: TrustedProxies,
    /// Headers in which a trusted proxy names the user.
    pub users: Option<UserHeaders>,
}

/// Headers in which a trusted proxy that has signed a user in names the user and the user's groups, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserHeaders {
    /// Header with the name of the user.
    pub user: String,
    /// The user's groups, separated by commas.
    pub groups: String,
    /// The scopes of the groups.
    pub scopes: GroupScopes,
}

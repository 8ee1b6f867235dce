//! Reasons for which callers are refused.

use crate::record::names::stored_names;

stored_names! {
    /// Reason for which a caller was refused.
    Refused {
        /// There was no key, and one is needed.
        NoKey = "no_key",
        /// `Authorization` was not `Bearer KEY`.
        UnreadableKey = "unreadable_key",
        /// The key is unknown, or was revoked.
        UnknownKey = "unknown_key",
        /// The key has expired.
        ExpiredKey = "expired_key",
        /// The key is not taken from the caller's address.
        Network = "network",
        /// The scope of the caller does not allow this.
        Scope = "scope",
        /// The key may not write prices of this provider.
        Provider = "provider",
        /// The form came from a page of another site.
        OtherSite = "other_site",
    }
}

impl Refused {
    /// Whether another key would help, and the caller is not known: 401; else it is known, and 403.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        use Refused::{ExpiredKey, NoKey, UnknownKey, UnreadableKey};
        matches!(self, NoKey | UnreadableKey | UnknownKey | ExpiredKey)
    }
}

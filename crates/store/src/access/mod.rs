//! Access: scopes, keys, trusted proxies, and the caller of a request.
//!
//! Pure: keys are read from the database by the store, and requests are checked by the service.

mod caller;
mod client;
mod groups;
mod key;
mod policy;
mod proxies;
mod scope;

pub use caller::{Actor, Caller, Identity};
pub use client::{Client, network_of};
pub use groups::{GroupScope, GroupScopes};
pub use key::{Key, KeyHash, KeyRing, NewKey, RefusedKey};
pub use policy::{Access, UserHeaders};
pub use proxies::{TrustedProxies, TrustedProxy};
pub use scope::{Scope, UnknownScope};

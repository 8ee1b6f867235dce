//! Access: scopes, keys, trusted proxies, and the caller of a request.
//!
//! Pure: keys are read from the database by the store, and requests are checked by the service.

mod caller;
mod client;
mod key;
mod only;
mod proxies;
mod refused;
mod scope;
mod visits;

pub use ipnet::IpNet as Network;

pub use caller::{Actor, Caller, Identity};
pub use client::{Client, network_of};
pub use key::{Key, KeyHash, KeyRing, NewKey};
pub use only::{Only, UnreadableLimit};
pub use proxies::{TrustedProxies, TrustedProxy, network};
pub use refused::Refused;
pub use scope::{Scope, UnknownScope};
pub(crate) use visits::RefusedRequests;
pub use visits::{MOST_REFUSED, Unwritten, Visits};

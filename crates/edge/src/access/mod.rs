//! Access to a service by its settings: keys, proxies, and the groups of an identity provider.

mod groups;
mod policy;

pub use groups::{GroupScope, GroupScopes};
pub use policy::{Access, UserHeaders};

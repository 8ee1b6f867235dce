//! Listeners, peers and host names.

pub(crate) mod hosts;
pub(crate) mod lingering;
pub(crate) mod listener;
pub(crate) mod peer;
#[cfg(unix)]
pub(crate) mod unix_socket;
pub(crate) mod users;

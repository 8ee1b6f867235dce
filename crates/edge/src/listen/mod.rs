//! Listeners, peers and host names.

pub mod hosts;
pub mod lingering;
pub mod listener;
pub mod peer;
#[cfg(unix)]
pub mod unix_socket;

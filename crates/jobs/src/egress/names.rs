//! DNS lookups on a few dedicated threads. The system's resolver cannot be cancelled and may block for its whole configured
//! timeout: the caller stops waiting after its own timeout, and the slot is held until the resolver returns.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::address::{NOT_PUBLIC, is_public};

/// Slots for concurrent lookups.
#[derive(Debug, Clone)]
pub struct Names(Arc<Semaphore>);

/// Cause of a failed lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    /// All slots are in use.
    Busy,
    /// The name does not exist.
    Unknown,
    /// The lookup timed out.
    Late,
}

type Found = io::Result<Vec<SocketAddr>>;

impl Names {
    /// Look-ups of names, at most so many at once.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, NameFault> {
        Arc::clone(&self.0)
            .try_acquire_owned()
            .map_err(|_| NameFault::Busy)
    }

    /// Looks up the addresses of `host:port`, within a timeout.
    pub async fn look_up(
        &self,
        host_and_port: String,
        longest: Duration,
    ) -> Result<Vec<SocketAddr>, NameFault> {
        let names = self.clone();
        let found =
            tokio::task::spawn_blocking(move || names.look_up_blocking(host_and_port, longest));
        found.await.unwrap_or(Err(NameFault::Unknown))
    }

    /// The blocking variant of [`Self::look_up`].
    fn look_up_blocking(
        &self,
        host_and_port: String,
        longest: Duration,
    ) -> Result<Vec<SocketAddr>, NameFault> {
        if let Ok(address) = host_and_port.parse() {
            return Ok(vec![address]);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        look_up_on_a_thread(self.place()?, host_and_port, move |found| {
            let _ = sender.send(found);
        });
        match receiver.recv_timeout(longest) {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(NameFault::Unknown),
            Err(RecvTimeoutError::Timeout) => Err(NameFault::Late),
        }
    }
}

/// Starts the lookup thread. Without one, the caller times out.
fn look_up_on_a_thread(
    place: OwnedSemaphorePermit,
    host_and_port: String,
    answer: impl FnOnce(Found) + Send + 'static,
) {
    let look_up = move || {
        let found = host_and_port.to_socket_addrs().map(Iterator::collect);
        drop(place);
        answer(found);
    };
    let started = std::thread::Builder::new()
        .name("name-lookup".to_owned())
        .spawn(look_up);
    if let Err(error) = started {
        tracing::warn!(%error, "cannot start a thread for a DNS lookup");
    }
}

/// Resolver of public addresses only, unless private ones are allowed. A proxy, which the operator names, may be private.
#[derive(Debug)]
pub(super) struct PlacedResolver {
    names: Names,
    allows_private: bool,
}

impl PlacedResolver {
    pub(super) fn new(names: Names, allows_private: bool) -> Self {
        Self {
            names,
            allows_private,
        }
    }
}

impl Resolver for PlacedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(ureq::Error::HostNotFound);
        };
        let host_and_port =
            DefaultResolver::host_and_port(scheme, authority).ok_or(ureq::Error::HostNotFound)?;
        let found = self
            .names
            .look_up_blocking(host_and_port, *timeout.after)
            .map_err(|fault| match fault {
                NameFault::Busy => ureq::Error::Other("too many concurrent DNS lookups".into()),
                NameFault::Unknown => ureq::Error::HostNotFound,
                NameFault::Late => ureq::Error::Timeout(timeout.reason),
            })?;
        let is_proxy = config.proxy().is_some_and(|proxy| proxy.uri() == uri);
        let allows_private = self.allows_private || is_proxy;
        if !allows_private && found.iter().any(|address| !is_public(address.ip())) {
            return Err(ureq::Error::Other(NOT_PUBLIC.into()));
        }
        let mut addresses = self.empty();
        let family = config.ip_family();
        let wanted = family.keep_wanted(found.into_iter());
        for address in wanted.take(MOST_ADDRESSES) {
            addresses.push(address);
        }
        if addresses.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        Ok(addresses)
    }
}

/// Most addresses of a name: the capacity of ureq's list.
const MOST_ADDRESSES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_local_name_is_found_and_without_a_slot_no_lookup_starts() {
        let names = Names::new(1);
        let longest = Duration::from_secs(30);
        let found = names.look_up("localhost:80".to_owned(), longest).await;
        let found = found.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()));
        let none = Names::new(0);
        let found = none.look_up("localhost:80".to_owned(), longest).await;
        assert_eq!(found, Err(NameFault::Busy));
        // An address needs no lookup.
        let found = none.look_up("[::1]:80".to_owned(), longest).await;
        assert_eq!(found, Ok(vec!["[::1]:80".parse().unwrap()]));
    }
}

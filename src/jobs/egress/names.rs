//! Looks names up on a few threads of its own. The system's function for it cannot be stopped, and where a name server does
//! not answer it takes as long as its configuration says: whoever asks waits no longer than it wants to, and the place is
//! held until the function has ended.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::address::{NOT_PUBLIC, is_public};

/// Names that are looked up at once.
#[derive(Debug, Clone)]
pub(crate) struct Names(Arc<Semaphore>);

/// Why a name has no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFault {
    /// As many are looked up as may be.
    Busy,
    /// There is no such name.
    Unknown,
    /// No answer in time.
    Late,
}

type Found = io::Result<Vec<SocketAddr>>;

impl Names {
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, NameFault> {
        Arc::clone(&self.0)
            .try_acquire_owned()
            .map_err(|_| NameFault::Busy)
    }

    /// The addresses of `host:port`, if they come in time.
    pub(crate) async fn look_up(
        &self,
        host_and_port: String,
        longest: Duration,
    ) -> Result<Vec<SocketAddr>, NameFault> {
        if let Ok(address) = host_and_port.parse() {
            return Ok(vec![address]);
        }
        let (sender, receiver) = oneshot::channel();
        look_up_on_a_thread(self.place()?, host_and_port, |found| {
            // Whoever asked may have given up.
            let _ = sender.send(found);
        });
        match tokio::time::timeout(longest, receiver).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(_) => Err(NameFault::Unknown),
            Err(_) => Err(NameFault::Late),
        }
    }

    /// The same for a thread that may wait.
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

/// Where no thread is to be had, nobody is answered.
fn look_up_on_a_thread(
    place: OwnedSemaphorePermit,
    host_and_port: String,
    tell: impl FnOnce(Found) + Send + 'static,
) {
    let look_up = move || {
        let found = host_and_port.to_socket_addrs().map(Iterator::collect);
        drop(place);
        tell(found);
    };
    let started = std::thread::Builder::new()
        .name("name-lookup".to_owned())
        .spawn(look_up);
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to look a name up");
    }
}

/// Resolves names for the client that sends to webhooks: to public addresses alone, unless it was told otherwise.
#[derive(Debug)]
pub(crate) struct PlacedResolver {
    names: Names,
    allows_private: bool,
}

impl PlacedResolver {
    pub(crate) fn new(names: Names, allows_private: bool) -> Self {
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
                NameFault::Busy => ureq::Error::Other("too many names are looked up".into()),
                NameFault::Unknown => ureq::Error::HostNotFound,
                NameFault::Late => ureq::Error::Timeout(timeout.reason),
            })?;
        if !self.allows_private && found.iter().any(|address| !is_public(address.ip())) {
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

/// Addresses of a name that are tried: as many as ureq has room for.
const MOST_ADDRESSES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_this_machine_is_found_and_one_without_a_place_is_not_looked_up() {
        let names = Names::new(1);
        let longest = Duration::from_secs(30);
        let found = names.look_up("localhost:80".to_owned(), longest).await;
        let found = found.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()));
        let none = Names::new(0);
        let found = none.look_up("localhost:80".to_owned(), longest).await;
        assert_eq!(found, Err(NameFault::Busy));
        // An address is no name.
        let found = none.look_up("[::1]:80".to_owned(), longest).await;
        assert_eq!(found, Ok(vec!["[::1]:80".parse().unwrap()]));
    }
}

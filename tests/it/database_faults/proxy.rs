//! A proxy between the service and its database that can break the link, and that counts what passes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// Treatment of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// Bytes pass.
    Open,
    /// Connections are cut, and new ones refused.
    Closed,
    /// Connections are taken and kept, and nothing passes.
    Frozen,
    /// Answers come later.
    Slow(Duration),
    /// The next answer is cut in the middle, with its connection.
    HalfAnswer,
}

/// A proxy; it ends with the test.
pub(crate) struct Proxy {
    address: SocketAddr,
    link: watch::Sender<Link>,
    traffic: Arc<Traffic>,
}

/// Responses of the database.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes that have passed.
    bytes: AtomicUsize,
    /// Transactions that were committed. Those that are rolled back have read.
    transactions: AtomicUsize,
    /// Round trips of the longest of them, after the one that began it.
    longest: AtomicUsize,
}

impl Proxy {
    /// A proxy to the server of a database's URL.
    pub(crate) async fn to(database_url: &str, link: Link) -> Self {
        let url = Url::parse(database_url).unwrap();
        let target = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (link, seen) = watch::channel(link);
        let traffic = Arc::new(Traffic::default());
        tokio::spawn(take_connections(
            listener,
            target,
            seen,
            Arc::clone(&traffic),
        ));
        Self {
            address,
            link,
            traffic,
        }
    }

    /// Counts from nothing again.
    pub(crate) fn reset_counts(&self) {
        let counters = &self.traffic;
        for counter in [&counters.bytes, &counters.transactions, &counters.longest] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// Bytes that the database has answered.
    pub(crate) fn bytes(&self) -> usize {
        self.traffic.bytes.load(Ordering::Relaxed)
    }

    /// Transactions that were committed.
    pub(crate) fn transactions(&self) -> usize {
        self.traffic.transactions.load(Ordering::Relaxed)
    }

    /// Round trips of the longest of them, after the one that began it.
    pub(crate) fn longest_transaction(&self) -> usize {
        self.traffic.longest.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, link: Link) {
        self.link.send_replace(link);
    }

    /// The database's URL on the way through here.
    pub(crate) fn url(&self, database_url: &str) -> String {
        let mut url = Url::parse(database_url).unwrap();
        url.set_ip_host(self.address.ip()).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }
}

async fn take_connections(
    listener: TcpListener,
    target: String,
    mut link: watch::Receiver<Link>,
    traffic: Arc<Traffic>,
) {
    let address = listener.local_addr().unwrap();
    let mut listener = Some(listener);
    loop {
        if *link.borrow_and_update() == Link::Closed {
            listener = None;
            if link.changed().await.is_err() {
                return;
            }
            continue;
        }
        if listener.is_none() {
            listener = Some(TcpListener::bind(address).await.unwrap());
        }
        tokio::select! {
            taken = listener.as_ref().unwrap().accept() => {
                let (client, _) = taken.unwrap();
                tokio::spawn(carry(client, target.clone(), link.clone(), Arc::clone(&traffic)));
            }
            changed = link.changed() => if changed.is_err() { return },
        }
    }
}

/// Carries bytes both ways until either side ends or the link is closed.
async fn carry(
    client: TcpStream,
    target: String,
    mut link: watch::Receiver<Link>,
    traffic: Arc<Traffic>,
) {
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = questions(from_client, to_server, link.clone()) => {}
        () = answers(from_server, to_client, link.clone(), &traffic) => {}
        _ = link.wait_for(|link| *link == Link::Closed) => {}
    }
}

async fn questions(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut link: watch::Receiver<Link>,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Some(count) = next(&mut from, &mut bytes, &mut link).await {
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut link: watch::Receiver<Link>,
    traffic: &Traffic,
) {
    let mut bytes = vec![0; 64 * 1024];
    let mut messages = Messages::default();
    while let Some(count) = next(&mut from, &mut bytes, &mut link).await {
        messages.read(&bytes[..count], traffic);
        let now = *link.borrow();
        if let Link::Slow(delay) = now {
            tokio::time::sleep(delay).await;
        }
        let is_cut = now == Link::HalfAnswer;
        let passed = if is_cut { count / 2 } else { count };
        if to.write_all(&bytes[..passed]).await.is_err() || is_cut {
            return;
        }
    }
}

/// The next bytes that may pass.
async fn next(
    from: &mut OwnedReadHalf,
    bytes: &mut [u8],
    link: &mut watch::Receiver<Link>,
) -> Option<usize> {
    let count = from.read(bytes).await.ok().filter(|count| *count > 0)?;
    link.wait_for(|link| *link != Link::Frozen).await.ok()?;
    Some(count)
}

/// The messages of one connection, of which the database ends each answer with one that says whether a transaction has
/// begun.
#[derive(Default)]
struct Messages {
    /// The message being read: type, length, and the content of a short one.
    begun: Vec<u8>,
    /// Remaining bytes of a message.
    rest: usize,
    /// First byte of its content.
    first: Option<u8>,
    /// Whether the last statement was a commit.
    has_committed: bool,
    has_begun: bool,
    /// Round trips of the current transaction.
    trips: Option<usize>,
}

impl Messages {
    fn read(&mut self, mut bytes: &[u8], traffic: &Traffic) {
        const HEAD: usize = 5;
        traffic.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        // No encryption; this answer is a letter alone.
        if !self.has_begun && bytes.first() == Some(&b'N') {
            bytes = &bytes[1..];
        }
        self.has_begun = true;
        while let Some((byte, after)) = bytes.split_first() {
            if self.begun.len() == HEAD {
                self.first.get_or_insert(*byte);
            }
            if self.begun.len() == HEAD && self.rest > 1 {
                let passed = bytes.len().min(self.rest - 1);
                self.rest -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            bytes = after;
            if self.begun.len() < HEAD {
                self.begun.push(*byte);
                let Ok([_, length @ ..]) = <[u8; HEAD]>::try_from(self.begun.as_slice()) else {
                    continue;
                };
                self.rest = u32::from_be_bytes(length) as usize - 4;
                if self.rest == 0 {
                    self.begun.clear();
                }
                continue;
            }
            // The last byte.
            let first = self.first.take();
            match self.begun[0] {
                // The name of a statement that is complete.
                b'C' => self.has_committed = first == Some(b'C'),
                b'Z' => self.end_answer(*byte, traffic),
                _ => {}
            }
            self.begun.clear();
        }
    }

    fn end_answer(&mut self, state: u8, traffic: &Traffic) {
        let is_idle = state == b'I';
        match self.trips {
            None if is_idle => {}
            None => self.trips = Some(0),
            Some(trips) if is_idle => {
                self.trips = None;
                if self.has_committed {
                    traffic.longest.fetch_max(trips + 1, Ordering::Relaxed);
                    traffic.transactions.fetch_add(1, Ordering::Relaxed);
                }
            }
            Some(trips) => self.trips = Some(trips + 1),
        }
    }
}

//! A proxy between the service and its database that can be told to break the link.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// What becomes of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// They pass.
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
pub(super) struct Proxy {
    address: SocketAddr,
    link: watch::Sender<Link>,
}

impl Proxy {
    /// A proxy to the server of a database's URL.
    pub(super) async fn to(database_url: &str, link: Link) -> Self {
        let url = Url::parse(database_url).unwrap();
        let target = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (link, seen) = watch::channel(link);
        tokio::spawn(take_connections(listener, target, seen));
        Self { address, link }
    }

    pub(super) fn set(&self, link: Link) {
        self.link.send_replace(link);
    }

    /// The database's URL on the way through here.
    pub(super) fn url(&self, database_url: &str) -> String {
        let mut url = Url::parse(database_url).unwrap();
        url.set_ip_host(self.address.ip()).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }
}

async fn take_connections(listener: TcpListener, target: String, mut link: watch::Receiver<Link>) {
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
                tokio::spawn(carry(client, target.clone(), link.clone()));
            }
            changed = link.changed() => if changed.is_err() { return },
        }
    }
}

/// Carries bytes both ways until either side ends or the link is closed.
async fn carry(client: TcpStream, target: String, mut link: watch::Receiver<Link>) {
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = questions(from_client, to_server, link.clone()) => {}
        () = answers(from_server, to_client, link.clone()) => {}
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

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut link: watch::Receiver<Link>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Some(count) = next(&mut from, &mut bytes, &mut link).await {
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

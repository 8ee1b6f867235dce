//! The socket that a service listens on: TCP, a Unix socket, or one that its supervisor has opened.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::peer::Peer;

#[cfg(unix)]
use super::unix_socket::{SocketFile, UnixStream, inherited};
#[cfg(unix)]
use tokio_util::either::Either;

/// Size of the kernel's send buffer per connection, in bytes. By default the kernel grows it to megabytes and reports room
/// only when a third is free: a slow but reading client would look stalled.
const SEND_BUFFER: u32 = 128 * 1024;
/// Backlog of connections not yet accepted.
const WAITING_CONNECTIONS: u32 = 1024;

/// Address of a service, as it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A TCP address with its port.
    Tcp(SocketAddr),
    /// File of a Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// Whether only this machine can reach it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.tcp().is_none_or(|address| address.ip().is_loopback())
    }

    /// Address and port, if it has them.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(to),
            Self::Unix(file) => write!(to, "unix:{}", file.display()),
        }
    }
}

/// A bound socket that is not serving yet; its address is known, also for port 0.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    address: ListenAddress,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(SocketFile),
}

/// A connection over TCP or the Unix socket.
#[cfg(unix)]
pub type Stream = Either<TcpStream, UnixStream>;
/// A connection over TCP.
#[cfg(not(unix))]
pub type Stream = TcpStream;

impl Server {
    /// Binds an address.
    ///
    /// # Errors
    /// It is in use or not available.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => Self::listening(bind_tcp(*address)?),
            #[cfg(unix)]
            ListenAddress::Unix(file) => Ok(Self {
                listener: Listener::Unix(SocketFile::bind(file)?),
                address: address.clone(),
            }),
            #[cfg(not(unix))]
            ListenAddress::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The socket that the supervisor has opened (`LISTEN_FDS`), if there is one.
    ///
    /// # Errors
    /// It listens neither on TCP nor on a Unix socket, or there are several.
    #[cfg(unix)]
    pub fn inherited() -> io::Result<Option<Self>> {
        use super::unix_socket::Inherited;
        match inherited()? {
            None => Ok(None),
            Some(Inherited::Tcp(socket)) => {
                let socket = TcpSocket::from_std_stream(socket);
                Self::listening(socket).map(Some)
            }
            Some(Inherited::Unix(socket, file)) => Ok(Some(Self {
                listener: Listener::Unix(socket),
                address: ListenAddress::Unix(file),
            })),
        }
    }

    /// No supervisor opens sockets here.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn inherited() -> io::Result<Option<Self>> {
        Ok(None)
    }

    fn listening(socket: TcpSocket) -> io::Result<Self> {
        socket.set_send_buffer_size(SEND_BUFFER)?;
        let listener = socket.listen(WAITING_CONNECTIONS)?;
        let address = ListenAddress::Tcp(listener.local_addr()?);
        Ok(Self {
            listener: Listener::Tcp(listener),
            address,
        })
    }

    /// Address at which the server listens.
    #[must_use]
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Waits for the next connection.
    pub async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match &self.listener {
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Responses are written whole, so delaying small packets gains nothing.
                let _ = stream.set_nodelay(true);
                #[cfg(unix)]
                let stream = Either::Left(stream);
                Ok((stream, Peer::Tcp(address)))
            }
            #[cfg(unix)]
            Listener::Unix(listener) => {
                let stream = listener.accept().await?;
                Ok((Either::Right(stream), Peer::Unix))
            }
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restart must not wait for connections of the previous process to time out.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Sends an answer if the socket accepts it without blocking.
pub fn try_answer(stream: &Stream, answer: &[u8]) {
    let mut unread = [0; 8192];
    // An unread request would make the kernel reset the connection, perhaps before the response is read.
    #[cfg(unix)]
    let _ = match stream {
        Either::Left(stream) => stream
            .try_write(answer)
            .and_then(|_| stream.try_read(&mut unread)),
        Either::Right(stream) => stream
            .try_write(answer)
            .and_then(|_| stream.try_read(&mut unread)),
    };
    #[cfg(not(unix))]
    let _ = stream
        .try_write(answer)
        .and_then(|_| stream.try_read(&mut unread));
}

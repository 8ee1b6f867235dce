//! Unix sockets, and the sockets that a supervisor such as systemd has opened for this process.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net as unix;
use std::path::{Path, PathBuf};

use listenfd::ListenFd;
use tokio::net::UnixListener;

pub(crate) use tokio::net::UnixStream;

/// Permissions of the file: owner and group may connect.
const MODE: u32 = 0o660;

/// A Unix socket that listens. Its file is removed on drop where this process made it; one that is killed leaves it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    listener: UnixListener,
    made: Option<PathBuf>,
}

impl SocketFile {
    /// Makes the file of a socket. One that a dead process has left is replaced.
    pub(crate) fn bind(file: &Path) -> io::Result<Self> {
        let listener = match UnixListener::bind(file) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_abandoned(file) => {
                fs::remove_file(file)?;
                UnixListener::bind(file)?
            }
            bound => bound?,
        };
        let socket = Self {
            listener,
            made: Some(file.to_owned()),
        };
        fs::set_permissions(file, Permissions::from_mode(MODE))?;
        Ok(socket)
    }

    /// Waits for the next connection.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        Ok(stream)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Some(file) = &self.made {
            // The next process replaces a file that remains.
            let _ = fs::remove_file(file);
        }
    }
}

/// Whether a file is a socket that no process listens on any more.
fn is_abandoned(file: &Path) -> bool {
    let is_socket = fs::symlink_metadata(file).is_ok_and(|data| data.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    is_socket && unix::UnixStream::connect(file).is_err_and(refused)
}

/// A socket that was opened for this process.
pub(crate) enum Inherited {
    /// One of TCP, in the type by which it becomes one of tokio.
    Tcp(net::TcpStream),
    /// A Unix socket, and its file.
    Unix(SocketFile, PathBuf),
}

/// The socket that the supervisor has opened, if there is one.
pub(crate) fn inherited() -> io::Result<Option<Inherited>> {
    let mut sockets = ListenFd::from_env();
    if sockets.len() > 1 {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("expected one socket, and {} were opened", sockets.len()),
        ));
    }
    if let Ok(socket) = sockets.take_tcp_listener(0) {
        let Some(socket) = socket else {
            return Ok(None);
        };
        socket.set_nonblocking(true)?;
        return Ok(Some(Inherited::Tcp(OwnedFd::from(socket).into())));
    }
    let Some(socket) = sockets.take_unix_listener(0)? else {
        return Ok(None);
    };
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let file = address.as_pathname().unwrap_or(Path::new("")).to_owned();
    let listener = UnixListener::from_std(socket)?;
    let socket = SocketFile {
        listener,
        made: None,
    };
    Ok(Some(Inherited::Unix(socket, file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_socket_that_a_dead_process_has_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unroof.sock");
        let first = SocketFile::bind(&file).unwrap();
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        let second = SocketFile::bind(&file).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::AddrInUse);
        drop(first);
        assert!(!file.exists());
        // A process that is killed leaves its file.
        drop(unix::UnixListener::bind(&file).unwrap());
        assert!(file.exists());
        drop(SocketFile::bind(&file).unwrap());
        fs::write(&file, "text").unwrap();
        assert!(SocketFile::bind(&file).is_err(), "another file stays");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    }
}

//! Address of the service that runs on an SQLite file, written next to it, by which `unroof import` finds the service.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use url::{Host, Url};
use uuid::Uuid;

use super::file::{make_private_file, with_ending};
use crate::{DatabaseUrl, StoreError};

/// Header in which `/healthz` states the instance of a service.
pub const INSTANCE_HEADER: &str = "unroof-instance";

/// The file with the address of a running service: one line, its URL with the service's instance as the fragment. The
/// file is removed on drop; a process that is killed leaves it.
#[derive(Debug)]
pub struct ServiceAddressFile {
    path: PathBuf,
}

/// An address that was read from the file. Its process may have died since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// `http://127.0.0.1:8080/`: always that of a loopback interface.
    pub url: Url,
    /// Instance of the service, which it states in [`INSTANCE_HEADER`].
    pub instance: Uuid,
}

impl ServiceAddressFile {
    /// Writes the address of the service that holds the lock of a database, readable by its owner alone. A service on
    /// PostgreSQL or without a loopback address has no such file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(
        database: &DatabaseUrl,
        listening: Option<SocketAddr>,
        instance: Uuid,
    ) -> Result<Option<Self>, StoreError> {
        let Some(path) = path_of(database)? else {
            return Ok(None);
        };
        // What a killed process has left.
        remove(&path)?;
        let Some(listening) = listening.and_then(loopback_of) else {
            return Ok(None);
        };
        write_whole(&path, &format!("http://{listening}/#{instance}\n"))?;
        Ok(Some(Self { path }))
    }
}

impl Drop for ServiceAddressFile {
    fn drop(&mut self) {
        // A reader checks the address that a remaining file has.
        let _ = remove(&self.path);
    }
}

impl ServiceAddress {
    /// Reads the address of the service that runs on a database, if there is one with a loopback address.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(database: &DatabaseUrl) -> Result<Option<Self>, StoreError> {
        let Some(path) = path_of(database)? else {
            return Ok(None);
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self::parse(text.trim_end())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::of_file(&path)(error)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut url = Url::parse(text).ok()?;
        let instance = url.fragment()?.parse().ok()?;
        url.set_fragment(None);
        let is_loopback = match url.host()? {
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
            Host::Domain(_) => false,
        };
        (is_loopback && url.scheme() == "http").then_some(Self { url, instance })
    }
}

/// The address by which a process of the same machine reaches a listener, if that is a loopback address.
fn loopback_of(listening: SocketAddr) -> Option<SocketAddr> {
    let address = match listening.ip() {
        address if address.is_loopback() => address,
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, listening.port()))
}

/// Path of the file; none for PostgreSQL. The same database by another name has the same file.
fn path_of(database: &DatabaseUrl) -> Result<Option<PathBuf>, StoreError> {
    let DatabaseUrl::Sqlite(path) = database else {
        return Ok(None);
    };
    let resolved = path.canonicalize().map_err(StoreError::of_file(path))?;
    Ok(Some(with_ending(&resolved, ".address")))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::of_file(path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes a private file that readers see whole or not at all.
fn write_whole(path: &Path, text: &str) -> Result<(), StoreError> {
    let new = with_ending(path, ".new");
    remove(&new)?;
    make_private_file(&new)?;
    let written = std::fs::OpenOptions::new()
        .write(true)
        .open(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| {
        // The error is reported; the remains of the file are not read.
        let _ = remove(&new);
        StoreError::of_file(path)(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_interfaces_is_reached_by_loopback_and_one_elsewhere_is_not() {
        for (listening, reached) in [
            ("127.0.0.1:8080", Some("127.0.0.1:8080")),
            ("127.0.0.2:80", Some("127.0.0.2:80")),
            ("0.0.0.0:8080", Some("127.0.0.1:8080")),
            ("[::]:8080", Some("[::1]:8080")),
            ("[::1]:1", Some("[::1]:1")),
            ("192.0.2.1:8080", None),
            ("[2001:db8::1]:8080", None),
        ] {
            let reached = reached.map(|address| address.parse().unwrap());
            assert_eq!(loopback_of(listening.parse().unwrap()), reached);
        }
    }

    #[test]
    fn what_is_written_is_read_back_until_the_service_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unroof.db");
        std::fs::write(&file, "").unwrap();
        let database = DatabaseUrl::Sqlite(file);
        assert_eq!(ServiceAddress::read(&database).unwrap(), None);
        let instance = Uuid::new_v4();
        let listening = Some("0.0.0.0:8080".parse().unwrap());
        let written = ServiceAddressFile::write(&database, listening, instance).unwrap();
        let read = ServiceAddress::read(&database).unwrap().unwrap();
        assert_eq!(read.url.as_str(), "http://127.0.0.1:8080/");
        assert_eq!(read.instance, instance);
        drop(written);
        assert_eq!(ServiceAddress::read(&database).unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_address_elsewhere_or_without_an_instance_is_none() {
        let instance = "7d444840-9dc0-41d1-b245-5ffdce74fad2";
        let parse = |address: &str| ServiceAddress::parse(&format!("{address}#{instance}"));
        assert!(parse("http://127.0.0.1:8080/").is_some());
        assert!(parse("http://[::1]:8080/").is_some());
        for address in [
            "http://192.0.2.1:8080/",
            "http://localhost:8080/",
            "http://unroof.example/",
            "https://127.0.0.1:8080/",
            "127.0.0.1:8080",
            "",
        ] {
            assert_eq!(parse(address), None, "{address}");
        }
        assert_eq!(ServiceAddress::parse("http://127.0.0.1:8080/"), None);
        assert_eq!(ServiceAddress::parse("http://127.0.0.1:8080/#a"), None);
    }
}

//! A database with several servers: a pooler in front, a standby, and replicas that do not LISTEN.

mod locks;
mod polling;
mod pooler;
mod standby;

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::{Databases, Store, StoreLimits};
use url::Url;
use uuid::Uuid;

use crate::database_faults::cluster::command_of;
use crate::support::{Api, clock, repository};

/// Connections that LISTEN for changes of the database.
const LISTENING: &str = "
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() 
      AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')";

/// A PgBouncer in transaction mode, with the settings of the compose file.
struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// A pooler of the server of a database, with this many connections to it.
    fn to(database_url: &str, connections: u32) -> Self {
        let server = Url::parse(database_url).unwrap();
        let user = std::env::var("UNROOF_TEST_POSTGRES_USER").ok();
        let folder = tempfile::tempdir().unwrap();
        let settings = repository().join("packaging/pgbouncer/pgbouncer.ini");
        let settings = fs::read_to_string(settings).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        // Not every user can read the repository.
        write("pgbouncer.ini", &settings);
        write("userlist.txt", "\"postgres\" \"secret\"\n");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..20 {
            let port = 20_000 + u16::try_from(Uuid::new_v4().as_u128() % 12_000).unwrap();
            let local = format!(
                "listen_addr = 127.0.0.1\nlisten_port = {port}\n\
                 [databases]\n* = host={} port={} pool_size={connections}\n",
                server.host_str().unwrap(),
                server.port().unwrap(),
            );
            write("local.ini", &local);
            let child = command_of(user.as_deref(), program())
                .arg("pgbouncer.ini")
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let mut child = child.expect("pgbouncer is installed");
            if is_up(&mut child, port) {
                return Self {
                    child,
                    port,
                    _folder: folder,
                };
            }
        }
        panic!("no port is free, or PgBouncer does not start");
    }

    /// The address of a database by way of it.
    fn url(&self, database_url: &str) -> String {
        let mut url = Url::parse(database_url).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.set_password(Some("secret")).unwrap();
        url.into()
    }
}

/// Debian's is in a folder that is on the path of root alone.
fn program() -> &'static str {
    let of_debian = "/usr/sbin/pgbouncer";
    if Path::new(of_debian).exists() {
        of_debian
    } else {
        "pgbouncer"
    }
}

/// Waits until it takes connections; false if it has ended, since another process has the port.
fn is_up(child: &mut Child, port: u16) -> bool {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(50));
    child.try_wait().unwrap().is_none()
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A replica on a database at these addresses, with its tables.
async fn replica(databases: &Databases) -> (Api, Store) {
    let store = Store::open_on(databases, StoreLimits::default());
    let store = store.await.unwrap();
    store.migrate().await.unwrap();
    let app = App::new(store.clone(), clock(), Limits::default());
    tokio::spawn(app.jobs().clone().follow_changes());
    (Api::new(app), store)
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

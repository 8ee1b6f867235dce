//! A database that takes no writes: its disk is full, its file may only be read, was deleted or replaced, or the server is
//! read-only. It says so, loses nothing, and heals without a restart.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;
use url::Url;

use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server, client, get, post, unroof, wait_until};
use crate::support::{TestDatabase, on_postgres, say, sheet_of, wait_for};

/// A server of a file, for which a file that is too large is an error and not the end.
pub(super) struct Served {
    pub(super) server: Server,
    pub(super) file: PathBuf,
    client: ureq::Agent,
}

impl Served {
    pub(super) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_behind(
            &["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"],
            folder,
            arguments,
        )
    }

    /// Starts the server by another program.
    fn start_behind(program: &[&str], folder: &Path, arguments: &[&str]) -> Self {
        let file = folder.join("unroof.db");
        let url = format!("sqlite:{}", file.display());
        let served = unroof(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(served.get_program());
        command.args(served.get_args()).args(arguments);
        Self {
            server: Server::spawn(command),
            file,
            client: client(),
        }
    }

    /// Files of the server may be as large as the largest of the database now and so many bytes more.
    pub(super) fn leave_room(&self, bytes: u64) {
        let size = |ending: &str| {
            let file = format!("{}{ending}", self.file.display());
            std::fs::metadata(file).map_or(0, |file| file.len())
        };
        let largest = size("").max(size("-wal"));
        self.limit_files(largest + bytes);
    }

    pub(super) fn free_disk(&self) {
        self.limit_files(rlimit::INFINITY);
    }

    fn limit_files(&self, bytes: u64) {
        let process = i32::try_from(self.server.id()).unwrap();
        let limit = Some((bytes, rlimit::INFINITY));
        rlimit::prlimit(process, rlimit::Resource::FSIZE, limit, None).unwrap();
    }

    pub(super) fn status(&self, path: &str) -> u16 {
        get(&self.client, &format!("{}{path}", self.server.address)).0
    }

    pub(super) fn infer(&self, model: &str) -> (u16, Value) {
        let url = format!("{}/infer", self.server.address);
        let (status, text) = post(&self.client, &url, &sheet_of(model)).unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Stores sheets until several in a row are refused; what was refused. SQLite makes room once, when it copies its log
    /// into the database and begins the log again.
    fn write_until_refused(&self, name: &str) -> (u16, Value) {
        let mut refused = 0;
        for number in 0..10_000 {
            let (status, answer) = self.infer(&format!("{name} {number}"));
            refused = if status == 201 { 0 } else { refused + 1 };
            if refused == 8 {
                return (status, answer);
            }
        }
        panic!("nothing was refused");
    }

    /// Nothing is written, all is read, and readiness says so.
    fn assert_no_writes(&self) {
        for number in 0..4 {
            let (status, problem) = self.infer(&format!("refused {number}"));
            assert_eq!(status, 503, "{problem}");
            assert_eq!(problem["type"], "/problems/no-writes", "{problem}");
        }
        let url = format!("{}/infer", self.server.address);
        let refused = self
            .client
            .post(&url)
            .header("content-type", "application/json")
            .send(sheet_of("refused").to_string())
            .unwrap();
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(self.status("/readyz"), 503);
        assert_eq!(self.status("/healthz"), 200);
        assert_eq!(self.status("/estimates?limit=7"), 200);
    }

    /// Everything is written again, whichever connection does it.
    fn assert_heals(&self, name: &str) {
        let began = Instant::now();
        while self.status("/readyz") != 200 {
            assert!(began.elapsed() < LONGEST_WAIT, "{}", self.server.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    for number in 0..3 {
                        let (status, answer) = self.infer(&format!("{name} {writer} {number}"));
                        assert_eq!(status, 201, "{answer}");
                        assert_eq!(
                            self.status(&format!("/estimates?limit={}", 10 * writer + number + 1)),
                            200
                        );
                    }
                });
            }
        });
        assert_eq!(
            wait_for(self.integrity()),
            "ok",
            "the file is damaged after {name}"
        );
    }

    /// Result of `PRAGMA integrity_check`.
    async fn integrity(&self) -> String {
        let url = format!("sqlite:{}?mode=ro", self.file.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let said = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection);
        said.await.unwrap()
    }
}

/// A small filesystem of one's own, where mounting is allowed.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m", "tmpfs"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(folder));
        }
        say("skipped on a small filesystem: mounting one is not allowed here");
        None
    }

    fn fill(&self) {
        let filler = std::fs::File::create(self.0.path().join("filler")).unwrap();
        let mut filler = std::io::BufWriter::new(filler);
        // Until there is no room left.
        while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
        let _ = filler.into_parts();
    }

    fn free(&self) {
        std::fs::remove_file(self.0.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_a_503_while_it_lasts_and_heals_without_a_restart() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let served = Served::start(disk.0.path(), &[]);
    disk.fill();
    let (status, problem) = served.write_until_refused("fills");
    assert_eq!(status, 503, "{problem}");
    served.assert_no_writes();
    disk.free();
    served.assert_heals("healed");
}

#[test]
fn files_that_may_not_grow_are_a_503_while_it_lasts_and_heal_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &[]);
    for round in 0..2 {
        served.leave_room(10_000);
        let (status, problem) = served.write_until_refused(&format!("fills {round}"));
        assert_eq!(status, 503, "{problem}");
        served.assert_no_writes();
        served.free_disk();
        served.assert_heals(&format!("healed {round}"));
    }
    let stored = get(
        &client(),
        &format!("{}/estimates?limit=2000", served.server.address),
    )
    .1;
    assert!(!stored.contains("refused"), "a refused sheet was stored");
}

#[test]
fn a_file_that_may_only_be_read_is_a_503_until_it_may_be_written_to() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    // Root may write to every file, unless it gives that right up.
    let is_root = std::fs::File::open("/etc/shadow").is_ok();
    let program: &[&str] = if is_root {
        &["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    } else {
        &["env"]
    };
    let served = Served::start_behind(program, folder.path(), &[]);
    assert_eq!(served.infer("known").0, 201);
    let permit = |mode| {
        std::fs::set_permissions(&served.file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(0o400);
    served.assert_no_writes();
    // Connections that are opened now can only read.
    std::thread::scope(|scope| {
        for number in 0..16 {
            let served = &served;
            scope.spawn(move || {
                assert_eq!(
                    served.status(&format!("/estimates?limit={}", 100 + number)),
                    200
                );
            });
        }
    });
    permit(0o600);
    served.assert_heals("healed");
}

#[test]
fn a_file_that_was_deleted_or_replaced_is_written_to_no_more_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &[]);
    assert_eq!(served.infer("known").0, 201);
    let aside = folder.path().join("aside.db");
    for (round, is_replaced) in [false, true].into_iter().enumerate() {
        std::fs::rename(&served.file, &aside).unwrap();
        if is_replaced {
            std::fs::copy(&aside, &served.file).unwrap();
        }
        served.assert_no_writes();
        let is_logged = |text: &str| served.server.log().matches(text).count() > round;
        wait_until("it is logged", || is_logged("was deleted or replaced"));
        let log = served.server.log();
        assert_eq!(log.matches("ERROR").count(), round + 1, "{log}");
        std::fs::rename(&aside, &served.file).unwrap();
        served.assert_heals(&format!("healed {round}"));
        // The next outage is another one.
        wait_until("it is over", || is_logged("database outage over"));
    }
}

impl Served {
    /// A server of a PostgreSQL database with an estimate in it.
    fn of_postgres(url: &str) -> Self {
        let served = Self {
            server: Server::start_with(&["--listen", "127.0.0.1:0", "--database-url", url]),
            file: PathBuf::new(),
            client: client(),
        };
        assert_eq!(served.infer("known").0, 201);
        served
    }

    /// Waits until readiness says that nothing is written.
    fn wait_for_refusal(&self) {
        let (began, url) = (Instant::now(), format!("{}/readyz", self.server.address));
        while !get(&self.client, &url).1.contains("/problems/no-writes") {
            assert!(began.elapsed() < LONGEST_WAIT, "{}", self.server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

async fn run(connection: &mut PgConnection, sql: String) {
    let statements = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection);
    statements.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_database_that_only_reads_is_not_ready_until_it_writes() {
    on_postgres(async |database: &TestDatabase| {
        let served = tokio::task::block_in_place(|| Served::of_postgres(&database.url));
        let url = Url::parse(&database.url).unwrap();
        let name = url.path().trim_start_matches('/').to_owned();
        let mut other = PgConnection::connect(&database.url).await.unwrap();
        let settings = format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = on;
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        );
        run(&mut other, settings).await;
        tokio::task::block_in_place(|| {
            served.wait_for_refusal();
            served.assert_no_writes();
        });
        // The sessions that are open keep what they have.
        let settings = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
        run(&mut other, settings).await;
        tokio::task::block_in_place(|| served.assert_heals("healed"));
    })
    .await;
}

#[test]
fn a_standby_is_not_ready_until_it_is_promoted() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let served = Served::of_postgres(&cluster.url());
    cluster.down("fast");
    cluster.up_as_standby();
    served.wait_for_refusal();
    served.assert_no_writes();
    cluster.promote();
    served.assert_heals("healed");
}

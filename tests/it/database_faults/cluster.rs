//! A PostgreSQL server of one's own, to be stopped, frozen and started again.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;
use uuid::Uuid;

use crate::support::skip_postgres;

/// A server in a folder of its own.
pub(crate) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    /// System user that runs it; PostgreSQL refuses root.
    user: Option<String>,
    port: u16,
}

impl Cluster {
    /// A running server, where there is one to run.
    pub(crate) fn start() -> Option<Self> {
        let mut cluster = Self::empty()?;
        let data = cluster.data();
        cluster.must(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ],
        );
        cluster.up_on_free_port();
        Some(cluster)
    }

    /// A running standby of another one.
    pub(crate) fn standby_of(primary: &Self) -> Self {
        let mut cluster = Self::empty().expect("the primary runs too");
        let (data, url) = (cluster.data(), primary.url());
        cluster.must(
            "pg_basebackup",
            &["-D", &data, "-d", &url, "-R", "--checkpoint=fast"],
        );
        cluster.up_on_free_port();
        cluster
    }

    /// A folder for a server, where there is one to run.
    fn empty() -> Option<Self> {
        let Some(programs) = std::env::var_os("UNROOF_TEST_POSTGRES_BIN") else {
            skip_postgres();
            return None;
        };
        let cluster = Self {
            folder: tempfile::tempdir().unwrap(),
            programs: programs.into(),
            user: std::env::var("UNROOF_TEST_POSTGRES_USER").ok(),
            port: 0,
        };
        if let Some(user) = &cluster.user {
            let given = Command::new("chown")
                .arg(user)
                .arg(cluster.folder.path())
                .status();
            assert!(given.unwrap().success());
        }
        Some(cluster)
    }

    fn up_on_free_port(&mut self) {
        // Another process may have the port: then another port.
        for _ in 0..20 {
            // Below the range that Linux takes for outgoing connections.
            self.port = 20_000 + u16::try_from(Uuid::new_v4().as_u128() % 12_000).unwrap();
            if self.try_up() {
                return;
            }
        }
        panic!(
            "no port is free, or PostgreSQL does not start: {}",
            self.log()
        );
    }

    /// The address of its database `postgres`.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Starts the server again.
    pub(crate) fn up(&self) {
        assert!(self.try_up(), "{}", self.log());
    }

    /// Stops it as a failing machine would: `immediate`, or as an operator would: `fast`.
    pub(crate) fn down(&self, mode: &str) {
        self.must(
            "pg_ctl",
            &["stop", "-s", "-w", "-m", mode, "-D", &self.data()],
        );
    }

    /// Sends a signal to all its processes.
    pub(crate) fn signal(&self, signal: &str) {
        let lock = std::fs::read_to_string(Path::new(&self.data()).join("postmaster.pid")).unwrap();
        let first = lock.lines().next().unwrap().to_owned();
        let children =
            std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        // Some may have ended meanwhile.
        let _ = Command::new("kill")
            .arg(signal)
            .arg(&first)
            .args(children.split_whitespace())
            .stderr(Stdio::null())
            .status();
    }

    /// Lets a user in with a password only.
    pub(crate) fn require_password_of(&self, user: &str) {
        let file = Path::new(&self.data()).join("pg_hba.conf");
        let rules = std::fs::read_to_string(&file).unwrap();
        std::fs::write(
            &file,
            format!("host all {user} 127.0.0.1/32 scram-sha-256\n{rules}"),
        )
        .unwrap();
        self.must("pg_ctl", &["reload", "-s", "-D", &self.data()]);
    }

    /// Starts it as a standby that waits for its primary, and only reads.
    pub(crate) fn up_as_standby(&self) {
        std::fs::write(Path::new(&self.data()).join("standby.signal"), "").unwrap();
        self.up();
    }

    /// Keeps every file of its write-ahead log from now on.
    pub(crate) fn archive(&self) {
        let archive = self.make_folder("archive");
        self.configure(&format!(
            "archive_mode = on\narchive_command = 'cp %p {archive}/%f'\n"
        ));
        self.down("fast");
        self.up();
    }

    /// Copies its data while it runs.
    pub(crate) fn base_backup(&self) {
        let base = self.make_folder("base");
        let url = self.url();
        self.must(
            "pg_basebackup",
            &["-D", &base, "-d", &url, "--checkpoint=fast"],
        );
    }

    /// Dumps its database while it runs; the file.
    pub(crate) fn dump(&self) -> String {
        let file = format!("{}/unroof.dump", self.make_folder("dumps"));
        let url = self.url();
        self.must("pg_dump", &["--format=custom", "--file", &file, &url]);
        file
    }

    /// Restores its database from a dump.
    pub(crate) fn restore(&self, dump: &str) {
        let database = format!("--dbname={}", self.url());
        let flags = ["--clean", "--if-exists", "--single-transaction"];
        let place = [database.as_str(), dump];
        self.must("pg_restore", &[&flags[..], &place].concat());
    }

    /// Loses its data, and recovers from the copy and the kept log to a time, such as `2026-11-24 01:02:03.4+00`.
    pub(crate) fn recover_to(&self, time: &str) {
        self.down("fast");
        let place = |name: &str| self.folder.path().join(name);
        std::fs::rename(place("data"), place("lost")).unwrap();
        std::fs::rename(place("base"), place("data")).unwrap();
        let archive = place("archive").display().to_string();
        self.configure(&format!(
            "restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{time}'\n\
             recovery_target_action = promote\n"
        ));
        std::fs::write(place("data").join("recovery.signal"), "").unwrap();
        self.up();
    }

    /// Adds lines to its settings, which it reads at its next start.
    fn configure(&self, lines: &str) {
        let file = Path::new(&self.data()).join("postgresql.conf");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{settings}\n{lines}")).unwrap();
    }

    /// Makes a folder of its user; the path.
    fn make_folder(&self, name: &str) -> String {
        let folder = self.folder.path().join(name);
        // PostgreSQL refuses data that others can read.
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(&folder).unwrap();
        if let Some(user) = &self.user {
            let given = Command::new("chown").arg(user).arg(&folder).status();
            assert!(given.unwrap().success());
        }
        folder.display().to_string()
    }

    /// Makes a standby a primary.
    pub(crate) fn promote(&self) {
        self.must("pg_ctl", &["promote", "-s", "-w", "-D", &self.data()]);
    }

    fn try_up(&self) -> bool {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''",
            self.port
        );
        let log = self.folder.path().join("server.log").display().to_string();
        let started = self.run(
            "pg_ctl",
            &[
                "start",
                "-s",
                "-w",
                "-t",
                "60",
                "-D",
                &self.data(),
                "-l",
                &log,
                "-o",
                &options,
            ],
        );
        started.success()
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    fn must(&self, program: &str, arguments: &[&str]) {
        let ended = self.run(program, arguments);
        assert!(ended.success(), "{program}: {ended}: {}", self.log());
    }

    fn run(&self, program: &str, arguments: &[&str]) -> ExitStatus {
        let program = self.programs.join(program);
        let mut command = command_of(self.user.as_deref(), program);
        // The server that is started keeps its output open: that must not be a pipe that is waited for.
        let said = tempfile::tempfile().unwrap();
        command
            .args(arguments)
            .env("LC_ALL", "C")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .status()
            .unwrap()
    }
}

/// A program that runs as a system user, if one is named.
pub(crate) fn command_of(user: Option<&str>, program: impl AsRef<OsStr>) -> Command {
    let Some(user) = user else {
        return Command::new(program);
    };
    let group = Command::new("id").args(["-g", user]).output();
    let group = String::from_utf8(group.unwrap().stdout).unwrap();
    let mut command = Command::new("setpriv");
    command.args([
        &format!("--reuid={user}"),
        &format!("--regid={}", group.trim()),
    ]);
    command.args(["--init-groups", "--"]).arg(program);
    command
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be frozen, or down already.
        if Path::new(&self.data()).join("postmaster.pid").exists() {
            self.signal("-CONT");
            self.run(
                "pg_ctl",
                &["stop", "-s", "-w", "-m", "immediate", "-D", &self.data()],
            );
        }
    }
}

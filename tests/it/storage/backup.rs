//! Backups of an SQLite database that is written to.

use std::collections::BTreeMap;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use sqlx::{Connection, SqliteConnection};

use crate::server::{LONGEST_WAIT, Server, client, get, post, run};
#[cfg(target_os = "linux")]
use crate::server::{signal, unroof};
use crate::support::{TestDatabase, sheet_of, stored_answer};

const WRITERS: usize = 8;

/// Ids and documents of acknowledged estimates.
type Acknowledged = Mutex<BTreeMap<String, String>>;

fn write(writer: usize, address: &str, acknowledged: &Acknowledged, is_over: &AtomicBool) {
    let client = client();
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        let sheet = sheet_of(&format!("m-{writer}-{number}"));
        let (status, body) = post(&client, &format!("{address}/infer"), &sheet).unwrap();
        assert_eq!(status, 201, "{body}");
        let id = body[7..43].to_owned();
        let answer = stored_answer(&body);
        acknowledged.lock().unwrap().insert(id, answer);
        number += 1;
    }
}

/// Waits until so many more are acknowledged; all of them.
fn wait_for(count: usize, acknowledged: &Acknowledged) -> BTreeMap<String, String> {
    let until = acknowledged.lock().unwrap().len() + count;
    let began = Instant::now();
    loop {
        let all = acknowledged.lock().unwrap();
        if all.len() >= until {
            return all.clone();
        }
        drop(all);
        assert!(began.elapsed() < LONGEST_WAIT, "no burst");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_backup_under_writes_has_all_that_was_acknowledged_before_it() {
    let database = TestDatabase::sqlite();
    let server = Server::start(&database.url);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it's a backup.db");
    let arguments = [
        "backup",
        file.to_str().unwrap(),
        "--database-url",
        &database.url,
    ];
    let (acknowledged, is_over) = (Acknowledged::default(), AtomicBool::new(false));
    let (before, backed_up) = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (address, acknowledged, is_over) = (&server.address, &acknowledged, &is_over);
            scope.spawn(move || write(writer, address, acknowledged, is_over));
        }
        let before = wait_for(5 * WRITERS, &acknowledged);
        let backed_up = run(&arguments);
        wait_for(WRITERS, &acknowledged);
        is_over.store(true, Ordering::Relaxed);
        (before, backed_up)
    });
    assert_eq!(backed_up.code, Some(0), "{}", backed_up.err);
    assert!(backed_up.out.contains("and checked: "), "{}", backed_up.out);
    assert_eq!(backed_up.err, "");
    let again = run(&arguments);
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(again.err.contains("overwrites nothing"), "{}", again.err);
    drop(server);
    assert_restored(
        folder.path(),
        &file,
        &before,
        &acknowledged.into_inner().unwrap(),
    );
}

/// The backup is the only file, and serves what was acknowledged before it, and nothing else than was acknowledged at all.
fn assert_restored(
    folder: &Path,
    file: &Path,
    before: &BTreeMap<String, String>,
    all: &BTreeMap<String, String>,
) {
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    #[cfg(unix)]
    assert_eq!(crate::server::mode(file), 0o600);
    let url = format!("sqlite:{}", file.display());
    let checked = run(&["check", "--sample", "4", "--database-url", &url]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let restored = Server::start(&url);
    let client = client();
    for (id, document) in all {
        let (status, stored) = get(&client, &format!("{}/estimates/{id}", restored.address));
        if status == 404 {
            assert!(!before.contains_key(id), "{id} is missing");
        } else {
            assert_eq!((status, &stored), (200, document), "{id}");
        }
    }
}

#[test]
fn what_cannot_be_backed_up_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let missing = format!("sqlite:{}", folder.path().join("missing.db").display());
    let text = crate::server::file_text(folder.path(), "text.db", &"not a database ".repeat(100));
    for (url, code, said) in [
        (
            "postgres://unroof@127.0.0.1/unroof".to_owned(),
            2,
            "pg_dump",
        ),
        (missing, 1, "there is no database"),
        (format!("sqlite:{text}"), 1, "file is not a database"),
    ] {
        let ended = run(&["backup", file.to_str().unwrap(), "--database-url", &url]);
        assert_eq!(ended.code, Some(code), "{url}: {}", ended.err);
        assert!(ended.err.contains(said), "{url}: {}", ended.err);
        assert!(!file.exists(), "{url}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A database that only this connection can read, so that a backup of it waits.
#[cfg(target_os = "linux")]
async fn locked(database: &TestDatabase) -> SqliteConnection {
    database.store().await.close().await;
    let mut lock = SqliteConnection::connect(&database.url).await.unwrap();
    let take = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";
    sqlx::raw_sql(take).execute(&mut lock).await.unwrap();
    lock
}

/// Begins a backup that treats hangups in a way of `env`, and waits until it has the file that it writes first.
#[cfg(target_os = "linux")]
fn begin(database: &TestDatabase, file: &Path, hangups: &str) -> Child {
    let backup = unroof(&["backup", file.to_str().unwrap()]);
    let mut command = Command::new("/usr/bin/env");
    command.env_clear().arg(hangups);
    command.arg(backup.get_program()).args(backup.get_args());
    command.args(["--database-url", &database.url]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let partial = file.with_extension("db.partial");
    let began = Instant::now();
    while !partial.exists() {
        assert!(began.elapsed() < LONGEST_WAIT, "no backup has begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!file.exists(), "the backup is not whole yet");
    child
}

/// Exit code, messages and number of files in the folder of an ended backup.
#[cfg(target_os = "linux")]
fn ended(child: Child, file: &Path) -> (Option<i32>, String, usize) {
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let files = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
    (ended.status.code(), said, files)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_stopped_leaves_no_file() {
    let database = TestDatabase::sqlite();
    let _lock = locked(&database).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    for name in ["INT", "TERM", "HUP"] {
        let child = begin(&database, &file, "--default-signal=HUP");
        signal(child.id(), name);
        let (code, said, files) = ended(child, &file);
        assert_eq!((code, files), (Some(130), 0), "{name}: {said}");
        assert!(said.contains("no file is left"), "{name}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_to_outlive_its_terminal_is_made() {
    let database = TestDatabase::sqlite();
    let lock = locked(&database).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    // As `nohup` starts it.
    let child = begin(&database, &file, "--ignore-signal=HUP");
    signal(child.id(), "HUP");
    lock.close().await.unwrap();
    let (code, said, files) = ended(child, &file);
    assert_eq!((code, files), (Some(0), 1), "{said}");
    assert!(file.exists());
}

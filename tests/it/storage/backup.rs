//! Backups of an SQLite database that is written to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::server::{LONGEST_WAIT, Server, client, get, post, run};
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

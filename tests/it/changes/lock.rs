//! One process serves the file of an embedded database.

use unroof_store::{DatabaseUrl, ServingLock, StoreError};

use crate::server::{Server, client, get, run};
use crate::support::{TestDatabase, on_postgres};

#[test]
fn a_second_server_on_a_file_is_refused_and_one_that_died_leaves_the_place() {
    let database = TestDatabase::sqlite();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        &database.url,
    ];
    let mut first = Server::start(&database.url);
    let second = run(&serve);
    assert_eq!(second.code, Some(1), "{}", second.out);
    for words in [
        "error: cannot serve sqlite:",
        "caused by: another process is at work on `",
        "PostgreSQL is for several",
    ] {
        assert!(second.err.contains(words), "{}", second.err);
    }
    // By another name it is the same file.
    #[cfg(unix)]
    {
        let path = database.url.strip_prefix("sqlite:").unwrap();
        let link = format!("{path}.link");
        std::os::unix::fs::symlink(path, &link).unwrap();
        let url = format!("sqlite:{link}");
        assert_eq!(
            run(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]).code,
            Some(1)
        );
        assert_eq!(
            crate::server::mode(std::path::Path::new(&format!("{path}.lock"))),
            0o600
        );
    }
    // Who looks at the first still finds it well.
    assert_eq!(get(&client(), &format!("{}/readyz", first.address)).0, 200);
    first.kill();
    let third = Server::start(&database.url);
    assert_eq!(get(&client(), &format!("{}/readyz", third.address)).0, 200);
}

/// A file that this process could lock is closed with it, so that the lock is asked for by another one.
#[cfg(target_os = "linux")]
#[test]
fn a_second_server_is_refused_by_a_hard_link_and_after_the_lock_file_was_deleted() {
    let database = TestDatabase::sqlite();
    let first = Server::start(&database.url);
    let path = database.url.strip_prefix("sqlite:").unwrap();
    let hard_link = format!("{path}.link");
    std::fs::hard_link(path, &hard_link).unwrap();
    let refused = |url: &str| {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["import", "-"]] {
            let second = run(&[command, &["--database-url", url]].concat());
            assert_eq!(second.code, Some(1), "{command:?}: {}", second.out);
            let words = "another process is at work on `";
            assert!(second.err.contains(words), "{command:?}: {}", second.err);
        }
    };
    refused(&format!("sqlite:{hard_link}"));
    std::fs::remove_file(format!("{path}.lock")).unwrap();
    refused(&format!("sqlite:{hard_link}"));
    let second = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        &database.url,
    ]);
    assert_eq!(second.code, Some(1), "{}", second.out);
    // The locks of SQLite are those of the first still.
    let sheet = crate::support::sheet();
    let (status, body) =
        crate::server::post(&client(), &format!("{}/infer", first.address), &sheet).unwrap();
    assert_eq!(status, 201, "{body}");
    assert_eq!(get(&client(), &format!("{}/readyz", first.address)).0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_for_one_until_it_is_let_go_and_postgresql_needs_none() {
    let database = TestDatabase::sqlite();
    let url: DatabaseUrl = database.url.parse().unwrap();
    let lock = ServingLock::take(&url).unwrap();
    assert!(lock.is_some());
    assert!(matches!(
        ServingLock::take(&url),
        Err(StoreError::Served(_))
    ));
    drop(lock);
    assert!(ServingLock::take(&url).unwrap().is_some());
    on_postgres(async |database: &TestDatabase| {
        let url: DatabaseUrl = database.url.parse().unwrap();
        let (one, other) = (ServingLock::take(&url), ServingLock::take(&url));
        assert!(one.unwrap().is_none() && other.unwrap().is_none());
    })
    .await;
}

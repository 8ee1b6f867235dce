//! Restores of PostgreSQL: to a time between two writes, and from a dump.

use std::time::Instant;

use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server, client, get, post, run};
use crate::support::{TestDatabase, sheet_of, stored_answer, wait_for};

/// Id and document of a new estimate.
fn estimate(server: &Server, model: &str) -> (String, String) {
    let url = format!("{}/infer", server.address);
    let (status, body) = post(&client(), &url, &sheet_of(model)).unwrap();
    assert_eq!(status, 201, "{body}");
    (body[7..43].to_owned(), stored_answer(&body))
}

fn text(database: &TestDatabase, sql: &str) -> String {
    wait_for(database.texts(sql)).remove(0)
}

#[test]
fn postgresql_recovers_to_a_time_between_two_writes() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.archive();
    let database = TestDatabase::at(cluster.url());
    let server = Server::start(&database.url);
    let before_backup = estimate(&server, "m-0");
    cluster.base_backup();
    let kept = estimate(&server, "m-1");
    let time = text(&database, "SELECT clock_timestamp()::text");
    let (lost, _) = estimate(&server, "m-2");
    drop(server);

    cluster.recover_to(&time);
    let began = Instant::now();
    while text(&database, "SELECT pg_is_in_recovery()::text") == "true" {
        assert!(began.elapsed() < LONGEST_WAIT, "it recovers still");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_restored(&database, [before_backup, kept], &lost);
}

#[test]
fn postgresql_is_restored_from_a_dump_made_while_the_service_ran() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let database = TestDatabase::at(cluster.url());
    let server = Server::start(&database.url);
    let kept = estimate(&server, "m-1");
    let dump = cluster.dump();
    let (lost, _) = estimate(&server, "m-2");
    drop(server);
    cluster.restore(&dump);
    assert_restored(&database, [kept], &lost);
}

/// The database is sound, has what was kept and not what was lost, and takes writes again.
fn assert_restored(
    database: &TestDatabase,
    kept: impl IntoIterator<Item = (String, String)>,
    lost: &str,
) {
    let checked = run(&["check", "--database-url", &database.url]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let server = Server::start(&database.url);
    for (id, document) in kept {
        let stored = get(&client(), &format!("{}/estimates/{id}", server.address));
        assert_eq!(stored, (200, document));
    }
    let (status, body) = get(&client(), &format!("{}/estimates/{lost}", server.address));
    assert_eq!(status, 404, "{body}");
    assert_eq!(estimate(&server, "m-2").0, lost);
}

//! Tables with a migration that this program does not know.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Question;
use crate::server::{LONGEST_WAIT, Server, client, get, post, run};
use crate::support::{
    NOW, TestDatabase, on_each_database, on_each_database_blocking, sheet_of, stored_answer,
    wait_for,
};

/// Adds the migration of a program that there is not yet.
async fn add_newer_migration(database: &TestDatabase) {
    let checksum = match database.name {
        "SQLite" => "x'00'",
        _ => "'\\x00'::bytea",
    };
    let sql = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'made up', TRUE, {checksum}, 0);
         UPDATE store_version SET migration = 9999, program = '9.8.7'"
    );
    database.execute(&sql).await;
}

/// The service reads, and says which version writes.
fn assert_only_reads(server: &Server, id: &str, document: &str) {
    let client = client();
    let (status, stored) = get(&client, &format!("{}/estimates/{id}", server.address));
    assert_eq!((status, stored.as_str()), (200, document));
    let (status, body) = post(
        &client,
        &format!("{}/infer", server.address),
        &sheet_of("m-2"),
    )
    .unwrap();
    let (unready, ready_body) = get(&client, &format!("{}/readyz", server.address));
    for (status, body) in [(status, body), (unready, ready_body)] {
        assert_eq!(status, 503, "{body}");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["type"], "/problems/no-writes", "{body}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("tables are those of unroof 9.8.7"),
            "{detail}"
        );
    }
    let (status, _) = get(&client, &format!("{}/healthz", server.address));
    assert_eq!(status, 200);
}

fn estimate(server: &Server) -> (String, String) {
    let url = format!("{}/infer", server.address);
    let (status, body) = post(&client(), &url, &sheet_of("m-1")).unwrap();
    assert_eq!(status, 201, "{body}");
    (body[7..43].to_owned(), stored_answer(&body))
}

#[test]
fn a_program_older_than_its_tables_reads_and_does_not_write() {
    on_each_database_blocking(|database| {
        let first = Server::start(&database.url);
        let (id, document) = estimate(&first);
        let (ended, log) = first.stop();
        assert!(ended.success(), "{log}");
        wait_for(add_newer_migration(database));

        let server = Server::start(&database.url);
        server.wait_for_log("this service only reads");
        assert_only_reads(&server, &id, &document);
        drop(server);
        let migrated = run(&["migrate", "--database-url", &database.url]);
        assert_eq!(migrated.code, Some(1), "{}", migrated.out);
        assert!(migrated.err.contains("unroof 9.8.7"), "{}", migrated.err);
        let checked = run(&["check", "--database-url", &database.url]);
        assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    });
}

#[test]
fn a_running_program_stops_writing_when_its_tables_become_newer() {
    on_each_database_blocking(|database| {
        let server = Server::start(&database.url);
        let (id, document) = estimate(&server);
        wait_for(add_newer_migration(database));
        let began = Instant::now();
        let client = client();
        while get(&client, &format!("{}/readyz", server.address)).0 == 200 {
            assert!(began.elapsed() < LONGEST_WAIT, "it is ready still");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_only_reads(&server, &id, &document);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_needs_no_writes_even_where_it_waits_for_others() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let [known, new] = ["m-1", "m-2"].map(|model| Question::new(&sheet_of(model)));
        assert!(known.save(&store).await.is_new);
        add_newer_migration(database).await;
        assert!(store.probe_writing().await.is_err());
        let save = async |question: &Question| {
            let mut estimate = question.estimate_at(NOW);
            estimate.waits_for_others = true;
            store.save(estimate).await
        };
        assert!(!save(&known).await.unwrap().is_new, "{}", database.name);
        assert!(save(&new).await.unwrap_err().refusal().is_some());
    })
    .await;
}

#[test]
fn tables_of_a_different_build_are_refused() {
    on_each_database_blocking(|database| {
        let checksum = match database.name {
            "SQLite" => "x'00'",
            _ => "'\\x00'::bytea",
        };
        let change = format!("UPDATE _sqlx_migrations SET checksum = {checksum} WHERE version = 1");
        wait_for(database.execute(&change));
        // Any free port: another service may run on this machine.
        for command in [&["migrate"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let ended = run(&[command, &["--database-url", &database.url]].concat());
            assert_eq!(ended.code, Some(1), "{command:?}: {}", ended.out);
            let said = "a different build applied migration 1";
            assert!(ended.err.contains(said), "{command:?}: {}", ended.err);
        }
    });
}

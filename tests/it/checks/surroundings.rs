//! Environment of the program: time zone, language, a clock that jumps, other replicas, tables of another version.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::clock::Clock;

use super::bodies::full_sheet;
use super::paged_rows;
use crate::server::{Server, client, get, output_of, post, run_with, unroof};
use crate::support::{
    Api, TestDatabase, on_each_database, on_each_database_blocking, repository, sheet_of, wait_for,
    with,
};

/// Runs a command in India and in German.
fn elsewhere(mut command: Command) -> Command {
    command.envs([
        ("TZ", "Asia/Kolkata"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "de_DE.UTF-8"),
    ]);
    command
}

fn json_of(client: &ureq::Agent, url: &str) -> Value {
    serde_json::from_str(&get(client, url).1).unwrap()
}

fn system_time() -> Timestamp {
    SystemTime::now().try_into().unwrap()
}

#[test]
fn time_zone_and_language_change_no_time_and_no_number() {
    on_each_database_blocking(|database| {
        if database.name == "PostgreSQL" {
            let name = database.url.rsplit('/').next().unwrap();
            let sql = format!("ALTER DATABASE {name} SET timezone = 'Asia/Kolkata'");
            wait_for(database.execute(&sql));
        }
        let mut command = elsewhere(unroof(&["serve", "--listen", "127.0.0.1:0"]));
        command.args(["--database-url", &database.url]);
        let server = Server::spawn(command);
        let client = client();
        let sheet = with(
            full_sheet(),
            "/valid_from",
            json!("2026-01-01T05:30:00+05:30"),
        );
        let began = system_time();
        let (status, body) = post(&client, &format!("{}/infer", server.address), &sheet).unwrap();
        let ended = system_time();
        assert_eq!(status, 201, "{body}");
        for list in ["estimates", "price-sheets"] {
            let row = json_of(&client, &format!("{}/{list}", server.address))["data"][0].clone();
            assert_eq!(
                row["valid_from"], "2026-01-01T00:00:00Z",
                "{}: {list}",
                database.name
            );
            let written = row["observed_at"].as_str().unwrap();
            assert!(written.ends_with('Z'), "{written}");
            let observed: Timestamp = written.parse().unwrap();
            // Databases keep microseconds.
            assert!(
                observed.as_microsecond() >= began.as_microsecond() && observed <= ended,
                "{written}"
            );
        }
        wait_for(async {
            let here = database.api().await;
            let again = here.infer(&sheet).await;
            assert_eq!(
                (again.status, again.text()),
                (StatusCode::OK, body.as_str()),
                "{}",
                database.name
            );
            assert_eq!(
                here.get("/estimates").await.rows()[0]["valid_from"],
                "2026-01-01T00:00:00Z"
            );
        });
    });
}

#[test]
fn the_command_line_prints_the_same_in_every_time_zone_and_language() {
    let example = repository().join("examples/google_gemini-3.1-pro.json");
    let example = example.to_str().unwrap();
    for arguments in [
        vec!["infer", example],
        vec!["infer", example, "--json"],
        vec!["simulate", "--json"],
    ] {
        let ended = run_with(&mut elsewhere(unroof(&arguments)), "");
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert_eq!(ended.out, output_of(&arguments), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_back_disturbs_no_id_no_order_and_no_cursor() {
    const TIMES: [&str; 6] = [
        "2026-11-21T12:00:00Z",
        "2026-11-21T11:59:59.999999Z",
        "1970-01-01T00:00:00Z",
        "2031-01-01T00:00:00Z",
        "2026-11-21T12:00:00Z",
        "2020-02-29T00:00:00Z",
    ];
    on_each_database(async |database: &TestDatabase| {
        let asked = AtomicUsize::new(0);
        let clock = Clock::new(move || {
            // The service asks first for the time of its start.
            let place = asked.fetch_add(1, Ordering::Relaxed).saturating_sub(1);
            TIMES[place % TIMES.len()].parse().unwrap()
        });
        let api = Api::new(App::new(database.store().await, clock, Limits::default()));
        let mut ids = Vec::new();
        for number in 0..TIMES.len() {
            ids.push(api.store(&sheet_of(&format!("m-{number}"))).await);
        }
        let rows = paged_rows(&api, "/estimates").await;
        let column = |name: &str| -> Vec<&str> {
            rows.iter()
                .rev()
                .map(|row| row[name].as_str().unwrap())
                .collect()
        };
        assert_eq!(column("id"), ids, "{}", database.name);
        let observed = column("observed_at");
        for (observed, time) in observed.iter().zip(TIMES) {
            // PostgreSQL has a clock of its own, and records no time that it has not reached.
            let is_bounded = database.name == "PostgreSQL" && time.starts_with("2031");
            assert!(
                is_bounded || *observed == time,
                "{}: {observed}",
                database.name
            );
        }
        // Who asks again at another time gets the id of the first.
        let steady = database.api().await;
        let again = steady.infer(&sheet_of("m-0")).await;
        assert_eq!(
            (again.status, Some(&again.id())),
            (StatusCode::OK, ids.first())
        );
    })
    .await;
}

#[test]
fn servers_that_start_at_once_on_an_empty_database_all_serve() {
    on_each_database_blocking(|database| {
        // An embedded database is served by one, but others may bring its tables up to date.
        if database.name == "SQLite" {
            std::thread::scope(|scope| {
                let migrate = || output_of(&["migrate", "--database-url", &database.url]);
                for migration in [(); 3].map(|()| scope.spawn(migrate)) {
                    migration.join().unwrap();
                }
            });
            Server::start(&database.url);
            return;
        }
        let servers: Vec<Server> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| Server::start(&database.url)))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        let client = client();
        for (number, server) in servers.iter().enumerate() {
            let sheet = sheet_of(&format!("m-{number}"));
            let (status, body) =
                post(&client, &format!("{}/infer", server.address), &sheet).unwrap();
            assert_eq!(status, 201, "{}: {body}", database.name);
        }
        wait_for(async {
            assert_eq!(database.number("SELECT count(*) FROM estimates").await, 3);
        });
    });
}

#[test]
fn tables_of_a_newer_program_are_left_alone_with_a_word_about_it() {
    on_each_database_blocking(|database| {
        let newer = "
            INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
            SELECT version + 1, 'of a newer program', installed_on, success, checksum, execution_time
            FROM _sqlx_migrations ORDER BY version DESC LIMIT 1";
        wait_for(database.execute(newer));
        let ended = run_with(
            &mut unroof(&["migrate", "--database-url", &database.url]),
            "",
        );
        assert_eq!(ended.code, Some(1), "{}: {}", database.name, ended.out);
        for words in [
            "error: cannot bring the tables of",
            "caused by: its tables are those of unroof ",
            "use that version or a newer one",
        ] {
            assert!(
                ended.err.contains(words),
                "{}: {}",
                database.name,
                ended.err
            );
        }
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    });
}

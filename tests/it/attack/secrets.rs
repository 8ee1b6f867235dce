//! Passwords, tokens and keys of addresses: none is printed, logged or listed, however the address is mistyped.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::server::{Ended, Server, client, get, run_with, unroof};
use crate::support::TestDatabase;

/// Secret that must not appear.
const SECRET: &str = "s3cret";

fn is_silent(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "{what}: {text}");
}

fn end(arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = unroof(arguments);
    command.envs(variables.iter().copied());
    let ended = run_with(&mut command, "");
    let what = format!("{arguments:?} {variables:?}");
    is_silent(&what, &ended.out);
    is_silent(&what, &ended.err);
    ended
}

/// Addresses of databases that are none, or whose password has no certain end.
const BROKEN_DATABASES: [&str; 19] = [
    "postgres://ann:s3cret@",
    "postgres:/ann:s3cret@127.0.0.1/unroof",
    "postgres//ann:s3cret@127.0.0.1/unroof",
    "postgre://ann:s3cret@127.0.0.1/unroof",
    "mysql://ann:s3cret@127.0.0.1/unroof",
    "ann:s3cret@127.0.0.1/unroof",
    "s3cret",
    "host=127.0.0.1 password=s3cret",
    "sqlite:postgres://ann:s3cret@127.0.0.1/unroof",
    "postgres://ann:s3cret@127.0.0.1:99999/unroof",
    "postgres://ann:s3cret@[::1/unroof",
    "postgres://ann:a/s3cret@127.0.0.1/unroof",
    "postgres://ann:a#s3cret@127.0.0.1/unroof",
    "postgres://ann:a?s3cret@127.0.0.1/unroof",
    "postgres://ann:1/s3cret@127.0.0.1/unroof",
    "postgres://ann:1#s3cret@127.0.0.1/unroof",
    "postgres://ann:1?s3cret@127.0.0.1/unroof",
    "postgres://ann:%ffs3cret@127.0.0.1/unroof",
    "postgres://127.0.0.1/unroof?passwrd=s3cret",
];

#[test]
fn no_command_prints_a_database_that_it_does_not_understand() {
    for url in BROKEN_DATABASES {
        for command in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["migrate"],
            &["import", "-"],
        ] {
            let by_flag = [command, &["--database-url", url]].concat();
            assert_eq!(end(&by_flag, &[]).code, Some(2), "{by_flag:?}");
            let joined = format!("--database-url={url}");
            assert_eq!(end(&[command, &[&joined]].concat(), &[]).code, Some(2));
            let ended = end(command, &[("UNROOF_DATABASE_URL", url)]);
            assert_eq!(ended.code, Some(2), "{url}");
            assert!(ended.err.contains("--database-url"), "{}", ended.err);
        }
    }
}

#[test]
fn a_password_without_a_certain_end_is_refused_with_a_way_out() {
    for url in [
        "postgres://ann:a/s3cret@127.0.0.1/unroof",
        "postgres://ann:1#s3cret@127.0.0.1/unroof",
        "postgres://ann:1?s3cret@127.0.0.1/unroof",
    ] {
        let ended = end(&["migrate", "--database-url", url], &[]);
        assert!(ended.err.contains("PGPASSWORD"), "{}", ended.err);
        assert!(ended.err.contains("%2F"), "{}", ended.err);
    }
}

#[test]
fn a_database_that_does_not_answer_is_named_without_its_secrets() {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for rest in [
        format!("ann:s3cret@{free}/unroof"),
        format!("ann:s3cret%2F%23@{free}/unroof?sslmode=disable"),
        format!("{free}/unroof?user=ann&password=s3cret&options=s3cret&application_name=s3cret"),
    ] {
        let url = format!("postgres://{rest}");
        let arguments = ["migrate", "--log", "trace", "--database-url", &url];
        let ended = end(&arguments, &[]);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains(&free.to_string()), "{}", ended.err);
        let server = Server::start_with(&[
            "--listen",
            "127.0.0.1:0",
            "--log",
            "trace",
            "--database-url",
            &url,
        ]);
        server.wait_for_log("the database is not ready");
        is_silent("serve", &server.stop().1);
    }
}

#[test]
fn what_was_typed_in_the_wrong_place_is_not_repeated() {
    let url = "postgres://ann:s3cret@127.0.0.1/unroof";
    for arguments in [
        vec![url],
        vec!["serve", url],
        vec!["serve", "ann:s3cret@127.0.0.1"],
        vec!["migrate", url],
        vec!["serve", "--listen", url],
        vec!["serve", "--metrics-listen", url],
        vec!["serve", "--allow-origin", url],
        vec!["serve", "--allow-host", url],
        vec!["serve", "--log-format", url],
        vec![
            "serve",
            "--databas-url=postgres://ann:s3cret@127.0.0.1/unroof",
        ],
        vec!["import", "--format", url, "-"],
        vec!["healthcheck", url],
        vec!["infer", url],
    ] {
        let code = end(&arguments, &[]).code;
        assert_ne!(code, Some(0), "{arguments:?}");
    }
}

const BROKEN_REFRESHES: [&str; 8] = [
    "litellm=https://ann:s3cret@127.0.0.1/a.json",
    "litellm=https://ann:s3cret@127.0.0.1/a.json@1s",
    "https://ann:s3cret@127.0.0.1/a.json?key=s3cret@24h",
    "litellm=https//ann:s3cret@127.0.0.1/a.json@24h",
    "litellm=ftp://ann:s3cret@127.0.0.1/a.json@24h",
    "litellm=https://ann:a/s3cret@127.0.0.1/a.json@24h",
    "litellm=https://ann:1/s3cret@127.0.0.1/a.json@24h",
    "s3cret=https://127.0.0.1/a.json@24h",
];

#[test]
fn no_refresh_that_is_not_understood_is_printed() {
    for refresh in BROKEN_REFRESHES {
        let ended = end(&["serve", "--refresh", refresh], &[]);
        assert_eq!(ended.code, Some(2), "{refresh}: {}", ended.err);
        let ended = end(&["serve"], &[("UNROOF_REFRESH", refresh)]);
        assert_eq!(ended.code, Some(2), "{refresh}: {}", ended.err);
        assert!(ended.err.contains("--refresh"), "{}", ended.err);
    }
}

#[test]
fn help_shows_no_variable_that_may_hold_a_secret() {
    let variables = [
        (
            "UNROOF_REFRESH",
            "litellm=https://ann:s3cret@127.0.0.1/a.json?key=s3cret@24h",
        ),
        (
            "UNROOF_DATABASE_URL",
            "postgres://ann:s3cret@127.0.0.1/unroof",
        ),
    ];
    for command in ["serve", "import", "migrate", "healthcheck"] {
        for flag in ["--help", "-h"] {
            let ended = end(&[command, flag], &variables);
            assert_eq!(ended.code, Some(0), "{}", ended.err);
        }
    }
}

#[test]
fn an_address_that_is_asked_in_vain_is_named_without_its_secrets() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let addresses = [
        format!("http://ann:s3cret@{free}/a?key=s3cret#s3cret"),
        format!("HTTP://s3cret@{free}/a"),
        format!("htps://ann:s3cret@{free}/a"),
        format!("http:/ann:s3cret@{free}/a"),
        format!("http//ann:s3cret@{free}/a"),
        format!("ann:s3cret@{free}/a"),
        format!("{free}/a?key=s3cret"),
        format!("http://ann:a/s3cret@{free}/a"),
        format!("http://ann:1/s3cret@{free}/a"),
        format!("http://ann:a b s3cret@{free}/a"),
        "http://ann:s3cret@[::1/a".to_owned(),
        "http://ann:s3cret@127.0.0.1:99999/a".to_owned(),
        "http://?key=s3cret".to_owned(),
    ];
    let database = TestDatabase::sqlite();
    for address in &addresses {
        let ended = end(&["healthcheck", "--url", address], &[]);
        assert_ne!(ended.code, Some(0), "{address}");
        let arguments = [
            "import",
            "--allow-private",
            "--log",
            "trace",
            "--database-url",
            &database.url,
            address,
        ];
        assert_ne!(end(&arguments, &[]).code, Some(0), "{address}");
    }
}

/// A server that sends everyone to a place that is none.
fn redirecting(location: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            // A client may have left.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address.to_string()
}

#[test]
fn where_a_catalog_was_redirected_to_is_not_listed() {
    for location in [
        "http://ann:s3cret@[bad/a?key=s3cret",
        "http://ann:s3cret@127.0.0.1:99999/a",
        "http://[/a?key=s3cret",
        "http://ann:s3 s3cret@127.0.0.1/a",
        "//ann:s3cret@127.0.0.1:99999/a?key=s3cret",
        "ftp://ann:s3cret@127.0.0.1/a?key=s3cret",
        "s3cret://127.0.0.1/a",
        "http://?s3cret",
    ] {
        let publisher = redirecting(location);
        let database = TestDatabase::sqlite();
        let refresh = format!("litellm=http://ann:s3cret@{publisher}/a.json?key=s3cret@24h");
        let server = Server::start_with(&[
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--log",
            "trace",
            "--refresh",
            &refresh,
            "--refresh-allow-private",
        ]);
        server.wait_for_log("a refresh failed");
        let url = format!("{}/imports", server.address);
        let mut listed = String::new();
        for _ in 0..600 {
            listed = get(&client(), &url).1;
            if listed.contains("failed") {
                break;
            }
            thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(listed.contains(&publisher), "{listed}");
        is_silent(location, &listed);
        is_silent(location, &server.stop().1);
        let source = format!("http://ann:s3cret@{publisher}/a.json?key=s3cret");
        let import = ["import", "--allow-private", "--database-url", &database.url];
        let ended = end(&[&import[..], &[&source]].concat(), &[]);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
    }
}

//! `unroof import` on the file of a running service, and with `--server`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value;
use unroof_store::{DatabaseUrl, ServingLock};

use super::catalog;
use crate::server::{Ended, Server, client, get, run_with, unroof};
use crate::support::{TestDatabase, on_each_database_blocking};

const INSTANCE: &str = "7d444840-9dc0-41d1-b245-5ffdce74fad2";

fn import(database_url: &str, arguments: &[&str], input: &str) -> Ended {
    import_with("", database_url, arguments, input)
}

/// Runs `unroof import` with a key.
fn import_with(key: &str, database_url: &str, arguments: &[&str], input: &str) -> Ended {
    let mut command = unroof(&["import"]);
    command
        .args(arguments)
        // An address of this machine is not asked of a proxy.
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("UNROOF_DATABASE_URL", database_url)
        .env("UNROOF_KEY", key)
        .env("UNROOF_LOG", "error");
    run_with(&mut command, input)
}

/// The file with the address of the service on a database.
fn address_file(database: &TestDatabase) -> PathBuf {
    let path = database.url.strip_prefix("sqlite:").unwrap();
    format!("{path}.address").into()
}

fn lines(ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let lines = ended.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Number of sheets that a service lists.
fn sheets(server: &Server) -> usize {
    let (status, body) = get(&client(), &format!("{}/price-sheets", server.address));
    assert_eq!(status, 200, "{body}");
    let page: Value = serde_json::from_str(&body).unwrap();
    page["data"].as_array().unwrap().len()
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_service_of_the_file_takes_the_catalogs_and_prints_what_a_local_import_prints() {
    let catalog = catalog().to_string();
    let local = TestDatabase::sqlite();
    let of_local = import(&local.url, &["-"], &catalog);
    assert_eq!(of_local.code, Some(0), "{}", of_local.err);

    let database = TestDatabase::sqlite();
    let server = Server::start(&database.url);
    let dry = import(&database.url, &["-", "--dry-run"], &catalog);
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    assert_eq!(sheets(&server), 0);
    let sent = import(&database.url, &["-"], &catalog);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    // Entries are listed as they are estimated, on several threads.
    assert_eq!(sorted_lines(&sent.out), sorted_lines(&of_local.out));
    assert!(sent.err.is_empty(), "{}", sent.err);
    assert_eq!(sheets(&server), 6);

    // By another name it is the same file; two files of one catalog are one snapshot.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.json");
    std::fs::write(&file, &catalog).unwrap();
    let file = file.to_str().unwrap();
    let link = folder.path().join("link.db");
    #[cfg(unix)]
    std::os::unix::fs::symlink(database.url.strip_prefix("sqlite:").unwrap(), &link).unwrap();
    let url = format!("sqlite:{}", link.display());
    let again = import(&url, &[file, file, "--json", "--only-changed"], "");
    let again = lines(&again);
    let done: Vec<&Value> = again.iter().filter(|line| line["type"] == "done").collect();
    assert_eq!(done.len(), 1, "{again:?}");
    assert_eq!(done[0]["unchanged"], 12, "{done:?}");
    assert!(!again.iter().any(|line| line["outcome"] == "unchanged"));

    for (arguments, says) in [
        (
            &["-", "--provider", "antropic"][..],
            "did you mean `anthropic`?",
        ),
        (&["-", "--format", "openrouter"], "error: -: "),
    ] {
        let refused = import(&database.url, arguments, &catalog);
        assert_eq!(refused.code, Some(1), "{}", refused.err);
        assert!(refused.err.contains(says), "{}", refused.err);
        assert!(refused.out.is_empty(), "{}", refused.out);
    }
}

#[test]
fn the_address_is_private_and_is_removed_when_the_service_stops() {
    let database = TestDatabase::sqlite();
    let file = address_file(&database);
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("admin.key");
    let server = Server::start_with(&[
        "--database-url",
        &database.url,
        "--listen",
        "0.0.0.0:0",
        "--admin-key-file",
        key_file.to_str().unwrap(),
        "--stop-notice",
        "0s",
    ]);
    let text = std::fs::read_to_string(&file).unwrap();
    let port = server.address.rsplit(':').next().unwrap();
    let start = format!("http://127.0.0.1:{port}/#");
    assert!(text.starts_with(&start), "{text}");
    assert_eq!(text.lines().count(), 1);
    #[cfg(unix)]
    assert_eq!(crate::server::mode(&file), 0o600);
    let refused = import(&database.url, &["-"], &catalog().to_string());
    assert_eq!(refused.code, Some(1), "{}", refused.out);
    let key = std::fs::read_to_string(&key_file).unwrap();
    let catalog = catalog().to_string();
    let sent = import_with(key.trim(), &database.url, &["-"], &catalog);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    let (status, log) = server.stop();
    assert!(status.success(), "{log}");
    assert!(!file.exists());
}

#[test]
fn after_a_service_was_killed_an_import_writes_to_the_file() {
    let database = TestDatabase::sqlite();
    let mut server = Server::start(&database.url);
    server.kill();
    assert!(address_file(&database).exists());
    let ended = import(&database.url, &["-", "--json"], &catalog().to_string());
    assert_eq!(lines(&ended).last().unwrap()["sheets"], 6);
    let server = Server::start(&database.url);
    assert_eq!(sheets(&server), 6);
}

/// Checks that an import on a file whose lock is held fails and names `--server`.
fn fails_for(database: &TestDatabase, reason: &str) {
    let ended = import(&database.url, &["-"], &catalog().to_string());
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    for says in [
        "error: cannot write to sqlite:",
        "`--server URL`",
        "caused by: another process is at work on `",
        reason,
    ] {
        assert!(ended.err.contains(says), "no {says} in {}", ended.err);
    }
}

#[test]
fn an_address_that_is_not_that_of_the_service_of_the_file_is_not_used() {
    let database = TestDatabase::sqlite();
    let url: DatabaseUrl = database.url.parse().unwrap();
    let _lock = ServingLock::take(&url).unwrap();
    let file = address_file(&database);
    fails_for(&database, "no address of this machine next to the file");

    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = free.local_addr().unwrap();
    drop(free);
    std::fs::write(&file, format!("http://{closed}/#{INSTANCE}\n")).unwrap();
    fails_for(&database, "does not answer");

    // The port is now that of a service on another file.
    let other = TestDatabase::sqlite();
    let server = Server::start(&other.url);
    std::fs::write(&file, format!("{}/#{INSTANCE}\n", server.address)).unwrap();
    fails_for(&database, "is that of another process");
    assert_eq!(sheets(&server), 0);

    // An address of another machine, even where its service would answer.
    let written = std::fs::read_to_string(address_file(&other)).unwrap();
    let elsewhere = written.replace("127.0.0.1", "localhost");
    std::fs::write(&file, elsewhere).unwrap();
    fails_for(&database, "no address of this machine next to the file");
    assert_eq!(sheets(&server), 0);
}

#[test]
fn server_names_the_service_whatever_the_database() {
    on_each_database_blocking(|database| {
        let server = Server::start(&database.url);
        let unused = TestDatabase::sqlite();
        let catalog = catalog().to_string();
        let to = |address: &str| {
            let mut command = unroof(&["import", "-", "--json", "--server", address]);
            command
                .env("UNROOF_DATABASE_URL", &unused.url)
                .env("UNROOF_LOG", "error");
            run_with(&mut command, &catalog)
        };
        let sent = lines(&to(&server.address));
        assert_eq!(sent.last().unwrap()["type"], "done");
        assert_eq!(sheets(&server), 6);
        let written = unused.url.strip_prefix("sqlite:").unwrap();
        assert!(!std::path::Path::new(written).exists());
        for (address, code, says) in [
            (
                "http://127.0.0.1:1",
                1,
                "could not be sent to http://127.0.0.1:1/",
            ),
            (
                "127.0.0.1:8080",
                2,
                "--server: expected an http or https address",
            ),
            ("http://ann:s3/cret@host", 2, "ambiguous"),
        ] {
            let refused = to(address);
            assert_eq!(refused.code, Some(code), "{}", refused.err);
            assert!(refused.err.contains(says), "{}", refused.err);
            assert!(!refused.err.contains("cret"), "{}", refused.err);
        }
    });
}

/// Answers one request with a text; gives the head of the request.
fn answer_once(listener: &TcpListener, answer: &str) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    let mut piece = vec![0; 65536];
    let is_whole = |request: &[u8]| {
        let text = String::from_utf8_lossy(request);
        let length = |head: &str| -> Option<usize> {
            let line = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            line?.parse().ok()
        };
        text.split_once("\r\n\r\n")
            .is_some_and(|(head, body)| length(head).is_none_or(|length| body.len() >= length))
    };
    while !is_whole(&request) {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0);
        request.extend(&piece[..count]);
    }
    stream.write_all(answer.as_bytes()).unwrap();
    String::from_utf8(request).unwrap()
}

#[test]
fn an_answer_that_ends_early_is_no_success_and_credentials_are_sent_as_authorization() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/x-ndjson\r\n\r\n";
    let started = r#"{"type":"started","format":"litellm","entries":9,"sheets":6}"#;
    let busy = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n{\"type\":\"/problems/busy\"}";
    let served = std::thread::spawn(move || {
        answer_once(&listener, busy);
        answer_once(&listener, &format!("{head}{started}\n"))
    });
    let address = format!("http://ann:cret@{address}/unroof/");
    let arguments = ["-", "--provider", "anthropic", "--server", &address];
    let mut command = unroof(&["import"]);
    let ended = run_with(command.args(arguments), &catalog().to_string());
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    assert!(
        ended.err.contains("was not fully imported"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("without a result"), "{}", ended.err);
    assert!(!ended.err.contains("cret"), "{}", ended.err);
    let request = served.join().unwrap();
    let first = "POST /unroof/catalogs?provider=anthropic HTTP/1.1\r\n";
    assert!(request.starts_with(first), "{request}");
    assert!(
        request.contains("authorization: Basic YW5uOmNyZXQ="),
        "{request}"
    );
}

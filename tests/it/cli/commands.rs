//! Commands other than `infer` and `import`, and what all have in common.

use serde_json::Value;

use super::file_with;
use crate::server::{Server, client, get, mode, output_of, post, run, unroof};
use crate::support::{TestDatabase, examples, repository, sheet};

#[test]
fn version_and_help_show_the_next_step() {
    let version = output_of(&["--version"]);
    let commit = version.strip_prefix(concat!("unroof ", env!("CARGO_PKG_VERSION")));
    let commit = commit.unwrap().trim_end();
    // A build outside of a repository has none.
    let commit = commit
        .strip_prefix(" (")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_hexadecimal =
        |commit: &str| commit.len() >= 7 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    assert!(commit.is_none_or(is_hexadecimal), "{version}");
    assert_eq!(
        commit.is_some(),
        repository().join(".git").exists(),
        "{version}"
    );
    let help = output_of(&["--help"]);
    for words in [
        "Examples:",
        "unroof infer",
        "infer",
        "serve",
        "migrate",
        "openapi",
        "schema",
    ] {
        assert!(help.contains(words), "no `{words}` in {help}");
    }
    for command in ["infer", "serve"] {
        let help = output_of(&[command, "--help"]);
        assert!(
            help.contains("Examples:") && help.contains(&format!("unroof {command} ")),
            "{help}"
        );
    }
    // The examples of the help work, those that name files of the repository.
    for line in help
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("unroof infer examples/"))
    {
        let file = line.split(' ').nth(2).unwrap();
        assert!(repository().join(file).exists(), "{line}");
    }
    assert!(output_of(&["serve", "--help"]).contains("127.0.0.1:8080"));
}

#[test]
fn what_fails_on_its_way_ends_with_1_and_its_causes() {
    let (folder, file) = file_with("no database");
    let below_a_file = format!("sqlite:{file}/unroof.db");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let fresh = format!("sqlite:{}", folder.path().join("fresh.db").display());
    let rows: [(&[&str], &str); 4] = [
        (
            &["migrate", "--database-url", &below_a_file],
            "cannot open the database",
        ),
        (
            &["migrate", "--database-url", &format!("sqlite:{file}")],
            "error: ",
        ),
        (
            &[
                "migrate",
                "--database-url",
                "postgres://ann:secret@127.0.0.1:1/unroof",
            ],
            "postgres://ann@127.0.0.1:1/unroof",
        ),
        (
            &["serve", "--listen", &address, "--database-url", &fresh],
            "cannot listen on",
        ),
    ];
    for (arguments, words) in rows {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        assert!(
            ended.err.contains(words) && ended.err.contains("caused by: "),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(
            !ended.err.contains("secret") && !ended.err.contains("panicked"),
            "{}",
            ended.err
        );
    }
}

#[test]
fn serve_says_who_may_use_it_where_others_can_reach_it_and_only_there() {
    let database = TestDatabase::sqlite();
    let others = ["--listen", "0.0.0.0:0", "--anonymous", "read"];
    let open = Server::start_with(&[&["--database-url", &database.url], &others[..]].concat());
    assert!(
        open.address.starts_with("http://0.0.0.0:"),
        "{}",
        open.address
    );
    let log = open.wait_for_log("a key decides what a caller may do");
    assert!(log.contains("without_a_key=\"read\""), "{log}");
    // An embedded database is served by one.
    drop(open);
    let closed = Server::start(&database.url);
    let log = closed.wait_for_log("listening");
    assert!(
        !log.contains("a key decides") && !log.contains("WARN"),
        "{log}"
    );
}

#[test]
fn serve_keeps_its_file_where_the_desktop_says_and_for_its_owner_alone() {
    for (variable, below) in [("XDG_DATA_HOME", "unroof"), ("HOME", ".local/share/unroof")] {
        let home = tempfile::tempdir().unwrap();
        let mut command = unroof(&["serve", "--listen", "127.0.0.1:0", "--examples"]);
        command.env(variable, home.path().join("data"));
        let server = Server::spawn(command);
        let folder = home.path().join("data").join(below);
        assert_eq!(mode(&folder), 0o700, "{variable}");
        let files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(files.contains(&folder.join("unroof.db")), "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
        // The examples are there from the start.
        let (status, body) = get(&client(), &format!("{}/estimates", server.address));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, body["data"].as_array().unwrap().len()),
            (200, examples().len())
        );
    }
}

#[test]
fn what_was_stored_is_there_after_a_restart_and_its_etag_too() {
    let database = TestDatabase::sqlite();
    let client = client();
    let ask = |server: &Server| {
        let mut response = client
            .get(format!("{}/estimates", server.address))
            .call()
            .unwrap();
        let etag = response.headers()["etag"].to_str().unwrap().to_owned();
        (etag, response.body_mut().read_to_string().unwrap())
    };
    let server = Server::start(&database.url);
    let (status, _) = post(&client, &format!("{}/infer", server.address), &sheet()).unwrap();
    assert_eq!(status, 201);
    let before = ask(&server);
    drop(server);
    assert_eq!(ask(&Server::start(&database.url)), before);
}

#[test]
fn the_log_is_one_json_object_per_line_where_it_is_asked_for() {
    let database = TestDatabase::sqlite();
    let server = Server::start_with(&[
        "--database-url",
        &database.url,
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
    ]);
    let client = client();
    let response = client
        .get(format!("{}/estimates", server.address))
        .header("x-request-id", "logged-1")
        .call();
    assert_eq!(response.unwrap().status(), 200);
    let (status, log) = server.stop();
    assert!(status.success());
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let request = lines
        .iter()
        .find(|line| line["span"]["request_id"] == "logged-1")
        .unwrap_or_else(|| panic!("{log}"));
    assert_eq!(request["span"]["route"], "/estimates");
    assert_eq!(request["span"]["method"], "GET");
    assert_eq!(request["fields"]["status"], 200);
    assert!(request["fields"]["duration_ms"].is_number(), "{request}");
}

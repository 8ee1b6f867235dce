//! The start of a service: who may use it, and the keys of the command line.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::server::{Server, output_of, run, run_with, unroof};
use crate::support::{TestDatabase, on_each_database_blocking};

fn serve(database: &TestDatabase, arguments: &[&str]) -> Server {
    let common = ["--database-url", &database.url, "--listen"];
    Server::start_with(&[&common, arguments].concat())
}

/// The status of a request with a key, and the answer.
fn ask(server: &Server, path: &str, key: Option<&str>) -> (u16, Value) {
    let url = format!("{}{path}", server.address.replace("0.0.0.0", "127.0.0.1"));
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let mut request = agent.get(&url);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut answer = request.call().unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (
        answer.status().as_u16(),
        serde_json::from_str(&text).unwrap_or_default(),
    )
}

#[test]
fn a_service_that_others_can_reach_starts_only_with_a_way_in() {
    on_each_database_blocking(|database| {
        let reachable = ["--database-url", &database.url, "--listen", "0.0.0.0:0"];
        let proxy = ["--trusted-proxy", "10.0.0.0/8"];
        // No group of its users has a scope.
        let users = [&proxy[..], &["--trusted-user-header", "remote-user"]].concat();
        for closed in [&[][..], &proxy[..], &users[..]] {
            let said = refusal_of(&[&reachable[..], closed].concat());
            for way in ["unroof keys create", "--admin-key-file", "--anonymous read"] {
                assert!(said.contains(way), "{closed:?}: {said}");
            }
        }
        let server = serve(database, &["0.0.0.0:0", "--anonymous", "read"]);
        assert_eq!(ask(&server, "/models", None).0, 200);
        drop(server);
        let key = output_of(&[
            "keys",
            "create",
            "reader",
            "--scope",
            "read",
            "--database-url",
            &database.url,
        ]);
        let server = serve(database, &["0.0.0.0:0"]);
        assert_eq!(ask(&server, "/models", None).0, 401);
        assert_eq!(ask(&server, "/models", Some(key.trim())).0, 200);
        assert_eq!(ask(&server, "/keys", Some(key.trim())).0, 403);
        drop(server);
        // One that only this machine reaches is open, unless keys are required or a proxy is in front of it.
        let server = serve(database, &["127.0.0.1:0"]);
        assert_eq!(ask(&server, "/keys", None).0, 200);
        drop(server);
        for closed in [&["--require-keys"][..], &["--trusted-proxy", "10.0.0.0/8"]] {
            let server = serve(database, &[&["127.0.0.1:0"], closed].concat());
            assert_eq!(ask(&server, "/models", None).0, 401, "{closed:?}");
        }
    });
}

/// Message of a service that must not start.
fn refusal_of(arguments: &[&str]) -> String {
    let mut command = unroof(&[&["serve"], arguments].concat());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut greeting = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut greeting).unwrap();
    if !greeting.is_empty() {
        child.kill().unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(
        (greeting.as_str(), ended.status.code()),
        ("", Some(1)),
        "{said}"
    );
    said
}

#[test]
fn a_key_that_has_expired_is_no_way_in() {
    on_each_database_blocking(|database| {
        let at = ["--database-url", database.url.as_str()];
        let guest = ["keys", "create", "guest", "--scope", "read", "--expires"];
        let expired = output_of(&[&guest[..], &["1ms"], &at].concat());
        let reachable = [&at[..], &["--listen", "0.0.0.0:0"]].concat();
        let said = refusal_of(&reachable);
        assert!(said.contains("unroof keys create"), "{said}");
        // Its owner learns why it is refused.
        let server = serve(
            database,
            &["127.0.0.1:0", "--require-keys", "--anonymous", "read"],
        );
        let (status, answer) = ask(&server, "/models", Some(expired.trim()));
        assert_eq!(status, 401, "{answer}");
        assert_eq!(answer["detail"], "the key has expired");
        drop(server);
        output_of(&[&["keys", "create", "desk", "--scope", "read"], &at[..]].concat());
        let server = serve(database, &["0.0.0.0:0"]);
        assert_eq!(ask(&server, "/models", None).0, 401);
    });
}

#[test]
fn the_example_of_a_service_for_other_machines_starts_on_an_empty_database() {
    let help = output_of(&["serve", "--help"]);
    let mut lines = help.lines().map(str::trim);
    let example = lines
        .find(|line| line.contains("--listen 0.0.0.0"))
        .unwrap();
    let example = example.strip_prefix("unroof serve ").unwrap();
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let arguments = example.split(' ').map(|word| match word {
            "postgres://unroof@db/unroof" => database.url.as_str(),
            "0.0.0.0:8080" => "0.0.0.0:0",
            word => word,
        });
        let mut command = unroof(&["serve"]);
        command.args(arguments).current_dir(folder.path());
        let server = Server::spawn(command);
        let key = fs::read_to_string(folder.path().join("admin.key")).unwrap();
        assert_eq!(ask(&server, "/models", None).0, 401);
        assert_eq!(ask(&server, "/keys", Some(key.trim())).0, 200);
    });
}

#[test]
fn no_key_is_in_the_log_or_in_an_answer() {
    on_each_database_blocking(|database| {
        let made = [
            "keys",
            "create",
            "desk",
            "--scope",
            "observe",
            "--database-url",
            &database.url,
        ];
        let known = output_of(&made).trim().to_owned();
        let wrong = known.to_uppercase();
        let server = serve(
            database,
            &["127.0.0.1:0", "--require-keys", "--log", "trace"],
        );
        let in_query = format!("/models?key={known}");
        for (path, key, status) in [
            ("/models", known.as_str(), 200),
            ("/audit", known.as_str(), 403),
            (in_query.as_str(), known.as_str(), 400),
            ("/models", wrong.as_str(), 401),
        ] {
            let (found, answer) = ask(&server, path, Some(key));
            assert_eq!(found, status, "{path}: {answer}");
            let answer = answer.to_string();
            assert!(
                !answer.contains(&known) && !answer.contains(&wrong),
                "{answer}"
            );
        }
        let (ended, log) = server.stop();
        assert!(ended.success() && log.contains("/models"), "{log}");
        assert!(!log.contains(&known) && !log.contains(&wrong), "{log}");
    });
}

#[test]
fn the_first_admin_key_comes_from_a_file() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("admin.key");
        let file = file.to_str().unwrap();
        let arguments = ["0.0.0.0:0", "--admin-key-file", file];
        let server = serve(database, &arguments);
        let key = fs::read_to_string(file).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(ask(&server, "/audit", Some(key.trim())).0, 200);
        drop(server);
        // The same file again is the same key; another service on this database has a key of its own.
        let other = folder.path().join("other.key");
        let other = other.to_str().unwrap();
        drop(serve(database, &["0.0.0.0:0", "--admin-key-file", other]));
        let server = serve(database, &arguments);
        let keys = ask(&server, "/keys", Some(key.trim())).1;
        assert_eq!(keys["data"].as_array().unwrap().len(), 2, "{keys}");
        drop(server);
        fs::write(other, "password").unwrap();
        let refused = run(&[
            "serve",
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--admin-key-file",
            other,
        ]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains("43 letters"), "{}", refused.err);
        assert!(!refused.err.contains("password"), "{}", refused.err);
    });
}

#[test]
fn keys_are_created_listed_and_revoked_by_name() {
    on_each_database_blocking(|database| {
        let at = ["--database-url", database.url.as_str()];
        let keys = |arguments: &[&str]| run(&[&["keys"], arguments, &at].concat());
        assert!(keys(&["list"]).out.contains("unroof keys create NAME"));
        let made = keys(&["create", "guest", "--scope", "read", "--expires", "30d"]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        assert_eq!(made.out.trim().len(), 50, "{}", made.out);
        assert!(made.err.contains("shown only now"), "{}", made.err);
        let again = keys(&["create", "guest", "--scope", "ask"]);
        assert_eq!(again.code, Some(1));
        assert!(again.err.contains("`guest`"), "{}", again.err);
        let wrong = keys(&["create", "x", "--scope", "write"]);
        assert_eq!(wrong.code, Some(2));
        assert!(
            wrong.err.contains("read, ask, observe or admin"),
            "{}",
            wrong.err
        );
        assert_eq!(
            keys(&["create", "x", "--scope", "read", "--expires", "-1d"]).code,
            Some(2)
        );
        let list = keys(&["list"]).out;
        assert!(list.contains("guest") && list.contains("until "), "{list}");
        assert!(!list.contains(made.out.trim()));
        assert_eq!(keys(&["revoke", "guest"]).code, Some(0));
        let gone = keys(&["revoke", "guest"]);
        assert_eq!(gone.code, Some(1));
        assert!(gone.err.contains("unroof keys list"), "{}", gone.err);
        assert!(keys(&["list"]).out.contains("revoked "));
        let limited = [
            "create",
            "acme",
            "--scope",
            "observe",
            "--provider",
            "acme",
            "--network",
        ];
        let made = keys(
            &[
                &limited[..],
                &["10.0.0.0/8,192.0.2.7", "--expires", "never"],
            ]
            .concat(),
        );
        assert!(made.err.contains("It expires never"), "{}", made.err);
        let list = keys(&["list"]).out;
        assert!(list.contains("10.0.0.0/8, 192.0.2.7/32"), "{list}");
        let wrong = keys(&["create", "x", "--scope", "admin", "--provider", "acme"]);
        assert_eq!(wrong.code, Some(2));
        assert!(
            wrong.err.contains("makes keys without limits"),
            "{}",
            wrong.err
        );
        let wrong = keys(&["create", "x", "--scope", "read", "--network", "10.0.0.0/33"]);
        assert_eq!(wrong.code, Some(2));
        let json: Value = serde_json::from_str(&keys(&["list", "--json"]).out).unwrap();
        assert_eq!(json[0]["name"], "guest");
    });
}

#[test]
fn the_command_line_refuses_the_names_that_the_route_refuses() {
    let database = TestDatabase::sqlite();
    let create = |name: &str| {
        let arguments = ["keys", "create", name, "--scope", "read"];
        run(&[&arguments[..], &["--database-url", &database.url]].concat())
    };
    let [longest, too_long] = [255, 256].map(|length| "x".repeat(length));
    for (wrong, remedy) in [
        ("", "write 1 to 255 characters"),
        ("  ", "write 1 to 255 characters"),
        (too_long.as_str(), "write 1 to 255 characters"),
        ("price\ndesk", "leave control characters out"),
        ("\u{1b}[31mdesk", "leave control characters out"),
        ("desk\u{202e}", "leave out bidirectional marks"),
    ] {
        let refused = create(wrong);
        assert_eq!(refused.code, Some(2), "{wrong:?}: {}", refused.err);
        assert_eq!(refused.out, "", "{wrong:?}");
        assert!(refused.err.contains("the name of a key"), "{}", refused.err);
        assert!(refused.err.contains(remedy), "{wrong:?}: {}", refused.err);
    }
    for name in ["desk", "Preise für Zürich", longest.as_str()] {
        let made = create(name);
        assert_eq!(made.code, Some(0), "{name}: {}", made.err);
    }
}

#[test]
fn the_command_line_sends_its_key_wherever_it_asks_a_service() {
    on_each_database_blocking(|database| {
        let at = ["--database-url", database.url.as_str()];
        let observe =
            output_of(&[&["keys", "create", "desk", "--scope", "observe"], &at[..]].concat());
        let server = serve(database, &["127.0.0.1:0", "--require-keys"]);
        let folder = tempfile::tempdir().unwrap();
        let catalog = r#"{"gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6,
            "output_cost_per_token": 2e-6}}"#;
        let catalog = crate::server::file_text(folder.path(), "catalog.json", catalog);
        let import = ["import", catalog.as_str(), "--server", &server.address];
        let refused = run(&import);
        assert_eq!(refused.code, Some(1), "{}", refused.out);
        assert!(refused.err.contains("scope `observe`"), "{}", refused.err);
        let sent = run_with(unroof(&import).env("UNROOF_KEY", observe.trim()), "");
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        let models = ["search", "gpt", "--server", &server.address];
        assert_eq!(run(&models).code, Some(1));
        let found = run_with(unroof(&models).env("UNROOF_KEY", observe.trim()), "");
        assert_eq!(found.code, Some(0), "{}", found.err);
    });
}

#[test]
fn a_key_of_the_command_line_expires_by_itself_and_the_list_warns_before() {
    on_each_database_blocking(|database| {
        let at = ["--database-url", database.url.as_str()];
        let keys = |arguments: &[&str]| run(&[&["keys"], arguments, &at].concat());
        let made = keys(&["create", "usual", "--scope", "read"]);
        assert!(
            made.err.contains("It expires after 90 days"),
            "{}",
            made.err
        );
        keys(&[
            "create",
            "for ever",
            "--scope",
            "read",
            "--expires",
            "never",
        ]);
        keys(&["create", "guest", "--scope", "read", "--expires", "13d"]);
        keys(&["create", "gone", "--scope", "read", "--expires", "1ms"]);
        keys(&["create", "revoked", "--scope", "read", "--expires", "1d"]);
        assert_eq!(keys(&["revoke", "revoked"]).code, Some(0));
        let list = keys(&["list"]);
        let warnings: Vec<&str> = list.err.lines().collect();
        let [warning] = warnings.as_slice() else {
            panic!("{}", list.err);
        };
        assert!(warning.contains("the key `guest` expires on "), "{warning}");
        let json: Value = serde_json::from_str(&keys(&["list", "--json"]).out).unwrap();
        let end = |index: usize| json[index]["expires_at"].as_str();
        assert!(end(0).is_some(), "{json}");
        assert_eq!(end(1), None);
    });
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_write_is_refused_with_how_to_mend_it() {
    use std::os::unix::fs::PermissionsExt;
    let database = TestDatabase::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admin.key");
    let path = file.to_str().unwrap();
    let arguments = [
        "--database-url",
        &database.url,
        "--listen",
        "127.0.0.1:0",
        "--admin-key-file",
        path,
    ];
    drop(Server::start_with(&arguments));
    let key = fs::read_to_string(&file).unwrap();
    let set = |mode: u32| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    for (mode, said) in [
        (0o666, "666"),
        (0o602, "602"),
        (0o620, "620"),
        (0o660, "660"),
    ] {
        set(mode);
        let refused = refusal_of(&arguments);
        assert!(
            refused.contains(&format!("its mode is {said}")),
            "{refused}"
        );
        assert!(
            refused.contains(&format!("chmod 600 '{path}'")),
            "{refused}"
        );
        assert!(!refused.contains(key.trim()), "{refused}");
    }
    // Who may read it is the operator's decision, as for a secret of a container.
    for mode in [0o600, 0o440, 0o644] {
        set(mode);
        drop(Server::start_with(&arguments));
    }
}

//! Users that a trusted proxy has signed in.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use unroof_store::access::Scope;

use super::key;
use crate::server::{Server, client};
use crate::support::{TestDatabase, on_each_database_blocking, sheet, wait_for};

/// A service behind a proxy in a network, with the scopes of two groups.
fn service(database: &TestDatabase, proxy: &str) -> Server {
    let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    let users = [
        "--trusted-proxy",
        proxy,
        "--trusted-user-header",
        "Remote-User",
    ];
    let scopes = [
        "--group-scope",
        "analysts=ask",
        "--group-scope",
        "desk=observe",
    ];
    Server::start_with(&[&place[..], &users, &scopes, &["--anonymous", "read"]].concat())
}

/// The status of a sheet that is sent with some headers, and the body of the answer.
fn infer(server: &Server, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = client().post(format!("{}/infer", server.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.header("content-type", "application/json");
    let mut reply = request.send(sheet().to_string()).unwrap();
    let text = reply.body_mut().read_to_string().unwrap();
    (
        reply.status().as_u16(),
        serde_json::from_str(&text).unwrap(),
    )
}

#[test]
fn the_groups_of_a_user_decide_what_the_user_may_do_behind_a_trusted_proxy() {
    on_each_database_blocking(|database| {
        let store = wait_for(database.store());
        let admin = wait_for(key(&store, "admin", Scope::Admin));
        let reader = format!("Bearer {}", wait_for(key(&store, "reader", Scope::Read)));
        let server = service(database, "127.0.0.1");
        let anna = ("remote-user", "anna");
        let groups = |names| ("remote-groups", names);
        for (headers, status, said) in [
            (&[][..], 401, "needs a key"),
            (&[anna][..], 403, "the caller has `read`"),
            (&[anna, groups("guests,Desk")], 403, "the caller has `read`"),
            (&[groups("desk")], 401, "needs a key"),
            // A key is stronger than the word of the proxy.
            (
                &[anna, groups("desk"), ("authorization", &reader)],
                403,
                "the caller has `read`",
            ),
        ] {
            let (found, problem) = infer(&server, headers);
            assert_eq!(found, status, "{headers:?}: {problem}");
            assert!(
                problem["detail"].as_str().unwrap().contains(said),
                "{headers:?}: {problem}"
            );
        }
        let (asked, answer) = infer(&server, &[anna, groups("guests, analysts")]);
        assert_eq!(
            (asked, &answer["observe"]["observed"]),
            (201, &Value::Bool(false))
        );
        let (observed, answer) = infer(&server, &[anna, groups("analysts,desk")]);
        assert_eq!(
            (observed, &answer["observe"]["observed"]),
            (200, &Value::Bool(true))
        );

        let audit = client().get(format!("{}/audit?limit=1", server.address));
        let audit = audit.header("authorization", format!("Bearer {admin}"));
        let row: Value = audit.call().unwrap().body_mut().read_json().unwrap();
        let row = &row["data"][0];
        assert_eq!(row["action"], "sheet.observed", "{row}");
        assert_eq!(
            (&row["caller"], &row["name"]),
            (&"user".into(), &"anna".into())
        );
    });
}

#[test]
fn the_word_of_a_stranger_about_a_user_is_not_taken() {
    on_each_database_blocking(|database| {
        let server = service(database, "10.0.0.0/8");
        let stranger = [
            ("remote-user", "anna"),
            ("remote-groups", "desk"),
            ("x-forwarded-for", "10.0.0.1"),
        ];
        let (status, problem) = infer(&server, &stranger);
        assert_eq!(status, 401, "{problem}");
    });
}

#[test]
fn a_page_of_another_site_cannot_write_in_the_name_of_a_user() {
    on_each_database_blocking(|database| {
        let server = service(database, "127.0.0.1");
        let form = |site: &str| {
            let request = client().post(format!("{}/ui/try", server.address));
            let request = request
                .header("remote-user", "anna")
                .header("remote-groups", "desk");
            let request = request.header("sec-fetch-site", site);
            let sheet = sheet().to_string();
            let fields = [("sheet", sheet.as_str()), ("store", "yes")];
            request.send_form(fields).unwrap().status().as_u16()
        };
        assert_eq!(form("cross-site"), 403);
        let observed = "SELECT count(*) FROM audit WHERE action = 'sheet.observed'";
        assert_eq!(wait_for(database.number(observed)), 0);
        assert_eq!(form("same-origin"), 200);
        assert_eq!(wait_for(database.number(observed)), 1);
    });
}

#[test]
fn the_cookie_of_a_browser_is_secure_where_a_trusted_proxy_says_that_its_connection_is_encrypted() {
    on_each_database_blocking(|database| {
        let store = wait_for(database.store());
        let body = format!("key={}", wait_for(key(&store, "reader", Scope::Read)));
        for (proxy, scheme, is_secure) in [
            ("127.0.0.1", "https", true),
            ("127.0.0.1", "http", false),
            ("10.0.0.0/8", "https", false),
        ] {
            let server = service(database, proxy);
            let form = client().post(format!("{}/ui/sign-in", server.address));
            let form = form
                .config()
                .max_redirects(0)
                .build()
                .header("content-type", "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin")
                .header("x-forwarded-proto", scheme);
            let reply = form.send(body.as_str()).unwrap();
            let cookie = reply.headers()["set-cookie"].to_str().unwrap();
            assert_eq!(cookie.ends_with("; Secure"), is_secure, "{proxy}: {cookie}");
            let (ended, log) = server.stop();
            assert!(ended.success(), "{log}");
        }
    });
}

/// The head of an answer to a request with headers of any bytes.
fn raw(server: &Server, headers: &[(&str, &[u8])]) -> String {
    let mut connection = TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
    let mut request = b"GET /audit HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n".to_vec();
    for (name, value) in headers {
        request.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    request.extend(b"\r\n");
    connection.write_all(&request).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_user_that_cannot_be_read_or_is_named_twice_is_refused_and_not_anonymous() {
    on_each_database_blocking(|database| {
        let server = service(database, "127.0.0.1");
        let anna = ("remote-user", &b"anna"[..]);
        let desk = ("remote-groups", &b"desk"[..]);
        for (headers, says) in [
            (&[anna, ("remote-user", &b"admin"[..])][..], "comes twice"),
            (
                &[anna, ("remote-groups", &b"guests"[..]), desk],
                "comes twice",
            ),
            (
                &[("remote-user", "Zo\u{eb}".as_bytes())],
                "is not a text in ASCII",
            ),
            (
                &[("remote-user", &b"\xff"[..]), desk],
                "is not a text in ASCII",
            ),
        ] {
            let answer = raw(&server, headers);
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
            assert!(answer.contains(says), "{answer}");
        }
        let answer = raw(&server, &[anna, desk]);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        // A key is stronger than the word of the proxy, and what needs no key needs no user.
        let key = wait_for(key(&wait_for(database.store()), "reader", Scope::Read));
        let bearer = format!("Bearer {key}");
        let answer = raw(
            &server,
            &[
                ("authorization", bearer.as_bytes()),
                ("remote-user", &b"\xff"[..]),
            ],
        );
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    });
}

#[test]
fn of_a_client_whose_address_cannot_be_read_that_of_the_proxy_counts() {
    on_each_database_blocking(|database| {
        let server = service(database, "127.0.0.1");
        let of = |headers: &[(&str, &[u8])], id: &str| {
            let id = ("x-request-id", id.as_bytes());
            raw(&server, &[headers, &[id]].concat());
        };
        let claimed = ("forwarded", &b"for=203.0.113.7"[..]);
        of(&[claimed], "readable");
        of(&[("x-forwarded-for", &b"\xff"[..]), claimed], "unreadable");
        let (ended, log) = server.stop();
        assert!(ended.success(), "{log}");
        let client = |id: &str| {
            let line = log
                .lines()
                .find(|line| line.contains("served") && line.contains(id));
            let (_, rest) = line.unwrap().split_once("client=").unwrap();
            rest.split([' ', '}']).next().unwrap().to_owned()
        };
        assert_eq!(client("\"readable\""), "203.0.113.7");
        assert_eq!(client("\"unreadable\""), "127.0.0.1");
    });
}

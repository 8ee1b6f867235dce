//! Catalogs behind redirects: none leads to an inner host, and a document that is not a catalog is shown to no reader.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::get;
use unroof_edge::Limits;
use unroof_import::{CatalogFormat, Version};
use unroof_jobs::egress::fetch;
use unroof_server::App;

use super::catalog;
use crate::server::{Server, client, get as get_text, run, unroof};
use crate::support::{TestDatabase, clock, on_each_database};

/// Answers every connection, and counts the requests.
fn listening(answer: impl Fn(&str) -> String + Send + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = head_of(&stream);
            // A client that uses this as a proxy reaches another host through it.
            if head.starts_with("CONNECT") {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                head = head_of(&stream);
            }
            count.fetch_add(1, Ordering::SeqCst);
            // The client may have left.
            let _ = stream.write_all(answer(&head).as_bytes());
        }
    });
    (port, asked)
}

fn head_of(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn redirect_to(location: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

fn document(text: &str) -> String {
    let length = text.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")
}

#[test]
fn a_refresh_and_an_import_follow_no_redirect_to_an_inner_host() {
    let (inner, asked) = listening(|_| document(r#"{"inner": {"password": 1}}"#));
    for location in [
        format!("http://127.0.0.1:{inner}/a.json"),
        format!("http://2130706433:{inner}/a.json"),
        format!("http://[::ffff:127.0.0.1]:{inner}/a.json"),
        // The proxy is not asked for this name: the client looks it up.
        format!("http://localhost:{inner}/a.json"),
        format!("//localhost:{inner}/a.json"),
    ] {
        // A proxy stands for the host of a public name.
        let (public, _) = listening(move |_| redirect_to(&location));
        let proxy = format!("http://127.0.0.1:{public}");
        let database = TestDatabase::sqlite();
        let url = "http://catalogs.example/a.json";
        let mut serving = unroof(&["serve", "--listen", "127.0.0.1:0", "--database-url"]);
        serving
            .args([&database.url, "--refresh", &format!("litellm={url}@24h")])
            .env("http_proxy", &proxy)
            .env("no_proxy", "localhost");
        let server = Server::spawn(serving);
        let log = server.wait_for_log("a refresh failed");
        assert!(log.contains("the address is not a public one"), "{log}");
        drop(server);
        let mut importing = unroof(&["import", "--database-url", &database.url, url]);
        importing
            .env("http_proxy", &proxy)
            .env("no_proxy", "localhost");
        let ended = crate::server::run_with(&mut importing, "");
        assert_eq!(ended.code, Some(1));
        assert!(ended.err.contains("not a public one"), "{}", ended.err);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_catalog_of_a_private_address_is_fetched_only_where_that_is_allowed() {
    let (port, asked) = listening(|_| document(&catalog().to_string()));
    let url = format!("http://127.0.0.1:{port}/a.json");
    let database = TestDatabase::sqlite();
    let refused = run(&["import", "--database-url", &database.url, &url]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("--allow-private"), "{}", refused.err);
    let refresh = format!("litellm={url}@24h");
    let serve = |allowed: &[&str]| {
        let usual = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        Server::start_with(&[&usual[..], &["--refresh", &refresh], allowed].concat())
    };
    serve(&[]).wait_for_log("a refresh failed");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let allowed = ["import", "--allow-private", "--database-url", &database.url];
    let imported = run(&[&allowed[..], &[&url]].concat());
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let other = TestDatabase::sqlite();
    let server = Server::start_with(&[
        "--database-url",
        &other.url,
        "--listen",
        "127.0.0.1:0",
        "--refresh",
        &refresh,
        "--refresh-allow-private",
    ]);
    server.wait_for_log("imported");
    let imports = get_text(&client(), &format!("{}/imports", server.address)).1;
    assert!(imports.contains("\"done\""), "{imports}");
}

#[test]
fn five_redirects_are_followed_and_credentials_stay_with_their_origin() {
    let (other, _) = listening(|head| {
        let shown = head.to_ascii_lowercase().contains("authorization");
        document(if shown { "shown" } else { "hidden" })
    });
    let (port, asked) = listening(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        let shown = head.to_ascii_lowercase().contains("authorization");
        match path {
            "/0" => document(if shown { "shown" } else { "hidden" }),
            "/away" => redirect_to(&format!("http://127.0.0.1:{other}/")),
            _ => {
                let left: u32 = path.trim_start_matches('/').parse().unwrap();
                redirect_to(&format!("/{}", left - 1))
            }
        }
    });
    let fetched = |path: &str| {
        let url = format!("http://ann:secret@127.0.0.1:{port}/{path}");
        fetch(&url, &Version::default(), true).map(|fetched| format!("{fetched:?}"))
    };
    let bytes = |text: &str| format!("{:?}", text.as_bytes());
    assert!(fetched("5").unwrap().contains(&bytes("shown")));
    assert!(fetched("away").unwrap().contains(&bytes("hidden")));
    let before = asked.load(Ordering::SeqCst);
    let refused = fetched("6").unwrap_err().to_string();
    assert!(refused.ends_with("more than 5 times"), "{refused}");
    assert_eq!(asked.load(Ordering::SeqCst) - before, 6);
}

#[test]
fn a_health_check_follows_no_redirect() {
    let (inner, asked) = listening(|_| document("ok"));
    let (port, _) = listening(move |_| redirect_to(&format!("http://127.0.0.1:{inner}/")));
    let ended = run(&["healthcheck", "--url", &format!("http://127.0.0.1:{port}/")]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Documents of an inner host that are no catalogs, in the forms of some.
const INNER: [&str; 5] = [
    r#"{"inner-key": {"inner-field": "inner-value"}}"#,
    r#"{"inner-key": {"models": {"inner-model": {"cost": {"inner-field": "inner-value"}}}}}"#,
    r#"{"data": [{"id": "inner-id", "pricing": {"inner-field": "inner-value"}}]}"#,
    r#"[{"id": "inner-id", "rates": [{"inner-field": "inner-value"}]}]"#,
    r#"{"inner-key": 1, "inner-key": "inner-value", "prices": [{"id": "inner-id"}]}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_not_a_catalog_is_not_shown_to_readers() {
    on_each_database(async |database: &TestDatabase| {
        let mut router = Router::new();
        for (number, text) in INNER.into_iter().enumerate() {
            router = router.route(&format!("/{number}"), get(async move || text));
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let limits = Limits {
            skip_models: true,
            refresh_allow_private: true,
            ..Limits::default()
        };
        let app = App::new(database.store().await, clock(), limits);
        let refreshes: Vec<_> = CatalogFormat::names()
            .flat_map(|format| {
                (0..INNER.len())
                    .map(move |number| format!("{format}=http://{address}/{number}?{format}@1h"))
            })
            .map(|refresh| refresh.parse().unwrap())
            .collect();
        let _jobs = app.jobs().start(&refreshes);
        let api = database.api().await;
        // Refreshes of one address in several formats share its runs.
        for _ in 0..600 {
            let runs = api.get("/imports?limit=100").await.rows();
            if runs.iter().filter(|run| run["outcome"] == "failed").count() >= INNER.len() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        for path in ["/imports?limit=100", "/ui/catalogs", "/stats", "/catalogs"] {
            let shown = api.get(path).await;
            assert!(!shown.text().contains("inner-"), "{path}: {}", shown.text());
        }
        let imports = api.get("/imports?limit=100").await;
        assert!(
            imports.text().contains("has no offer in the format"),
            "{}",
            imports.text()
        );
    })
    .await;
}

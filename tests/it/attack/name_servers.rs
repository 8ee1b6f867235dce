//! Name servers that do not answer delay only requests that need DNS.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Command;

use serde_json::json;

use crate::server::{LONGEST_WAIT, Server, client, get, post, unroof};
use crate::support::{TestDatabase, say, sheet_of};

/// A name server that takes questions and answers none, and a server that asks it alone.
struct Muted {
    server: Server,
    name_server: UdpSocket,
    _folder: tempfile::TempDir,
}

impl Muted {
    /// In a mount namespace of its own the server has another list of name servers than the machine; that takes root.
    fn start(database: &TestDatabase, arguments: &[&str]) -> Option<Self> {
        let skipped = || {
            say(
                "skipped with mute name servers: only root may start a server with a name server of its own",
            );
            None
        };
        // An address for each that runs at the same moment.
        let free = (100..200)
            .find_map(|last| UdpSocket::bind((std::net::Ipv4Addr::new(127, 0, 0, last), 53)).ok());
        let Some(name_server) = free else {
            return skipped();
        };
        name_server.set_nonblocking(true).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("resolv.conf");
        let address = name_server.local_addr().unwrap().ip();
        std::fs::write(
            &list,
            format!("nameserver {address}\noptions timeout:20 attempts:2\n"),
        )
        .unwrap();
        let may = Command::new("unshare")
            .args(["-m", "mount", "--bind"])
            .args([list.as_path(), "/etc/resolv.conf".as_ref()])
            .output();
        if !may.is_ok_and(|may| may.status.success()) {
            return skipped();
        }
        let served = unroof(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database-url",
            &database.url,
        ]);
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        command.args(["-m", "sh", "-c", script]).arg(&list);
        command
            .arg(served.get_program())
            .args(served.get_args())
            .args(arguments);
        Some(Self {
            server: Server::spawn(command),
            name_server,
            _folder: folder,
        })
    }

    /// Whether a question was asked since the last time.
    fn was_asked(&self) -> bool {
        let mut asked = false;
        while self.name_server.recv(&mut [0; 512]).is_ok() {
            asked = true;
        }
        asked
    }

    /// Sends a request and does not wait for its answer.
    fn add(&self, name: &str) -> TcpStream {
        let body = json!({"url": format!("http://{name}/hook")}).to_string();
        let address = self.server.address.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /webhooks HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection.write_all(body.as_bytes()).unwrap();
        connection
    }
}

fn answer(mut connection: TcpStream) -> String {
    let mut answer = String::new();
    connection.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
    // A connection that is refused a place is cut.
    let _ = connection.read_to_string(&mut answer);
    answer
}

#[test]
fn hanging_lookups_delay_no_estimates_and_few_run_at_once() {
    let database = TestDatabase::sqlite();
    let Some(muted) = Muted::start(&database, &[]) else {
        return;
    };
    // More than tokio has threads for what blocks.
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let asking: Vec<_> = (0..700)
        .map(|number| muted.add(&format!("mute-{number}.example.com")))
        .collect();
    let infer = format!("{}/infer", muted.server.address);
    for number in 0..20 {
        let sheet = sheet_of(&format!("m-{number}"));
        let (status, answer) = post(&client(), &infer, &sheet).unwrap();
        assert_eq!(status, 201, "{answer}");
    }
    assert!(muted.was_asked(), "no name was looked up");
    let answers: Vec<String> = asking.into_iter().map(answer).collect();
    let count = |status: &str| {
        let begins = |answer: &&String| answer.starts_with(&format!("HTTP/1.1 {status}"));
        answers.iter().filter(begins).count()
    };
    // A name that leads nowhere now is accepted; one without a free slot is refused for now.
    assert_eq!(
        (count("201"), count("503")),
        (8, 692),
        "{:?}",
        answers.last()
    );
    let refused = answers
        .iter()
        .find(|answer| answer.starts_with("HTTP/1.1 503"))
        .unwrap();
    assert!(
        refused.contains("lookups") && refused.contains("retry-after: 1"),
        "{refused}"
    );
}

#[test]
fn a_full_list_of_webhooks_is_full_before_any_name_is_looked_up() {
    let database = TestDatabase::sqlite();
    let Some(muted) = Muted::start(&database, &[]) else {
        return;
    };
    // An address is not a name.
    for _ in 0..64 {
        let added = answer(muted.add("93.184.216.34"));
        assert!(added.starts_with("HTTP/1.1 201"), "{added}");
    }
    let refused = answer(muted.add("mute.example.com"));
    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert!(!muted.was_asked(), "a name was looked up");
    assert_eq!(
        get(&client(), &format!("{}/readyz", muted.server.address)).0,
        200
    );
}

#[test]
fn a_delivery_to_a_name_whose_lookup_hangs_times_out() {
    let database = TestDatabase::sqlite();
    let Some(muted) = Muted::start(&database, &["--webhook-allow-private"]) else {
        return;
    };
    let added = answer(muted.add("mute.example.com"));
    assert!(added.starts_with("HTTP/1.1 201"), "{added}");
    let infer = format!("{}/infer", muted.server.address);
    assert_eq!(post(&client(), &infer, &sheet_of("m")).unwrap().0, 201);
    // The system's function would take 40 seconds.
    let log = muted.server.wait_for_log("Again(");
    assert!(log.contains("timeout"), "{log}");
    assert!(muted.was_asked(), "no name was looked up");
}

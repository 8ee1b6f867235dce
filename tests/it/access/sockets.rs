//! Sockets of a service: a Unix socket, a socket that the supervisor has opened; and connections of one address.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::server::{LONGEST_WAIT, Server, mode, run, unroof};
use crate::support::{TestDatabase, on_each_database_blocking};

/// The answer to a request, as it came.
fn exchange(mut stream: impl Read + Write, path: &str, headers: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn ask(socket: &Path, path: &str, headers: &str) -> u16 {
    status(&exchange(
        UnixStream::connect(socket).unwrap(),
        path,
        headers,
    ))
}

#[test]
fn a_unix_socket_is_local_and_replaces_that_of_a_dead_process() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("unroof.sock");
        let listen = format!("unix:{}", socket.display());
        let arguments = ["--database-url", &database.url, "--listen", &listen];
        let mut server = Server::start_with(&arguments);
        assert_eq!(server.address.trim(), listen);
        assert_eq!(mode(&socket), 0o660);
        assert_eq!(ask(&socket, "/models", ""), 200);
        assert_eq!(ask(&socket, "/keys", ""), 200, "it is open");
        let other = run(&[&["serve"][..], &arguments].concat());
        assert_eq!(other.code, Some(1));
        assert!(
            other.err.contains("another program listens"),
            "{}",
            other.err
        );
        server.kill();
        assert!(socket.exists());
        let server = Server::start_with(&arguments);
        assert_eq!(ask(&socket, "/models", ""), 200);
        let (ended, log) = server.stop();
        assert!(ended.success(), "{log}");
        assert!(!socket.exists());
    });
}

#[test]
fn behind_a_proxy_on_a_unix_socket_strangers_have_their_own_addresses() {
    let database = TestDatabase::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("unroof.sock");
    let listen = format!("unix:{}", socket.display());
    let arguments = ["--database-url", &database.url, "--listen", &listen];
    let flags = ["--trusted-proxy", "unix", "--anonymous", "read"];
    let limits = ["--client-rate", "1", "--client-burst", "1"];
    let _server = Server::start_with(&[&arguments[..], &flags, &limits].concat());
    assert_eq!(ask(&socket, "/keys", ""), 401);
    for address in ["192.0.2.1", "192.0.2.2"] {
        let header = format!("X-Forwarded-For: {address}\r\n");
        let mut statuses = (0..10).map(|_| ask(&socket, "/models", &header));
        assert_eq!(statuses.next(), Some(200), "{address}");
        assert!(statuses.any(|status| status == 429), "{address}");
    }
}

/// A server that finds a socket as its third file, as systemd hands it on.
fn activated(database: &TestDatabase, socket: &impl AsRawFd, arguments: &[&str]) -> Server {
    let file = socket.as_raw_fd();
    let serve = unroof(&["serve", "--database-url", &database.url]);
    let script = format!("export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\" 3<&{file}");
    let mut command = Command::new("bash");
    command
        .env_clear()
        .args(["-c", &script, "bash"])
        .arg(serve.get_program());
    command.args(serve.get_args()).args(arguments);
    for (name, value) in serve.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    Server::spawn(command)
}

#[test]
fn a_socket_that_the_supervisor_has_opened_is_served() {
    let database = TestDatabase::sqlite();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    fcntl_setfd(&listener, FdFlags::empty()).unwrap();
    let address = listener.local_addr().unwrap();
    let server = activated(&database, &listener, &["--listen", "127.0.0.1:1"]);
    assert_eq!(server.address, format!("http://{address}"));
    let answer = exchange(TcpStream::connect(address).unwrap(), "/models", "");
    assert_eq!(status(&answer), 200);
    drop(server);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("unroof.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    fcntl_setfd(&listener, FdFlags::empty()).unwrap();
    let server = activated(&database, &listener, &[]);
    assert_eq!(server.address.trim(), format!("unix:{}", socket.display()));
    assert_eq!(ask(&socket, "/keys", ""), 200, "it is open");
    let (ended, log) = server.stop();
    assert!(ended.success(), "{log}");
    assert!(socket.exists(), "the file is the supervisor's");
}

/// Opens a connection that stays idle.
fn open(address: &str) -> TcpStream {
    TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap()
}

/// The answer on a new connection; empty where it was closed without one.
fn answer_on_another(address: &str) -> String {
    let mut stream = open(address);
    let _ =
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn an_address_with_too_many_connections_is_refused_until_it_closes_one() {
    let database = TestDatabase::sqlite();
    let common = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    let limit = ["--connections-per-address", "3"];
    let server = Server::start_with(&[&common[..], &limit].concat());
    // What the server has accepted comes back in the order of the connections.
    let held: Vec<TcpStream> = (0..3).map(|_| open(&server.address)).collect();
    let refused = answer_on_another(&server.address);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.to_lowercase().contains("retry-after: 1"),
        "{refused}"
    );
    server.wait_for_log("an address has reached its limit of connections");
    drop(held);
    let began = Instant::now();
    while !answer_on_another(&server.address).starts_with("HTTP/1.1 200") {
        assert!(began.elapsed() < LONGEST_WAIT);
    }
    drop(server);
    let proxy = ["--trusted-proxy", "127.0.0.1", "--anonymous", "read"];
    let server = Server::start_with(&[&common[..], &limit, &proxy].concat());
    let held: Vec<TcpStream> = (0..6).map(|_| open(&server.address)).collect();
    let answer = answer_on_another(&server.address);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(held);
}

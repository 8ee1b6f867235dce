//! A client that may say anything, at any pace.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::server::LONGEST_WAIT;
use crate::support::Reply;

/// A request for a document.
pub(super) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A request with a JSON body.
pub(super) fn post(path: &str, body: &str) -> String {
    format!(
        "{}Content-Length: {}\r\n\r\n{body}",
        post_lines(path),
        body.len()
    )
}

/// The first lines of one; how long the body is, and the body, are left to say.
pub(super) fn post_lines(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
}

/// One connection to the server.
pub(super) struct Client {
    stream: TcpStream,
    since: Instant,
    received: Vec<u8>,
}

impl Client {
    /// Connects to an address such as `http://127.0.0.1:40123`.
    pub(super) fn connect(address: &str) -> Self {
        let since = Instant::now();
        let stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
        stream.set_write_timeout(Some(LONGEST_WAIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            since,
            received: Vec::new(),
        }
    }

    /// Sends a text. Whether all of it was taken: a server that has closed takes no more.
    pub(super) fn send(&mut self, text: impl AsRef<[u8]>) -> bool {
        match self.stream.write_all(text.as_ref()) {
            Ok(()) => true,
            Err(error) if is_closed(error.kind()) => false,
            Err(error) => panic!("the server does not take it: {error}"),
        }
    }

    /// Sends a piece again and again until data or the end comes back.
    pub(super) fn drip(&mut self, piece: &str, pause: Duration) {
        self.stream.set_read_timeout(Some(pause)).unwrap();
        while self.is_silent() && self.since.elapsed() < LONGEST_WAIT {
            self.send(piece);
        }
        self.stream.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
    }

    /// Whether nothing has come back yet, not even the end.
    fn is_silent(&self) -> bool {
        match self.stream.peek(&mut [0]) {
            Ok(_) => false,
            Err(error) => is_late(error.kind()),
        }
    }

    /// Whether nothing has come back yet, without waiting.
    pub(super) fn is_unanswered(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let is_silent = self.is_silent();
        self.stream.set_nonblocking(false).unwrap();
        is_silent
    }

    /// Asks for a document and takes the answer.
    pub(super) fn ask(&mut self, path: &str) -> Reply {
        self.send(get(path));
        self.answer()
    }

    /// Reads the next answer.
    pub(super) fn answer(&mut self) -> Reply {
        let answer = self.next_answer();
        answer.unwrap_or_else(|| panic!("closed after `{}`", self.text()))
    }

    /// All answers until the server closes, which it must.
    pub(super) fn answers(mut self) -> Vec<Reply> {
        let answers = std::iter::from_fn(|| self.next_answer()).collect();
        assert!(self.received.is_empty(), "no answer: `{}`", self.text());
        answers
    }

    /// Waits until the server closes, which it must do without a word. How long the connection lived.
    pub(super) fn lifetime(mut self) -> Duration {
        let answer = self.next_answer();
        assert!(answer.is_none(), "{answer:?}");
        assert!(self.received.is_empty(), "`{}`", self.text());
        self.since.elapsed()
    }

    /// Bytes that come until the server closes, which it must.
    pub(super) fn bytes_until_closed(mut self) -> usize {
        while self.receive() {}
        self.received.len()
    }

    /// Age of the connection.
    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.received).into_owned()
    }

    fn next_answer(&mut self) -> Option<Reply> {
        let end_of_head = loop {
            let end = self
                .received
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end,
                None if self.receive() => {}
                None => return None,
            }
        };
        let head = String::from_utf8(self.received[..end_of_head].to_vec()).unwrap();
        let (status, headers) = read_head(&head);
        let length = headers
            .get("content-length")
            .map_or("0", |length| length.to_str().unwrap());
        let body = end_of_head + 4;
        let end = body + length.parse::<usize>().unwrap();
        while self.received.len() < end {
            assert!(self.receive(), "closed in the middle of `{}`", self.text());
        }
        let answer = self.received.drain(..end).collect::<Vec<_>>();
        Some(Reply {
            status,
            headers,
            body: Bytes::copy_from_slice(&answer[body..]),
        })
    }

    /// Takes what has come. Whether there may be more.
    fn receive(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                self.received.extend(&piece[..count]);
                count > 0
            }
            Err(error) if is_closed(error.kind()) => false,
            Err(error) => panic!("neither an answer nor the end: {error}; `{}`", self.text()),
        }
    }
}

fn read_head(head: &str) -> (StatusCode, HeaderMap) {
    let mut lines = head.split("\r\n");
    let mut first_line = lines.next().unwrap().splitn(3, ' ');
    let version = first_line.next().unwrap();
    assert!(["HTTP/1.1", "HTTP/1.0"].contains(&version), "{head}");
    let status = first_line.next().unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{head}"));
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    (status, headers)
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
    )
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

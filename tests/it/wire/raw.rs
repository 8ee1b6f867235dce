//! Requests as they go over the wire, byte for byte.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::server::LONGEST_WAIT;

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The first line and the headers, in lower case.
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection to an address such as `http://127.0.0.1:40123`.
pub(super) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
    stream.set_write_timeout(Some(LONGEST_WAIT)).unwrap();
    stream
}

/// Sends bytes on a connection of their own, with nothing behind them, and takes the first answer.
pub(super) fn exchange(address: &str, request: impl AsRef<[u8]>) -> Answer {
    let mut stream = connect(address);
    // A server that has refused it takes no more.
    let _ = stream.write_all(request.as_ref());
    first_answer(&mut stream)
}

/// The next answer on a connection.
pub(super) fn first_answer(stream: &mut TcpStream) -> Answer {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let mut byte = [0];
        let count = stream.read(&mut byte).unwrap();
        let text = String::from_utf8_lossy(&received).into_owned();
        assert_eq!(count, 1, "closed after `{text}`");
        received.push(byte[0]);
    };
    let head = String::from_utf8(received[..end].to_vec())
        .unwrap()
        .to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    Answer { status, head, body }
}

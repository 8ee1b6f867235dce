//! A client of the stream over the wire.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::LONGEST_WAIT;

/// An event as it came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<i64>,
    pub(crate) kind: String,
    pub(crate) data: String,
    pub(crate) retry: Option<u64>,
    /// A line that says nothing.
    pub(crate) is_comment: bool,
}

impl Event {
    fn read(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" => event.is_comment = true,
                "id" => event.id = Some(value.parse().unwrap()),
                "event" => value.clone_into(&mut event.kind),
                "data" => value.clone_into(&mut event.data),
                "retry" => event.retry = Some(value.parse().unwrap()),
                _ => panic!("`{line}`"),
            }
        }
        event
    }

    /// Row of the change.
    pub(crate) fn row(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// An open stream of changes.
pub(crate) struct Stream {
    socket: TcpStream,
    pub(crate) status: StatusCode,
    pub(crate) head: String,
    received: String,
    has_ended: bool,
}

impl Stream {
    /// Asks for a stream with further header lines; `None` without a response.
    pub(crate) async fn try_open(address: &str, path: &str, headers: &str) -> Option<Self> {
        let address = address.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(address).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        socket.write_all(request.as_bytes()).await.ok()?;
        let mut stream = Self {
            socket,
            status: StatusCode::OK,
            head: String::new(),
            received: String::new(),
            has_ended: false,
        };
        let end = loop {
            match stream.received.find("\r\n\r\n") {
                Some(end) => break end,
                None if stream.receive().await => {}
                None => return None,
            }
        };
        stream.head = stream.received.drain(..end + 4).collect();
        stream.status = stream.head[9..12].parse().unwrap();
        Some(stream)
    }

    pub(crate) async fn open(address: &str, path: &str, headers: &str) -> Self {
        let opened = Self::try_open(address, path, headers).await;
        opened.expect("no answer")
    }

    /// The next event, comment or not; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            if self.has_ended || !self.receive().await {
                return None;
            }
        }
    }

    /// Waits for the next change.
    pub(crate) async fn next_change(&mut self) -> Option<Event> {
        loop {
            let event = self.next().await?;
            if event.id.is_some() {
                return Some(event);
            }
        }
    }

    /// Whether nothing but comments comes for a while.
    pub(crate) async fn is_silent_for(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.next_change())
            .await
            .is_err()
    }

    /// An event that has come whole, out of its chunk: every event is sent as one.
    fn take(&mut self) -> Option<Event> {
        let (size, rest) = self.received.split_once("\r\n")?;
        let length = usize::from_str_radix(size, 16).unwrap();
        let event = Event::read(rest.get(..length)?);
        rest.get(length..length + 2)?;
        let taken = size.len() + 2 + length + 2;
        self.received.drain(..taken);
        // An empty chunk ends the body; the connection may be kept.
        self.has_ended = length == 0;
        (length > 0).then_some(event)
    }

    async fn receive(&mut self) -> bool {
        let mut piece = [0; 2048];
        let read = tokio::time::timeout(LONGEST_WAIT, self.socket.read(&mut piece));
        let count = read.await.expect("silent for too long").unwrap_or(0);
        self.received
            .push_str(std::str::from_utf8(&piece[..count]).unwrap());
        count > 0
    }
}

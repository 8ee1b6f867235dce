//! Progress lines of an import, streamed to a client that may read slowly.
//!
//! An import continues while at most 16 MiB of lines are unparsed. Beyond that it waits, in total for the write timeout, and
//! then aborts. The last line always says how the import ended; otherwise the body is truncated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::report::Line;
use crate::error::ImportError;

/// Limit of unparsed lines, in bytes.
const MOST_UNREAD: u32 = 16 * 1024 * 1024;
/// Lines per piece of the body.
const LINES_AT_ONCE: usize = 256;

/// A line with its share of the limit.
struct Said {
    line: Line,
    _room: Option<OwnedSemaphorePermit>,
}

/// Sending end of the lines of an import.
pub struct LineSender {
    sender: mpsc::UnboundedSender<Said>,
    room: Arc<Semaphore>,
    /// Time for which the import may still wait for its reader.
    patience: Duration,
}

/// Receiving end of the lines of an import.
pub struct LineReceiver {
    receiver: mpsc::UnboundedReceiver<Said>,
    has_ended: bool,
}

/// A channel for lines; the sender waits at most `patience` in total.
#[must_use]
pub fn lines(patience: Duration) -> (LineSender, LineReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let sender = LineSender {
        sender,
        room: Arc::new(Semaphore::new(MOST_UNREAD as usize)),
        patience,
    };
    let receiver = LineReceiver {
        receiver,
        has_ended: false,
    };
    (sender, receiver)
}

impl LineSender {
    /// Sends a line.
    ///
    /// # Errors
    /// The reader disconnected, or reads too slowly.
    pub(crate) async fn say(&mut self, line: Line) -> Result<(), ImportError> {
        let length = serde_json::to_vec(&line).map_or(0, |text| text.len());
        let bytes = u32::try_from(length)
            .unwrap_or(MOST_UNREAD)
            .min(MOST_UNREAD);
        let began = Instant::now();
        let room = Arc::clone(&self.room).acquire_many_owned(bytes);
        let room = tokio::select! {
            room = tokio::time::timeout(self.patience, room) => room,
            () = self.sender.closed() => return Err(ImportError::Unwanted),
        };
        self.patience = self.patience.saturating_sub(began.elapsed());
        let room = room.map_err(|_| ImportError::SlowReader)?.ok();
        let said = Said { line, _room: room };
        self.sender.send(said).map_err(|_| ImportError::Unwanted)
    }

    /// Sends the last line: how the import ended.
    pub(crate) fn end(self, line: Line) {
        // The client may have disconnected.
        let _ = self.sender.send(Said { line, _room: None });
    }
}

impl LineReceiver {
    /// The next line; none after the last.
    pub async fn next(&mut self) -> Option<Line> {
        self.receiver.recv().await.map(|said| said.line)
    }

    /// The next lines as text. An error if the channel closes without a last line.
    pub async fn next_text(&mut self) -> Option<std::io::Result<Vec<u8>>> {
        if self.has_ended {
            return None;
        }
        let mut said = Vec::new();
        let text = match self.receiver.recv_many(&mut said, LINES_AT_ONCE).await {
            0 => Err(std::io::Error::other("the import ended without a result")),
            _ => text_of(&said),
        };
        let is_last = |said: &Said| {
            matches!(
                said.line,
                Line::Done(_) | Line::Held { .. } | Line::Failed { .. }
            )
        };
        self.has_ended = text.is_err() || said.last().is_some_and(is_last);
        Some(text)
    }
}

fn text_of(said: &[Said]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for Said { line, .. } in said {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;

    fn progress(done: usize) -> Line {
        Line::Progress { done, sheets: 9 }
    }

    /// A line of slightly more than this many bytes.
    fn long(bytes: usize) -> Line {
        let names = vec!["x".repeat(bytes)];
        Line::UnmatchedNames { names }
    }

    async fn whole(mut lines: LineReceiver) -> std::io::Result<String> {
        let mut whole = Vec::new();
        while let Some(text) = lines.next_text().await {
            whole.extend(text?);
        }
        Ok(String::from_utf8(whole).unwrap())
    }

    #[tokio::test]
    async fn a_body_without_a_last_line_is_truncated() {
        for last in [
            Some(Line::Done(Summary::default())),
            Some(Line::Failed {
                reason: "no".to_owned(),
            }),
            None,
        ] {
            let (mut sender, receiver) = lines(Duration::from_secs(1));
            sender.say(progress(1)).await.unwrap();
            let has_last = last.is_some();
            match last {
                Some(last) => sender.end(last),
                // As after a panic.
                None => drop(sender),
            }
            let body = whole(receiver).await;
            assert_eq!(body.is_ok(), has_last, "{body:?}");
        }
    }

    #[tokio::test]
    async fn an_import_waits_for_its_reader_and_then_aborts_with_a_message() {
        let (mut sender, receiver) = lines(Duration::from_millis(50));
        for _ in 0..3 {
            sender.say(long(5 * 1024 * 1024)).await.unwrap();
        }
        let refused = sender.say(long(5 * 1024 * 1024)).await;
        assert!(
            matches!(refused, Err(ImportError::SlowReader)),
            "{refused:?}"
        );
        sender.end(Line::Failed {
            reason: "the client reads too slowly".to_owned(),
        });
        let text = whole(receiver).await.unwrap();
        assert_eq!(text.lines().count(), 4);
        assert!(text.ends_with("too slowly\"}\n"), "{}", text.len());
    }

    #[tokio::test]
    async fn a_line_above_the_limit_waits_for_an_empty_channel() {
        let (mut sender, mut receiver) = lines(Duration::from_secs(30));
        sender.say(progress(1)).await.unwrap();
        let (sent, _) = tokio::join!(sender.say(long(20 * 1024 * 1024)), receiver.next());
        assert!(sent.is_ok());
    }

    #[tokio::test]
    async fn a_waiting_import_ends_when_its_reader_leaves() {
        let (mut sender, receiver) = lines(Duration::from_secs(30));
        sender.say(long(16 * 1024 * 1024)).await.unwrap();
        let waiting = async { sender.say(progress(1)).await };
        let leaving = async { drop(receiver) };
        let (refused, ()) = tokio::join!(waiting, leaving);
        assert!(matches!(refused, Err(ImportError::Unwanted)), "{refused:?}");
    }
}

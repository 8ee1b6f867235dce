//! A list of usages: lines are read, priced and answered while the body arrives.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::BodyExt;
use jiff::Timestamp;

use super::as_of;
use crate::compute::{PRICE_LINES, Views};
use unroof_base::input::RequestError;
use unroof_edge::quota::Exhausted;
use unroof_edge::{Bill, Held, LIMITED, NDJSON, Problem, Running, TOO_LARGE};
use unroof_price_sheet::cost::{
    CostEntry, CostRequest, SheetInForce, Tally, cost, read_cost, usage_id,
};
use unroof_store::{KeptPrices, PriceInForce};

/// Lines that are priced at once.
const LINES_AT_ONCE: usize = 256;
/// Lines of a list.
const MOST_LINES: u64 = 1_000_000;
/// Lines with faults that follow each other: then the body is something else.
const MOST_FAULTS_IN_A_ROW: u64 = 1_000;
/// Points that lines cost before they are priced; the CPU time that they take is charged too.
const POINTS_AT_ONCE: u64 = 1;

/// Answers the lines of a body.
pub(super) fn answer_lines(views: Views, body: Body) -> Response {
    let held = views.answers.budget.take(0);
    let list = held.map(|held| List {
        views,
        body,
        held,
        buffer: Vec::new(),
        is_read: false,
        is_skipping: false,
        has_ended: false,
        bill: Bill::current(),
        bytes: 0,
        faults_in_a_row: 0,
        line: 0,
        kept: KeptPrices::default(),
        tally: Tally::default(),
    });
    let list = match list {
        Ok(list) => list,
        Err(busy) => return busy.into_response(),
    };
    let pieces = stream::unfold(list, async |mut list| {
        let piece = list.next_piece().await?;
        Some((Ok::<_, std::io::Error>(piece), list))
    });
    let headers = [
        (header::CONTENT_TYPE, NDJSON),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

/// The end of a list whose client has spent its budget.
fn spent(exhausted: Exhausted) -> Problem {
    let seconds = exhausted.0.as_secs() + 1;
    let detail = format!("this client has spent its budget: send the rest after {seconds} s");
    Problem::new(LIMITED, detail)
}

/// A list that is being read.
struct List {
    views: Views,
    body: Body,
    held: Held,
    /// Bytes that are read and not yet priced.
    buffer: Vec<u8>,
    /// Whether the body has ended.
    is_read: bool,
    /// Whether the rest of a line that is too long is being skipped.
    is_skipping: bool,
    /// Whether the last line is sent.
    has_ended: bool,
    /// The bill of the request, which each batch is charged to.
    bill: Option<Arc<Bill>>,
    /// Bytes read so far.
    bytes: usize,
    /// Lines with faults since the last one without.
    faults_in_a_row: u64,
    /// Number of lines so far.
    line: u64,
    kept: KeptPrices,
    tally: Tally,
}

/// A line of the body.
enum Line {
    Text(u64, Vec<u8>),
    TooLong(u64),
}

/// A line with what prices it.
enum Ready {
    Priced(u64, Box<CostRequest>, Arc<SheetInForce>, Timestamp),
    Refused(CostEntry),
}

impl List {
    /// The answers to the next lines; none after the last one.
    async fn next_piece(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let answered = self.next_lines().await;
        let text = answered.unwrap_or_else(|problem| {
            self.has_ended = true;
            let reason = problem.into_detail();
            text_of(&[CostEntry::Failed { reason }])
        });
        Some(text.into())
    }

    async fn next_lines(&mut self) -> Result<Vec<u8>, Problem> {
        loop {
            let lines = self.take_lines();
            if !lines.is_empty() {
                self.check_ends()?;
                let bill = self.bill.clone();
                if let Some(bill) = &bill {
                    bill.pay(POINTS_AT_ONCE).map_err(spent)?;
                }
                return Bill::charge(bill.as_ref(), Box::pin(self.answer(lines))).await;
            }
            if self.is_read {
                self.has_ended = true;
                return Ok(text_of(&[CostEntry::Done(self.tally.sum())]));
            }
            self.read().await?;
        }
    }

    /// Checks that the list is no longer than one may be, and that it is a list of usages.
    fn check_ends(&self) -> Result<(), Problem> {
        let most_bytes = self.views.limits.catalog_bytes;
        let refuse = |detail: String| Err(Problem::new(TOO_LARGE, detail));
        if self.line > MOST_LINES {
            return refuse(format!(
                "the list has more than {MOST_LINES} lines: send the rest as another list"
            ));
        }
        if self.bytes > most_bytes {
            return refuse(format!(
                "the list exceeds {most_bytes} bytes: send the rest as another list"
            ));
        }
        if self.faults_in_a_row >= MOST_FAULTS_IN_A_ROW {
            let lines = self.faults_in_a_row;
            return refuse(format!(
                "the last {lines} lines all have faults: send a usage on each line"
            ));
        }
        Ok(())
    }

    /// Reads the next part of the body.
    async fn read(&mut self) -> Result<(), Problem> {
        let wait = self.views.limits.body_time;
        let frame = tokio::time::timeout(wait, self.body.frame()).await;
        let frame = frame.map_err(|_| Problem::busy("the next line did not arrive in time"))?;
        let Some(frame) = frame else {
            self.is_read = true;
            return Ok(());
        };
        let frame = frame.map_err(|_| Problem::busy("the body ended early"))?;
        if let Ok(piece) = frame.into_data() {
            self.bytes += piece.len();
            self.held.resize(2 * (self.buffer.len() + piece.len()))?;
            self.buffer.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Takes complete lines out of the buffer; blank ones are counted and left out.
    fn take_lines(&mut self) -> Vec<Line> {
        let most = self.views.limits.body_bytes;
        let mut lines = Vec::new();
        let mut taken = 0;
        while lines.len() < LINES_AT_ONCE {
            let rest = &self.buffer[taken..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            let Some(length) = end.or((self.is_read && !rest.is_empty()).then_some(rest.len()))
            else {
                break;
            };
            let text = &rest[..length];
            taken += (length + 1).min(rest.len());
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            self.line += 1;
            if length > most {
                lines.push(Line::TooLong(self.line));
            } else if !text.trim_ascii().is_empty() {
                lines.push(Line::Text(self.line, text.to_vec()));
            }
        }
        self.buffer.drain(..taken);
        if self.buffer.len() > most && lines.len() < LINES_AT_ONCE {
            self.buffer = Vec::new();
            if !std::mem::replace(&mut self.is_skipping, true) {
                self.line += 1;
                lines.push(Line::TooLong(self.line));
            }
        }
        lines
    }

    async fn answer(&mut self, lines: Vec<Line>) -> Result<Vec<u8>, Problem> {
        let most = self.views.limits.body_bytes;
        let permit = self.views.compute.permit(PRICE_LINES).await?;
        let read = move |_: &Running| -> Vec<_> {
            lines
                .into_iter()
                .map(|line| read_line(line, most))
                .collect()
        };
        let mut ready = Vec::new();
        for (line, request) in permit.run(read).await? {
            ready.push(match request {
                Ok(request) => self.ready(line, request).await?,
                Err(entry) => Ready::Refused(entry),
            });
        }
        let priced = move |_: &Running| -> Vec<_> { ready.into_iter().map(price).collect() };
        let entries = permit.run(priced).await?;
        for entry in &entries {
            self.tally.add(entry);
            self.faults_in_a_row = match entry {
                CostEntry::Fault { .. } => self.faults_in_a_row + 1,
                _ => 0,
            };
        }
        let text = permit.run(move |_| text_of(&entries)).await?;
        self.held.resize(text.len() + 2 * self.buffer.len())?;
        Ok(text)
    }

    /// Finds what prices a line. A fault of the database ends the list; an offer without a price is a fault of the line.
    async fn ready(&mut self, line: u64, mut request: CostRequest) -> Result<Ready, Problem> {
        let as_of = as_of(&self.views, &request);
        let at = as_of.time().into();
        let id = request.id.clone();
        let refused =
            |faults| Ready::Refused(CostEntry::refused(line, id, RequestError::Wrong(faults)));
        let priced_by = match (request.price_sheet.take(), &request.offer) {
            (Some(sheet), _) => Arc::new(SheetInForce::stated(sheet)),
            (None, Some(offer)) => {
                let found = self
                    .kept
                    .price_in_force(&self.views.answers.store, offer, as_of)
                    .await?;
                let PriceInForce::Sheet(priced_by) = found else {
                    return Ok(refused(vec![found.fault(offer, at)]));
                };
                priced_by
            }
            // Refused when the line was read.
            (None, None) => return Ok(refused(Vec::new())),
        };
        Ok(Ready::Priced(line, Box::new(request), priced_by, at))
    }
}

fn read_line(line: Line, most_bytes: usize) -> (u64, Result<CostRequest, CostEntry>) {
    match line {
        Line::Text(line, text) => {
            let request = read_cost(&text);
            (
                line,
                request.map_err(|error| CostEntry::refused(line, usage_id(&text), error)),
            )
        }
        Line::TooLong(line) => {
            let entry = CostEntry::Fault {
                line,
                id: None,
                detail: format!("the line exceeds {most_bytes} bytes"),
                hint: Some("name the offer instead of sending its sheet".to_owned()),
                errors: Vec::new(),
            };
            (line, Err(entry))
        }
    }
}

fn price(ready: Ready) -> CostEntry {
    match ready {
        Ready::Refused(entry) => entry,
        Ready::Priced(line, request, priced_by, at) => CostEntry::Cost {
            line,
            cost: Box::new(cost(request.id, &priced_by, &request.usage, at)),
        },
    }
}

fn text_of(entries: &[CostEntry]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        // Writing to memory does not fail.
        if serde_json::to_writer(&mut text, entry).is_ok() {
            text.push(b'\n');
        }
    }
    text
}

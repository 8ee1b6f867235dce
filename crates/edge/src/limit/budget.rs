//! The memory budget: a limit on the bytes of all bodies being read and responses being sent.

use std::io::{Error, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::Response;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::problem::{INVALID, Problem};

/// Bodies and responses up to this size are not counted: a connection has at most one of each.
const SMALL: usize = 64 * 1024;
/// Anything larger may use only half of the budget; the other half is reserved for smaller ones.
const LARGE: usize = 1024 * 1024;
/// Size limit of a response, in bytes.
pub const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
/// Unit of the budget, in bytes.
const UNIT: usize = 1024;

/// Bytes that may be in memory for requests and responses.
#[derive(Debug, Clone)]
pub struct Budget {
    all: Arc<Semaphore>,
    large: Arc<Semaphore>,
    units: usize,
}

/// A part of the budget, returned on drop.
#[derive(Debug)]
pub struct Held {
    budget: Budget,
    all: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of `bytes`, plus the bytes of the response cache.
    #[must_use]
    pub fn new(bytes: usize, cache_bytes: u64) -> Self {
        let cached = usize::try_from(cache_bytes).unwrap_or(usize::MAX) / UNIT;
        let in_flight = bytes / UNIT;
        let units = cached.saturating_add(in_flight).min(Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(units)),
            large: Arc::new(Semaphore::new(units - in_flight.min(units) / 2)),
            units,
        }
    }

    /// Reserves this many bytes.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn take(&self, bytes: usize) -> Result<Held, Problem> {
        let mut held = Held {
            budget: self.clone(),
            all: None,
            large: None,
        };
        held.resize(bytes)?;
        Ok(held)
    }

    /// Bytes in use, and bytes in total.
    #[must_use]
    pub fn used(&self) -> (usize, usize) {
        let free = self.all.available_permits();
        (self.units.saturating_sub(free) * UNIT, self.units * UNIT)
    }

    /// Counts a response built elsewhere until its last byte is sent.
    ///
    /// # Errors
    /// The budget is used up.
    pub async fn hold(&self, response: Response<Body>) -> Result<Response<Body>, Problem> {
        let size = response.body().size_hint().exact().unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size <= SMALL || response.extensions().get::<Counted>().is_some() {
            return Ok(response);
        }
        let held = self.take(size)?;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, size)
            .await
            .map_err(Problem::not_serialised)?;
        Ok(Response::from_parts(parts, Body::from(held.keep(bytes))))
    }
}

/// Marks a response whose bytes are already counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted;

impl Held {
    /// Changes the reservation to this many bytes.
    ///
    /// # Errors
    /// The budget is used up; the reservation stays as it was.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Problem> {
        let counted = if bytes > SMALL { bytes } else { 0 };
        let large = if bytes > LARGE { bytes } else { 0 };
        let is_done = set(&self.budget.all, &mut self.all, counted)
            && set(&self.budget.large, &mut self.large, large);
        is_done.then_some(()).ok_or_else(|| {
            Problem::busy("the memory budget for request bodies and responses is used up")
        })
    }

    /// Bytes that stay counted until the last clone is dropped.
    pub fn keep(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Kept { bytes, _held: self })
    }
}

/// Resizes a permit to this many bytes. False if the budget is used up.
fn set(from: &Arc<Semaphore>, permit: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> bool {
    let wanted = bytes.div_ceil(UNIT);
    let has = permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    if wanted < has {
        let excess = permit
            .as_mut()
            .and_then(|permit| permit.split(has - wanted));
        drop(excess);
        return true;
    }
    let Ok(missing) = u32::try_from(wanted - has) else {
        return false;
    };
    let Ok(more) = Arc::clone(from).try_acquire_many_owned(missing) else {
        return false;
    };
    match permit {
        Some(permit) => permit.merge(more),
        None => *permit = Some(more),
    }
    true
}

/// Bytes with their reservation.
struct Kept<Text> {
    bytes: Text,
    _held: Held,
}

impl<Text: AsRef<[u8]>> AsRef<[u8]> for Kept<Text> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// A response body being written: counted as it grows, with a size limit.
#[derive(Debug)]
pub struct Text {
    bytes: Vec<u8>,
    held: Held,
    refusal: Option<Problem>,
}

impl Text {
    /// An empty body.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn new(budget: &Budget) -> Result<Self, Problem> {
        Ok(Self {
            bytes: Vec::new(),
            held: budget.take(0)?,
            refusal: None,
        })
    }

    /// Reserves memory for a body of about this many bytes.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn expect(&mut self, bytes: usize) -> Result<(), Problem> {
        self.make_room(bytes.min(LARGEST_ANSWER))
    }

    /// Appends with a writer function.
    ///
    /// # Errors
    /// The body exceeds the size limit or the budget, or the writer fails.
    pub fn write_with<E>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), Problem> {
        let written = write(self);
        written.map_err(|error| {
            let refusal = self.refusal.take();
            refusal.unwrap_or_else(|| Problem::not_serialised(error))
        })
    }

    /// Adds a member to the JSON object that was written.
    ///
    /// # Errors
    /// The body exceeds the size limit or the budget.
    pub fn add_member(&mut self, name: &str, value: &impl Serialize) -> Result<(), Problem> {
        debug_assert_eq!(self.bytes.last(), Some(&b'}'));
        self.bytes.pop();
        self.write_with(|text| {
            write!(text, ",\"{name}\":")?;
            serde_json::to_writer(&mut *text, value)?;
            text.write_all(b"}")
        })
    }

    /// Leaves out members with these texts as their values. They are in this order, and none is the last of its object.
    pub fn leave_out(&mut self, name: &str, values: impl Iterator<Item = String>) {
        let mut from = 0;
        for value in values {
            let member = format!("\"{name}\":\"{value}\",");
            let rest = &self.bytes[from..];
            let mut places = rest.windows(member.len());
            if let Some(place) = places.position(|part| part == member.as_bytes()) {
                from += place;
                self.bytes.drain(from..from + member.len());
            }
        }
    }

    /// The finished body, counted until its last clone is dropped.
    pub fn finish(mut self) -> Result<Bytes, Problem> {
        self.bytes.shrink_to_fit();
        self.held.resize(self.bytes.len())?;
        Ok(self.held.keep(self.bytes))
    }

    /// The bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn make_room(&mut self, length: usize) -> Result<(), Problem> {
        if length > LARGEST_ANSWER {
            let most = LARGEST_ANSWER / (1024 * 1024);
            let detail = format!("the response exceeds {most} MiB");
            return Err(Problem::new(INVALID, detail)
                .hint("ask for less: fewer rows, points, sheets or prices"));
        }
        let capacity = length.max(2 * self.bytes.capacity()).min(LARGEST_ANSWER);
        self.held.resize(capacity)?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }
}

impl Write for Text {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        let length = self.bytes.len() + piece.len();
        if length > self.bytes.capacity()
            && let Err(problem) = self.make_room(length)
        {
            self.refusal = Some(problem);
            return Err(Error::other("memory budget used up"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn a_reservation_is_returned_when_the_last_clone_is_dropped() {
        let budget = Budget::new(4 * MIB, 0);
        let mut held = budget.take(100 * UNIT).unwrap();
        assert_eq!(budget.used().0, 100 * UNIT);
        held.resize(200 * UNIT).unwrap();
        held.resize(150 * UNIT).unwrap();
        assert_eq!(budget.used().0, 150 * UNIT);
        let bytes = held.keep(vec![0_u8; 150 * UNIT]);
        let part = bytes.slice(..10);
        drop(bytes);
        assert_eq!(budget.used().0, 150 * UNIT);
        drop(part);
        assert_eq!(budget.used(), (0, 4 * MIB));
    }

    #[test]
    fn small_bodies_are_not_counted_and_large_ones_use_at_most_half() {
        let budget = Budget::new(8 * MIB, 0);
        let small: Vec<Held> = (0..1000).map(|_| budget.take(SMALL).unwrap()).collect();
        assert_eq!(budget.used().0, 0);
        let large = [budget.take(2 * MIB).unwrap(), budget.take(2 * MIB).unwrap()];
        assert!(budget.take(2 * MIB).is_err());
        let others: Vec<Held> = (0..4).map(|_| budget.take(MIB).unwrap()).collect();
        assert!(budget.take(MIB).is_err());
        drop((small, large, others));
        assert_eq!(budget.used().0, 0);
    }

    #[test]
    fn a_body_is_limited_by_the_response_size_and_by_the_budget() {
        let piece = vec![b' '; MIB];
        let write = |text: &mut Text| (0..17).try_for_each(|_| text.write_all(&piece));
        let roomy = Budget::new(1024 * MIB, 0);
        let too_large = Text::new(&roomy).unwrap().write_with(write).unwrap_err();
        assert_eq!(too_large.status, 422);
        let tight = Budget::new(4 * MIB, 0);
        let busy = Text::new(&tight).unwrap().write_with(write).unwrap_err();
        assert_eq!(busy.status, 503);
        assert_eq!((roomy.used().0, tight.used().0), (0, 0));
    }
}

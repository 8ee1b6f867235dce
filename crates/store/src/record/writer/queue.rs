//! Requests that wait to be recorded, and the groups in which they are.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::record::ready::Ready;
use crate::record::recording::{Recording, Saved};
use crate::{StoreError, locked};

/// Most recordings of a group. A request that brings more is recorded alone.
const MOST_RECORDINGS: usize = 64;
/// Most bytes of documents of a group, likewise.
const MOST_BYTES: usize = 8 << 20;

/// Requests waiting to be recorded.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Waiting>>,
    /// Held while a group is recorded.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

/// A request waiting to be recorded.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) recordings: Vec<Recording>,
    /// Rows to be written, if they were planned.
    pub(crate) ready: Option<Ready>,
    pub(crate) since: Instant,
    pub(crate) done: oneshot::Sender<Result<Saved, StoreError>>,
}

/// The recordings of one transaction, and the requests that wait for the outcome of each part.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) recordings: Vec<Recording>,
    /// Rows of a single member, if they were planned.
    pub(crate) ready: Option<Ready>,
    pub(crate) members: Members,
}

/// Parts of the group, each with the channel for its outcome.
pub(crate) type Members = Vec<(Range<usize>, oneshot::Sender<Result<Saved, StoreError>>)>;

impl Queue {
    pub(crate) fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        locked(&self.waiting)
    }

    /// The next requests that fit into a group, first come first served. Abandoned requests are dropped.
    pub(crate) fn next_group(&self) -> Group {
        let mut group = Group::default();
        let mut bytes = 0;
        let mut waiting = self.waiting();
        while let Some(next) = waiting.front() {
            let size = next.size();
            let is_full = group.recordings.len() + next.recordings.len() > MOST_RECORDINGS
                || bytes + size > MOST_BYTES;
            let is_wanted = !next.done.is_closed();
            if is_wanted && is_full && !group.members.is_empty() {
                break;
            }
            let Some(next) = waiting.pop_front().filter(|_| is_wanted) else {
                continue;
            };
            let start = group.recordings.len();
            group.ready = next.ready.filter(|_| group.members.is_empty());
            group.recordings.extend(next.recordings);
            let range = start..group.recordings.len();
            group.members.push((range, next.done));
            bytes += size;
        }
        group
    }

    /// Refuses the requests that have been waiting since this time or longer.
    pub(crate) fn refuse_since(&self, oldest: Instant, error: StoreError) {
        let mut late = Members::new();
        let mut waiting = self.waiting();
        while let Some(refused) = waiting.pop_front_if(|waiting| waiting.since <= oldest) {
            late.push((0..0, refused.done));
        }
        refuse(late, error);
    }
}

impl Waiting {
    /// Size of the documents, in bytes.
    fn size(&self) -> usize {
        let recordings = self.recordings.iter();
        let estimates = recordings.filter_map(|recording| recording.estimate.as_ref());
        estimates.map(|estimate| estimate.document.text.len()).sum()
    }
}

/// Sends the same error to all members.
pub(crate) fn refuse(mut members: Members, error: StoreError) {
    if members.len() == 1 {
        drop(members.pop().map(|(_, done)| done.send(Err(error))));
        return;
    }
    let error = Arc::new(error);
    for (_, done) in members {
        let _ = done.send(Err(StoreError::Shared(Arc::clone(&error))));
    }
}

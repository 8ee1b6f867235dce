//! Groups simultaneous recordings of several requests into one transaction. Separate transactions would need one round
//! trip each to a distant database, and one disk write each on a local one.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::plan::Known;
use super::record::{Recording, Saved};
use super::{Store, StoreError};

/// Most recordings of a group. A request that brings more is recorded alone.
const MOST_RECORDINGS: usize = 64;
/// Most bytes of documents of a group, likewise.
const MOST_BYTES: usize = 8 << 20;

/// Requests waiting to be recorded.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Waiting>>,
    /// Held while a group is recorded.
    turn: tokio::sync::Mutex<()>,
}

/// A request waiting to be recorded.
#[derive(Debug)]
struct Waiting {
    recordings: Vec<Recording>,
    /// Stored rows of the recordings, if they were read.
    known: Option<Known>,
    since: Instant,
    done: oneshot::Sender<Result<Saved, StoreError>>,
}

/// The recordings of one transaction, and the requests that wait for the outcome of each part.
#[derive(Debug, Default)]
struct Group {
    recordings: Vec<Recording>,
    /// Stored rows of a single member's recordings, if they were read.
    known: Option<Known>,
    members: Members,
}

/// Parts of the group, each with the channel for its outcome.
type Members = Vec<(Range<usize>, oneshot::Sender<Result<Saved, StoreError>>)>;

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next requests that fit into a group, first come first served. Abandoned requests are dropped.
    fn next_group(&self) -> Group {
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
            group.known = next.known.filter(|_| group.members.is_empty());
            group.recordings.extend(next.recordings);
            group
                .members
                .push((start..group.recordings.len(), next.done));
            bytes += size;
        }
        group
    }

    /// Refuses the requests that have been waiting since this time or longer.
    fn refuse_since(&self, oldest: Instant, error: StoreError) {
        let mut late = Members::new();
        let mut waiting = self.waiting();
        while let Some(refused) = waiting.pop_front_if(|waiting| waiting.since <= oldest) {
            late.push((0..0, refused.done));
        }
        refuse(late, error);
    }
}

impl Waiting {
    /// Bytes of documents.
    fn size(&self) -> usize {
        let estimates = self
            .recordings
            .iter()
            .filter_map(|recording| recording.estimate.as_ref());
        estimates.map(|estimate| estimate.document.len()).sum()
    }
}

impl Store {
    /// Records in one transaction with other simultaneous recordings. A started transaction continues, even if the
    /// request is cancelled.
    pub(super) async fn record_in_group(
        &self,
        recordings: Vec<Recording>,
        known: Option<Known>,
    ) -> Result<Saved, StoreError> {
        let (done, saved) = oneshot::channel();
        self.queue.waiting().push_back(Waiting {
            recordings,
            known,
            since: Instant::now(),
            done,
        });
        // As many tasks as requests: some find that another one has recorded everything.
        let store = self.clone();
        tokio::spawn(async move { store.record_next_group().await }.in_current_span());
        saved.await.unwrap_or(Err(StoreError::Away))
    }

    async fn record_next_group(&self) {
        let began = Instant::now();
        let turn = tokio::time::timeout(self.limits.statement, self.queue.turn.lock());
        let Ok(_turn) = turn.await else {
            return self.queue.refuse_since(began, StoreError::Away);
        };
        if self.queue.waiting().is_empty() {
            return;
        }
        let _writer = match self.wait_to_write().await {
            Ok(writer) => writer,
            Err(error) => return self.queue.refuse_since(began, error),
        };
        // As late as possible: requests that come meanwhile are recorded with them.
        let group = self.queue.next_group();
        if !group.members.is_empty() {
            self.record_group(group).await;
        }
    }

    /// Records a group. If that fails, each request is recorded alone, so that an error of one does not refuse the
    /// others. Only an unreachable database fails all of them.
    async fn record_group(&self, group: Group) {
        let Group {
            recordings,
            known,
            members,
        } = group;
        // The request may have left, so that sending the outcome may fail.
        match self.record_at_once(&recordings, known).await {
            Ok(recorded) => {
                for (range, done) in members {
                    let _ = done.send(Ok(recorded.saved(range)));
                }
            }
            Err(error) if members.len() > 1 && !error.is_temporary() => {
                self.record_each(&recordings, members).await;
            }
            Err(error) => refuse(members, error),
        }
    }

    async fn record_each(&self, recordings: &[Recording], members: Members) {
        let mut members = VecDeque::from(members);
        while let Some((range, done)) = members.pop_front() {
            let count = range.len();
            match self.record_at_once(&recordings[range.clone()], None).await {
                Ok(recorded) => drop(done.send(Ok(recorded.saved(0..count)))),
                Err(error) if error.is_temporary() => {
                    members.push_front((range, done));
                    return refuse(members.into(), error);
                }
                Err(error) => drop(done.send(Err(error))),
            }
        }
    }
}

/// Sends the same error to all members.
fn refuse(mut members: Members, error: StoreError) {
    if members.len() == 1 {
        drop(members.pop().map(|(_, done)| done.send(Err(error))));
        return;
    }
    let error = Arc::new(error);
    for (_, done) in members {
        let _ = done.send(Err(StoreError::Shared(Arc::clone(&error))));
    }
}

//! Groups simultaneous recordings of several requests into one transaction. Separate transactions would need one round
//! trip each to a distant database, and one disk write each on a local one; and a statement that writes several estimates
//! takes little longer than one that writes a single estimate.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::queue::{Group, Members, Waiting, refuse};
use crate::record::ready::Ready;
use crate::record::recording::{Recording, Saved};
use crate::record::work::Work;
use crate::{Store, StoreError};

/// Interval between the common transactions of recordings that wait for others.
const COMMON_INTERVAL: Duration = Duration::from_millis(100);

impl Store {
    /// Records in one transaction with other simultaneous recordings; or, if it waits for others, with those that come
    /// until the next common transaction. A started transaction continues, even if the request is cancelled.
    pub(crate) async fn record_in_group(
        &self,
        recordings: Vec<Recording>,
        ready: Option<Ready>,
        waits_for_others: bool,
    ) -> Result<Saved, StoreError> {
        let (done, saved) = oneshot::channel();
        self.queue.waiting().push_back(Waiting {
            recordings,
            ready,
            since: Instant::now(),
            done,
        });
        // As many tasks as requests: some find that another one has recorded everything.
        let store = self.clone();
        let start = waits_for_others.then(next_common);
        let record = async move {
            if let Some(start) = start {
                tokio::time::sleep_until(start).await;
            }
            store.record_next_group().await;
        };
        tokio::spawn(record.in_current_span());
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
        let members = group.members;
        // The request may have left, so that sending the outcome may fail.
        let work = Work::of(group.recordings);
        // Planned alone, it is not planned for a group.
        let ready = group.ready.filter(|_| members.len() == 1);
        match self.record_at_once(&work, ready).await {
            Ok(recorded) => {
                for (range, done) in members {
                    let _ = done.send(Ok(recorded.saved(range)));
                }
            }
            Err(error) if members.len() > 1 && !error.is_temporary() => {
                self.record_each(&work.recordings, members).await;
            }
            Err(error) => refuse(members, error),
        }
    }

    async fn record_each(&self, recordings: &[Recording], members: Members) {
        let mut members = VecDeque::from(members);
        while let Some((range, done)) = members.pop_front() {
            let count = range.len();
            let work = Work::of(recordings[range.clone()].to_vec());
            match self.record_at_once(&work, None).await {
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

/// Time of the next common transaction.
fn next_common() -> Instant {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let intervals = BEGAN.elapsed().as_millis() / COMMON_INTERVAL.as_millis();
    *BEGAN + COMMON_INTERVAL * u32::try_from(intervals + 1).unwrap_or(u32::MAX)
}

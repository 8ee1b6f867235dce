//! Notes about callers in memory: when each key was last used, and who was refused. They are written together once in a while,
//! and never while a request waits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Actor, Client, Refused};
use crate::locked;

/// Clients, each with a reason, whose refusals have a row of their own when they are written. Those of all others are one row for each
/// reason, so that no flood of addresses fills the audit log.
pub const MOST_REFUSED: usize = 16;

/// Uses of keys and refused requests.
#[derive(Debug, Default)]
pub struct Visits(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    unwritten: Unwritten,
    /// Refused requests since the start, by the name of the reason.
    refused: BTreeMap<&'static str, u64>,
}

/// Notes since the last that were written.
#[derive(Debug, Default)]
pub struct Unwritten {
    /// Keys with the time of their last use.
    pub(crate) used: HashMap<Uuid, Timestamp>,
    /// Refused requests by client and reason; by the reason alone beyond [`MOST_REFUSED`].
    pub(crate) refused: HashMap<(Option<Client>, &'static str), RefusedRequests>,
}

/// Refused requests of one client, or of several, for one reason.
#[derive(Debug, Clone)]
pub(crate) struct RefusedRequests {
    /// The client, and its first request.
    pub(crate) actor: Actor,
    /// Time of the first.
    pub(crate) at: Timestamp,
    pub(crate) reason: Refused,
    pub(crate) requests: i64,
}

impl Visits {
    /// Notes that a key was used.
    pub fn use_key(&self, id: Uuid, now: Timestamp) {
        locked(&self.0).unwritten.used.insert(id, now);
    }

    /// Notes that a request was refused.
    pub fn refuse(&self, actor: Actor, reason: Refused, now: Timestamp) {
        let mut noted = locked(&self.0);
        *noted.refused.entry(reason.name()).or_default() += 1;
        noted.unwritten.add(RefusedRequests {
            actor,
            at: now,
            reason,
            requests: 1,
        });
    }

    /// Refused requests since the start, by reason.
    pub fn refused(&self) -> impl Iterator<Item = (Refused, u64)> {
        let counts = locked(&self.0).refused.clone();
        let of = move |reason: &Refused| counts.get(reason.name()).copied().unwrap_or_default();
        Refused::ALL.iter().map(move |reason| (*reason, of(reason)))
    }

    /// Takes out what is to be written; none if there is nothing.
    pub fn take(&self) -> Option<Unwritten> {
        let unwritten = std::mem::take(&mut locked(&self.0).unwritten);
        (!unwritten.used.is_empty() || !unwritten.refused.is_empty()).then_some(unwritten)
    }

    /// Puts back what could not be written.
    pub fn put_back(&self, unwritten: Unwritten) {
        let mut noted = locked(&self.0);
        for (id, at) in unwritten.used {
            noted.unwritten.used.entry(id).or_insert(at);
        }
        for refused in unwritten.refused.into_values() {
            noted.unwritten.add(refused);
        }
    }
}

impl Unwritten {
    fn add(&mut self, mut new: RefusedRequests) {
        let reason = new.reason.name();
        let client = Client::of(&new.actor.identity, new.actor.address);
        let mut key = (Some(client), reason);
        if !self.refused.contains_key(&key) && self.refused.len() >= MOST_REFUSED {
            key.0 = None;
            new.actor = Actor::ANONYMOUS;
        }
        match self.refused.get_mut(&key) {
            Some(known) => {
                known.requests += new.requests;
                known.at = known.at.min(new.at);
            }
            None => {
                self.refused.insert(key, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Identity;

    fn refuse(visits: &Visits, last: u8, reason: Refused) {
        let actor = Actor {
            identity: Identity::Anonymous,
            request_id: Some("one".to_owned()),
            address: Some([192, 0, 2, last].into()),
        };
        visits.refuse(actor, reason, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn a_flood_of_addresses_is_a_few_rows_that_count_every_request() {
        let visits = Visits::default();
        for _ in 0..3 {
            for last in 0..=255 {
                refuse(&visits, last, Refused::NoKey);
                refuse(&visits, last, Refused::UnknownKey);
            }
        }
        let taken = visits.take().unwrap();
        assert_eq!(taken.refused.len(), MOST_REFUSED + 2);
        let requests =
            |taken: &Unwritten| -> i64 { taken.refused.values().map(|row| row.requests).sum() };
        assert_eq!(requests(&taken), 2 * 3 * 256);
        assert!(visits.take().is_none());
        // What could not be written is not lost, and takes no more room.
        refuse(&visits, 1, Refused::NoKey);
        visits.put_back(taken);
        let taken = visits.take().unwrap();
        assert_eq!(requests(&taken), 2 * 3 * 256 + 1);
        assert!(taken.refused.len() <= MOST_REFUSED + 2);
        let counted: Vec<_> = visits.refused().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(Refused::NoKey, 769), (Refused::UnknownKey, 768)]);
    }

    #[test]
    fn the_last_use_of_a_key_is_kept() {
        let (visits, id) = (Visits::default(), Uuid::new_v4());
        let at = |second| Timestamp::from_second(second).unwrap();
        visits.use_key(id, at(1));
        let taken = visits.take().unwrap();
        visits.use_key(id, at(2));
        visits.put_back(taken);
        assert_eq!(visits.take().unwrap().used, [(id, at(2))].into());
    }
}

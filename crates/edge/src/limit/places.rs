//! Places of which each holder may take a number: connections of an address, streams of a client.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places that are taken, by their holders.
#[derive(Debug, Clone)]
pub struct Places<H: Hash + Eq> {
    /// Places of one holder.
    most: usize,
    taken: Arc<Mutex<HashMap<H, usize>>>,
}

/// A place that is taken until it is dropped.
#[derive(Debug)]
pub struct Place<H: Hash + Eq> {
    holder: H,
    taken: Arc<Mutex<HashMap<H, usize>>>,
}

/// The holder has as many places as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl<H: Hash + Eq + Clone> Places<H> {
    /// At most so many places for each key.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            taken: Arc::default(),
        }
    }

    /// Takes a place.
    ///
    /// # Errors
    /// The holder has too many.
    pub fn take(&self, holder: H) -> Result<Place<H>, TooMany> {
        let mut taken = locked(&self.taken);
        let count = taken.entry(holder.clone()).or_default();
        if *count >= self.most {
            return Err(TooMany);
        }
        *count += 1;
        drop(taken);
        Ok(Place {
            holder,
            taken: Arc::clone(&self.taken),
        })
    }

    /// Whether no place is taken.
    #[cfg(test)]
    #[must_use]
    pub fn are_free(&self) -> bool {
        locked(&self.taken).is_empty()
    }
}

impl<H: Hash + Eq> Drop for Place<H> {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        if let Some(count) = taken.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.holder);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

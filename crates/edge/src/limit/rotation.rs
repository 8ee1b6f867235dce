//! A queue that shares time between the keys of its items by deficit round robin: a key whose items take long delays only itself.
//!
//! Each key has a balance. An item is taken from the first key in turn whose balance covers the time that the item is expected to
//! take; if none does, every key is given as many quanta as the first one needs. What an item used is settled when it ends, so
//! that an item that takes longer than expected leaves its key in debt.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

/// Time that a key is given each round.
const QUANTUM: i64 = 50_000_000;

/// Items by their keys, in the order in which the keys take turns. The items of one key keep their order.
#[derive(Debug)]
pub(crate) struct Rotation<K, T> {
    /// The keys with items, the next one first; none without an item.
    keys: VecDeque<(K, VecDeque<Item<T>>)>,
    /// Time that a key may use before the others, in nanoseconds; negative after an item that took longer than expected.
    balances: HashMap<K, i64>,
}

#[derive(Debug)]
struct Item<T> {
    /// Time that the item is expected to take.
    expected: Duration,
    item: T,
}

impl<K, T> Default for Rotation<K, T> {
    fn default() -> Self {
        Self {
            keys: VecDeque::new(),
            balances: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, T> Rotation<K, T> {
    /// Number of items that wait.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.keys.iter().map(|(_, items)| items.len()).sum()
    }

    /// The items of a key.
    pub(crate) fn of(&self, key: &K) -> impl Iterator<Item = &T> {
        let same = self.keys.iter().filter(move |(known, _)| known == key);
        same.flat_map(|(_, items)| items.iter().map(|item| &item.item))
    }

    /// Adds an item behind those of its key; a new key comes after all others.
    pub(crate) fn push(&mut self, key: K, expected: Duration, item: T) {
        let item = Item { expected, item };
        match self.keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, items)) => items.push_back(item),
            None => self.keys.push_back((key, [item].into())),
        }
    }

    /// Takes the next item of the keys that may have one more of its length, with the time that it is expected to take; none if that
    /// item does not fit, so that small items do not overtake a large one for ever.
    pub(crate) fn pop(
        &mut self,
        may: impl Fn(&K, Duration) -> bool,
        fits: impl Fn(&T) -> bool,
    ) -> Option<(K, Duration, T)> {
        let missing = |(key, items): &(K, VecDeque<Item<T>>)| {
            let first = items.front().filter(|first| may(key, first.expected))?;
            let missing = nanos(first.expected) - self.balance(key);
            Some(
                missing
                    .max(0)
                    .unsigned_abs()
                    .div_ceil(QUANTUM.unsigned_abs()),
            )
        };
        let rounds: Vec<Option<u64>> = self.keys.iter().map(missing).collect();
        let fewest = rounds.iter().flatten().min().copied()?;
        let place = rounds.iter().position(|rounds| *rounds == Some(fewest))?;
        if !self.keys[place]
            .1
            .front()
            .is_some_and(|first| fits(&first.item))
        {
            return None;
        }
        self.give_all(fewest);
        self.take(place)
    }

    /// Takes the first item of a key, which then comes after all others.
    fn take(&mut self, place: usize) -> Option<(K, Duration, T)> {
        let (key, mut items) = self.keys.remove(place)?;
        let Item { expected, item } = items.pop_front()?;
        *self.balances.entry(key.clone()).or_default() -= nanos(expected);
        if !items.is_empty() {
            self.keys.push_back((key.clone(), items));
        }
        Some((key, expected, item))
    }

    fn balance(&self, key: &K) -> i64 {
        self.balances.get(key).copied().unwrap_or_default()
    }

    /// Gives every key so many quanta: those that wait, and those in debt.
    fn give_all(&mut self, rounds: u64) {
        let given = QUANTUM.saturating_mul(i64::try_from(rounds).unwrap_or(i64::MAX));
        for (key, _) in &self.keys {
            self.balances.entry(key.clone()).or_default();
        }
        for balance in self.balances.values_mut() {
            *balance = balance.saturating_add(given);
        }
    }

    /// Settles an item that was taken, by the time that it used. A key that does not wait keeps its debt and no more.
    pub(crate) fn settle(&mut self, key: &K, expected: Duration, used: Duration) {
        let balance = self.balances.entry(key.clone()).or_default();
        *balance = balance.saturating_add(nanos(expected) - nanos(used));
        let keys = &self.keys;
        let waits = |key: &K| keys.iter().any(|(known, _)| known == key);
        self.balances
            .retain(|key, balance| *balance < 0 || waits(key));
    }

    /// Forgets all debts, where nothing waits.
    pub(crate) fn rest(&mut self) {
        if self.keys.is_empty() {
            self.balances.clear();
        }
    }

    /// Keeps the items for which the function is true.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        for (_, items) in &mut self.keys {
            items.retain(|item| is_kept(&item.item));
        }
        self.keys.retain(|(_, items)| !items.is_empty());
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(1);

    fn rotation(items: &[(char, u32)]) -> Rotation<char, u32> {
        let mut rotation = Rotation::default();
        for (key, item) in items {
            rotation.push(*key, SHORT, *item);
        }
        rotation
    }

    /// Takes an item that uses this time.
    fn next(rotation: &mut Rotation<char, u32>, used: impl Fn(char) -> Duration) -> Option<u32> {
        let (key, expected, item) = rotation.pop(|_, _| true, |_| true)?;
        rotation.settle(&key, expected, used(key));
        Some(item)
    }

    fn order(mut rotation: Rotation<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| next(&mut rotation, |_| SHORT)).collect()
    }

    #[test]
    fn keys_take_turns_and_keep_the_order_of_their_items() {
        let one = [('a', 1), ('a', 2), ('a', 3)];
        assert_eq!(order(rotation(&one)), [1, 2, 3]);
        let three = [('a', 1), ('a', 2), ('a', 3), ('b', 4), ('c', 5), ('b', 6)];
        assert_eq!(order(rotation(&three)), [1, 4, 5, 2, 6, 3]);
    }

    #[test]
    fn a_key_whose_items_took_twenty_times_as_long_as_expected_waits_for_twenty_of_another() {
        let mut both = rotation(&[('a', 0), ('a', 1)]);
        for item in 100..130 {
            both.push('b', SHORT, item);
        }
        let used = |key| if key == 'a' { LONG } else { SHORT };
        let taken: Vec<u32> = std::iter::from_fn(|| next(&mut both, used)).collect();
        let place = |item: u32| taken.iter().position(|taken| *taken == item);
        assert_eq!((place(0), place(1)), (Some(0), Some(21)));
        both.rest();
        assert!(both.balances.is_empty());
    }

    #[test]
    fn an_item_that_is_expected_to_take_long_comes_after_as_much_of_the_others() {
        let mut both = Rotation::default();
        both.push('a', LONG, 0);
        for item in 1..=25 {
            both.push('b', SHORT, item);
        }
        let taken = order(both);
        assert_eq!(taken.iter().position(|item| *item == 0), Some(19));
    }

    #[test]
    fn an_item_that_does_not_fit_is_not_overtaken_and_a_key_that_may_not_is() {
        let mut items = rotation(&[('a', 1), ('b', 2)]);
        assert!(items.pop(|_, _| true, |item| *item != 1).is_none());
        let passed = items.pop(|key, _| *key != 'a', |_| true);
        assert_eq!(passed.map(|(_, _, item)| item), Some(2));
        assert_eq!(items.count(), 1);
    }

    #[test]
    fn a_key_without_items_is_forgotten() {
        let mut items = rotation(&[('a', 1), ('b', 2), ('c', 4)]);
        assert_eq!(items.of(&'b').collect::<Vec<_>>(), [&2]);
        items.retain(|item| *item != 2);
        assert_eq!((items.count(), items.keys.len()), (2, 2));
        assert_eq!(order(items), [1, 4]);
    }
}

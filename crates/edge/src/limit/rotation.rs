//! A queue that takes turns between the keys of its items: a key with many items delays only itself.

use std::collections::VecDeque;

/// Items by their keys. The keys take turns; the items of one key keep their order.
#[derive(Debug)]
pub(crate) struct Rotation<K, T> {
    /// The keys with items, the next one first; none without an item.
    keys: VecDeque<(K, VecDeque<T>)>,
}

impl<K, T> Default for Rotation<K, T> {
    fn default() -> Self {
        Self {
            keys: VecDeque::new(),
        }
    }
}

impl<K: PartialEq, T> Rotation<K, T> {
    /// Number of items that wait.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.keys.iter().map(|(_, items)| items.len()).sum()
    }

    /// The items of a key.
    pub(crate) fn of(&self, key: &K) -> impl Iterator<Item = &T> {
        let same = self.keys.iter().filter(move |(known, _)| known == key);
        same.flat_map(|(_, items)| items)
    }

    /// Adds an item behind those of its key; a new key comes after all others.
    pub(crate) fn push(&mut self, key: K, item: T) {
        match self.keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, items)) => items.push_back(item),
            None => self.keys.push_back((key, [item].into())),
        }
    }

    /// Takes the first item of the next key, which then comes after all others.
    pub(crate) fn pop(&mut self) -> Option<(K, T)>
    where
        K: Clone,
    {
        let (key, mut items) = self.keys.pop_front()?;
        let item = items.pop_front()?;
        if !items.is_empty() {
            self.keys.push_back((key.clone(), items));
        }
        Some((key, item))
    }

    /// Keeps the items for which the function is true.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        for (_, items) in &mut self.keys {
            items.retain(&is_kept);
        }
        self.keys.retain(|(_, items)| !items.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation(items: &[(char, u32)]) -> Rotation<char, u32> {
        let mut rotation = Rotation::default();
        for (key, item) in items {
            rotation.push(*key, *item);
        }
        rotation
    }

    fn order(mut rotation: Rotation<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| rotation.pop().map(|(_, item)| item)).collect()
    }

    #[test]
    fn keys_take_turns_and_keep_the_order_of_their_items() {
        let one = [('a', 1), ('a', 2), ('a', 3)];
        assert_eq!(order(rotation(&one)), [1, 2, 3]);
        let three = [('a', 1), ('a', 2), ('a', 3), ('b', 4), ('c', 5), ('b', 6)];
        assert_eq!(order(rotation(&three)), [1, 4, 5, 2, 6, 3]);
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

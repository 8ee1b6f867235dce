//! Keeps observations as stretches: a catalog is read many times, and most of it is the same each time.

use jiff::Timestamp;
use uuid::Uuid;

use super::period::FRESH_FOR;

/// A sheet that a source listed at every snapshot from a first to a last one. A pause of [`FRESH_FOR`] ends it: what a catalog
/// says was not known in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// Id of the listed sheet.
    pub sheet_id: Uuid,
    /// Time of the first snapshot.
    pub first_at: Timestamp,
    /// Time of the last snapshot.
    pub last_at: Timestamp,
}

impl Stretch {
    fn covers(&self, at: Timestamp) -> bool {
        self.first_at <= at && at <= self.last_at
    }
}

/// A snapshot of a source, between its other snapshots.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    /// Time at which the source was read.
    pub at: Timestamp,
    /// The snapshot before it.
    pub previous: Option<Timestamp>,
    /// The snapshot after it.
    pub next: Option<Timestamp>,
}

impl Snapshot {
    /// A snapshot among others, which are sorted.
    #[must_use]
    pub fn among(snapshots: &[Timestamp], at: Timestamp) -> Self {
        let earlier = snapshots.partition_point(|snapshot| *snapshot < at);
        let later = snapshots.partition_point(|snapshot| *snapshot <= at);
        Self {
            at,
            previous: earlier.checked_sub(1).map(|index| snapshots[index]),
            next: snapshots.get(later).copied(),
        }
    }

    /// The stretches of an offer with what the snapshot found, whether snapshots come in their order or not.
    #[must_use]
    pub fn add(self, stretches: &[Stretch], listed: &[Uuid]) -> Vec<Stretch> {
        let mut after = Vec::with_capacity(stretches.len() + listed.len());
        for stretch in stretches {
            if !stretch.covers(self.at) || listed.contains(&stretch.sheet_id) {
                after.push(*stretch);
            } else {
                after.extend(self.split(*stretch));
            }
        }
        for sheet_id in listed {
            let lists =
                |stretch: &Stretch| stretch.sheet_id == *sheet_id && stretch.covers(self.at);
            if !after.iter().any(lists) {
                self.extend(&mut after, *sheet_id);
            }
        }
        after.sort_by_key(|stretch| (stretch.first_at, stretch.last_at, stretch.sheet_id));
        after
    }

    /// A stretch without this snapshot.
    fn split(self, stretch: Stretch) -> impl Iterator<Item = Stretch> {
        let before = self
            .previous
            .filter(|previous| *previous >= stretch.first_at);
        let before = before.map(|last_at| Stretch { last_at, ..stretch });
        let after = self.next.filter(|next| *next <= stretch.last_at);
        let after = after.map(|first_at| Stretch {
            first_at,
            ..stretch
        });
        before.into_iter().chain(after)
    }

    /// Adds the snapshot to the stretches on both sides, or begins one.
    fn extend(self, stretches: &mut Vec<Stretch>, sheet_id: Uuid) {
        let mut grown = Stretch {
            sheet_id,
            first_at: self.at,
            last_at: self.at,
        };
        stretches.retain(|stretch| {
            let is_own = stretch.sheet_id == sheet_id;
            let is_near =
                |from: Timestamp, until: Timestamp| until.duration_since(from) < FRESH_FOR;
            if is_own && Some(stretch.last_at) == self.previous && is_near(stretch.last_at, self.at)
            {
                grown.first_at = stretch.first_at;
                return false;
            }
            if is_own && Some(stretch.first_at) == self.next && is_near(self.at, stretch.first_at) {
                grown.last_at = stretch.last_at;
                return false;
            }
            true
        });
        stretches.push(grown);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(day: u8) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + i64::from(day) * 86_400).unwrap()
    }

    fn replay(snapshots: &[(u8, Option<u8>)]) -> Vec<Stretch> {
        let mut times = Vec::new();
        let mut stretches = Vec::new();
        for (day, sheet) in snapshots {
            let listed: Vec<Uuid> = sheet
                .iter()
                .map(|sheet| Uuid::from_u128(u128::from(*sheet)))
                .collect();
            stretches = Snapshot::among(&times, at(*day)).add(&stretches, &listed);
            times.push(at(*day));
            times.sort();
        }
        stretches
    }

    proptest! {
        #[test]
        fn snapshots_in_any_order_give_the_stretches_of_snapshots_in_order(
            sheets in prop::collection::vec(prop::option::of(0_u8..3), 1..12),
            order in any::<u64>(),
        ) {
            // Twice this is a pause.
            let in_order: Vec<(u8, Option<u8>)> = (0..).step_by(7).zip(sheets).collect();
            let mut shuffled = in_order.clone();
            shuffled.sort_by_key(|(day, _)| (u64::from(*day) + 1).wrapping_mul(order | 1));
            prop_assert_eq!(replay(&shuffled), replay(&in_order));
        }
    }

    #[test]
    fn a_sheet_that_a_later_snapshot_repeats_keeps_one_stretch() {
        let stretches = replay(&[(1, Some(1)), (2, Some(1)), (5, Some(1))]);
        assert_eq!(stretches.len(), 1);
        assert_eq!(
            (stretches[0].first_at, stretches[0].last_at),
            (at(1), at(5))
        );
        // A pause of two weeks ends a stretch.
        let paused = replay(&[(1, Some(1)), (15, Some(1)), (20, Some(1))]);
        assert_eq!((paused[0].last_at, paused[1].first_at), (at(1), at(15)));
        assert_eq!((paused.len(), paused[1].last_at), (2, at(20)));
        // A snapshot between them that found another sheet.
        let stretches = replay(&[(1, Some(1)), (2, Some(1)), (5, Some(1)), (3, Some(2))]);
        assert_eq!(stretches.len(), 3);
    }
}

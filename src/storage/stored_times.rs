//! Which part of a list was stored between two times, so that a list in the order of storing reads no other part.

use super::list::{Order, Place, SortKey};
use super::query::Query;
use super::{Store, StoreError, Times};

/// Rows of a block of the table `stored_times`.
const ROWS_OF_BLOCK: i64 = 1024;

const BLOCKS: &str = "
    SELECT (SELECT min(block) FROM stored_times WHERE list = $1 AND (latest >= $2 OR $2 IS NULL)),
           (SELECT max(block) FROM stored_times WHERE list = $1 AND (earliest < $3 OR $3 IS NULL))";

/// Part of a list in the order of storing: the numbers between two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) above: i64,
    pub(super) below: i64,
}

impl Stretch {
    const ALL: Self = Self {
        above: -1,
        below: i64::MAX,
    };
    const NONE: Self = Self {
        above: -1,
        below: 0,
    };

    fn of_blocks(oldest: i64, newest: i64) -> Self {
        Self {
            above: oldest * ROWS_OF_BLOCK - 1,
            below: (newest + 1) * ROWS_OF_BLOCK,
        }
    }

    /// The part of it that comes after a place in an order of storing.
    pub(super) fn after(self, place: Option<&Place>, order: Order) -> Self {
        match place {
            Some(Place::Stored(sequence)) if order.is_descending => Self {
                below: self.below.min(*sequence),
                ..self
            },
            Some(Place::Stored(sequence)) => Self {
                above: self.above.max(*sequence),
                ..self
            },
            _ => self,
        }
    }
}

impl Store {
    /// The part of a list that was stored between two times, and some rows around it. The whole list in another order, which
    /// would gain nothing.
    pub(super) async fn stretch(
        &self,
        list: &'static str,
        times: &Times,
        order: Order,
    ) -> Result<Stretch, StoreError> {
        if order.by != SortKey::Stored || (times.from, times.to) == (None, None) {
            return Ok(Stretch::ALL);
        }
        let blocks = Query::new(BLOCKS)
            .bind(list)
            .bind(times.from)
            .bind(times.to);
        let blocks: Vec<(Option<i64>, Option<i64>)> = self.listed(blocks).await?;
        Ok(match blocks[..] {
            [(Some(oldest), Some(newest))] => Stretch::of_blocks(oldest, newest),
            _ => Stretch::NONE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_whole_blocks_up_to_the_place_of_a_page() {
        let oldest = Order {
            is_descending: false,
            ..Order::NEWEST
        };
        let blocks = Stretch::of_blocks(1, 2);
        let numbers = |stretch: Stretch| (stretch.above + 1, stretch.below - 1);
        assert_eq!(numbers(blocks), (1024, 3071));
        let place = Place::Stored(2000);
        let after = |place, order| numbers(blocks.after(place, order));
        assert_eq!(after(Some(&place), Order::NEWEST), (1024, 1999));
        assert_eq!(after(Some(&place), oldest), (2001, 3071));
        assert_eq!(
            after(Some(&Place::Stored(9000)), Order::NEWEST),
            (1024, 3071)
        );
        assert_eq!(after(None, oldest), (1024, 3071));
    }
}

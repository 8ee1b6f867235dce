//! Part of a list that was stored between two times, so that a list in the order of storing reads no other part.

use super::query::Query;
use crate::list::query::{Order, SortKey, Stretch};
use crate::{Store, StoreError, Times};

const BLOCKS: &str = "
    SELECT (SELECT min(block) FROM stored_times WHERE list = $1 AND (latest >= $2 OR $2 IS NULL)),
           (SELECT max(block) FROM stored_times WHERE list = $1 AND (earliest < $3 OR $3 IS NULL))";

impl Store {
    /// The part of a list that was stored between two times, and some rows around it. The whole list in another order, which
    /// would gain nothing.
    pub(crate) async fn stretch(
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

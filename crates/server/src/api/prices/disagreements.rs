//! `/disagreements`: what sources state of a price other than the one that is in force.

use uuid::Uuid;

use crate::list::page::{Moment, prefix};
use crate::list::{List, Piece, Rows, list};
use unroof_edge::Names;
use unroof_store::{AsOf, DisagreementRow, Selection, Store};

list! {
    /// Disagreements between catalogs about a price
    ///
    /// A whole catalog counts more than an entry of one, and that more than a posted sheet. Of two catalogs, a stated start
    /// beats one that was merely seen, and an observation that is two weeks fresher beats an older one. What the others state is
    /// listed here until they agree: a catalog that states fewer prices and none differently does.
    list_disagreements: "/disagreements" in "price sheets",
    "A page of disagreements" of DisagreementRow,
    /// Filters of the disagreements.
    DisagreementsQuery {
        provider,
        model,
        region,
        q,
        /// State at this time instead of now: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
    }
}

impl List for DisagreementsQuery {
    const NAME: &'static str = "disagreements";
    type Row = DisagreementRow;
    type Key = Uuid;

    fn key(&self, row: &DisagreementRow) -> Uuid {
        row.id
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, Uuid>) -> Rows<DisagreementRow> {
        let selection = Selection {
            provider: Names::list(self.provider.clone()),
            model: Names::list(self.model.clone()),
            region: Names::list(self.region.clone()),
            prefix: prefix(self.q.as_deref())?,
            ..Selection::default()
        };
        let as_of = Moment::as_of(self.as_of, (piece.now)()).and_then(AsOf::given);
        let rows = store.disagreements(&selection, as_of, piece.after, piece.limit);
        Ok(rows.await?)
    }
}

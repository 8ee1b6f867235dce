//! Observations that an import begins or ends: kept with it, so that it can be undone.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::StoreError;
use crate::connect::rows::Piece;
use crate::connect::tx::Tx;
use crate::connect::value::Kind::{Bytes, Id, Text};
use crate::connect::value::Value;
use crate::record::checksum::checksum;
use crate::record::names::source_rank;
use crate::record::offers::{Offer, Seen};
use crate::record::plan::{OfferPlan, Plan};
use crate::record::snapshots::import_facts::{Fact, ImportFacts};
use crate::record::work::Work;

impl From<&Seen> for Fact {
    fn from(seen: &Seen) -> Self {
        Self {
            first_at: seen.first_at,
            sheet_id: seen.sheet.sheet_id,
            last_at: seen.last_at,
            catalog: seen.sheet.catalog.clone(),
            entry: seen.sheet.entry.clone(),
            rank: source_rank(seen.source_rank),
        }
    }
}

impl Offer {
    /// The observations of a source, as they are kept.
    pub(crate) fn kept_facts(&self, source: &str) -> String {
        let own = self.seen.iter().filter(|seen| seen.source == source);
        let mut facts: Vec<Fact> = own.map(Fact::from).collect();
        facts.sort();
        serde_json::to_string(&facts).expect("texts and times serialise")
    }
}

const IMPORTS: Piece = Piece {
    sql: "
        INSERT INTO recorded_imports (import_id, number, source, snapshot)
        SELECT given.column1, (SELECT coalesce(max(number), 0) + 1 FROM recorded_imports), given.column2, given.column3
        FROM given
        WHERE TRUE
        ON CONFLICT (import_id) DO UPDATE SET snapshot = coalesce(excluded.snapshot, recorded_imports.snapshot)",
    columns: &[Id, Text, Text],
};

// What was before the import is what was before its first part.
const OFFERS: Piece = Piece {
    sql: "
        INSERT INTO recorded_offers (import_id, offer_id, before, after) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (import_id, offer_id) DO UPDATE SET after = excluded.after",
    columns: &[Id, Id, Text, Bytes],
};

/// Keeps what a part of an import does.
pub(crate) async fn keep(tx: &mut Tx<'_>, work: &Work, plan: &Plan) -> Result<(), StoreError> {
    let Some(import) = work.import.as_ref().filter(|_| !work.undoes) else {
        return Ok(());
    };
    let snapshot = plan
        .completed
        .as_ref()
        .map(|completed| serde_json::to_string(completed).expect("texts and times serialise"));
    let row = vec![
        import.id.into(),
        (&import.source).into(),
        Value::Text(snapshot.map(Into::into)),
    ];
    tx.write_rows(&[IMPORTS], &[vec![row]]).await?;
    let row = |(offer_id, (before, after)): (Uuid, (String, String))| {
        vec![
            import.id.into(),
            offer_id.into(),
            before.into(),
            checksum(&after).into(),
        ]
    };
    let rows: Vec<Vec<Value<'_>>> = changed(import, plan).into_iter().map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    tx.write_rows(&[OFFERS], &[rows]).await
}

/// The observations of the offers that change, before and after.
fn changed(import: &ImportFacts, plan: &Plan) -> BTreeMap<Uuid, (String, String)> {
    let facts = |offer: &OfferPlan| {
        let of = |facts: &Offer| facts.kept_facts(&import.source);
        (offer.id, (of(&offer.before), of(&offer.after)))
    };
    let offers = plan.offers.iter().map(facts);
    offers
        .filter(|(_, (before, after))| before != after)
        .collect()
}

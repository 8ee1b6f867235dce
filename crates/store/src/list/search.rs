//! Suggestions of names by their beginnings.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;

use crate::connect::query::Query;
use crate::list::query::NamePrefix;
use crate::record::names::NameKind;
use crate::{Store, StoreError};

/// A name that something in the lists has.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, ToSchema)]
pub struct NameRow {
    /// Kind of the name, which is the parameter by which the lists are filtered for it.
    #[sqlx(try_from = "String")]
    #[schema(inline)]
    pub kind: NameKind,
    /// Name that was found.
    #[schema(example = "gpt-oss-120b")]
    pub name: String,
}

// Each kind has one range of keys, which is read from its beginning and no further than its rows are wanted.
const NAMES: &str = "SELECT kind, name FROM (SELECT kind, name FROM names WHERE kind = ";
const BY_KEY: &str = " ORDER BY kind, name_key, name";

impl Store {
    /// Names of some kinds that begin in some way, or that do so after the seller before the last `/`: up to a number of
    /// each kind, in the order of their keys.
    ///
    /// # Errors
    /// The query fails.
    pub async fn search_names(
        &self,
        kinds: &[NameKind],
        prefix: &NamePrefix,
        limit: u32,
    ) -> Result<Vec<NameRow>, StoreError> {
        let mut names = Query::new("");
        for (place, kind) in kinds.iter().enumerate() {
            // A name is found by either of its two keys.
            names = names
                .text(if place == 0 { "" } else { " UNION ALL " })
                .text(NAMES)
                .value(kind.name())
                .text(" AND ")
                .key_begins(prefix)
                .page(BY_KEY, 2 * limit)
                .text(") AS of_kind");
        }
        let found: Vec<NameRow> = self.listed(names).await?;
        let first = |kind: &NameKind| {
            let mut seen = BTreeSet::new();
            let of_kind = found.iter().filter(|row| row.kind == *kind);
            let mut of_kind: Vec<&NameRow> = of_kind.collect();
            of_kind.retain(|row| seen.insert(&row.name));
            of_kind
                .into_iter()
                .take(limit as usize)
                .cloned()
                .collect::<Vec<_>>()
        };
        Ok(kinds.iter().flat_map(first).collect())
    }
}

//! Price sheets to check: their documents, and the columns that are made of them.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::FromRow;
use uuid::Uuid;

use super::differing;
use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::Kind;
use crate::record::checksum::{StoredDocument, read_sheet};
use crate::record::columns::SheetColumns;
use crate::{DbTime, Store, StoreError};
use unroof_price_sheet::catalog::model_of;
use unroof_price_sheet::sheet::PriceSheet;

/// A price sheet as it is stored.
#[derive(Debug, FromRow)]
pub struct CheckedSheet {
    /// Id of the sheet.
    pub id: Uuid,
    observed_at: DbTime,
    #[sqlx(flatten)]
    columns: SheetColumns,
    #[sqlx(flatten)]
    document: StoredDocument,
}

/// A sheet that an estimate was drawn from.
#[derive(Debug, FromRow)]
struct DocumentRow {
    id: Uuid,
    #[sqlx(flatten)]
    document: StoredDocument,
}

const SHEETS: &str = "
    SELECT id, observed_at, offer_id, model_key, provider, model, canonical_model, region, currency, valid_from, valid_to,
           input_price, output_price, cache_read_price, price_id, retires_at, status, states_limits, cells, document, checksum
    FROM price_sheets
    WHERE id > $1 ORDER BY id LIMIT $2";

const DOCUMENTS: Piece = Piece {
    sql: "
        SELECT sheet.id, sheet.document, sheet.checksum
        FROM given JOIN price_sheets AS sheet ON sheet.id = given.column1",
    columns: &[Kind::Id],
};

impl CheckedSheet {
    /// The sheet in its document.
    ///
    /// # Errors
    /// The fault of the document, in words.
    pub fn sound(&self) -> Result<PriceSheet, String> {
        let document = self.document.clone().checked(self.id);
        let document =
            document.map_err(|_| "its document does not match its checksum".to_owned())?;
        let sheet = read_sheet(self.id, &document);
        let sheet = sheet.map_err(|_| "its document is not a price sheet".to_owned())?;
        if sheet.id().0 == self.id {
            Ok(sheet)
        } else {
            Err(format!("its content has the id {}", sheet.id()))
        }
    }

    /// The columns that follow from its document, if one of the stored ones differs.
    #[must_use]
    pub fn other_columns(&self, sheet: &PriceSheet) -> Option<(SheetColumns, String)> {
        let derived = columns_at(sheet, self.observed_at);
        let differing = differing(self.columns.compared(&derived));
        (!differing.is_empty()).then(|| {
            let differing = differing.join(", ");
            (derived, format!("other than in its document: {differing}"))
        })
    }
}

/// The columns of a sheet that was seen at a time.
#[must_use]
pub fn columns_at(sheet: &PriceSheet, observed_at: DbTime) -> SheetColumns {
    SheetColumns::of(sheet, model_of(sheet, observed_at.into()))
}

impl Store {
    /// Sheets after an id.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sheets_to_check(
        &self,
        after: Uuid,
        limit: u32,
    ) -> Result<Vec<CheckedSheet>, StoreError> {
        let query = Query::new(SHEETS).bind(after).bind(i64::from(limit));
        self.rows(query).await
    }

    /// The documents of some sheets, but for those that are damaged.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sound_sheets(
        &self,
        ids: &BTreeSet<Uuid>,
    ) -> Result<BTreeMap<Uuid, String>, StoreError> {
        let ids = ids.iter().map(|id| vec![(*id).into()]).collect();
        let rows: Vec<DocumentRow> = self.read_rows(&DOCUMENTS, &ids).await?;
        let sound = |row: DocumentRow| Some((row.id, row.document.checked(row.id).ok()?));
        Ok(rows.into_iter().filter_map(sound).collect())
    }
}

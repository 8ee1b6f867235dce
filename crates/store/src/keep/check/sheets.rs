//! Price sheets to check: their documents, and the columns that are made of them.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::FromRow;
use uuid::Uuid;

use super::differing;
use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::Kind;
use crate::record::checksum::{StoredDocument, read_sheet};
use crate::{Store, StoreError};
use unroof_price_sheet::catalog::offer_id;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::Cells;

/// A price sheet as it is stored.
#[derive(Debug, FromRow)]
pub struct CheckedSheet {
    /// Id of the sheet.
    pub id: Uuid,
    offer_id: Uuid,
    provider: String,
    model: String,
    region: String,
    currency: String,
    price_id: Uuid,
    cells: String,
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
    SELECT id, offer_id, provider, model, region, currency, price_id, cells, document, checksum FROM price_sheets
    WHERE id > $1 ORDER BY id LIMIT $2";

const DOCUMENTS: Piece = Piece {
    sql: "
        SELECT sheet.id, sheet.document, sheet.checksum
        FROM given JOIN price_sheets AS sheet ON sheet.id = given.column1",
    columns: &[Kind::Id],
};

impl CheckedSheet {
    /// Faults of the sheet, in words.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let Ok(document) = self.document.clone().checked(self.id) else {
            return vec!["its document does not match its checksum".to_owned()];
        };
        let Ok(sheet) = read_sheet(self.id, &document) else {
            return vec!["its document is not a price sheet".to_owned()];
        };
        let mut faults = Vec::new();
        if sheet.id().0 != self.id {
            faults.push(format!("its content has the id {}", sheet.id()));
        }
        let differing = self.differing_columns(&sheet);
        if !differing.is_empty() {
            let differing = differing.join(", ");
            faults.push(format!("other than in its document: {differing}"));
        }
        faults
    }

    /// The columns that differ from the document.
    fn differing_columns(&self, sheet: &PriceSheet) -> Vec<&'static str> {
        let offer = offer_id(&sheet.provider, &sheet.model, &sheet.region);
        differing([
            ("provider", self.provider == sheet.provider),
            ("model", self.model == sheet.model),
            ("region", self.region == sheet.region),
            ("currency", self.currency == sheet.currency),
            ("offer", self.offer_id == offer),
            ("identity of the prices", self.price_id == sheet.price_id()),
            ("priced cells", self.cells == Cells::of(sheet).to_text()),
        ])
    }
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

//! Rows that follow from the documents of estimates and sheets: listings, links to sheets, and the rows of models.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::FromRow;
use uuid::Uuid;

use super::differing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
use crate::connect::value::Value;
use crate::connect::version::take_numbers;
use crate::record::columns::SheetColumns;
use crate::{DbTime, EstimateRecord, Store, StoreError};

/// A listing of a single sheet, with the columns that follow from the sheet.
#[derive(Debug, Clone, FromRow)]
pub struct CheckedListing {
    /// Number of the listing.
    pub sequence: i64,
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Time at which the sheet was seen, or the question came.
    pub observed_at: DbTime,
    offer_id: Option<Uuid>,
    provider: String,
    model: String,
    canonical_model: Option<String>,
    region: String,
    currency: String,
    valid_from: Option<DbTime>,
    valid_to: Option<DbTime>,
}

/// The row of a model's estimate, with the columns that follow from the document.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ModelColumns {
    /// Id of the estimate.
    pub estimate_id: Uuid,
    /// Canonical name of the model.
    pub canonical_model: String,
    /// Author of the model.
    pub author: String,
    /// The calibration behind the estimate.
    pub calibration_id: String,
    /// Sheets of the model.
    pub sheets: i64,
    /// Separate pricing decisions among them.
    pub decisions: i64,
}

const LISTINGS: Piece = Piece {
    sql: "
        SELECT listing.sequence, listing.sheet_id, listing.observed_at, listing.offer_id, listing.provider, listing.model,
               listing.canonical_model, listing.region, listing.currency, listing.valid_from, listing.valid_to
        FROM given JOIN estimate_listings AS listing ON listing.sheet_id = given.column1",
    columns: &[Id],
};

const LINKS: Piece = Piece {
    sql: "
        SELECT drawn.estimate_id, drawn.sheet_id
        FROM given JOIN estimate_sheets AS drawn ON drawn.estimate_id = given.column1",
    columns: &[Id],
};

const MODELS: Piece = Piece {
    sql: "
        SELECT of_model.estimate_id, of_model.canonical_model, of_model.author, of_model.calibration_id, of_model.sheets,
               of_model.decisions
        FROM given JOIN model_estimates AS of_model ON of_model.estimate_id = given.column1",
    columns: &[Id],
};

const MEND_SHEETS: Piece = Piece {
    sql: "
        UPDATE price_sheets
        SET offer_id = given.column2, model_key = given.column3, provider = given.column4, model = given.column5,
            canonical_model = given.column6, region = given.column7, currency = given.column8,
            valid_from = given.column9, valid_to = given.column10, input_price = given.column11,
            output_price = given.column12, cache_read_price = given.column13, price_id = given.column14,
            retires_at = given.column15, status = given.column16, states_limits = given.column17,
            cells = given.column18
        FROM given WHERE price_sheets.id = given.column1",
    columns: &[
        Id, Id, Text, Text, Text, Text, Text, Text, Time, Time, Real, Real, Real, Id, Time, Text, Flag, Text,
    ],
};

const MEND_LISTINGS: Piece = Piece {
    sql: "
        UPDATE estimate_listings
        SET offer_id = given.column2, provider = given.column3, model = given.column4,
            canonical_model = given.column5, region = given.column6, currency = given.column7,
            valid_from = given.column8, valid_to = given.column9
        FROM given WHERE estimate_listings.sequence = given.column1",
    columns: &[Number, Id, Text, Text, Text, Text, Text, Time, Time],
};

const LOST_LINKS: Piece = Piece {
    sql: "
        DELETE FROM estimate_sheets WHERE (estimate_id, sheet_id) IN (
            SELECT given.column1, given.column2 FROM given)",
    columns: &[Id, Id],
};

const NEW_LINKS: Piece = Piece {
    sql: "
        INSERT INTO estimate_sheets (estimate_id, sheet_id) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (estimate_id, sheet_id) DO NOTHING",
    columns: &[Id, Id],
};

const MEND_MODELS: Piece = Piece {
    sql: "
        UPDATE model_estimates
        SET canonical_model = given.column2, author = given.column3, calibration_id = given.column4,
            sheets = given.column5, decisions = given.column6
        FROM given WHERE model_estimates.estimate_id = given.column1",
    columns: &[Id, Text, Text, Text, Number, Number],
};

const MEND_ESTIMATES: Piece = Piece {
    sql: "
        UPDATE estimates
        SET engine_version = given.column2, readings_defined = given.column3, conflicts = given.column4,
            row_values = given.column5, checksum = given.column6, document = given.column7
        FROM given WHERE estimates.id = given.column1",
    columns: &[Id, Text, Number, Number, Text, Bytes, Text],
};

/// Sheets by the estimates that were drawn from them.
pub type Links = BTreeMap<Uuid, BTreeSet<Uuid>>;

impl CheckedListing {
    /// The columns that differ from those of its sheet.
    #[must_use]
    pub fn differing_columns(&self, sheet: &SheetColumns) -> Vec<&'static str> {
        differing([
            ("offer", self.offer_id == Some(sheet.offer_id)),
            ("provider", self.provider == sheet.provider),
            ("model", self.model == sheet.model),
            (
                "canonical model",
                self.canonical_model == sheet.canonical_model,
            ),
            ("region", self.region == sheet.region),
            ("currency", self.currency == sheet.currency),
            ("start", self.valid_from == sheet.valid_from),
            ("end", self.valid_to == sheet.valid_to),
        ])
    }
}

fn given(ids: &[Uuid]) -> Rows<'static> {
    ids.iter().map(|id| vec![(*id).into()]).collect()
}

impl Store {
    /// The listings of some sheets.
    ///
    /// # Errors
    /// The query fails.
    pub async fn listings_to_check(
        &self,
        sheets: &[Uuid],
    ) -> Result<Vec<CheckedListing>, StoreError> {
        self.read_rows(&LISTINGS, &given(sheets)).await
    }

    /// The sheets that some estimates are linked to.
    ///
    /// # Errors
    /// The query fails.
    pub async fn links_of(&self, estimates: &[Uuid]) -> Result<Links, StoreError> {
        let rows: Vec<(Uuid, Uuid)> = self.read_rows(&LINKS, &given(estimates)).await?;
        let mut links = Links::new();
        for (estimate, sheet) in rows {
            links.entry(estimate).or_default().insert(sheet);
        }
        Ok(links)
    }

    /// The rows of models that some estimates have.
    ///
    /// # Errors
    /// The query fails.
    pub async fn models_of(&self, estimates: &[Uuid]) -> Result<Vec<ModelColumns>, StoreError> {
        self.read_rows(&MODELS, &given(estimates)).await
    }

    /// Derives the columns of sheets again.
    pub async fn mend_sheets(&self, sheets: Vec<(Uuid, SheetColumns)>) -> Result<(), StoreError> {
        let row = |(id, columns): (Uuid, SheetColumns)| {
            let id = Value::from(id);
            std::iter::once(id).chain(columns.values()).collect()
        };
        self.mend(&[MEND_SHEETS], &[sheets.into_iter().map(row).collect()])
            .await
    }

    /// Derives the columns of listings again.
    pub async fn mend_listings(
        &self,
        listings: Vec<(i64, SheetColumns)>,
    ) -> Result<(), StoreError> {
        let row = |(sequence, sheet): (i64, SheetColumns)| {
            vec![
                sequence.into(),
                sheet.offer_id.into(),
                sheet.provider.into(),
                sheet.model.into(),
                sheet.canonical_model.into(),
                sheet.region.into(),
                sheet.currency.into(),
                sheet.valid_from.into(),
                sheet.valid_to.into(),
            ]
        };
        self.mend(&[MEND_LISTINGS], &[listings.into_iter().map(row).collect()])
            .await
    }

    /// Derives the links of an estimate again.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn mend_links(
        &self,
        estimate: Uuid,
        stored: &BTreeSet<Uuid>,
        derived: &BTreeSet<Uuid>,
    ) -> Result<(), StoreError> {
        let row = |sheet: &Uuid| vec![estimate.into(), (*sheet).into()];
        let lost = stored.difference(derived).map(row).collect();
        let new = derived.difference(stored).map(row).collect();
        self.mend(&[LOST_LINKS, NEW_LINKS], &[lost, new]).await
    }

    /// Derives the row of a model again.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn mend_model(&self, columns: &ModelColumns) -> Result<(), StoreError> {
        let row = vec![
            columns.estimate_id.into(),
            (&columns.canonical_model).into(),
            (&columns.author).into(),
            (&columns.calibration_id).into(),
            columns.sheets.into(),
            columns.decisions.into(),
        ];
        self.mend(&[MEND_MODELS], &[vec![row]]).await
    }

    /// Puts an estimate that was computed again in the place of the stored one.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn mend_estimate(&self, again: &EstimateRecord) -> Result<(), StoreError> {
        let row = vec![
            again.id.into(),
            again.engine_version.into(),
            again.readings_defined.into(),
            again.conflicts.into(),
            (&again.numbers).into(),
            again.document.checksum.clone().into(),
            (&again.document.text).into(),
        ];
        self.mend(&[MEND_ESTIMATES], &[vec![row]]).await
    }

    /// Writes derived rows under a version of their own, so that no cache keeps what was served before.
    async fn mend(&self, pieces: &[Piece], rows: &[Rows<'_>]) -> Result<(), StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        let version = take_numbers(&mut tx, 1).await?.last;
        tx.write_rows(pieces, rows).await?;
        tx.commit().await?;
        self.advance_version(version);
        Ok(())
    }
}

//! The columns of a sheet that follow from its document: what is written when it is recorded, and compared by a check.

use sqlx::FromRow;
use uuid::Uuid;

use super::names::status_name;
use crate::DbTime;
use crate::connect::value::Value;
use unroof_base::units::Decimal;
use unroof_price_sheet::catalog::{model_key, offer_id};
use unroof_price_sheet::sheet::compare::Cells;
use unroof_price_sheet::sheet::{Limits, PriceSheet, RateCell};

/// Columns of a row of `price_sheets` that follow from the document and from the time of its first observation.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct SheetColumns {
    pub(crate) offer_id: Uuid,
    pub(crate) model_key: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) canonical_model: Option<String>,
    pub(crate) region: String,
    pub(crate) currency: String,
    pub(crate) valid_from: Option<DbTime>,
    pub(crate) valid_to: Option<DbTime>,
    pub(crate) input_price: Option<f64>,
    pub(crate) output_price: Option<f64>,
    pub(crate) cache_read_price: Option<f64>,
    pub(crate) price_id: Uuid,
    pub(crate) retires_at: Option<DbTime>,
    pub(crate) status: Option<String>,
    pub(crate) states_limits: bool,
    pub(crate) cells: String,
}

impl SheetColumns {
    /// The columns of a sheet.
    pub(crate) fn of(sheet: &PriceSheet, canonical_model: Option<String>) -> Self {
        Self::known(sheet, canonical_model, sheet.price_id(), &Cells::of(sheet))
    }

    /// The columns of a sheet whose prices are compared already.
    pub(crate) fn known(
        sheet: &PriceSheet,
        canonical_model: Option<String>,
        price_id: Uuid,
        cells: &Cells,
    ) -> Self {
        let base = sheet.base_rate();
        let price = |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
        Self {
            offer_id: offer_id(&sheet.provider, &sheet.model, &sheet.region),
            model_key: model_key(&sheet.model),
            provider: sheet.provider.clone(),
            model: sheet.model.clone(),
            canonical_model,
            region: sheet.region.clone(),
            currency: sheet.currency.clone(),
            valid_from: sheet.valid_from.map(Into::into),
            valid_to: sheet.valid_to.map(Into::into),
            input_price: price(|rate| rate.input.as_ref()),
            output_price: price(|rate| rate.output.as_ref()),
            cache_read_price: price(|rate| rate.cache_read.as_ref()),
            price_id,
            retires_at: sheet.retires_at.map(Into::into),
            status: sheet
                .status
                .as_ref()
                .map(|status| status_name(status).to_owned()),
            states_limits: sheet.limits != Limits::default(),
            cells: cells.to_text(),
        }
    }

    /// The values of the columns, in their order.
    pub(crate) fn values(self) -> Vec<Value<'static>> {
        vec![
            self.offer_id.into(),
            self.model_key.into(),
            self.provider.into(),
            self.model.into(),
            self.canonical_model.into(),
            self.region.into(),
            self.currency.into(),
            self.valid_from.into(),
            self.valid_to.into(),
            self.input_price.into(),
            self.output_price.into(),
            self.cache_read_price.into(),
            self.price_id.into(),
            self.retires_at.into(),
            self.status.into(),
            self.states_limits.into(),
            self.cells.into(),
        ]
    }

    /// The columns that differ from other ones, each in words with whether it is the same.
    pub(crate) fn compared(&self, other: &Self) -> [(&'static str, bool); 17] {
        [
            ("provider", self.provider == other.provider),
            ("model", self.model == other.model),
            ("key of the model", self.model_key == other.model_key),
            (
                "canonical model",
                self.canonical_model == other.canonical_model,
            ),
            ("region", self.region == other.region),
            ("currency", self.currency == other.currency),
            ("offer", self.offer_id == other.offer_id),
            ("start", self.valid_from == other.valid_from),
            ("end", self.valid_to == other.valid_to),
            ("retirement", self.retires_at == other.retires_at),
            ("status", self.status == other.status),
            ("price of input", self.input_price == other.input_price),
            ("price of output", self.output_price == other.output_price),
            (
                "price of cached input",
                self.cache_read_price == other.cache_read_price,
            ),
            ("identity of the prices", self.price_id == other.price_id),
            ("limits", self.states_limits == other.states_limits),
            ("priced cells", self.cells == other.cells),
        ]
    }
}

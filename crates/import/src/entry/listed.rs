//! A sheet as a catalog lists it.

use unroof_price_sheet::catalog::{model_key, offer_id};
use unroof_price_sheet::sheet::PriceSheet;
use uuid::Uuid;

/// A sheet of a catalog.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Key of the entry.
    pub(crate) entry: String,
    pub(crate) sheet: PriceSheet,
    pub(crate) sheet_id: Uuid,
}

impl Listed {
    pub(crate) fn offer_id(&self) -> Uuid {
        offer_id(&self.sheet.provider, &self.sheet.model, &self.sheet.region)
    }

    /// Key under which copies of its pricing decision are looked for.
    pub(crate) fn model_key(&self) -> String {
        model_key(&self.sheet.model)
    }

    /// `provider/model`, with the region unless it is global.
    pub(crate) fn name(&self) -> String {
        let PriceSheet {
            provider,
            model,
            region,
            ..
        } = &self.sheet;
        if region == PriceSheet::DEFAULT_REGION {
            format!("{provider}/{model}")
        } else {
            format!("{provider}/{model} ({region})")
        }
    }
}

//! A sheet as a catalog lists it.

use unroof_core::catalog::{model_key, offer_id};
use unroof_core::sheet::PriceSheet;
use uuid::Uuid;

/// A sheet of a catalog.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    /// Key of the entry.
    pub(super) entry: String,
    pub(super) sheet: PriceSheet,
    pub(super) sheet_id: Uuid,
}

impl Listed {
    pub(super) fn offer_id(&self) -> Uuid {
        offer_id(&self.sheet.provider, &self.sheet.model, &self.sheet.region)
    }

    /// Key under which copies of its pricing decision are looked for.
    pub(super) fn model_key(&self) -> String {
        model_key(&self.sheet.model)
    }

    /// `provider/model`, with the region unless it is global.
    pub(super) fn name(&self) -> String {
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

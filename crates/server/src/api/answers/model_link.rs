//! The `model_estimate` member of an answer: the estimate of the sheet's model, and where the two differ.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::model::{Difference, differences};
use unroof_infer::estimate::quantities::Quantities;
use unroof_price_sheet::catalog::model_of;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::Store;

/// The estimate of the model that the sheets of a request are of
///
/// The stored answer is without it: that depends on the request alone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelLink {
    /// Path of the model's estimate, as in the header `Link`.
    #[schema(example = "/models/google/gemini-2.5-pro")]
    pub(crate) path: String,
    /// Id of the estimate.
    id: Uuid,
    /// Canonical name, `author/model`.
    canonical_model: String,
    /// Number of the model's sheets: all hosts and all periods.
    sheets: i64,
    /// Quantities on which the two differ: medians by a factor of two or more, or 90 % intervals without a value in common.
    differences: Vec<Difference>,
}

impl ModelLink {
    /// The estimate of the model of some sheets; none where they name no model, or it is not estimated yet.
    pub(crate) async fn of(
        store: &Store,
        sheets: &[PriceSheet],
        own: &Quantities,
        now: Timestamp,
    ) -> Option<Self> {
        let canonical_model = model_of(sheets.first()?, now)?;
        let path = path_of(&canonical_model)?;
        // The answer is stored: an unreadable link is not a reason to withhold it.
        let row = store.model(&canonical_model, None).await.ok()??;
        let stored = StoredRow::read(&row.row_values);
        Some(Self {
            path,
            id: row.id,
            canonical_model,
            sheets: row.sheets,
            differences: differences(own, |quantity| stored.quantity(quantity).span()),
        })
    }

    /// Value of the header `Link`.
    pub(crate) fn header(&self) -> String {
        format!(
            "<{}>; rel=\"related\"; title=\"estimate of the model\"",
            self.path
        )
    }
}

/// Path of a model's estimate; none where the name has no author.
fn path_of(canonical_model: &str) -> Option<String> {
    let (author, model) = canonical_model.split_once('/')?;
    let mut address = url::Url::parse("http://localhost").ok()?;
    address
        .path_segments_mut()
        .ok()?
        .extend(["models", author, model]);
    Some(address.path().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_two_parts_of_the_name_escaped() {
        let path = |name| path_of(name).unwrap();
        assert_eq!(path("openai/gpt-oss-120b"), "/models/openai/gpt-oss-120b");
        assert_eq!(path("acme/m 1/é"), "/models/acme/m%201%2F%C3%A9");
        assert_eq!(path_of("gpt-5"), None);
    }
}

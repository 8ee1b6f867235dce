//! Filter of the feed of changes: one for the list, the stream, the Atom feed and every webhook.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::connect::query::Query;
use crate::record::names::ChangeKind;

/// Restricts the feed of changes: of every list of values one, or any value where the list is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeFilter {
    /// Kinds of changes; all where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64, inline, example = json!(["price.changed", "offer.delisted"]))]
    pub kind: Vec<ChangeKind>,
    /// Providers that bill; all where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64, value_type = Vec<unroof_base::input::schema::Name>, example = json!(["openai"]))]
    pub provider: Vec<String>,
    /// Model names as the providers spell them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64, value_type = Vec<unroof_base::input::schema::Name>, example = json!(["gpt-5.4"]))]
    pub model: Vec<String>,
    /// Canonical names, `author/model`; all where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64, value_type = Vec<unroof_base::input::schema::Name>, example = json!(["openai/gpt-5.4"]))]
    pub canonical_model: Vec<String>,
    /// Whether the sheet is in force after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, example = true)]
    pub in_force: Option<bool>,
    /// Smallest factor between the old and the new price, in either direction. Other changes are left
    /// out, except for prices that become free or stop being free.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        required = false,
        nullable = false,
        minimum = 1,
        maximum = 1e12,
        example = 1.5
    )]
    pub min_factor: Option<f64>,
}

impl ChangeFilter {
    /// Whether it lets every change pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The filter as it is stored; none if it is empty.
    pub(crate) fn stored(&self) -> Option<String> {
        let text = || serde_json::to_string(self).expect("texts and finite numbers serialise");
        (!self.is_empty()).then(text)
    }
}

impl TryFrom<Option<String>> for ChangeFilter {
    type Error = serde_json::Error;

    fn try_from(stored: Option<String>) -> Result<Self, Self::Error> {
        stored.map_or(Ok(Self::default()), |text| serde_json::from_str(&text))
    }
}

/// Followed by a factor. A price that becomes free, or stops being free, has moved by more than any.
const IS_LARGE: &str =
    "CASE WHEN old_value <> new_value AND old_value * new_value = 0 THEN 1e300 ELSE factor END >= ";

impl<'a> Query<'a> {
    /// The conditions of a filter of changes. Of its lists, the one by which the fewest rows are found is compared by
    /// value, so that SQLite, which has no statistics, takes its index; the others are compared as ranges of one value.
    pub(crate) fn of_changes(self, filter: &'a ChangeFilter) -> Self {
        let is_canonical = !filter.canonical_model.is_empty();
        let has_names = is_canonical || !filter.model.is_empty() || !filter.provider.is_empty();
        self.name(false, "canonical_model", &filter.canonical_model)
            .name(is_canonical, "model", &filter.model)
            .name(is_canonical, "provider", &filter.provider)
            .name(has_names, "kind", &filter.kind)
            .and("in_force = ", filter.in_force)
            .and(IS_LARGE, filter.min_factor)
    }
}

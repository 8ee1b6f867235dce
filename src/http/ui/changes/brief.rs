//! A change in one paragraph.

use maud::{Markup, html};

use crate::http::ui::names::{model_address, offer_address};
use crate::storage::ChangeRow;

/// The page of a model, or of an offer whose model is not known.
pub(in crate::http::ui) fn address_of(
    canonical_model: Option<&str>,
    provider: &str,
    model: &str,
) -> String {
    canonical_model.map_or_else(|| offer_address(provider, model), model_address)
}

/// The time, the offer and the words of a change.
pub(in crate::http::ui) fn brief(change: &ChangeRow, format: &str) -> Markup {
    let at = jiff::Timestamp::from(change.observed_at);
    let canonical_model = change.canonical_model.as_deref();
    let address = address_of(canonical_model, &change.provider, &change.model);
    html! {
        time datetime=(at.to_string()) { (at.strftime(format).to_string()) }
        " " a href=(address) { (change.model) }
        @if change.provider != "model" { " at " (change.provider) }
        ": " (change.summary)
    }
}

//! `/ui/changes`: what changed, by day.

use maud::{Markup, html};

use super::names::{model_address, offer_address};
use crate::storage::ChangeRow;

/// A change in one paragraph: when, what, and in which words.
pub(super) fn brief(change: &ChangeRow) -> Markup {
    let at = jiff::Timestamp::from(change.observed_at);
    let address = change.canonical_model.as_deref().map_or_else(
        || offer_address(&change.provider, &change.model),
        model_address,
    );
    html! {
        time datetime=(at.to_string()) { (at.strftime("%d %b %H:%M").to_string()) }
        " " a href=(address) { (change.model) }
        @if change.provider != "model" { " at " (change.provider) }
        ": " (change.summary)
    }
}

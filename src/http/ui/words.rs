//! Words that several pages share.

use maud::{Markup, html};

use crate::http::charts::drawn::capital;
use unroof_core::estimate::{StoredEstimate, warnings};

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// Reasons to doubt an estimate; `currency` is that of the sheet by which it is shown.
pub(super) fn doubts(estimate: &StoredEstimate, currency: Option<&str>) -> Markup {
    html! {
        @for warning in warnings(estimate, currency) { p.warning { (capital(&warning)) "." } }
    }
}

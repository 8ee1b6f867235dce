//! Words that several pages share.

use maud::{Markup, html};

use crate::charts::drawn::capital;
use unroof_base::units::readable;
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::warnings;
use unroof_roofline::reference::RecordSetting;

/// A count, with thousands separators.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub(super) fn count(number: i64) -> String {
    readable(number as f64)
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// The sheets of a setting in words.
pub(super) fn sheets_of(setting: RecordSetting) -> &'static str {
    match setting {
        RecordSetting::PooledHosts => "the sheets of several hosts together",
        RecordSetting::AuthorAlone => "the author’s own sheet alone",
        RecordSetting::OtherHostAlone => "the sheet of one host that is not the author",
        RecordSetting::AllPeriods => "the sheets of several hosts and periods together",
    }
}

/// Reasons to doubt an estimate; `currency` is that of the sheet by which it is shown.
pub(super) fn doubts(estimate: &StoredEstimate, currency: Option<&str>) -> Markup {
    html! {
        @for warning in warnings(estimate, currency) { p.warning { (capital(&warning)) "." } }
    }
}

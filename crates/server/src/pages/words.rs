//! Words that several pages share.

use maud::{Markup, html};

use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_infer::estimate::margins::{LineMargin, UsualMargin};
use unroof_infer::estimate::warnings;
use unroof_report::words::capital;
use unroof_roofline::reference::RecordSetting;

/// The sheets of a setting in words.
pub(super) fn sheets_of(setting: RecordSetting) -> &'static str {
    match setting {
        RecordSetting::PooledHosts => "the sheets of several hosts together",
        RecordSetting::AuthorAlone => "the author’s own sheet alone",
        RecordSetting::OtherHostAlone => "the sheet of one host that is not the author",
        RecordSetting::AllPeriods => "the sheets of several hosts and periods together",
    }
}

/// The margin that is usual for the cost of a line.
pub(super) fn usual_margin(margin: &LineMargin) -> String {
    let in_words = |usual: UsualMargin| margin_in_words(usual.median, usual.interval_90);
    margin.usual.map_or_else(|| "–".to_owned(), in_words)
}

/// Reasons to doubt an estimate; `currency` is that of the sheet by which it is shown.
pub(super) fn doubts(estimate: &StoredEstimate, currency: Option<&str>) -> Markup {
    html! {
        @for warning in warnings(estimate, currency) { p.warning { (capital(&warning)) "." } }
    }
}

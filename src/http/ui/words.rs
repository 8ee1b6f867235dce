//! An answer in words: the sentence that answers, and reasons to doubt it.

use unroof_core::catalog::is_sold_by_author;
use unroof_core::estimate::Joint;
use unroof_core::estimate::headline::{self, Figure};
use unroof_core::reference::RecordSetting;
use unroof_core::sheet::PriceSheet;
use unroof_core::units::readable;

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

/// The model, and its seller where that is another.
pub(super) fn subject(sheets: &[PriceSheet]) -> String {
    let Some(first) = sheets.first() else {
        return String::new();
    };
    let model = first.canonical_model.as_ref().unwrap_or(&first.model);
    match sheets.len() {
        1 if is_sold_by_author(first) == Some(true) => model.clone(),
        1 => format!("{model} at {}", first.provider),
        number => format!("{model} from {number} sheets"),
    }
}

/// The sentence behind the subject.
pub(super) fn finding(sheets: &[PriceSheet], joint: &Joint) -> String {
    let figures = joint.quantities.in_order();
    let figures = figures.map(|(quantity, estimate)| Figure {
        quantity,
        median: estimate.median,
        interval_90: estimate.interval_90,
        identified: estimate.identified,
        has_record: estimate.track_record.is_some(),
    });
    let from = if sheets.len() == 1 {
        "this sheet"
    } else {
        "these sheets"
    };
    let output = joint.margins.iter().find(|margin| margin.line == "output");
    headline::finding(
        &figures,
        from,
        output.map(|margin| (margin.median, margin.interval_90)),
    )
}

/// Reasons to doubt an answer: prices that do not fit, or cannot be read in US dollars, and lines below cost.
pub(super) fn warnings(sheets: &[PriceSheet], joint: &Joint) -> Vec<String> {
    let misfit = &joint.misfit;
    let foreign = sheets.iter().find(|sheet| sheet.currency != "USD");
    let foreign = foreign.filter(|_| joint.margins.is_empty()).map(|sheet| {
        format!(
            "The prices are in {}, so their level says nothing: state the assumption usd per currency unit.",
            sheet.currency
        )
    });
    let unlikely = misfit.checks.iter().filter(|check| check.probability < misfit.threshold).map(|check| {
        let cases = readable((1e6 * check.probability).round());
        format!("Misfit: the {} lies this far out in {cases} of a million cases, given the clues before it.", check.clue)
    });
    let contradictions = misfit
        .contradictions
        .iter()
        .map(|found| format!("Misfit: {found}."));
    let doubts = joint
        .diagnostics
        .warnings
        .iter()
        .map(|doubt| format!("{doubt}."));
    let below_cost = joint.margins.iter().filter_map(|margin| {
        let warning = margin.warning.as_ref()?;
        Some(format!("{}: {warning}.", margin.line.replace('_', " ")))
    });
    foreign
        .into_iter()
        .chain(unlikely)
        .chain(contradictions)
        .chain(doubts)
        .chain(below_cost)
        .collect()
}

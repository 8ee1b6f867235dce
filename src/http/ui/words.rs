//! An answer in words: the sentence that answers, and reasons to doubt it.

use unroof_core::catalog::is_sold_by_author;
use unroof_core::estimate::Joint;
use unroof_core::estimate::margins::LineMargin;
use unroof_core::sheet::PriceSheet;
use unroof_core::units::{compact, readable};

/// `a, b and c`.
pub(super) fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
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

/// The sentence behind the subject: figures of what is identified, the names of the rest, and the margin of the output.
pub(super) fn finding(joint: &Joint) -> String {
    let scored = joint.quantities.in_order().into_iter();
    let scored =
        scored.filter(|(_, estimate)| estimate.track_record.is_some() || estimate.identified);
    let (identified, others): (Vec<_>, Vec<_>) =
        scored.partition(|(_, estimate)| estimate.identified);
    let known = identified.iter().map(|(quantity, estimate)| {
        let (low, high) = (estimate.interval_90.low, estimate.interval_90.high);
        let (median, label) = (compact(estimate.median), quantity.definition().label);
        let figure = match estimate.unit {
            "parameters" => format!("{median} {label}"),
            _ => format!("{label} {median}"),
        };
        format!("{figure} ({} to {})", compact(low), compact(high))
    });
    let known: Vec<String> = known.collect();
    let others: Vec<&str> = others
        .iter()
        .map(|(quantity, _)| quantity.definition().label)
        .collect();
    let mut parts = Vec::new();
    match (known.is_empty(), others.is_empty()) {
        (true, true) => {}
        (true, false) => parts.push(format!(
            "nothing is identified: {} are mostly the prior",
            listed(&others)
        )),
        (false, true) => parts.push(format!("probably {}", listed(&known))),
        (false, false) => {
            parts.push(format!("probably {}", listed(&known)));
            parts.push(format!(
                "{} not identified from these prices",
                listed(&others)
            ));
        }
    }
    let output = joint.margins.iter().find(|margin| margin.line == "output");
    parts.extend(output.map(|margin| {
        format!(
            "output margin {}, without public truth",
            margin_in_words(margin)
        )
    }));
    parts.join("; ")
}

/// A margin with its interval.
pub(super) fn margin_in_words(margin: &LineMargin) -> String {
    let interval = margin.interval_90;
    format!(
        "{} ({} to {})",
        percent(margin.median),
        percent(interval.low),
        percent(interval.high)
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

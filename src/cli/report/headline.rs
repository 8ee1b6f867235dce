//! The answer in one sentence, and reasons to doubt it.

use std::io::{self, Write};

use super::joint::{interval, percentages};
use super::paragraph;
use super::view::{Estimated, Quantity};
use crate::cli::{label, terminal};
use unroof_core::catalog::is_sold_by_author;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::sheet::PriceSheet;
use unroof_core::units::{compact, readable};

/// The sentence: figures of what is identified, the names of the rest, and the margin of the output price.
pub(super) fn write(out: &mut impl Write, estimated: &Estimated) -> io::Result<()> {
    let (identified, others): (Vec<_>, Vec<_>) = estimated
        .quantities()
        .into_iter()
        .filter(|(_, estimate)| estimate.has_record() || estimate.identified)
        .partition(|(_, estimate)| estimate.identified);
    let known: Vec<String> = identified.iter().map(figures).collect();
    let mut others: Vec<&str> = others
        .iter()
        .map(|(quantity, _)| quantity.definition().label)
        .collect();
    let is_of_cache = |label: &str| label.starts_with("KV ");
    if !known.iter().any(|figures| is_of_cache(figures)) {
        // Nothing is known of the cache, whichever way it is counted.
        for label in &mut others {
            *label = if is_of_cache(label) {
                "KV cache"
            } else {
                label
            };
        }
        others.dedup();
    }
    let mut parts = Vec::new();
    if !known.is_empty() {
        parts.push(format!("probably {}", listed(&known)));
    }
    if !others.is_empty() {
        let verb = if known.is_empty() {
            "nothing identified from"
        } else {
            "not identified from"
        };
        let sheet = if estimated.price_sheets.len() == 1 {
            "this sheet"
        } else {
            "these sheets"
        };
        parts.push(if known.is_empty() {
            format!("{verb} {sheet}: {} are mostly the prior", listed(&others))
        } else {
            format!("{} {verb} {sheet}", listed(&others))
        });
    }
    parts.extend(output_margin(estimated));
    let subject = terminal::quoted(&subject(estimated));
    paragraph(
        out,
        &format!("{}: {}.", label(&subject), parts.join("; ")),
        0,
    )?;
    writeln!(out)
}

/// The model, and its seller where that is another.
fn subject(estimated: &Estimated) -> String {
    let sheets = &estimated.price_sheets;
    let Some(first) = sheets.first() else {
        return estimated.canonical_model.clone().unwrap_or_default();
    };
    let canonical_model = &estimated.canonical_model;
    let stated = canonical_model.as_ref().or(first.canonical_model.as_ref());
    let model = stated.unwrap_or(&first.model);
    let sheet = PriceSheet {
        canonical_model: stated.cloned(),
        ..PriceSheet::new(&first.provider, &first.model, Vec::new())
    };
    match sheets.len() {
        1 if is_sold_by_author(&sheet) == Some(true) => model.clone(),
        1 => format!("{model} at {}", first.provider),
        number => format!("{model} from {number} sheets"),
    }
}

/// As `71B active parameters (17B to 285B)`; other quantities have their name in front.
fn figures((quantity, estimate): &(JointQuantity, &Quantity)) -> String {
    let (median, label) = (compact(estimate.median), quantity.definition().label);
    let span = interval(estimate.interval_90, compact);
    if estimate.unit == "parameters" {
        format!("{median} {label} ({span})")
    } else {
        format!("{label} {median} ({span})")
    }
}

fn output_margin(estimated: &Estimated) -> Option<String> {
    let margin = estimated
        .margins
        .iter()
        .find(|margin| margin.line == "output")?;
    Some(format!(
        "output margin {}, without public truth",
        percentages(margin.median, margin.interval_90)
    ))
}

/// `a, b and c`.
fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Reasons to doubt the answer: prices that do not fit, sheets that cannot be read in US dollars, lines below cost.
pub(super) fn write_warnings(out: &mut impl Write, estimated: &Estimated) -> io::Result<()> {
    let warnings = warnings(estimated);
    for warning in &warnings {
        let text = format!("{} {}", label("warning:"), terminal::quoted(warning));
        paragraph(out, &text, 0)?;
    }
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out)
}

fn warnings(estimated: &Estimated) -> Vec<String> {
    let misfit = &estimated.misfit;
    let unlikely = misfit
        .checks
        .iter()
        .filter(|check| check.probability < misfit.threshold);
    let mut currencies = estimated
        .price_sheets
        .iter()
        .filter_map(|sheet| sheet.currency.as_ref());
    let foreign = currencies.find(|currency| *currency != "USD");
    let foreign = foreign.filter(|_| estimated.margins.is_empty());
    let currency = foreign.map(|currency| {
        format!(
            "the prices are in {currency}, so their level says nothing: state `usd_per_currency_unit` in --assumptions"
        )
    });
    let mut warnings: Vec<String> = currency.into_iter().collect();
    warnings.extend(unlikely.map(|check| {
        format!(
            "misfit: the {} lies this far out in {} of a million cases, given the clues before it",
            check.clue,
            readable((1e6 * check.probability).round())
        )
    }));
    let contradictions = misfit.contradictions.iter();
    warnings.extend(contradictions.map(|contradiction| format!("misfit: {contradiction}")));
    warnings.extend(estimated.diagnostics.warnings.iter().cloned());
    warnings.extend(estimated.margins.iter().filter_map(|margin| {
        let warning = margin.warning.as_ref()?;
        Some(format!("{}: {warning}", margin.line.replace('_', " ")))
    }));
    warnings
}

//! The answer in one sentence, and reasons to doubt it.

use std::io::{self, Write};

use super::paragraph;
use super::view::Estimated;
use crate::cli::{label, terminal};
use unroof_core::catalog::is_sold_by_author;
use unroof_core::estimate::headline::{Figure, finding};
use unroof_core::sheet::PriceSheet;
use unroof_core::units::readable;

/// The sentence: figures of what is identified, the names of the rest, and the margin of the output price.
pub(super) fn write(out: &mut impl Write, estimated: &Estimated) -> io::Result<()> {
    let figures = estimated.quantities().into_iter();
    let figures: Vec<Figure> = figures
        .map(|(quantity, estimate)| Figure {
            quantity,
            median: estimate.median,
            interval_90: estimate.interval_90,
            identified: estimate.identified,
            has_record: estimate.has_record(),
        })
        .collect();
    let from = if estimated.price_sheets.len() == 1 {
        "this sheet"
    } else {
        "these sheets"
    };
    let output = estimated
        .margins
        .iter()
        .find(|margin| margin.line == "output");
    let margin = output.map(|margin| (margin.median, margin.interval_90));
    let finding = finding(&figures, from, margin);
    let subject = terminal::quoted(&subject(estimated));
    paragraph(out, &format!("{}: {}.", label(&subject), finding), 0)?;
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

//! The answer in one sentence, and reasons to doubt it.

use std::io::{self, Write};

use super::paragraph;
use crate::cli::label;
use unroof_core::catalog::is_sold_by_author;
use unroof_core::estimate::Answer;
use unroof_core::estimate::headline::{Figure, finding};
use unroof_core::sheet::PriceSheet;
use unroof_core::units::readable;

/// The sentence: figures of what is identified, the names of the rest, and the margin of the output price.
pub(super) fn write(
    out: &mut impl Write,
    sheets: &[PriceSheet],
    answer: &Answer,
) -> io::Result<()> {
    let joint = &answer.joint;
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
    let margin = output.map(|margin| (margin.median, margin.interval_90));
    let finding = finding(&figures, from, margin);
    paragraph(
        out,
        &format!("{}: {}.", label(&subject(sheets)), finding),
        0,
    )?;
    writeln!(out)
}

/// The model, and its seller where that is another.
fn subject(sheets: &[PriceSheet]) -> String {
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

/// Reasons to doubt the answer: prices that do not fit, sheets that cannot be read in US dollars, lines below cost.
pub(super) fn write_warnings(
    out: &mut impl Write,
    sheets: &[PriceSheet],
    answer: &Answer,
) -> io::Result<()> {
    let warnings = warnings(sheets, answer);
    for warning in &warnings {
        paragraph(out, &format!("{} {warning}", label("warning:")), 0)?;
    }
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out)
}

fn warnings(sheets: &[PriceSheet], answer: &Answer) -> Vec<String> {
    let joint = &answer.joint;
    let misfit = &joint.misfit;
    let unlikely = misfit
        .checks
        .iter()
        .filter(|check| check.probability < misfit.threshold);
    let foreign = sheets.iter().find(|sheet| sheet.currency != "USD");
    let foreign = foreign.filter(|_| joint.margins.is_empty());
    let currency = foreign.map(|sheet| {
        format!(
            "the prices are in {}, so their level says nothing: state `usd_per_currency_unit` in --assumptions",
            sheet.currency
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
    warnings.extend(joint.diagnostics.warnings.iter().map(ToString::to_string));
    warnings.extend(joint.margins.iter().filter_map(|margin| {
        let warning = margin.warning.as_ref()?;
        Some(format!("{}: {warning}", margin.line.replace('_', " ")))
    }));
    warnings
}

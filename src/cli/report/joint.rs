//! The text report of the joint estimate: one line per quantity, with its interval as a bar over that of the prior.

use std::io::{self, Write};

use super::{by_reason, paragraph, table, write_table};
use crate::cli::label;
use unroof_core::estimate::joint::{NotIdentified, QuantityEstimate, Regime};
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::estimate::{Answer, Joint};
use unroof_core::units::readable;

/// Places of a bar.
const BAR: usize = 19;

pub(super) fn write(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let joint = &answer.joint;
    writeln!(out, "{}", label("joint estimate"))?;
    let row = |(quantity, estimate): (JointQuantity, &QuantityEstimate)| {
        vec![
            quantity.definition().label.to_owned(),
            compact(estimate.median),
            format!(
                "{} to {}",
                compact(estimate.interval_90.low),
                compact(estimate.interval_90.high)
            ),
            bar(estimate),
            format!(
                "{:.1}{}",
                estimate.information_gained_bits,
                if estimate.identified { " *" } else { "" }
            ),
        ]
    };
    let header = ["", "median", "90 %", "prior · 90 ─ 50 ━", "bits"];
    write_table(
        out,
        &table(&header, joint.quantities.in_order().into_iter().map(row)),
    )?;
    paragraph(
        out,
        "* identified: the sheet adds 0.3 bits of information or more, and on open-weight models estimates from such sheets are \
         better than the prior. The others are mostly the prior, or have no public truth.",
        2,
    )?;
    write_moves(out, joint)?;
    write_regime(out, joint)?;
    write_margins(out, joint)?;
    write_storage_tiers(out, joint)?;
    write_neighbours(out, joint)?;
    write_misfit(out, joint)?;
    let diagnostics = &joint.diagnostics;
    let trust = format!(
        "{} draws, effective sample size {}, Pareto k̂ {:.2}, calibration {}",
        diagnostics.samples,
        readable(diagnostics.effective_sample_size.round()),
        diagnostics.pareto_k,
        diagnostics.calibration_id,
    );
    paragraph(out, &trust, 2)?;
    diagnostics
        .warnings
        .iter()
        .try_for_each(|warning| paragraph(out, &format!("warning: {warning}"), 2))?;
    writeln!(out)
}

/// A number in three digits.
pub(in crate::cli) fn compact(number: f64) -> String {
    const SUFFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    let (unit, suffix) = SUFFIXES
        .into_iter()
        .find(|(unit, _)| number >= 0.9995 * unit)
        .unwrap_or((1.0, ""));
    let scaled = number / unit;
    if scaled >= 99.95 {
        format!("{scaled:.0}{suffix}")
    } else if scaled >= 9.995 {
        format!("{scaled:.1}{suffix}")
    } else if scaled >= 0.1 {
        format!("{scaled:.2}{suffix}")
    } else if scaled >= 0.001 {
        format!("{scaled:.4}")
    } else {
        format!("{scaled:.2e}")
    }
}

/// The intervals on a logarithmic scale that holds the prior's 90 % interval and the estimate's.
fn bar(estimate: &QuantityEstimate) -> String {
    let (prior, own, half) = (
        estimate.prior.interval_90,
        estimate.interval_90,
        estimate.interval_50,
    );
    let low = prior.low.min(own.low).ln();
    let high = prior.high.max(own.high).ln();
    if high <= low {
        return "stated".to_owned();
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place within the bar"
    )]
    let place =
        |value: f64| ((value.ln() - low) / (high - low) * (BAR - 1) as f64).round() as usize;
    let mut marks = [' '; BAR];
    for (from, to, mark) in [
        (prior.low, prior.high, '·'),
        (own.low, own.high, '─'),
        (half.low, half.high, '━'),
    ] {
        marks[place(from)..=place(to)].fill(mark);
    }
    marks[place(estimate.median)] = '●';
    marks.iter().collect::<String>().trim_end().to_owned()
}

fn write_moves(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    for (quantity, estimate) in joint
        .quantities
        .in_order()
        .into_iter()
        .filter(|(_, estimate)| estimate.identified)
    {
        let moves = estimate
            .moved_by
            .iter()
            .map(|step| format!("{} × {:.2}", step.clue, step.factor));
        let moves: Vec<String> = moves.collect();
        let record = estimate.track_record.map_or(String::new(), |record| {
            format!(
                "; on {} open-weight models, {}, off by a factor of {:.1} in the median, {:.1} for one in ten",
                record.models, record.label(), record.median_fold_error, record.fold_error_90
            )
        });
        paragraph(
            out,
            &format!(
                "{}: from {} by {}{record}",
                quantity.definition().label,
                compact(estimate.prior.median),
                moves.join(", ")
            ),
            2,
        )?;
    }
    let unknown = joint
        .quantities
        .in_order()
        .into_iter()
        .filter(|(_, estimate)| !estimate.identified);
    let reasons = unknown.filter_map(|(quantity, estimate)| {
        let reason = estimate.not_identified_because.as_ref()?;
        Some((in_report(reason), quantity.definition().label))
    });
    let reasons = by_reason(reasons);
    reasons.iter().try_for_each(|(reason, labels)| {
        paragraph(
            out,
            &format!("not identified: {} ({reason})", labels.join(", ")),
            2,
        )
    })
}

/// The reason that a quantity is not identified, without the bits that the table shows.
fn in_report(reason: &NotIdentified) -> String {
    match reason {
        NotIdentified::TooLittle { missing, .. } if missing.is_empty() => {
            "the sheet adds too little information".to_owned()
        }
        NotIdentified::TooLittle { missing, .. } => missing.join("; "),
        reason => reason.to_string(),
    }
}

fn write_regime(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    let ratio = &joint.quantities.memory_time_over_compute_time;
    let waits = match ratio.regime {
        Regime::MemoryBound => "memory",
        Regime::ComputeBound => "arithmetic",
    };
    paragraph(
        out,
        &format!(
            "decoding waits for {waits} with a probability of {:.0} %",
            100.0 * ratio.regime_probability
        ),
        2,
    )
}

fn write_margins(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    if joint.margins.is_empty() {
        return Ok(());
    }
    let header = [
        "margin = 1 − cost/price",
        "price, $/Mtok",
        "median",
        "90 %",
        "cost > price",
    ];
    let rows = joint.margins.iter().map(|margin| {
        vec![
            margin.line.replace('_', " "),
            compact(margin.price_usd_per_mtok),
            format!("{:.0} %", 100.0 * margin.median),
            format!(
                "{:.0} to {:.0} %",
                100.0 * margin.interval_90.low,
                100.0 * margin.interval_90.high
            ),
            format!("{:.0} %", 100.0 * margin.cost_exceeds_price_probability),
        ]
    });
    writeln!(out)?;
    write_table(out, &table(&header, rows))?;
    let warnings = joint
        .margins
        .iter()
        .filter_map(|margin| margin.warning.as_ref());
    warnings
        .into_iter()
        .try_for_each(|warning| paragraph(out, &format!("warning: {warning}"), 2))
}

/// Smallest probability of a tier that is shown: it would be 0 % else.
const LEAST_SHOWN: f64 = 0.005;

fn write_storage_tiers(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    for offer in &joint.storage_tiers {
        let mut tiers: Vec<(&str, f64)> = offer
            .probabilities
            .iter()
            .map(|(tier, share)| (*tier, *share))
            .filter(|(_, share)| *share >= LEAST_SHOWN)
            .collect();
        tiers.sort_by(|left, right| right.1.total_cmp(&left.1));
        let tiers = tiers
            .iter()
            .take(3)
            .map(|(tier, share)| format!("{tier} {:.0} %", 100.0 * share));
        let tiers: Vec<String> = tiers.collect();
        paragraph(
            out,
            &format!(
                "{}: {} (from {})",
                offer.name,
                tiers.join(", "),
                offer.rests_on.join(", ")
            ),
            2,
        )?;
    }
    Ok(())
}

fn write_neighbours(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    let models: Vec<&str> = joint
        .nearest_open_models
        .iter()
        .map(|model| model.name.as_str())
        .collect();
    paragraph(
        out,
        &format!("nearest open-weight models: {}", models.join(", ")),
        2,
    )?;
    let layouts = joint
        .attention_layouts
        .iter()
        .map(|layout| match layout.kv_heads {
            Some(heads) => format!(
                "{} layers × {heads} KV heads of {}",
                layout.layers, layout.head_dimension
            ),
            None => format!(
                "{} layers × one latent of {}",
                layout.layers, layout.head_dimension
            ),
        });
    let layouts: Vec<String> = layouts.take(3).collect();
    if layouts.is_empty() {
        return Ok(());
    }
    paragraph(
        out,
        &format!("attention layouts of this KV size: {}", layouts.join(", ")),
        2,
    )
}

fn write_misfit(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    let misfit = &joint.misfit;
    for check in misfit
        .checks
        .iter()
        .filter(|check| check.probability < misfit.threshold)
    {
        let text = format!(
            "{}: the {} lies this far out in {} of a million cases, given the clues before it",
            label("misfit"),
            check.clue,
            readable((1e6 * check.probability).round())
        );
        paragraph(out, &text, 2)?;
    }
    misfit.contradictions.iter().try_for_each(|contradiction| {
        paragraph(out, &format!("{}: {contradiction}", label("misfit")), 2)
    })
}

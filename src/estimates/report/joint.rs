//! The text report of the joint estimate: one line per quantity, with its interval as a bar over that of the prior.

use std::io::{self, Write};

use super::{NO_BREAK, by_reason, paragraph, table, write_table};
use crate::label;
use crate::shell::terminal::width;
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::errors_in_words;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;
use unroof_infer::estimate::{Answer, Joint, StoredEstimate};
use unroof_infer::joint::{NotIdentified, Regime};
use unroof_infer::posterior::Interval;

/// Columns of a terminal from which bars have room.
const LEAST_WIDTH_OF_BARS: usize = 76;
/// Places of a bar.
const BAR: usize = 17;

/// The estimates as a table, and what follows from them in a line each.
pub(super) fn write(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    write_quantities(out, estimated)?;
    paragraph(
        out,
        "* identified: 0.3 bits or more, and better than the prior on open-weight models",
        2,
    )?;
    write_regime(out, estimated)?;
    write_margins(out, estimated, |line| MAIN_LINES.contains(&line))?;
    write_storage_tiers(out, estimated)?;
    write_neighbours(out, estimated)?;
    writeln!(out)
}

fn write_quantities(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let has_bars = width() >= LEAST_WIDTH_OF_BARS;
    let row = |(quantity, estimate): (JointQuantity, &EstimatedQuantity)| {
        let mut cells = vec![
            quantity.definition().label.to_owned(),
            compact(estimate.median),
            interval(estimate.interval_90, compact),
        ];
        cells.extend(has_bars.then(|| bar(estimate)));
        cells.push(format!(
            "{:.1}{}",
            estimate.information_gained_bits,
            if estimate.identified { " *" } else { "" }
        ));
        cells
    };
    let mut header = vec!["", "median", "90 %"];
    header.extend(has_bars.then_some("prior · 90 ─ 50 ━"));
    header.push("bits");
    write_table(out, &table(&header, estimated.in_order().map(row)))
}

/// Origin of the estimates: what moved them, why others are not identified, and how the draws were weighed.
pub(super) fn write_grounds(
    out: &mut impl Write,
    answer: &Answer,
    estimated: &StoredEstimate,
) -> io::Result<()> {
    let joint = &answer.joint;
    writeln!(out, "{}", label("joint estimate"))?;
    write_moves(out, joint)?;
    write_margins(out, estimated, |line| !MAIN_LINES.contains(&line))?;
    write_grounds_of_tiers(out, joint)?;
    write_layouts(out, joint)?;
    let diagnostics = &joint.diagnostics;
    let trust = format!(
        "{} draws, effective sample size {}, Pareto k̂ {:.2}, calibration {}",
        diagnostics.samples,
        readable(diagnostics.effective_sample_size.round()),
        diagnostics.pareto_k,
        diagnostics.calibration_id,
    );
    paragraph(out, &trust, 2)?;
    writeln!(out)
}

/// An interval in words.
pub(crate) fn interval(of: Interval, number: impl Fn(f64) -> String) -> String {
    format!("{} to {}", number(of.low), number(of.high))
}

/// The intervals on a logarithmic scale that holds the prior's 90 % interval and the estimate's.
fn bar(estimate: &EstimatedQuantity) -> String {
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
                "; on {} open-weight models, {}, {}",
                record.models,
                record.label(),
                errors_in_words(record.median_fold_error, record.fold_error_90)
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

fn write_regime(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let Some((regime, probability)) = estimated.regime() else {
        return Ok(());
    };
    let waits = match regime {
        Regime::MemoryBound => "memory",
        Regime::ComputeBound => "arithmetic",
    };
    let percent = 100.0 * probability;
    let text = format!("decoding waits for {waits} with a probability of {percent:.0}{NO_BREAK}%");
    paragraph(out, &text, 2)
}

/// Price lines whose margins every report shows.
const MAIN_LINES: [&str; 3] = ["input", "output", "cached_input"];

fn write_margins(
    out: &mut impl Write,
    estimated: &StoredEstimate,
    is_shown: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let shown = estimated
        .margins
        .iter()
        .filter(|margin| is_shown(&margin.line));
    let of_lines: Vec<String> = shown
        .map(|margin| {
            format!(
                "{} {}",
                margin.line.replace('_', " "),
                percentages(margin.median, margin.interval_90)
            )
        })
        .collect();
    if of_lines.is_empty() {
        return Ok(());
    }
    let text = format!("margins, 1 − cost/price: {}", of_lines.join(", "));
    paragraph(out, &text, 2)
}

/// A margin with its interval, in percent.
pub(crate) fn percentages(median: f64, interval_90: Interval) -> String {
    format!(
        "{}{NO_BREAK}% ({}{NO_BREAK}%)",
        percent(median),
        interval(interval_90, percent)
    )
}

/// A share in percent, without the sign.
pub(crate) fn percent(share: f64) -> String {
    readable((100.0 * share).round()).replace('-', "−")
}

/// Smallest probability of a tier that is shown: it would be 0 % else.
const LEAST_SHOWN: f64 = 0.005;

fn write_storage_tiers(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    estimated.storage_tiers.iter().try_for_each(|offer| {
        let mut tiers: Vec<(&str, f64)> = offer
            .probabilities
            .iter()
            .map(|(tier, share)| (tier.as_str(), *share))
            .filter(|(_, share)| *share >= LEAST_SHOWN)
            .collect();
        tiers.sort_by(|left, right| right.1.total_cmp(&left.1));
        let tiers = tiers
            .iter()
            .take(3)
            .map(|(tier, share)| format!("{tier} {:.0}{NO_BREAK}%", 100.0 * share));
        let tiers: Vec<String> = tiers.collect();
        paragraph(out, &format!("{}: {}", offer.name, tiers.join(", ")), 2)
    })
}

fn write_grounds_of_tiers(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
    joint.storage_tiers.iter().try_for_each(|offer| {
        let text = format!("{}: from {}", offer.name, offer.rests_on.join(", "));
        paragraph(out, &text, 2)
    })
}

fn write_neighbours(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let models: Vec<&str> = estimated
        .nearest_open_models
        .iter()
        .map(|model| model.name.as_str())
        .collect();
    paragraph(
        out,
        &format!("nearest open-weight models: {}", models.join(", ")),
        2,
    )
}

fn write_layouts(out: &mut impl Write, joint: &Joint) -> io::Result<()> {
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

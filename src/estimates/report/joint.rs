//! The text report of the joint estimate: one line per quantity, with its interval as a bar over that of the prior.

use std::io::{self, Write};

use super::{NO_BREAK, by_reason, joined, paragraph, table, write_table};
use crate::label;
use crate::shell::terminal::width;
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::{
    errors_in_words, margin_in_words, test_in_words,
};
use unroof_infer::estimate::judgement::published::{Published, PublishedBy};
use unroof_infer::estimate::margins::{LineMargin, UsualMargin};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;
use unroof_infer::estimate::{Answer, Joint, StoredEstimate};
use unroof_infer::joint::{NotIdentified, QuantityEstimate, Regime};
use unroof_infer::posterior::Interval;

/// Columns of a terminal from which bars have room.
const LEAST_WIDTH_OF_BARS: usize = 76;
/// Places of a bar.
const BAR: usize = 17;

/// The estimates as a table, and what follows from them in a line each.
pub(super) fn write(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    write_quantities(out, estimated)?;
    let legend = "* identified: 0.3 bits or more, within a factor of 30, and better than the prior on open-weight models";
    let neighbours = estimated.nearest_open_models.iter();
    let neighbours = joined(neighbours.map(|model| &model.name), ", ");
    let texts = [legend.to_owned()]
        .into_iter()
        .chain(estimated.published.as_ref().map(public_values))
        .chain(regime(estimated))
        .chain(margins(estimated, |line| MAIN_LINES.contains(&line)))
        .chain(storage_tiers(estimated))
        .chain([format!("nearest open-weight models: {neighbours}")]);
    write_all(out, texts)
}

/// Public values of a model, each with what prices alone make of it, and their sources.
pub(crate) fn public_values(published: &Published) -> String {
    let values = JointQuantity::ALL.into_iter().filter_map(|quantity| {
        let public = published.value(quantity)?;
        let label = quantity.definition().label;
        Some(format!(
            "{label} {} ({})",
            compact(public.value),
            test_in_words(public)
        ))
    });
    let values = joined(values, ", ");
    match published.by {
        PublishedBy::Architecture => format!(
            "public values of {}: {values}; sources: {}",
            published.model,
            joined(&published.sources, "; ")
        ),
        PublishedBy::Name => format!("in the name {}: {values}", published.model),
    }
}

/// Texts in a paragraph each, and a line after them.
fn write_all(out: &mut impl Write, texts: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut texts = texts.into_iter();
    texts.try_for_each(|text| paragraph(out, &text, 2))?;
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
    let diagnostics = &joint.diagnostics;
    let trust = format!(
        "{} draws, effective sample size {}, Pareto k̂ {:.2}, calibration {}",
        diagnostics.samples,
        readable(diagnostics.effective_sample_size.round()),
        diagnostics.pareto_k,
        diagnostics.calibration_id,
    );
    let tiers = joint.storage_tiers.iter();
    let tiers = tiers.map(|offer| format!("{}: from {}", offer.name, offer.rests_on.join(", ")));
    let texts = moves_of_all(joint)
        .into_iter()
        .chain(margins(estimated, |line| !MAIN_LINES.contains(&line)))
        .chain(tiers)
        .chain(layouts(joint))
        .chain([trust]);
    write_all(out, texts)
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

fn moves_of_all(joint: &Joint) -> Vec<String> {
    let quantities = joint.quantities.in_order().into_iter();
    let (identified, unknown): (Vec<_>, Vec<_>) =
        quantities.partition(|(_, estimate)| estimate.identified);
    let moved = identified.into_iter().map(|(quantity, estimate)| {
        let record = estimate.track_record.map_or(String::new(), |record| {
            format!(
                "; on {} open-weight models, {}, {}",
                record.models,
                record.label(),
                errors_in_words(record.median_fold_error, record.fold_error_90)
            )
        });
        format!(
            "{}: from {} by {}{record}",
            quantity.definition().label,
            compact(estimate.prior.median),
            moves(estimate)
        )
    });
    let reasons = unknown.into_iter().filter_map(|(quantity, estimate)| {
        let reason = estimate.not_identified_because.as_ref()?;
        Some((in_report(reason), quantity.definition().label))
    });
    let unknown = by_reason(reasons).into_iter();
    let unknown =
        unknown.map(|(reason, labels)| format!("not identified: {} ({reason})", labels.join(", ")));
    moved.chain(unknown).collect()
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

/// The resource that decoding waits for.
pub(crate) fn waits_for(regime: Regime) -> &'static str {
    match regime {
        Regime::MemoryBound => "memory",
        Regime::ComputeBound => "arithmetic",
    }
}

/// The clues that moved a quantity, with the factor of each.
pub(crate) fn moves(estimate: &QuantityEstimate) -> String {
    let moves = estimate.moved_by.iter();
    let moves = moves.map(|step| format!("{} × {:.2}", step.clue, step.factor));
    joined(moves, ", ")
}

fn regime(estimated: &StoredEstimate) -> Option<String> {
    let (regime, probability) = estimated.regime()?;
    let waits = waits_for(regime);
    let percent = 100.0 * probability;
    Some(format!(
        "decoding waits for {waits} with a probability of {percent:.0}{NO_BREAK}%"
    ))
}

/// Price lines whose margins every report shows.
const MAIN_LINES: [&str; 3] = ["input", "output", "cached_input"];

fn margins(estimated: &StoredEstimate, is_shown: impl Fn(&str) -> bool) -> Option<String> {
    let margins = estimated.best_margins().iter();
    let shown = margins.filter(|margin| is_shown(&margin.line));
    let of_lines = shown.map(|margin| {
        let line = margin.line.replace('_', " ");
        format!(
            "{line} {}",
            margin_in_words(margin.median, margin.interval_90)
        )
    });
    let of_lines = joined(of_lines, ", ");
    let prompt = readable(estimated.prompt_tokens);
    let of = if estimated.serving().is_some() {
        " of the published architecture"
    } else {
        ""
    };
    let usual = usual(
        estimated
            .best_margins()
            .iter()
            .filter(|margin| is_shown(&margin.line)),
    );
    (!of_lines.is_empty()).then(|| {
        format!("margins{of}, 1 − cost/price, at prompts of {prompt} tokens: {of_lines}{usual}")
    })
}

/// The margins that are usual for the costs of these lines.
fn usual<'m>(margins: impl Iterator<Item = &'m LineMargin>) -> String {
    let usual: Vec<(&str, UsualMargin)> = margins
        .filter_map(|margin| Some((margin.line.as_str(), margin.usual?)))
        .collect();
    let Some((_, first)) = usual.first() else {
        return String::new();
    };
    let of_lines = usual.iter().map(|(line, usual)| {
        let median = percent(usual.median);
        format!("{line} {median}{NO_BREAK}%")
    });
    let sellers = first.of.name();
    format!("; usual of {sellers}: {}", joined(of_lines, ", "))
}

/// A share in percent, without the sign.
pub(crate) fn percent(share: f64) -> String {
    readable((100.0 * share).round()).replace('-', "−")
}

/// Smallest probability of a tier that is shown: it would be 0 % else.
const LEAST_SHOWN: f64 = 0.005;

fn storage_tiers(estimated: &StoredEstimate) -> impl Iterator<Item = String> {
    estimated.storage_tiers.iter().map(|offer| {
        let tiers = offer.probabilities.iter();
        let mut tiers: Vec<(&String, &f64)> =
            tiers.filter(|(_, share)| **share >= LEAST_SHOWN).collect();
        tiers.sort_by(|left, right| right.1.total_cmp(left.1));
        let tiers = tiers.iter().take(3);
        let tiers = tiers.map(|(tier, share)| format!("{tier} {:.0}{NO_BREAK}%", 100.0 * **share));
        format!("{}: {}", offer.name, joined(tiers, ", "))
    })
}

fn layouts(joint: &Joint) -> Option<String> {
    let layouts = joint.attention_layouts.iter().take(3).map(|layout| {
        let (layers, dimension) = (layout.layers, layout.head_dimension);
        match layout.kv_heads {
            Some(heads) => format!("{layers} layers × {heads} KV heads of {dimension}"),
            None => format!("{layers} layers × one latent of {dimension}"),
        }
    });
    let layouts = joined(layouts, ", ");
    (!layouts.is_empty()).then(|| format!("attention layouts of this KV size: {layouts}"))
}

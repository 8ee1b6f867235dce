//! `docs/model/measurements.md`: the measurements beside their predictions.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::figures::{median, quantile, short};
use super::measured::benchmark;
use super::parts::{OWN, PARTS, Part};
use super::predict::{at_peak, kernel_serving, overlap_times, predict};
use super::report::{LeftOut, Report, RowKind, Scored};
use crate::generated::Template;
use unroof_base::units::readable;
use unroof_roofline::reference::measurement::{Measure, MeasuredPhase, Measurement, Purpose};
use unroof_roofline::reference::{FittedAttainment, KernelTime, kernel_times};

/// The page as it was when the program was built.
const PAGE: &str = include_str!("../../../../docs/model/measurements.md");
/// Rows that are further off than this factor are named with their cause.
const FAR_OFF: f64 = 3.0;
/// The row of the data file that is production prefill without cache hits.
const PRODUCTION_PREFILL: u32 = 2;

impl Report {
    /// Content of `docs/model/measurements.md`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = Template::new(PAGE);
        page.table("## How far off", KINDS.map(|kind| self.accuracy(kind)));
        page.between(
            "other than those at a speed per user:\n\n",
            "\n\n## ",
            &self.far_off(),
        );
        page.table(
            "## What is fitted",
            PARTS.iter().map(|part| self.fitted(part)),
        );
        let generations = self.fitted.generations.iter();
        page.table(
            "What each generation",
            generations.map(|own| self.of_generation(&own.generation)),
        );
        self.fill_scored(&mut page);
        let h800 = self.shown().filter(|row| is_fitted_on(row, &["h800"]));
        page.table("## DeepSeek-V3 on H800", h800.map(|row| self.h800(row)));
        self.fill_production(&mut page);
        let batch_one = self.shown().filter(|row| is_of_batch_one(row));
        page.table("## Batch 1", batch_one.map(at_batch_one));
        let hopper = ["h800", "h100-sxm", "h200-sxm"];
        let decode = self.shown().filter(|row| {
            row.measured.phase == MeasuredPhase::Decode && is_fitted_on(row, &hopper)
        });
        page.table(
            "## Why this overlap",
            decode.filter_map(|row| self.overlap(row.measured)),
        );
        let kernels = kernel_times().iter();
        page.table(
            "## Dense models on H100",
            kernels.filter_map(|time| self.kernels(time)),
        );
        for (title, kinds) in SHARED {
            let rows = kinds.iter().flat_map(|kind| self.of_kind(*kind));
            page.table(title, rows.map(shared));
        }
        page.filled()
    }

    /// Errors of a kind, each row by a fit that has not seen its publication.
    fn accuracy(&self, kind: RowKind) -> [String; 7] {
        let rows = self.of_kind(kind);
        let mut logs: Vec<f64> = rows.filter_map(Scored::left_out_log).collect();
        logs.sort_by(f64::total_cmp);
        let publications: BTreeSet<&str> = self
            .of_kind(kind)
            .map(|row| row.measured.publication.as_str())
            .collect();
        let at = |share| short(quantile(&logs, share).exp());
        let far_off = logs.iter().filter(|log| log.abs() > FAR_OFF.ln());
        [
            kind.words().to_owned(),
            logs.len().to_string(),
            publications.len().to_string(),
            format!("**{:.2}**", self.median_error(kind)),
            short(median(logs.clone()).exp()),
            format!("{} to {}", at(0.1), at(0.9)),
            far_off.count().to_string(),
        ]
    }

    /// A list of the rows that are far off, other than those at a speed per user.
    fn far_off(&self) -> String {
        let is_far_off = |row: &&Scored| {
            let off = row
                .left_out_log()
                .is_some_and(|log| log.abs() > FAR_OFF.ln());
            off && row.kind() != RowKind::AtSpeed
        };
        let line = |row: &Scored| {
            let Measurement {
                id,
                model,
                engine,
                note,
                ..
            } = row.measured;
            let ratio = ratio(row.ratio(row.left_out));
            format!("- row {id} ({model}, {engine}): {ratio}; {note}")
        };
        let lines: Vec<String> = self.shown().filter(is_far_off).map(line).collect();
        if lines.is_empty() {
            return "None.".to_owned();
        }
        lines.join("\n")
    }

    /// A number that is fitted, by all rows and without one benchmark at a time.
    fn fitted(&self, part: &Part) -> [String; 3] {
        let values = self.left_out.iter().map(|fit| part.of(&fit.fitted.all));
        let low = short(values.clone().fold(f64::INFINITY, f64::min));
        let high = short(values.fold(0.0, f64::max));
        let all = short(part.of(&self.fitted.all));
        let unit = part.shown.1;
        [
            part.name.to_owned(),
            format!("{all}{unit}"),
            format!("{low} to {high}{unit}"),
        ]
    }

    /// The numbers that a generation has of its own.
    fn of_generation(&self, generation: &str) -> [String; OWN + 1] {
        let own = self.fitted.of(generation);
        let cell = |part: &Part| format!("{}{}", short(part.of(&own)), part.shown.1);
        std::array::from_fn(|column| match column {
            0 => generation.to_owned(),
            part => cell(&PARTS[part - 1]),
        })
    }

    fn fill_scored(&self, page: &mut Template<'_>) {
        let kinds = [RowKind::Prefill, RowKind::Decode];
        let rows = kinds.into_iter().flat_map(|kind| self.of_kind(kind));
        let rows: Vec<&Scored> = rows.filter(|row| !is_of_batch_one(row)).collect();
        page.table("## Prefill and decode", rows.iter().copied().map(scored));
        let peak = rows.iter().filter_map(|row| row.ratio(row.peak));
        let peak: Vec<f64> = peak.collect();
        let range = format!(
            "{} to {} times too fast, {}",
            ratio(peak.iter().copied().reduce(f64::min)),
            ratio(peak.iter().copied().reduce(f64::max)),
            ratio(Some(median(peak))),
        );
        page.between("At peak the same rows are ", " in the median.\n", &range);
        let with_note = rows.iter().filter(|row| !row.measured.note.is_empty());
        let notes: Vec<String> = with_note
            .map(|row| format!("- row {}: {}", row.measured.id, row.measured.note))
            .collect();
        page.between("is published, and\n\n", "\n\n## ", &notes.join("\n"));
    }

    /// A row on H800, by the fit without that chip and by the one without the row's publication.
    fn h800(&self, row: &Scored) -> [String; 4] {
        let measured = row.measured;
        let other = LeftOut::find(&self.left_out, benchmark(measured));
        let in_words = |throughput: f64| match measured.batch_per_chip {
            Some(batch) if measured.phase == MeasuredPhase::Decode => {
                format!("{} ms", short(batch / throughput * 1e3))
            }
            _ => format!("{} tok/s per node", per_node(throughput)),
        };
        let cells = |fitted: Option<&FittedAttainment>| {
            let predicted = fitted.and_then(|fit| predict(measured, fit));
            predicted.map_or("| |".to_owned(), |predicted| {
                let off = match measured.phase {
                    MeasuredPhase::Decode => measured.value / predicted,
                    _ => predicted / measured.value,
                };
                format!("{} | {:+.0} %", in_words(predicted), (off - 1.0) * 100.0)
            })
        };
        [
            describe(measured),
            in_words(measured.value),
            cells(Some(&self.without_h800)),
            cells(other),
        ]
    }

    fn fill_production(&self, page: &mut Template<'_>) {
        let mut rows = self.shown();
        let row = rows.find(|row| row.measured.id == PRODUCTION_PREFILL);
        let predicted = row.and_then(|row| Some((row, predict(row.measured, &self.without_h800)?)));
        let Some((row, predicted)) = predicted else {
            return;
        };
        let figures = format!(
            "{} tok/s per node fresh. Predicted at full load {}: {}",
            per_node(row.measured.value),
            per_node(predicted),
            short(predicted / row.measured.value),
        );
        page.between("averaged over a day: ", "× the measured", &figures);
    }

    /// Measured over predicted step time under five assumptions of overlap.
    fn overlap(&self, measured: &Measurement) -> Option<[String; 6]> {
        let (measured_s, predicted_s) = overlap_times(measured, &self.fitted)?;
        let [full, apart, exchanged, sum, fitted] =
            predicted_s.map(|predicted_s| short(measured_s / predicted_s));
        let name = format!(
            "{} {} on {}",
            measured.id,
            describe(measured),
            measured.accelerator
        );
        Some([name, full, apart, exchanged, sum, fitted])
    }

    /// A table of another tool's kernels with the ratio of predicted to measured time.
    fn kernels(&self, time: &KernelTime) -> Option<[String; 6]> {
        let serving = kernel_serving(time, &self.fitted)?;
        let fitted_ms = serving.decode(time.batch, time.context_tokens).total.0 * 1e3;
        let peak_ms = at_peak(&serving).decode(time.batch, time.context_tokens);
        let name = format!(
            "{} {}, {} × {}",
            time.model,
            format_of(time.weight_bytes_per_parameter),
            time.chips,
            time.accelerator
        );
        Some([
            name,
            time.batch.to_string(),
            readable(time.speed_of_light_ms),
            ratio(Some(peak_ms.total.0 * 1e3 / time.speed_of_light_ms)),
            readable(time.measured_kernels_ms),
            ratio(Some(fitted_ms / time.measured_kernels_ms)),
        ])
    }
}

/// A row at a published batch.
fn scored(row: &Scored) -> [String; 7] {
    let measured = row.measured;
    [
        format!("{} {}", measured.id, measured.model),
        describe(measured),
        chips(measured),
        readable(measured.value),
        ratio(row.ratio(row.left_out)),
        ratio(row.ratio(row.fitted)),
        ratio(row.ratio(row.peak)),
    ]
}

/// A row of one sequence.
fn at_batch_one(row: &Scored) -> [String; 5] {
    let measured = row.measured;
    [
        format!("{} {}, {}", measured.id, measured.model, measured.engine),
        format_of(measured.kv_bytes_per_element).to_owned(),
        match measured.measure {
            Measure::StepMilliseconds => format!("{} ms", readable(measured.value)),
            _ => format!("{} ns per context token", short(measured.value * 1e6)),
        },
        ratio(row.ratio(row.fitted)),
        ratio(row.ratio(row.peak)),
    ]
}

/// A row where prompts and answers share chips.
fn shared(row: &Scored) -> [String; 7] {
    let measured = row.measured;
    [
        format!("{} {}", measured.id, measured.model),
        chips(measured),
        measured.engine.clone(),
        load(measured),
        readable(measured.value),
        ratio(row.ratio(row.left_out)),
        ratio(row.ratio(row.fitted)),
    ]
}

fn is_of_batch_one(row: &Scored) -> bool {
    matches!(row.measured.purpose, Purpose::Slope | Purpose::Intercept)
}

fn is_fitted_on(row: &Scored, accelerators: &[&str]) -> bool {
    row.measured.purpose == Purpose::Fit
        && accelerators.contains(&row.measured.accelerator.as_str())
}

/// Kinds of rows, in the order of the table.
const KINDS: [RowKind; 5] = [
    RowKind::Decode,
    RowKind::Prefill,
    RowKind::SharedDense,
    RowKind::SharedExperts,
    RowKind::AtSpeed,
];

/// Tables of rows where prompts and answers share chips.
const SHARED: [(&str, &[RowKind]); 2] = [
    (
        "## Prompts and answers on the same chips",
        &[RowKind::SharedDense, RowKind::SharedExperts],
    ),
    ("## At a speed per user", &[RowKind::AtSpeed]),
];

fn describe(measured: &Measurement) -> String {
    let number = |number: Option<f64>| readable(number.unwrap_or(f64::NAN));
    if measured.phase == MeasuredPhase::Prefill {
        return format!("prefill, prompts of {}", number(measured.prompt_tokens));
    }
    let context = number(measured.context_tokens);
    match measured.batch_per_chip {
        Some(batch) => format!("decode, {} per chip at {context}", readable(batch)),
        None => format!("decode, the largest batch at {context}"),
    }
}

fn load(measured: &Measurement) -> String {
    let tokens = |tokens: Option<f64>| tokens.map_or("?".to_owned(), readable);
    let mut text = format!(
        "{} → {}",
        tokens(measured.prompt_tokens),
        tokens(measured.output_tokens)
    );
    if let Some(speed) = measured.tokens_per_second_per_user {
        let _ = write!(text, " at {} tok/s", readable(speed));
    }
    text
}

fn chips(measured: &Measurement) -> String {
    format!("{} × {}", measured.chips, measured.accelerator)
}

/// Throughput of a node of eight chips, in words.
fn per_node(per_chip: f64) -> String {
    readable((per_chip * 8.0).round())
}

/// The number format of elements of this many bytes.
fn format_of(bytes: f64) -> &'static str {
    if bytes > 1.0 { "bf16" } else { "fp8" }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

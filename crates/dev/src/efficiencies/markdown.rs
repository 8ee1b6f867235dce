//! `docs/model/measurements.md`: the measurements beside their predictions.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::predict::{at_peak, kernel_serving, overlap_times, predict};
use super::report::{Report, RowKind, Scored, median};
use unroof_base::units::readable;
use unroof_roofline::reference::measurement::{Measure, MeasuredPhase, Measurement, Purpose};
use unroof_roofline::reference::{Attainment, kernel_times};

/// Rows that are further off than this factor are named with their cause.
const FAR_OFF: f64 = 3.0;
/// The row of the data file that is production prefill without cache hits.
const PRODUCTION_PREFILL: u32 = 2;

impl Report {
    /// Content of `docs/model/measurements.md`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(INTRODUCTION);
        self.write_accuracy(out)?;
        self.write_far_off(out)?;
        self.write_efficiencies(out)?;
        self.write_scored(out)?;
        self.write_h800(out)?;
        self.write_production(out)?;
        self.write_batch_one(out)?;
        self.write_overlap(out)?;
        self.write_kernel_times(out)?;
        for (kinds, introduction) in SHARED {
            self.write_shared(out, kinds, introduction)?;
        }
        Ok(())
    }

    /// Errors by kind, each row by a fit that has not seen its publication.
    fn write_accuracy(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(ACCURACY);
        for (kind, name) in KINDS {
            let rows = self.of_kind(kind);
            let mut logs: Vec<f64> = rows.filter_map(Scored::left_out_log).collect();
            logs.sort_by(f64::total_cmp);
            let publications: BTreeSet<&str> = self
                .of_kind(kind)
                .map(|row| row.measured.publication.as_str())
                .collect();
            writeln!(
                out,
                "| {name} | {} | {} | **{:.2}** | {} | {} to {} | {} |",
                logs.len(),
                publications.len(),
                self.median_error(kind),
                short(median(logs.clone()).exp()),
                short(quantile(&logs, 0.1).exp()),
                short(quantile(&logs, 0.9).exp()),
                logs.iter().filter(|log| log.abs() > FAR_OFF.ln()).count(),
            )?;
        }
        writeln!(out)
    }

    fn write_far_off(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "Rows further off than a factor of {FAR_OFF}, other than those at a speed per user:\n"
        )?;
        let is_far_off = |row: &&Scored| {
            let off = row
                .left_out_log()
                .is_some_and(|log| log.abs() > FAR_OFF.ln());
            off && row.kind() != RowKind::AtSpeed
        };
        if !self.rows.iter().any(|row| is_far_off(&row)) {
            writeln!(out, "None.")?;
        }
        for row in self.rows.iter().filter(is_far_off) {
            writeln!(
                out,
                "- row {} ({}, {}): {}; {}",
                row.measured.id,
                row.measured.model,
                row.measured.engine,
                ratio(row.ratio(row.left_out)),
                row.measured.note
            )?;
        }
        writeln!(out)
    }

    fn write_efficiencies(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## What is fitted\n\n| | all rows | leaving one publication out |\n|---|---|---|"
        )?;
        for (name, of, unit) in PARTS {
            let values = self.left_out.iter().map(|fit| of(&fit.attainment));
            let low = short(values.clone().fold(f64::INFINITY, f64::min));
            let high = short(values.fold(0.0, f64::max));
            let all = short(of(&self.fitted));
            writeln!(out, "| {name} | {all}{unit} | {low} to {high}{unit} |")?;
        }
        out.push_str(FORM);
        Ok(())
    }

    fn write_scored(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(SCORED);
        let has_throughput =
            |row: &&Scored| !matches!(row.measured.purpose, Purpose::Slope | Purpose::Intercept);
        let kinds = [RowKind::Prefill, RowKind::Decode];
        let rows = kinds.into_iter().flat_map(|kind| self.of_kind(kind));
        let rows: Vec<&Scored> = rows.filter(has_throughput).collect();
        for row in &rows {
            writeln!(
                out,
                "| {} {} | {} | {} × {} | {} | {} | {} | {} |",
                row.measured.id,
                row.measured.model,
                describe(row.measured),
                row.measured.chips,
                row.measured.accelerator,
                readable(row.measured.value),
                ratio(row.ratio(row.left_out)),
                ratio(row.ratio(row.fitted)),
                ratio(row.ratio(row.peak)),
            )?;
        }
        let peak = rows.iter().filter_map(|row| row.ratio(row.peak));
        let peak: Vec<f64> = peak.collect();
        writeln!(
            out,
            "\nAt peak the same rows are {} to {} times too fast, {} in the median.\n",
            ratio(peak.iter().copied().reduce(f64::min)),
            ratio(peak.iter().copied().reduce(f64::max)),
            ratio(Some(median(peak.clone()))),
        )?;
        writeln!(
            out,
            "What was assumed: weights, cache and attention in the formats of the columns `…_bytes_per_…` of the data file, \
             passes of 16,384 prompt tokens per chip where no other number is published, and\n"
        )?;
        for row in rows.iter().filter(|row| !row.measured.note.is_empty()) {
            writeln!(out, "- row {}: {}", row.measured.id, row.measured.note)?;
        }
        writeln!(out)
    }

    fn write_h800(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## DeepSeek-V3 on H800, left out\n\n\
             Predicted by a fit without the H800 rows, and by one without their publication.\n\n\
             | row | measured | without H800 | | without the publication | |\n|---|---|---|---|---|---|"
        )?;
        let is_h800 = |row: &&Scored| {
            row.measured.accelerator == "h800" && row.measured.purpose == Purpose::Fit
        };
        for row in self.rows.iter().filter(is_h800) {
            let measured = row.measured;
            let mut fits = self.left_out.iter();
            let other = fits.find(|fit| fit.publication == measured.publication);
            let in_words = |throughput: f64| match measured.batch_per_chip {
                Some(batch) if measured.phase == MeasuredPhase::Decode => {
                    format!("{} ms", short(batch / throughput * 1e3))
                }
                _ => format!("{} tok/s per node", readable((throughput * 8.0).round())),
            };
            let cells = |attainment: Option<Attainment>| {
                let predicted = attainment.and_then(|fit| predict(measured, fit));
                predicted.map_or("| |".to_owned(), |predicted| {
                    let off = match measured.phase {
                        MeasuredPhase::Decode => measured.value / predicted,
                        _ => predicted / measured.value,
                    };
                    format!("{} | {:+.0} %", in_words(predicted), (off - 1.0) * 100.0)
                })
            };
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                describe(measured),
                in_words(measured.value),
                cells(Some(self.without_h800)),
                cells(other.map(|fit| fit.attainment))
            )?;
        }
        writeln!(out)
    }

    fn write_production(&self, out: &mut String) -> std::fmt::Result {
        let mut rows = self.rows.iter();
        let row = rows.find(|row| row.measured.id == PRODUCTION_PREFILL);
        let predicted = row.and_then(|row| Some((row, predict(row.measured, self.without_h800)?)));
        let Some((row, predicted)) = predicted else {
            return Ok(());
        };
        let per_node = 8.0;
        writeln!(
            out,
            "Production prefill, averaged over a day: {} tok/s per node fresh. Predicted at full load {}: {}× the \
             measured. The average is over the 226.75 nodes that ran; those of the peak's 278 that were given back are not idle \
             time. It is reported and not fitted: a day's average has idle minutes, short batches and long prompts in it.\n",
            readable((row.measured.value * per_node).round()),
            readable((predicted * per_node).round()),
            short(predicted / row.measured.value),
        )
    }

    fn write_batch_one(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## Batch 1\n\n\
             Time between tokens of one sequence is a constant plus a slope per context token; both are fitted, so these \
             are in-sample.\n\n\
             | row | cache | measured | predicted over measured | at peak |\n|---|---|---|---|---|"
        )?;
        let at_batch_one =
            |row: &&Scored| matches!(row.measured.purpose, Purpose::Slope | Purpose::Intercept);
        for row in self.rows.iter().filter(at_batch_one) {
            let cache = format_of(row.measured.kv_bytes_per_element);
            writeln!(
                out,
                "| {} {}, {} | {cache} | {} | {} | {} |",
                row.measured.id,
                row.measured.model,
                row.measured.engine,
                match row.measured.measure {
                    Measure::StepMilliseconds => format!("{} ms", readable(row.measured.value)),
                    _ => format!("{} ns per context token", short(row.measured.value * 1e6)),
                },
                ratio(row.ratio(row.fitted)),
                ratio(row.ratio(row.peak)),
            )?;
        }
        writeln!(out)
    }

    fn write_overlap(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## Why this overlap\n\n\
             The Hopper decode rows at peak under five assumptions of overlap: measured over predicted step time. The \
             all-to-all is that of copies which leave their domain.\n\n\
             | row | max(compute, memory), E1 | attention apart, E1' | E1' and the all-to-all | plain sum | fitted |\n\
             |---|---|---|---|---|---|"
        )?;
        let is_hopper = |row: &&Scored| {
            row.measured.phase == MeasuredPhase::Decode
                && row.measured.purpose == Purpose::Fit
                && ["h800", "h100-sxm", "h200-sxm"].contains(&row.measured.accelerator.as_str())
        };
        for row in self.rows.iter().filter(is_hopper) {
            let times = overlap_times(row.measured, self.fitted);
            let Some((measured_s, predicted_s)) = times else {
                continue;
            };
            let cells = predicted_s.map(|predicted_s| short(measured_s / predicted_s));
            writeln!(
                out,
                "| {} {} on {} | {} |",
                row.measured.id,
                describe(row.measured),
                row.measured.accelerator,
                cells.join(" | ")
            )?;
        }
        writeln!(out)
    }

    fn write_kernel_times(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(KERNELS);
        for time in kernel_times() {
            let Some(serving) = kernel_serving(time, self.fitted) else {
                continue;
            };
            let fitted_ms = serving.decode(time.batch, time.context_tokens).total.0 * 1e3;
            let peak_ms = at_peak(&serving).decode(time.batch, time.context_tokens);
            writeln!(
                out,
                "| {} {}, {} × {} | {} | {} | {} | {} | {} |",
                time.model,
                format_of(time.weight_bytes_per_parameter),
                time.chips,
                time.accelerator,
                time.batch,
                readable(time.speed_of_light_ms),
                ratio(Some(peak_ms.total.0 * 1e3 / time.speed_of_light_ms)),
                readable(time.measured_kernels_ms),
                ratio(Some(fitted_ms / time.measured_kernels_ms)),
            )?;
        }
        writeln!(out)
    }

    fn write_shared(
        &self,
        out: &mut String,
        kinds: &[RowKind],
        introduction: &str,
    ) -> std::fmt::Result {
        out.push_str(introduction);
        writeln!(
            out,
            "| row | chips | engine | load | measured, tok/s/chip | left out | fitted |\n|---|---|---|---|---|---|---|"
        )?;
        for row in kinds.iter().flat_map(|kind| self.of_kind(*kind)) {
            let measured = row.measured;
            writeln!(
                out,
                "| {} {} | {} × {} | {} | {} | {} | {} | {} |",
                measured.id,
                measured.model,
                measured.chips,
                measured.accelerator,
                measured.engine,
                load(measured),
                readable(measured.value),
                ratio(row.ratio(row.left_out)),
                ratio(row.ratio(row.fitted)),
            )?;
        }
        writeln!(out)
    }
}

/// One of the numbers that are fitted: its name, its value in the unit that is shown, and that unit.
type Part = (&'static str, fn(&Attainment) -> f64, &'static str);

const PARTS: [Part; 8] = [
    (
        "share of peak arithmetic with dense matrices, η_pre = η_c",
        |fit| fit.compute,
        "",
    ),
    (
        "the share with experts over that",
        |fit| fit.expert_compute_ratio,
        "",
    ),
    (
        "the share of attention over that",
        |fit| fit.attention_compute_ratio,
        "",
    ),
    ("share of HBM bandwidth, η_m", |fit| fit.bandwidth, ""),
    ("share of link bandwidth, η_net", |fit| fit.network, ""),
    (
        "share of the shorter of work and exchanges that decoding with distributed experts does not hide",
        |fit| fit.exposed_exchange,
        "",
    ),
    (
        "hidden vectors per token and layer that pass through HBM",
        |fit| fit.vectors_per_token_and_layer,
        "",
    ),
    (
        "waiting per kernel in a row (2 in a dense layer, 10 in one with experts)",
        |fit| fit.seconds_per_stage.0 * 1e6,
        " µs",
    ),
];

/// Kinds of rows and their names.
const KINDS: [(RowKind, &str); 6] = [
    (RowKind::Decode, "decode"),
    (RowKind::Prefill, "prefill"),
    (RowKind::SharedDense, "both on the same chips, dense"),
    (RowKind::SharedExperts, "both on the same chips, experts"),
    (RowKind::AtSpeed, "the same at a speed per user"),
    (RowKind::Check, "added after the model was chosen"),
];

/// Tables of rows where prompts and answers share chips.
const SHARED: [(&[RowKind], &str); 3] = [
    (&[RowKind::SharedDense, RowKind::SharedExperts], MIXED),
    (&[RowKind::AtSpeed], AT_SPEED),
    (&[RowKind::Check], CHECK),
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

/// The number format of elements of this many bytes.
fn format_of(bytes: f64) -> &'static str {
    if bytes > 1.0 { "bf16" } else { "fp8" }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// The value that this share of sorted values lies below.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
    let rank = share * sorted.len().saturating_sub(1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies within the list"
    )]
    let index = rank.round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

fn short(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 { 0 } else { 2 };
    format!("{value:.decimals$}")
}

const INTRODUCTION: &str = "\
# The forward model against measurements

Generated by `unroof-dev fit --write`, which also writes `crates/roofline/data/efficiencies.json`; the
measurements, each with its source, are in `crates/roofline/data/serving_measurements.csv`. The equations are those of
[the forward model](forward.md).

A roofline at peak is several times too fast. Eight numbers, shared by every model, engine and chip, correct it: they
are the default operating point of `POST /simulate`, and `\"efficiencies\": \"peak\"` switches them off with every other
term that the rooflines leave out.

";

const ACCURACY: &str = "\
## How far off

Every row is predicted by a fit that has not seen its publication. The error is the median of |ln(predicted/measured)|:
0.10 is 10 %. Beside it the median of predicted over measured, above 1 where the prediction is too fast, the range that
holds the middle 80 % of the rows, and the rows further off than a factor of 3.

| rows | number | publications | error | median | 80 % within | beyond 3× |
|---|---|---|---|---|---|---|
";

const FORM: &str = "
A decode step is max(KV reads, attention) + max(weight reads, multiplies) + memory traffic per token + waiting between
kernels, then the exchanges: those of cut matrices are added, those of distributed experts hidden in part. In prefill the
exchanges of experts are hidden behind the rest. Arithmetic is that of kernels: the input embedding is looked up, the output
head is multiplied with the last token of a prompt alone, sparse attention takes all the entries that a token may select, and
every chip of cut matrices has the whole indexer. Multiplies with experts reach a smaller share of peak, because each
expert's matrix sees few tokens and some see more than others. A share of the links near 1 does not mean that links reach
their peak: engines hide part of their exchanges.

The fit minimises the sum of w·(√(1 + e²) − 1) over rows, e = ln(predicted/measured)/0.3 for throughput and /0.1 for the
slopes of batch 1, by Nelder and Mead; w = 1/√n for each of n rows of a publication, which are not independent. A normal
prior (log odds of shares, logs of amounts) around what single kernels reach keeps numbers that few rows determine from
wandering: 0.7, 0.7, 0.85, 0.82, 0.9, 0.7, 30 vectors and 12 µs in the order of the table, with standard deviations of
0.5, but 0.3 for the bandwidth and 1 for the hidden share.

Not fitted by the search: 10 hidden vectors per copy of a token that goes to an expert (about 8 if counted; 10 was the better
of the two), 11.8 µs per all-reduce and 22.4 µs more across domains (cost model of NCCL), 10 % of HBM left free, 10 hidden
vectors for each of 8,192 tokens of a pass.

The form of the model and the prior were chosen among about a dozen variants with the errors above in view, so that those
errors are somewhat smaller than they would be on publications that nothing was chosen by.

";

const SCORED: &str = "\
## Prefill and decode

Prompt tokens, and generated tokens at a published batch. *Left out* is predicted by a fit that has not seen the row's
publication. Numbers are predicted over measured throughput: above 1 is too fast.

| row | phase | chips | measured, tok/s/chip | left out | fitted | peak |
|---|---|---|---|---|---|---|
";

const KERNELS: &str = "\
## Dense models on H100, not fitted

A decode step with 4,096 tokens of context and 64 tokens to generate, by aiconfigurator 0.12.0: *speed of light* is its
roofline at 100 % of peak, with exchanges; *kernels* is its sum of individually timed kernels. The first ratio compares
unroof at peak without exchanges (so it is below 1 by their share), the second unroof with fitted efficiencies.

| model | batch | speed of light, ms | unroof over it | kernels, ms | unroof over it |
|---|---|---|---|---|---|
";

const MIXED: &str = "\
## Prompts and answers on the same chips

The prediction is a step of the batch, and for each generated token its share of a prompt. Where the batch is not
published it is the largest that fits if every request may run to its end, which is what engines admit; a run of n
requests that are sent at once takes ⌈n/batch⌉ rounds. In MLPerf room is kept for the longest answer that the benchmark
allows. The load is computed tokens of prompt → of answer.

";

const AT_SPEED: &str = "\
## At a speed per user

The largest batch at which a user still gets this many tokens per second. Rows of InferenceX are the best of many
submitted layouts, some with speculative decoding and with separate chips for prompts, and partly interpolated: plain
decoding on the chips assumed here, with prompts in between, reaches such a speed only with a small batch, and the
prediction is far too low. Rows of MLPerf have the benchmark's limit on the time per token, but not that on the time to
the first, so that the prediction is too high.

";

const CHECK: &str = "\
## Added after the model was chosen

A newer version of a publication above, with models and chips that the older one lacks. These rows were not fitted, but the
older version was, and the newer one's description of its runs was read before the model was chosen: they test other models
and chips, not another publication.

";

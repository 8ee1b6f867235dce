//! `docs/model/measurements.md`: the measurements beside their predictions.

use std::fmt::Write;

use super::predict::{at_peak, kernel_serving, overlap_times, predict};
use super::report::{LeftOut, Report, Scored, median};
use unroof_core::reference::measurement::{Measure, MeasuredPhase, Measurement, Purpose};
use unroof_core::reference::{Attainment, kernel_times};
use unroof_core::units::readable;

/// Rows that are further off than this are named with their cause.
const FAR_OFF: f64 = 0.6;
/// Nodes that the production service of row 2 ran on average, over its peak: its stated utilisation.
const STATED_UTILISATION: f64 = 226.75 / 278.0;
/// The row of the data file that is production prefill without cache hits.
const PRODUCTION_PREFILL: u32 = 2;

impl Report {
    /// `docs/model/measurements.md`.
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
        self.write_efficiencies(out)?;
        self.write_scored(out)?;
        self.write_h800(out)?;
        self.write_production(out)?;
        self.write_left_aside(out)?;
        self.write_batch_one(out)?;
        self.write_overlap(out)?;
        self.write_kernel_times(out)?;
        self.write_reported(out, MeasuredPhase::Mixed, MIXED)?;
        self.write_reported(out, MeasuredPhase::Mlperf, MLPERF)
    }

    fn write_efficiencies(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## What is fitted\n\n| | all rows | leaving one generation out |\n|---|---|---|"
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
        let error_of = |keep: &dyn Fn(&Scored) -> bool| {
            let errors = self.scored().filter(|row| keep(row));
            percent(median(errors.filter_map(Scored::left_out_error).collect()))
        };
        writeln!(
            out,
            "## Prefill and decode\n\n\
             Prompt tokens without cache hits, and generated tokens at a published batch. *Left out* is predicted by a fit \
             that has not seen the row's generation. Numbers are predicted over measured throughput: above 1 is too fast.\n\n\
             Median error on a generation left out: **{}** over {} rows; prefill {}, decode {}.\n\n\
             ![Predicted against measured tokens per second and chip](../images/validation.svg)\n\n\
             | row | phase | chips | measured, tok/s/chip | left out | fitted | peak |\n|---|---|---|---|---|---|---|",
            percent(self.median_left_out_error()),
            self.scored().count(),
            error_of(&|row| row.measured.phase == MeasuredPhase::Prefill),
            error_of(&|row| row.measured.phase == MeasuredPhase::Decode),
        )?;
        for row in self.scored() {
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
        let peak = self.scored().filter_map(|row| row.ratio(row.peak));
        let peak: Vec<f64> = peak.collect();
        writeln!(
            out,
            "\nAt peak the same rows are {} to {} times too fast, {} in the median.",
            ratio(peak.iter().copied().reduce(f64::min)),
            ratio(peak.iter().copied().reduce(f64::max)),
            ratio(Some(median(peak.clone()))),
        )?;
        let of_generation = |fit: &LeftOut| {
            let error = error_of(&|row| row.measured.generation == fit.generation);
            format!("{} {error}", fit.generation)
        };
        let generations: Vec<String> = self.left_out.iter().map(of_generation).collect();
        let generations = generations.join(", ");
        writeln!(out, "\nMedian by generation left out: {generations}.\n")?;
        writeln!(
            out,
            "What was assumed: weights, cache and attention in the formats of the columns `…_bytes_per_…` of the data file, \
             passes of 16,384 prompt tokens per chip where no other number is published, and\n"
        )?;
        for row in self.scored().filter(|row| !row.measured.note.is_empty()) {
            writeln!(out, "- row {}: {}", row.measured.id, row.measured.note)?;
        }
        writeln!(out, "\nErrors above 60 %:\n")?;
        let is_far_off = |row: &&Scored| row.left_out_error().is_some_and(|error| error > FAR_OFF);
        for row in self.scored().filter(is_far_off) {
            writeln!(
                out,
                "- row {} ({}, {}): {}× too fast; {}",
                row.measured.id,
                row.measured.model,
                row.measured.engine,
                ratio(row.ratio(row.left_out)),
                row.measured.note
            )?;
        }
        writeln!(out)
    }

    fn write_h800(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## DeepSeek-V3 on H800, left out\n\n\
             Predicted by a fit without the H800 rows, and by one without its whole generation.\n\n\
             | row | measured | without H800 | | without H100 and H800 | |\n|---|---|---|---|---|---|"
        )?;
        let mut left_out = self.left_out.iter();
        let hopper = left_out.find(|fit| fit.generation.contains("H800"));
        let is_h800 = |row: &&Scored| row.measured.accelerator == "h800";
        for row in self.scored().filter(is_h800) {
            let measured = row.measured;
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
                cells(hopper.map(|fit| fit.attainment))
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
        let used = predicted * STATED_UTILISATION;
        writeln!(
            out,
            "Production prefill, averaged over a day: {} tok/s per node fresh. Predicted at full load {}; times the stated \
             utilisation, 226.75 nodes of 278 at the peak, {}: {}× the measured. It is reported and not fitted: a day's \
             average also has idle minutes and short batches in it.\n",
            readable((row.measured.value * per_node).round()),
            readable((predicted * per_node).round()),
            readable((used * per_node).round()),
            short(used / row.measured.value),
        )
    }

    /// Rows of prefill and decode that are not fitted, and why.
    fn write_left_aside(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "Prefill and decode rows that are reported but not fitted:\n"
        )?;
        let is_aside = |row: &&Scored| {
            row.measured.purpose == Purpose::Report
                && matches!(
                    row.measured.phase,
                    MeasuredPhase::Prefill | MeasuredPhase::Decode
                )
        };
        for row in self.rows.iter().filter(is_aside) {
            writeln!(
                out,
                "- row {} ({}, {} on {} × {}): {} tok/s per chip measured, {} times that predicted; {}",
                row.measured.id,
                row.measured.model,
                row.measured.engine,
                row.measured.chips,
                row.measured.accelerator,
                readable(row.measured.value),
                ratio(row.ratio(row.fitted)),
                row.measured.note
            )?;
        }
        writeln!(out)
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
                && ["h800", "h100-sxm", "h200-sxm"].contains(&row.measured.accelerator.as_str())
        };
        for row in self.scored().filter(is_hopper) {
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

    fn write_reported(
        &self,
        out: &mut String,
        phase: MeasuredPhase,
        introduction: &str,
    ) -> std::fmt::Result {
        let rows = self.rows.iter().filter(|row| row.measured.phase == phase);
        let rows: Vec<&Scored> = rows.collect();
        let ratios = rows.iter().filter_map(|row| row.ratio(row.fitted));
        let ratios: Vec<f64> = ratios.collect();
        let predicted = ratios.len();
        writeln!(
            out,
            "{introduction}{predicted} of {} rows predicted; predicted over measured is {} in the median.\n\n\
             | row | chips | engine | load | measured, tok/s/chip | predicted over measured |\n|---|---|---|---|---|---|",
            rows.len(),
            short(median(ratios)),
        )?;
        for row in rows {
            let measured = row.measured;
            let machine = if measured.accelerator.is_empty() {
                "not in the data".to_owned()
            } else {
                format!("{} × {}", measured.chips, measured.accelerator)
            };
            writeln!(
                out,
                "| {} {} | {machine} | {} | {} | {} | {} |",
                measured.id,
                measured.model,
                measured.engine,
                load(measured),
                readable(measured.value),
                ratio(row.ratio(row.fitted)),
            )?;
        }
        writeln!(out)
    }
}

/// One of the numbers that are fitted: its name, its value in the unit that is shown, and that unit.
type Part = (&'static str, fn(&Attainment) -> f64, &'static str);

const PARTS: [Part; 5] = [
    (
        "share of peak arithmetic, η_pre = η_c",
        |fit| fit.compute,
        "",
    ),
    ("share of HBM bandwidth, η_m", |fit| fit.bandwidth, ""),
    ("share of link bandwidth, η_net", |fit| fit.network, ""),
    (
        "hidden vectors per token and layer that pass through HBM",
        |fit| fit.vectors_per_token_and_layer,
        "",
    ),
    (
        "waiting per kernel in a row (2 in a dense layer, 5 in one with experts)",
        |fit| fit.seconds_per_stage.0 * 1e6,
        " µs",
    ),
];

fn describe(measured: &Measurement) -> String {
    let number = |number: Option<f64>| readable(number.unwrap_or(f64::NAN));
    if measured.phase == MeasuredPhase::Prefill {
        return format!("prefill, prompts of {}", number(measured.prompt_tokens));
    }
    let batch = number(measured.batch_per_chip);
    format!(
        "decode, {batch} per chip at {}",
        number(measured.context_tokens)
    )
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

fn short(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 { 0 } else { 2 };
    format!("{value:.decimals$}")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

const INTRODUCTION: &str = "\
# The forward model against measurements

Generated by `unroof-dev fit --write`, which also writes `data/efficiencies.json` and the picture; the
measurements, each with its source, are in `data/serving_measurements.csv`. The equations are those of
[the forward model](forward.md).

A roofline at peak is several times too fast. Five numbers, shared by every model, engine and chip, correct it: they
are the default operating point of `POST /simulate`, and `\"efficiencies\": \"peak\"` switches them off.

";

const FORM: &str = "
A decode step is max(KV reads, attention) + max(weight reads, multiplies) + memory traffic per token + waiting between
kernels + exchanges between chips. In prefill the exchanges overlap with the rest: max instead of +. The traffic per token
covers all work that grows with tokens besides large matrix multiplies and attention (norms, quantising, routing,
permuting). It is the only number here without a derivation; it explains why doubling a chip's arithmetic does not double
its prefill speed. A share of the links near 1 does not mean that links reach their peak: engines hide part of their
exchanges, and the fit cannot distinguish the two.

The fit minimises the sum of √(1 + e²) − 1 over rows, e = ln(predicted/measured)/0.3 for throughput and /0.1 for the
slopes of batch 1, by Nelder and Mead. A weak prior (weight 0.001) decides only what the rows leave open.

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

Reported, not fitted: the publications do not state how prompts and answers alternated, what was cached and, often, the
number of chips. The prediction is a step of the largest batch that fits, or of the batch with the published speed per
user, plus a share of a prompt for each generated token. The load is tokens of prompt → of answer.

The rows at a published speed per user are the best of many submitted layouts, some with speculative decoding and with
separate chips for prompts. Plain decoding on the chips assumed here, with prompts in between, reaches such a speed only
with a small batch: the predicted throughput is far too low, down to that of a single sequence.

";

const MLPERF: &str = "\
## MLPerf Inference 5.1

Reported, not fitted, and not a test of the model: prompt lengths are not published with the results, so the prediction
leaves prefill out and is an upper bound, far above the measurement for long prompts. The limits on latency of
the server and interactive scenarios are left out too.

";

//! Rows of one's own benchmark: a plain table, and the result files of `vllm bench serve` and of aiperf.

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema};

use crate::calculator::scenario::lengths::MOST_TOKENS;
use crate::calculator::scenario::model::FILE_PLACEHOLDER;
use unroof_base::input::body::{
    Body, Kind, Object, Schemas, body, number, object, optional, plain,
};
use unroof_base::input::cursor::{Cursor, Fields};
use unroof_base::input::json::Json;

/// Most rows of a benchmark.
const MOST_ROWS: usize = 100;
const MILLISECOND: f64 = 1e-3;

body! {
    /// A row of one's own benchmark of the model on these chips, which compute prompts and answers.
    pub struct StatedRow {
        /// Requests under way at once, over all chips.
        concurrency: f64 = plain(number(1e-3..=1e9)),
        /// Mean tokens of a prompt.
        input_tokens: f64 = plain(number(1.0..=MOST_TOKENS)),
        /// Mean tokens of an answer.
        output_tokens: f64 = plain(number(1.0..=MOST_TOKENS)),
        /// Generated tokens per second over all chips; this or the time per token.
        output_tokens_per_second: Option<f64> = optional(number(1e-6..=1e12)),
        /// Mean time per generated token of one user; this or the throughput.
        time_per_output_token_seconds: Option<f64> = optional(number(1e-9..=1e6)),
    }
}

/// A row of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRow {
    pub(in crate::calculator::simulate) concurrency: f64,
    pub(in crate::calculator::simulate) input_tokens: f64,
    pub(in crate::calculator::simulate) output_tokens: f64,
    /// Time in which each of the requests gets one token, in seconds.
    pub(in crate::calculator::simulate) round_s: f64,
}

/// Rows, or the result of a benchmark, or a list of such results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredKind;

impl Kind for MeasuredKind {
    type Value = Vec<MeasuredRow>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Vec<MeasuredRow>> {
        if !matches!(cursor.json, Json::Array(_)) {
            return read_row(cursor).map(|row| vec![row]);
        }
        let rows = cursor.items()?;
        if rows.is_empty() || rows.len() > MOST_ROWS {
            return cursor.refuse(
                format!("{} rows are not 1 to {MOST_ROWS}", rows.len()),
                format!("send 1 to {MOST_ROWS} rows"),
            );
        }
        rows.iter().map(read_row).collect()
    }

    fn schema(&self) -> RefOr<Schema> {
        let row = || -> RefOr<Schema> {
            OneOfBuilder::new()
                .item(object::<StatedRow>().schema())
                .item(
                    ObjectBuilder::new()
                        .description(Some("a result file of `vllm bench serve` or aiperf")),
                )
                .into()
        };
        let rows = ArrayBuilder::new()
            .items(row())
            .min_items(Some(1))
            .max_items(Some(MOST_ROWS));
        OneOfBuilder::new().item(rows).item(row()).into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        let row: Object<StatedRow> = object();
        row.schemas(schemas);
    }

    fn placeholder(&self) -> &'static str {
        FILE_PLACEHOLDER
    }
}

fn read_row(cursor: &Cursor<'_>) -> Option<MeasuredRow> {
    let fields = cursor.fields()?;
    if fields.get("output_throughput").is_some() {
        return vllm(cursor, &fields);
    }
    if fields.get("output_token_throughput").is_some() {
        return aiperf(&fields);
    }
    let row = StatedRow::read(cursor)?;
    let of_throughput = row
        .output_tokens_per_second
        .map(|rate| row.concurrency / rate);
    let Some(round_s) = of_throughput.or(row.time_per_output_token_seconds) else {
        return cursor.refuse(
            "neither throughput nor time per token is stated",
            "state `output_tokens_per_second` or `time_per_output_token_seconds`",
        );
    };
    Some(MeasuredRow {
        concurrency: row.concurrency,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        round_s,
    })
}

fn positive(fields: &Fields<'_>, name: &'static str) -> Option<f64> {
    fields
        .required(name, "a positive number")?
        .number_within(1e-12..=1e15)
}

/// A result of `vllm bench serve --save-result`. Without a stated concurrency, the mean number of requests under way is
/// their rate times the time that each takes.
fn vllm(cursor: &Cursor<'_>, fields: &Fields<'_>) -> Option<MeasuredRow> {
    let requests = positive(fields, "completed")?;
    let input_tokens = positive(fields, "total_input_tokens")? / requests;
    let output_tokens = positive(fields, "total_output_tokens")? / requests;
    let throughput = positive(fields, "output_throughput")?;
    let stated = fields.get("max_concurrency");
    let stated = stated.filter(|stated| !matches!(stated.json, Json::Null));
    let concurrency = if let Some(stated) = stated {
        stated.number_within(1e-3..=1e9)?
    } else {
        let first = positive(fields, "mean_ttft_ms")? * MILLISECOND;
        let next = positive(fields, "mean_tpot_ms")? * MILLISECOND;
        throughput / output_tokens * (first + (output_tokens - 1.0) * next)
    };
    if concurrency > requests {
        return cursor.refuse(
            "fewer requests were completed than run at once",
            "send a result with several requests per place",
        );
    }
    Some(MeasuredRow {
        concurrency,
        input_tokens,
        output_tokens,
        round_s: concurrency / throughput,
    })
}

/// A result of aiperf, `profile_export_aiperf.json`.
fn aiperf(fields: &Fields<'_>) -> Option<MeasuredRow> {
    let average = |name| positive(&fields.required(name, "an object")?.fields()?, "avg");
    let throughput = average("output_token_throughput")?;
    let run = fields.required("input_config", "an object")?.fields()?;
    let load = run.required("loadgen", "an object")?.fields()?;
    let concurrency = positive(&load, "concurrency")?;
    Some(MeasuredRow {
        concurrency,
        input_tokens: average("input_sequence_length")?,
        output_tokens: average("output_sequence_length")?,
        round_s: concurrency / throughput,
    })
}

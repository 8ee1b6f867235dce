//! `unroof models`: the stored estimates of models as a list.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::quantities::JointQuantity;

use super::report::{interval, paragraph, write_rows};
use crate::record::source::{Document, Page, Source, SourceArguments, stated};
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};
use unroof_base::units::compact;

/// Rows of a page when all are read.
const PAGE: &str = "2000";
/// Columns of a terminal from which a second quantity has room.
const WIDE: usize = 100;

/// Arguments of `unroof models`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof models gpt
  unroof models --author google --sort active
  unroof models --sort total --limit 10 --json")]
pub(crate) struct ModelsArguments {
    /// Beginning of a name, or of what is behind its `/`, in any case; all models if left out
    #[arg(value_name = "QUERY")]
    query: Option<String>,
    /// Only models of this author; several separated by commas
    #[arg(long)]
    author: Option<String>,
    /// Order of the list: by name, or the largest first
    #[arg(long, default_value = "name", value_name = "KEY")]
    sort: Sort,
    /// Most rows
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: u32,
    /// Print the answer of GET /models
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// Order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// By name.
    Name,
    /// Most active parameters first.
    Active,
    /// Most parameters first.
    Total,
    /// Largest KV cache first.
    Kv,
    /// Most sheets first.
    Sheets,
}

impl Sort {
    /// The field by which rows are sorted; none where the API's own order is.
    fn field(self) -> Option<&'static str> {
        let of = |quantity: JointQuantity| quantity.definition().columns.median;
        match self {
            Self::Name => None,
            Self::Active => Some(of(JointQuantity::ActiveParameters)),
            Self::Total => Some(of(JointQuantity::TotalParameters)),
            Self::Kv => Some(of(JointQuantity::KvBytesRead)),
            Self::Sheets => Some("sheets"),
        }
    }
}

pub(crate) fn run(arguments: &ModelsArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    let document = match arguments.sort.field() {
        None => first_page(arguments, &source)?,
        Some(field) => sorted(arguments, &source, field)?,
    };
    document.print(arguments.json, |out, page| {
        write_models(out, arguments, page)
    })
}

fn filters(arguments: &ModelsArguments) -> Vec<(&str, &str)> {
    let (query, author) = (arguments.query.as_deref(), arguments.author.as_deref());
    stated([("q", query), ("author", author)])
}

fn first_page(arguments: &ModelsArguments, source: &Source) -> Result<Document, Failure> {
    let limit = arguments.limit.to_string();
    let mut query = filters(arguments);
    query.push(("limit", &limit));
    source.get(&["models"], &query)
}

/// The first rows of all by a number, the largest first, as a page.
fn sorted(arguments: &ModelsArguments, source: &Source, field: &str) -> Result<Document, Failure> {
    let mut rows: Vec<Value> = Vec::new();
    let mut cursor = Some(String::new());
    while let Some(position) = cursor {
        let mut query = filters(arguments);
        query.push(("limit", PAGE));
        query.extend((!position.is_empty()).then_some(("cursor", position.as_str())));
        let page: Page<Value> = source.get(&["models"], &query)?.read()?;
        rows.extend(page.data);
        cursor = page.next_cursor;
    }
    let number = |row: &Value| row[field].as_f64().unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|left, right| number(right).total_cmp(&number(left)));
    rows.truncate(arguments.limit as usize);
    Ok(Document {
        text: json!({"data": rows, "next_cursor": null}).to_string(),
        link: None,
    })
}

fn write_models(
    out: &mut impl Write,
    arguments: &ModelsArguments,
    page: &Page<Value>,
) -> io::Result<()> {
    if page.data.is_empty() {
        return paragraph(
            out,
            "No such model is stored. `unroof search TEXT` finds names; `unroof import` stores the prices of a catalog.",
            0,
        );
    }
    let is_wide = terminal::width() >= WIDE;
    let mut header = vec!["model", "active", "90 %", "total"];
    header.extend(is_wide.then_some("90 %"));
    header.extend(["published", "KV bytes", "sheets"]);
    let texts = page.data.iter().map(|row| cells(row, is_wide));
    write_rows(out, &header, texts)?;
    paragraph(
        out,
        "Parameters and KV bytes read per token by prices alone: medians, * where identified. Published are active and total \
         parameters of open weights, or the size in a name.",
        0,
    )?;
    let mut next = "`unroof show NAME` shows one.".to_owned();
    if page.data.len() == arguments.limit as usize {
        next.push_str(" There may be more: name a beginning or an author, or raise --limit.");
    }
    paragraph(out, &next, 0)
}

/// The public sizes of a model, such as `37.0B of 685B`.
fn published(row: &Value) -> String {
    let of = |name: &str| row[name].as_f64().map(compact);
    match (
        of("published_active_parameters"),
        of("published_total_parameters"),
    ) {
        (Some(active), Some(total)) => format!("{active} of {total}"),
        (Some(size), None) | (None, Some(size)) => size,
        (None, None) => "–".to_owned(),
    }
}

fn cells(row: &Value, is_wide: bool) -> Vec<String> {
    let stored = StoredRow::read(&row.to_string());
    let of = |quantity: JointQuantity| {
        let estimate = stored.quantity(quantity);
        let mark = if estimate.identified == Some(true) {
            " *"
        } else {
            ""
        };
        let median = estimate.median.map_or("–".to_owned(), compact);
        let span = estimate.span().map(|(_, span)| interval(span, compact));
        (format!("{median}{mark}"), span.unwrap_or_default())
    };
    let (active, active_span) = of(JointQuantity::ActiveParameters);
    let (total, total_span) = of(JointQuantity::TotalParameters);
    let (kv, _) = of(JointQuantity::KvBytesRead);
    let name = row["canonical_model"].as_str().unwrap_or_default();
    let mut cells = vec![terminal::quoted(name), active, active_span, total];
    cells.extend(is_wide.then_some(total_span));
    cells.extend([published(row), kv, row["sheets"].to_string()]);
    cells
}

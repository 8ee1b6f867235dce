//! `unroof show`: a stored estimate, of a model, of an offer, or by its id.

use std::io::{self, Write};

use clap::Args;
use jiff::Timestamp;
use serde::Deserialize;
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_infer::posterior::Interval;
use uuid::Uuid;

use super::report::{paragraph, percent, write_rows, write_stored};
use crate::record::names;
use crate::record::source::{Document, Page, Source, SourceArguments};
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};

/// Columns of a terminal from which the interval of a margin has room.
const WIDE: usize = 110;

/// Arguments of `unroof show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof show openai/gpt-oss-120b
  unroof show google/gemini-2.5-pro --as-of 2026-06-01T00:00:00Z
  unroof show azure/gpt-5 --json")]
pub(crate) struct ShowArguments {
    /// The canonical name of a model, author/model; an offer, provider/model; or the id of an estimate
    #[arg(value_name = "NAME")]
    name: String,
    /// The name is that of an offer, also where a model is called so
    #[arg(long)]
    offer: bool,
    /// Region of the offer
    #[arg(long)]
    region: Option<String>,
    /// As it was known at this time, such as 2026-06-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Print the estimate as HTTP gives it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

pub(crate) fn run(arguments: &ShowArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    let wanted = Wanted {
        name: &arguments.name,
        is_offer: arguments.offer || arguments.region.is_some(),
        region: arguments.region.as_deref(),
        as_of: arguments.as_of,
    };
    let Some(document) = find(&source, &wanted)? else {
        return Err(names::unknown(&source, wanted.name)?);
    };
    document.print(arguments.json, write_shown)
}

/// A name with what it denotes: a model, else an offer.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    /// Whether models are left out.
    pub(crate) is_offer: bool,
    pub(crate) region: Option<&'a str>,
    pub(crate) as_of: Option<Timestamp>,
}

/// The document of the estimate that a name means; none where there is none.
///
/// # Errors
/// The database or the service does not answer, or several models have the name.
pub(crate) fn find(source: &Source, wanted: &Wanted) -> Result<Option<Document>, Failure> {
    let as_of = wanted.as_of.map(|time| time.to_string());
    let as_of: Vec<(&str, &str)> = as_of.iter().map(|time| ("as_of", time.as_str())).collect();
    if Uuid::try_parse(wanted.name).is_ok() {
        return source.find(&["estimates", wanted.name], &as_of);
    }
    let Some((first, rest)) = names::parts(source, wanted.name)? else {
        return Ok(None);
    };
    if !wanted.is_offer
        && let Some(found) = source.find(&["models", &first, &rest], &as_of)?
    {
        return Ok(Some(found));
    }
    let mut query = vec![("provider", first.as_str()), ("model", rest.as_str())];
    query.extend(wanted.region.map(|region| ("region", region)));
    query.extend(as_of);
    let rows: Page<Row> = source.get(&["estimates", "latest"], &query)?.read()?;
    // An offer that is not bound to a region is preferred.
    let global = rows.data.iter().find(|row| row.region == "global");
    match global.or(rows.data.first()) {
        Some(row) => source.find(&["estimates", &row.id], &[]),
        None => Ok(None),
    }
}

/// A row of a list of estimates.
#[derive(Deserialize)]
struct Row {
    id: String,
    region: String,
}

/// An estimate with the offers of its model.
#[derive(Deserialize)]
struct Shown {
    #[serde(flatten)]
    estimated: StoredEstimate,
    #[serde(default)]
    offers: Vec<Offer>,
}

/// An offer with its margins over the cost of the model.
#[derive(Deserialize)]
struct Offer {
    provider: String,
    model: String,
    region: String,
    currency: String,
    input_per_mtok: Option<f64>,
    output_per_mtok: Option<f64>,
    input_margin: Option<Implied>,
    output_margin: Option<Implied>,
}

/// A margin over the cost of the model.
#[derive(Deserialize)]
struct Implied {
    median: f64,
    interval_90: Interval,
}

fn write_shown(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    write_stored(out, &shown.estimated)?;
    if let Some(decisions) = shown.estimated.decisions {
        let sheets = shown.estimated.price_sheets.len();
        let words = match (sheets, decisions) {
            (1, _) => "from one sheet".to_owned(),
            (_, 1) => format!("from {sheets} sheets of one pricing decision"),
            _ => format!("from {sheets} sheets of {decisions} pricing decisions"),
        };
        paragraph(out, &words, 0)?;
        writeln!(out)?;
    }
    if shown.offers.is_empty() {
        return Ok(());
    }
    let header = ["offer", "input", "margin", "output", "margin"];
    write_rows(out, &header, shown.offers.iter().map(row))?;
    paragraph(
        out,
        "Prices per million tokens; margins are 1 − cost/price at the median cost of the model, with no public truth.",
        0,
    )
}

fn row(offer: &Offer) -> Vec<String> {
    let currency = match offer.currency.as_str() {
        "USD" => String::new(),
        currency => format!(" {currency}"),
    };
    let price =
        |price: Option<f64>| price.map_or("–".to_owned(), |price| format!("{price}{currency}"));
    vec![
        names::offer_name(&offer.provider, &offer.model, &offer.region),
        price(offer.input_per_mtok),
        margin(offer.input_margin.as_ref()),
        price(offer.output_per_mtok),
        margin(offer.output_margin.as_ref()),
    ]
}

/// The median, and the interval where there is room.
fn margin(margin: Option<&Implied>) -> String {
    let Some(margin) = margin else {
        return "–".to_owned();
    };
    if terminal::width() < WIDE {
        return format!("{} %", percent(margin.median));
    }
    margin_in_words(margin.median, margin.interval_90)
}

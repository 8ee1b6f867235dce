//! `unroof history`: the prices of an offer over time.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::Args;
use jiff::Timestamp;
use serde::Deserialize;

use super::names;
use super::source::{Document, Page, Source, SourceArguments};
use crate::estimates::report::{day, paragraph, write_rows};
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};

/// Arguments of `unroof history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof history openai/gpt-5
  unroof history deepseek/deepseek-chat --region global
  unroof history google/gemini-2.5-pro --json")]
pub(crate) struct HistoryArguments {
    /// An offer, provider/model, as the provider spells it; or a model that one provider offers
    #[arg(value_name = "NAME")]
    name: String,
    /// Region that serves the model
    #[arg(long)]
    region: Option<String>,
    /// Up to the price in force at this time, such as 2026-06-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Most prices, the first of each region before the later ones
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: u32,
    /// Print the answer of GET /history
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

pub(crate) fn run(arguments: &HistoryArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    let Some((provider, model)) = names::parts(&source, &arguments.name)? else {
        return Err(names::unknown(&source, &arguments.name)?);
    };
    let found = history(&source, arguments, &provider, &model)?;
    let document = match found {
        Some(document) => document,
        None => of_only_offer(&source, arguments, &provider, &model)?,
    };
    document.print(arguments.json, write_history)
}

fn history(
    source: &Source,
    arguments: &HistoryArguments,
    provider: &str,
    model: &str,
) -> Result<Option<Document>, Failure> {
    let limit = arguments.limit.to_string();
    let as_of = arguments.as_of.map(|time| time.to_string());
    let mut query = vec![("provider", provider), ("model", model), ("limit", &limit)];
    query.extend(arguments.region.as_deref().map(|region| ("region", region)));
    query.extend(as_of.as_deref().map(|time| ("as_of", time)));
    source.find(&["history"], &query)
}

/// The offers of a model.
#[derive(Deserialize)]
struct Model {
    offers: Vec<Offer>,
}

/// An offer of it.
#[derive(Deserialize)]
struct Offer {
    provider: String,
    model: String,
}

/// The history of the only offer of a model that is not sold under its canonical name.
fn of_only_offer(
    source: &Source,
    arguments: &HistoryArguments,
    author: &str,
    model: &str,
) -> Result<Document, Failure> {
    let name = &arguments.name;
    let Some(found) = source.find(&["models", author, model], &[])? else {
        return Err(names::unknown(source, name)?);
    };
    let mut offers: Vec<(String, String)> = found
        .read::<Model>()?
        .offers
        .into_iter()
        .map(|offer| (offer.provider, offer.model))
        .collect();
    offers.dedup();
    if let [(provider, model)] = offers.as_slice()
        && let Some(document) = history(source, arguments, provider, model)?
    {
        return Ok(document);
    }
    let error = anyhow!("`{name}` is the name of a model, not of an offer");
    let hint = if offers.is_empty() {
        "none of its offers is in force; `unroof show` has its estimate".to_owned()
    } else {
        let offers = offers
            .iter()
            .map(|(provider, model)| format!("{provider}/{model}"));
        format!("name one of its offers: {}", names::quoted(offers, ", "))
    };
    Err(Failure::Other(error).with_hint(hint))
}

/// A price with its period.
#[derive(Deserialize)]
struct Price {
    region: String,
    valid_from: Option<Timestamp>,
    valid_to: Option<Timestamp>,
    currency: String,
    input_per_mtok: Option<f64>,
    output_per_mtok: Option<f64>,
    cache_read_per_mtok: Option<f64>,
    ending: Option<String>,
    flagged: bool,
    difference: String,
}

fn write_history(out: &mut impl Write, page: &Page<Price>) -> io::Result<()> {
    let header = ["from", "until", "input", "output", "cached", "what changed"];
    for of_region in page
        .data
        .chunk_by(|left, right| left.region == right.region)
    {
        let first = &of_region[0];
        let title = format!(
            "region {}, {} per million tokens",
            first.region, first.currency
        );
        paragraph(out, &terminal::quoted(&title), 0)?;
        writeln!(out)?;
        write_rows(out, &header, of_region.iter().map(row))?;
    }
    if page.next_cursor.is_some() {
        paragraph(out, "There are later prices: raise --limit.", 0)?;
    }
    Ok(())
}

fn row(price: &Price) -> Vec<String> {
    let number = |number: Option<f64>| number.map_or("–".to_owned(), |number| number.to_string());
    let until = match (price.valid_to, price.ending.as_deref()) {
        (None, _) => "in force".to_owned(),
        (Some(end), None | Some("replaced")) => day(end),
        (Some(end), Some(why)) => format!("{} {why}", day(end)),
    };
    let doubt = if price.flagged {
        " (probably a mistake)"
    } else {
        ""
    };
    vec![
        price.valid_from.map_or("unknown".to_owned(), day),
        until,
        number(price.input_per_mtok),
        number(price.output_per_mtok),
        number(price.cache_read_per_mtok),
        terminal::quoted(&format!("{}{doubt}", price.difference)),
    ]
}

//! `unroof compare`: the estimates and the prices of several models side by side.

mod terms;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::estimate::{CancelToken, Format, read_file};
use unroof_core::sheet::PriceSheet;
use unroof_core::units::readable;

use super::calibration::CalibrationArguments;
use super::report::{Estimated, compact, interval, paragraph, write_rows};
use super::sheets::example;
use super::show::{self, Wanted};
use super::source::{Document, Source, SourceArguments};
use super::{Failure, Verbosity, label, names, terminal};

/// Arguments of `unroof compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof compare openai/gpt-5.4 google/gemini-3.1-pro
  unroof compare gpt-5 gpt-5-mini gpt-5-nano --json
  unroof compare before.json after.json")]
pub(super) struct CompareArguments {
    /// Two to six: files with a price sheet, stored models or offers, built-in examples
    #[arg(required = true, num_args = 2..=6, value_name = "NAME")]
    names: Vec<String>,
    /// Print the estimates as HTTP gives them, as a list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    source: SourceArguments,
}

pub(super) fn run(arguments: &CompareArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let mut lookup = Lookup {
        arguments,
        source: Some(arguments.source.open(verbosity)),
    };
    let found = arguments.names.iter().map(|name| lookup.find(name));
    let compared: Vec<Compared> = found.collect::<Result<_, _>>()?;
    if arguments.json {
        let documents: Vec<&Value> = compared.iter().map(|compared| &compared.document).collect();
        let text = serde_json::to_string(&documents);
        return super::print_line(&text.context("the estimates could not be serialised")?);
    }
    Ok(write_comparison(&mut terminal::stdout(), &compared)?)
}

/// One of what is compared.
struct Compared {
    name: String,
    document: Value,
    estimated: Estimated,
    /// The sheet whose terms are shown.
    sheet: Option<PriceSheet>,
}

/// Where names are looked up: files, then what is stored, then the built-in examples.
struct Lookup<'a> {
    arguments: &'a CompareArguments,
    /// None once its failure was reported.
    source: Option<Result<Source, Failure>>,
}

impl Lookup<'_> {
    fn find(&mut self, name: &str) -> Result<Compared, Failure> {
        if Path::new(name).exists() {
            let text = super::input::read_input(Path::new(name))?;
            return self.inferred(name, &text);
        }
        let built_in = example(name);
        // Only a database that nobody named may be missing.
        let may_fail = built_in.is_some() && !self.arguments.source.is_stated();
        if !may_fail && matches!(self.source, Some(Err(_))) {
            return match self.source.take() {
                Some(Err(failure)) => Err(failure),
                _ => Err(Failure::Other(anyhow!("nothing is stored"))),
            };
        }
        if let Some(Ok(source)) = &self.source {
            if let Some(document) = show::find(source, &Wanted::named(name))? {
                return stored(source, name, &document);
            }
            if built_in.is_none() {
                return Err(names::unknown(source, name)?);
            }
        }
        self.inferred(name, built_in.unwrap_or_default().as_bytes())
    }

    /// The answer to a sheet.
    fn inferred(&self, name: &str, text: &[u8]) -> Result<Compared, Failure> {
        let read = read_file(text, &Format::Canonical, None);
        let file = read.map_err(|error| Failure::RefusedIn(name.into(), error))?;
        let [request] = file.requests.as_slice() else {
            let error = anyhow!("`{name}` has several sheets");
            return Err(Failure::Usage(error).with_hint("compare files with one sheet each"));
        };
        let estimator = self.arguments.calibration.estimator()?;
        let answer = estimator
            .infer(request, &CancelToken::default())
            .context("the estimate was interrupted")?;
        let document = serde_json::to_value(&answer).context("the answer cannot be serialised")?;
        compared(name, document, request.sheets.first().cloned())
    }
}

fn compared(name: &str, document: Value, sheet: Option<PriceSheet>) -> Result<Compared, Failure> {
    let estimated = Estimated::deserialize(&document);
    let estimated = estimated.context("the estimate is not one that this version reads")?;
    Ok(Compared {
        name: name.to_owned(),
        document,
        estimated,
        sheet,
    })
}

/// A stored estimate with the sheet of its author's own offer, else of its first.
fn stored(source: &Source, name: &str, document: &Document) -> Result<Compared, Failure> {
    let document: Value = document.read()?;
    let author = document["canonical_model"].as_str();
    let author = author.and_then(|name| name.split('/').next());
    let offers = document["offers"].as_array();
    let offers: Vec<&Value> = offers.into_iter().flatten().collect();
    let own = offers
        .iter()
        .find(|offer| offer["provider"].as_str() == author);
    let offer = own.or(offers.first());
    let id = offer.map_or(
        &document["price_sheets"][0]["id"],
        |offer| &offer["price_sheet_id"],
    );
    let sheet = match id.as_str() {
        Some(id) => source.find(&["price-sheets", id], &[])?,
        None => None,
    };
    let sheet = sheet.and_then(|sheet| {
        let read = read_file(sheet.text.as_bytes(), &Format::Canonical, None);
        read.ok()?
            .requests
            .into_iter()
            .next()?
            .sheets
            .into_iter()
            .next()
    });
    compared(name, document, sheet)
}

fn write_comparison(out: &mut impl Write, compared: &[Compared]) -> io::Result<()> {
    write_finding(out, compared)?;
    let names: Vec<String> = compared
        .iter()
        .map(|one| terminal::quoted(&one.name))
        .collect();
    let mut header = vec![""];
    header.extend(names.iter().map(String::as_str));
    let quantities = JointQuantity::ALL.map(|quantity| {
        let mut cells = vec![quantity.definition().label.to_owned()];
        cells.extend(compared.iter().map(|one| cell(quantity, one, &compared[0])));
        cells
    });
    write_rows(out, &header, quantities)?;
    paragraph(
        out,
        "Medians with 90 % intervals; * identified. In brackets: the ratio to the first.",
        0,
    )?;
    writeln!(out)?;
    let sheets: Vec<Option<&PriceSheet>> = compared.iter().map(|one| one.sheet.as_ref()).collect();
    write_rows(out, &header, terms::rows(&sheets))?;
    paragraph(
        out,
        "Prices of the standard tier per million tokens, of the author's own offer where there is one.",
        0,
    )
}

/// The median with its ratio to that of the first, and the interval below it.
fn cell(quantity: JointQuantity, one: &Compared, first: &Compared) -> String {
    let Some(estimate) = one.estimated.quantity(quantity) else {
        return "–".to_owned();
    };
    let mark = if estimate.identified { " *" } else { "" };
    let of_first = first.estimated.quantity(quantity);
    let ratio = of_first.filter(|_| !std::ptr::eq(one, first)).map(|first| {
        let ratio = estimate.median / first.median;
        format!(" ({}×)", compact(ratio))
    });
    format!(
        "{}{mark}{}\n{}",
        compact(estimate.median),
        ratio.unwrap_or_default(),
        interval(estimate.interval_90, compact)
    )
}

/// The finding in a sentence: which is the largest, by how much, and whether that is sure.
fn write_finding(out: &mut impl Write, compared: &[Compared]) -> io::Result<()> {
    let active = JointQuantity::ActiveParameters;
    let mut known: Vec<_> = compared
        .iter()
        .filter_map(|one| Some((one, one.estimated.quantity(active)?)))
        .filter(|(_, estimate)| estimate.identified)
        .collect();
    known.sort_by(|(_, left), (_, right)| right.median.total_cmp(&left.median));
    let unknown: Vec<String> = compared
        .iter()
        .filter(|one| !known.iter().any(|(known, _)| std::ptr::eq(*known, *one)))
        .map(|one| terminal::quoted(&one.name))
        .collect();
    let mut parts = Vec::new();
    if let (Some((largest, most)), Some((smallest, least))) = (known.first(), known.last())
        && known.len() > 1
    {
        let overlap = if most.interval_90.low <= least.interval_90.high {
            "their 90 % intervals overlap"
        } else {
            "their 90 % intervals do not overlap"
        };
        parts.push(format!(
            "{} has probably {} times the active parameters of {} ({} against {}; {overlap})",
            label(&terminal::quoted(&largest.name)),
            readable((10.0 * most.median / least.median).round() / 10.0),
            terminal::quoted(&smallest.name),
            compact(most.median),
            compact(least.median),
        ));
    }
    if !unknown.is_empty() {
        parts.push(format!(
            "active parameters are not identified for {}",
            unknown.join(", ")
        ));
    }
    if parts.is_empty() {
        return Ok(());
    }
    paragraph(out, &format!("{}.", parts.join("; ")), 0)?;
    writeln!(out)
}

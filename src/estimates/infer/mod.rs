//! `unroof infer`: the answer to a sheet, without a server.

mod markdown;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;

use super::calibration::CalibrationArguments;
use super::evidence;
use super::report::{self, Grounds};
use super::sheets::Sheets;
use crate::record::source::SourceArguments;
use crate::shell::input::read_input;
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};
use unroof_base::shell::word;
use unroof_infer::estimate::{Answer, CancelToken, Format, read_file};
use unroof_price_sheet::catalog::{CATALOGS, Catalog};
use unroof_store::clock::Clock;

/// Arguments of `unroof infer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof infer openai/gpt-5.4
  unroof infer examples/anthropic_claude-opus-5-5.json --assumptions '{\"speed_multiplier\": {\"fast\": 2.5}}'
  unroof infer sheets.json --assumptions @machine.json --json | jq '.readings[] | select(.value)'
  unroof infer --markdown examples/google_gemini-2.5-pro.json examples/openai_gpt-5.4.json
  curl -s https://example.com/litellm.json | unroof infer - --format litellm --model gpt-5.4")]
pub(crate) struct InferArguments {
    /// Files with a price sheet, a request, or a list of them; names of built-in examples such as openai/gpt-5.4, or of stored
    /// offers, models and sheets; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file is a whole catalog of this format or a bare entry of it; the canonical pricesheet/v1 if left out
    #[arg(long, requires = "model", value_parser = catalog_by_name())]
    format: Option<&'static Catalog>,
    /// The entry's key in its catalog
    #[arg(long, requires = "format", value_name = "NAME")]
    model: Option<String>,
    /// Assumptions stated about the machine: JSON, or @ and the name of a file with it
    #[arg(long, value_name = "JSON|@FILE")]
    assumptions: Option<String>,
    /// Public facts beside the prices, such as knowledge scores: a CSV table or a JSON list with the columns model, kind,
    /// benchmark, accuracy, effort, architecture, source and date
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Print the answer as HTTP gives it; a list where there is more than one
    #[arg(long)]
    json: bool,
    /// Print the answers as a page in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Show the grounds too: the sheet, every reading with its equation in numbers, the values used
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    readings: bool,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    source: SourceArguments,
}

/// Takes the name of a catalog.
pub(crate) fn catalog_by_name() -> impl TypedValueParser<Value = &'static Catalog> {
    PossibleValuesParser::new(CATALOGS.map(Catalog::name)).try_map(|name| name.parse())
}

/// The format of a file that is a catalog with an entry of this key, or of a canonical sheet.
pub(crate) fn format_of(entry: Option<(&'static Catalog, &str)>, at: Timestamp) -> Format {
    entry.map_or(Format::Canonical, |(catalog, key)| Format::Entry {
        catalog,
        model: key.to_owned(),
        at,
    })
}

pub(crate) fn run(arguments: &InferArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let stated = arguments
        .assumptions
        .as_deref()
        .map(read_stated)
        .transpose()?;
    let entry = arguments.format.zip(arguments.model.as_deref());
    let format = format_of(entry, Clock::system().now());
    let mut sheets = Sheets::new(&arguments.source, verbosity);
    let mut requests = Vec::new();
    let mut is_list = arguments.files.len() > 1;
    for path in &arguments.files {
        let file = read_file(&sheets.read(path)?, &format, stated.as_deref());
        let file = file.map_err(|error| match arguments.files.len() {
            1 => Failure::Refused(error),
            _ => Failure::RefusedIn(path.clone(), error),
        })?;
        is_list |= file.is_list;
        requests.extend(file.requests);
    }
    if let Some(file) = &arguments.evidence {
        evidence::add(file, &mut requests)?;
    }
    let estimator = arguments.calibration.estimator()?;
    let answers: Vec<Answer> = requests
        .iter()
        .map(|request| estimator.infer(request, &CancelToken::default()))
        .collect::<Result<_, _>>()
        .context("the estimate was interrupted")?;
    let mut out = terminal::stdout();
    if arguments.json {
        let text = match answers.as_slice() {
            [answer] if !is_list => serde_json::to_string(answer),
            answers => serde_json::to_string(answers),
        };
        let text = text.context("the answer could not be serialised")?;
        writeln!(out, "{text}")?;
    } else if arguments.markdown {
        let command = command(&arguments.files);
        let page = markdown::page(&command, &answers, estimator.calibration());
        out.write_all(page.as_bytes())?;
    } else {
        let grounds = if arguments.readings {
            Grounds::Shown
        } else {
            Grounds::LeftOut
        };
        for (request, answer) in requests.iter().zip(&answers) {
            report::write(&mut out, &request.sheets, answer, grounds)?;
        }
    }
    Ok(())
}

/// The command that makes the page again.
fn command(files: &[PathBuf]) -> String {
    let files = files.iter().map(|file| file.display().to_string());
    let files = files.map(|file| format!(" {}", word(&file)));
    format!("unroof infer --markdown{}", files.collect::<String>())
}

fn read_stated(argument: &str) -> Result<Vec<u8>, Failure> {
    match argument.strip_prefix('@') {
        Some(file) => read_input(Path::new(file)),
        None => Ok(argument.as_bytes().to_vec()),
    }
}

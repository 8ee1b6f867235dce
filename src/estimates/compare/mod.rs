//! `unroof compare`: the estimates and the prices of several models side by side.

mod compared;
mod probabilities;
mod table;
mod terms;

use std::path::Path;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::Value;
use unroof_infer::estimate::{CancelToken, Format, read_file};

use super::calibration::CalibrationArguments;
use super::sheets::example;
use super::show::{self, Wanted};
use crate::record::names;
use crate::record::source::{Document, Source, SourceArguments};
use crate::shell::input::read_input;
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};
use compared::Compared;
use table::Comparison;

/// Arguments of `unroof compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof compare openai/gpt-5.4 google/gemini-3.1-pro
  unroof compare gpt-5 gpt-5-mini gpt-5-nano --json
  unroof compare before.json after.json")]
pub(crate) struct CompareArguments {
    /// Two to six: files with a price sheet, stored models or offers, built-in examples
    #[arg(required = true, num_args = 2..=6, value_name = "NAME")]
    names: Vec<String>,
    /// Print the answer of GET /compare; the estimates as a list where not all are models
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    source: SourceArguments,
}

pub(crate) fn run(arguments: &CompareArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let mut lookup = Lookup {
        arguments,
        source: Some(arguments.source.open(verbosity)),
    };
    let found = arguments.names.iter().map(|name| lookup.find(name));
    let compared: Vec<Compared> = found.collect::<Result<_, _>>()?;
    let comparison = lookup.compare(&compared);
    if arguments.json {
        if let Some(comparison) = comparison? {
            return crate::print_line(&comparison.text);
        }
        let documents: Vec<&Value> = compared.iter().map(|compared| &compared.document).collect();
        let text = serde_json::to_string(&documents);
        return crate::print_line(&text.context("the estimates could not be serialised")?);
    }
    // Estimates of another version have no draws to compare, and are compared without.
    let comparison = comparison.ok().flatten();
    let probabilities = comparison.map(|comparison| comparison.read()).transpose()?;
    let table = Comparison {
        compared: &compared,
        probabilities: probabilities.unwrap_or_default(),
    };
    Ok(table.write(&mut terminal::stdout())?)
}

/// Search for names: files, then what is stored, then the built-in examples.
struct Lookup<'a> {
    arguments: &'a CompareArguments,
    /// Source that is asked; none once its failure was reported.
    source: Option<Result<Source, Failure>>,
}

impl Lookup<'_> {
    fn find(&mut self, name: &str) -> Result<Compared, Failure> {
        if Path::new(name).exists() {
            let text = read_input(Path::new(name))?;
            return self.inferred(name, &text);
        }
        let built_in = example(name);
        // A database may be missing, unless it was named.
        let may_fail = built_in.is_some() && !self.arguments.source.is_stated();
        if !may_fail && matches!(self.source, Some(Err(_))) {
            return match self.source.take() {
                Some(Err(failure)) => Err(failure),
                _ => Err(Failure::Other(anyhow!("nothing is stored"))),
            };
        }
        if let Some(Ok(source)) = &self.source {
            let wanted = Wanted {
                name,
                ..Wanted::default()
            };
            if let Some(document) = show::find(source, &wanted)? {
                return Compared::stored(source, name, &document);
            }
            if built_in.is_none() {
                return Err(names::unknown(source, name)?);
            }
        }
        self.inferred(name, built_in.unwrap_or_default().as_bytes())
    }

    /// The comparison of models, where all are stored models.
    fn compare(&self, compared: &[Compared]) -> Result<Option<Document>, Failure> {
        let models: Option<Vec<&str>> = compared.iter().map(Compared::model).collect();
        match (&self.source, models) {
            (Some(Ok(source)), Some(models)) => {
                let query: Vec<_> = models.into_iter().map(|model| ("model", model)).collect();
                source.find(&["compare"], &query)
            }
            _ => Ok(None),
        }
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
        Compared::new(name, document, request.sheets.first().cloned())
    }
}

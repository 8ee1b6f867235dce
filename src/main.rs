//! The command line: one file per command.

mod calculators;
mod estimates;
mod record;
mod service;
mod shell;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

pub(crate) use crate::shell::verbosity::Verbosity;
use unroof_base::input::RequestError;
use unroof_base::input::cursor::Fault;
use unroof_store::DatabaseUrl;
use unroof_telemetry::{TARGET, Telemetry};

/// Returns memory to the system after a burst of large answers; the C library's allocator keeps it, for each thread. SQLite
/// allocates by it too: its feature `unprefixed_malloc_on_supported_platforms` replaces `malloc`.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Take the roof off a price sheet: what an LLM provider's public prices reveal about the machine behind them.
#[derive(Debug, Parser)]
#[command(name = "unroof", version = VERSION, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

/// The version, with the commit of the build where it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("UNROOF_COMMIT"));

const EXAMPLES: &str = "\
Examples:
  unroof infer openai/gpt-5.4
  unroof infer examples/google_gemini-2.5-pro.json --readings
  unroof import https://models.dev/api.json
  unroof models gpt --sort active
  unroof show openai/gpt-5
  unroof serve --examples";

#[derive(Debug, Subcommand)]
enum Command {
    /// Estimate from a price sheet, without a server or a database
    Infer(crate::estimates::infer::InferArguments),
    /// Import whole catalogs into the database: every entry read, every pricing decision estimated once
    Import(crate::record::import::ImportArguments),
    /// List imports, accept or discard those that are held, and undo one as a whole
    Imports(crate::record::imports::ImportsArguments),
    /// List what hosts of open models ask over the cost of serving them
    Margins(crate::estimates::margins::MarginsArguments),
    /// List the stored estimates of models
    Models(crate::estimates::models::ModelsArguments),
    /// Show the stored estimate of a model or of an offer, with its prices and margins
    #[command(alias = "model")]
    Show(crate::estimates::show::ShowArguments),
    /// Show the prices of an offer over time, with what changed
    History(crate::record::history::HistoryArguments),
    /// Show what changed: prices, offers, estimates
    Changes(crate::record::changes::ChangesArguments),
    /// Compare two to six models: estimates and prices side by side
    Compare(crate::estimates::compare::CompareArguments),
    /// Search names of providers and models by their beginning
    Search(crate::record::search::SearchArguments),
    /// Compute the exact cost of a usage, or of a list of usages
    Cost(Box<crate::estimates::cost::CostArguments>),
    /// Simulate a model on a machine: time, speed, memory, cost, and the price sheet it implies
    Simulate(crate::calculators::simulate::SimulateArguments),
    /// Lay a model out on racks: experts, traffic, pipeline stages, memory per GPU
    Layout(crate::calculators::layout::LayoutArguments),
    /// Plan the serving of a model: layouts within limits on latency, ranked by cost
    Plan(crate::calculators::plan::PlanArguments),
    /// Plan the training of a model: tokens, compute, overtraining, activations, sparsity
    Training(crate::calculators::training::TrainingArguments),
    /// Score the joint estimate on open-weight models, each with a calibration fitted without its family
    Validate(crate::estimates::validate::ValidateArguments),
    /// Serve the HTTP API
    Serve(Box<crate::service::serve::ServeArguments>),
    /// Delete stored answers to questions
    Estimates(crate::estimates::delete::EstimatesArguments),
    /// Create, list and revoke keys of a service
    Keys(crate::record::keys::KeysArguments),
    /// Back up an SQLite database while a service writes to it, and check the copy
    Backup(crate::record::backup::BackupArguments),
    /// Check the integrity of the database: estimates computed again, checksums, histories
    Check(crate::record::check::CheckArguments),
    /// Migrate the database to the current schema
    Migrate(crate::record::migrate::MigrateArguments),
    /// Check that a running service is healthy: exits with 0 or 1
    Healthcheck(crate::service::healthcheck::HealthcheckArguments),
    /// Print the OpenAPI document
    Openapi,
    /// Print the JSON Schema of the canonical price sheet
    Schema,
    /// Print the completions of a shell
    Completions(crate::shell::completions::CompletionsArguments),
    /// Print the manual page
    Man(crate::shell::man::ManArguments),
}

/// The text of a file that the command line names.
pub(crate) fn text_of(file: &std::path::Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(Failure::Usage)
}

/// Database and log options.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArguments {
    /// `postgres://user@host/database` (PostgreSQL, tried with 15) or `sqlite:path`; an embedded file if left out
    ///
    /// The file is `$XDG_DATA_HOME/unroof/unroof.db`, else `~/.local/share/unroof/unroof.db`.
    #[arg(
        long,
        global = true,
        env = "UNROOF_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database_url: Option<DatabaseUrl>,
    /// The database's server itself, if `--database-url` leads through a pooler in transaction mode, such as PgBouncer
    ///
    /// `serve` uses it for migrations and LISTEN, every other command for everything.
    #[arg(
        long,
        global = true,
        env = "UNROOF_DIRECT_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) direct_database_url: Option<DatabaseUrl>,
    /// Format of the log on standard error
    #[arg(long, global = true, env = "UNROOF_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Log level, or levels by module such as `info,sqlx=warn`, which is that of `serve`; else `warn`
    #[arg(long, global = true, env = "UNROOF_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Invalid input of the command.
    Refused(RequestError),
    /// Invalid input in one of several files.
    RefusedIn(PathBuf, RequestError),
    /// Invalid command line.
    Usage(anyhow::Error),
    /// Stopped from the keyboard, or by another signal.
    Interrupted(anyhow::Error),
    /// Any other failure.
    Other(anyhow::Error),
    /// A failure, and what to do about it.
    Hinted(Box<Self>, String),
}

impl Failure {
    /// Failure with a hint.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self::Hinted(Box::new(self), hint.into())
    }

    /// Exit code after Ctrl-C, as in shells, and after another signal.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Exit code: 2 for a wrong command line, 130 where it was stopped, else 1.
    fn code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Interrupted(_) => ExitCode::from(Self::INTERRUPTED),
            Self::Hinted(failure, _) => failure.code(),
            _ => ExitCode::FAILURE,
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::Refused(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.into())
    }
}

/// Runs the command. Exit codes: 0 success, 1 failure, 2 usage error, 130 stopped by a signal.
fn main() -> ExitCode {
    let matches = crate::shell::help::command().try_get_matches();
    let command_line = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
    let CommandLine { verbosity, command } = match command_line {
        Ok(command_line) => command_line,
        Err(error) if crate::shell::help::is_help(&error) => {
            return ended(crate::shell::help::print(&error));
        }
        Err(error) => crate::shell::terminal::without_typed_secrets(error).exit(),
    };
    ended(answer(command, verbosity))
}

fn answer(command: Command, verbosity: Verbosity) -> Result<(), Failure> {
    match command {
        Command::Infer(arguments) => crate::estimates::infer::run(&arguments, verbosity),
        Command::Import(arguments) => crate::record::import::run(&arguments, verbosity),
        Command::Imports(arguments) => crate::record::imports::run(&arguments, verbosity),
        Command::Margins(arguments) => crate::estimates::margins::run(&arguments, verbosity),
        Command::Models(arguments) => crate::estimates::models::run(&arguments, verbosity),
        Command::Show(arguments) => crate::estimates::show::run(&arguments, verbosity),
        Command::History(arguments) => crate::record::history::run(&arguments, verbosity),
        Command::Changes(arguments) => crate::record::changes::run(&arguments, verbosity),
        Command::Compare(arguments) => crate::estimates::compare::run(&arguments, verbosity),
        Command::Search(arguments) => crate::record::search::run(&arguments, verbosity),
        Command::Cost(arguments) => crate::estimates::cost::run(&arguments, verbosity),
        Command::Simulate(arguments) => crate::calculators::simulate::run(&arguments),
        Command::Layout(arguments) => crate::calculators::layout::run(&arguments),
        Command::Plan(arguments) => crate::calculators::plan::run(&arguments),
        Command::Training(arguments) => crate::calculators::training::run(&arguments),
        Command::Validate(arguments) => crate::estimates::validate::run(&arguments),
        Command::Serve(arguments) => crate::service::serve::run(&arguments, verbosity),
        Command::Estimates(arguments) => crate::estimates::delete::run(&arguments, verbosity),
        Command::Keys(arguments) => crate::record::keys::run(&arguments, verbosity),
        Command::Backup(arguments) => crate::record::backup::run(&arguments, verbosity),
        Command::Check(arguments) => crate::record::check::run(&arguments, verbosity),
        Command::Migrate(arguments) => crate::record::migrate::run(&arguments, verbosity),
        Command::Healthcheck(arguments) => crate::service::healthcheck::run(&arguments),
        Command::Openapi => print(unroof_server::document()),
        Command::Schema => print_json(&unroof_price_sheet::sheet::json_schema()),
        Command::Completions(arguments) => crate::shell::completions::run(&arguments),
        Command::Man(arguments) => crate::shell::man::run(&arguments),
    }
}

/// The exit code of an outcome, which is reported if it is a failure.
fn ended(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report_failure(&failure),
    }
}

pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(document).context("the document could not be serialised")?;
    print(&format!("{text}\n"))
}

pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(crate::shell::terminal::stdout().write_all(text.as_bytes())?)
}

pub(crate) fn report_failure(failure: &Failure) -> ExitCode {
    if matches!(failure, Failure::Other(error) if is_closed_pipe(error)) {
        return ExitCode::SUCCESS;
    }
    // An error of standard error itself cannot be reported.
    let _ = write_failure(&mut crate::shell::terminal::stderr(), failure);
    failure.code()
}

fn write_failure(out: &mut impl Write, failure: &Failure) -> io::Result<()> {
    match failure {
        Failure::Refused(error) => report_refusal(out, error),
        Failure::RefusedIn(file, error) => {
            let place = format!("`{}` cannot be used:", file.display());
            write_labelled(out, "error:", &place)?;
            report_refusal(out, error)
        }
        Failure::Usage(error) | Failure::Other(error) | Failure::Interrupted(error) => {
            report_causes(out, error)
        }
        Failure::Hinted(failure, hint) => {
            write_failure(out, failure)?;
            write_labelled(out, "hint:", hint)
        }
    }
}

fn report_refusal(out: &mut impl Write, error: &RequestError) -> io::Result<()> {
    match error {
        RequestError::Unreadable(error) => {
            write_labelled(out, "error:", &error.to_string())?;
            write_labelled(out, "hint:", error.hint)
        }
        RequestError::Wrong(faults) => report_faults(out, faults),
    }
}

fn report_faults(out: &mut impl Write, faults: &[Fault]) -> io::Result<()> {
    for fault in faults {
        let place = if fault.pointer.is_empty() {
            String::new()
        } else {
            format!("{}: ", fault.pointer)
        };
        write_labelled(out, "error:", &format!("{place}{}", fault.detail))?;
        write_labelled(out, "hint:", &fault.hint)?;
    }
    Ok(())
}

fn report_causes(out: &mut impl Write, error: &anyhow::Error) -> io::Result<()> {
    write_labelled(out, "error:", &error.to_string())?;
    error
        .chain()
        .skip(1)
        .try_for_each(|cause| write_labelled(out, "caused by:", &cause.to_string()))
}

/// Writes a labelled line; the text may quote untrusted input.
fn write_labelled(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(
        out,
        "{} {}",
        label(name),
        crate::shell::terminal::quoted(text)
    )
}

/// Whether the reader of the output closed the pipe, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

pub(crate) fn label(text: &str) -> String {
    let style = anstyle::Style::new().bold();
    format!("{style}{text}{style:#}")
}

impl DatabaseArguments {
    /// Starts the log, at this level unless another is stated.
    pub(crate) fn start_logging(&self, usual: &str) -> Result<(), Failure> {
        self.start_logging_and_tracing(usual, None)
    }

    /// Starts the log, at this level unless another is stated, with traces for a receiver.
    pub(crate) fn start_logging_and_tracing(
        &self,
        usual: &str,
        telemetry: Option<&Telemetry>,
    ) -> Result<(), Failure> {
        let stated = self.log.as_deref();
        let filter: Targets = stated
            .unwrap_or(usual)
            .parse()
            .map_err(|error| Failure::Usage(anyhow::anyhow!("--log: {error}")))?;
        // These modules log raw traffic, including credentials of catalog addresses.
        let filter = filter
            .with_target("ureq", LevelFilter::INFO)
            .with_target("ureq_proto", LevelFilter::INFO)
            // Spans of traces repeat what the log has.
            .with_target(TARGET, LevelFilter::OFF);
        let has_styles = self.log_format == LogFormat::Text
            && anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || crate::shell::terminal::LogLines { has_styles });
        let lines = match self.log_format {
            LogFormat::Text => lines.with_ansi(has_styles).boxed(),
            LogFormat::Json => lines.json().boxed(),
        };
        let registry = tracing_subscriber::registry();
        match telemetry {
            // One filter for all: what the log leaves out costs nothing.
            None => registry.with(lines).with(filter).init(),
            Some(telemetry) => registry
                .with(lines.with_filter(filter))
                .with(telemetry.layer())
                .init(),
        }
        Ok(())
    }

    /// The database, without a pooler.
    pub(crate) fn database_url(&self) -> Result<DatabaseUrl, Failure> {
        match &self.direct_database_url {
            Some(url) => Ok(url.clone()),
            None => self.stated_url(),
        }
    }

    /// The database, by way of a pooler if there is one.
    pub(crate) fn stated_url(&self) -> Result<DatabaseUrl, Failure> {
        match &self.database_url {
            Some(url) => Ok(url.clone()),
            None => default_database(),
        }
    }
}

fn default_database() -> Result<DatabaseUrl, Failure> {
    let folder = |variable: &str| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(std::path::PathBuf::from)
    };
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
    let data = data.context("neither XDG_DATA_HOME nor HOME is set; set --database-url");
    Ok(DatabaseUrl::Sqlite(
        data.map_err(Failure::Usage)?
            .join("unroof")
            .join("unroof.db"),
    ))
}

#[cfg(test)]
mod tests {

    #[test]
    fn the_command_line_is_consistent() {
        crate::shell::help::command().debug_assert();
    }
}

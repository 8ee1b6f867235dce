//! `unroof check`: the integrity of a database, which is only read.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use uuid::Uuid;

use crate::estimates::calibration::CalibrationArguments;
use crate::estimates::report::number;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_store::clock::Clock;
use unroof_store::integrity::{Checked, Checker, Fault, Part, Sample, Watch};
use unroof_store::{RowCounts, Store, StoreLimits};

/// Arguments of `unroof check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof check
  unroof check --sample 500 --database-url postgres://unroof@db/unroof")]
pub(crate) struct CheckArguments {
    /// Number of estimates to compute again, from a random one on; all if left out
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(crate) fn run(arguments: &CheckArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let estimator = arguments.calibration.estimator()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let began = Instant::now();
    let checked = runtime.block_on(async {
        let opened = Store::open_to_read(&url, StoreLimits::without_timeouts()).await;
        let store = opened.with_context(|| format!("cannot open the database {url}"))?;
        let checker = Checker {
            store,
            estimator,
            clock: Clock::system(),
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            is_in_background: false,
            sample: arguments.sample.map(|count| Sample {
                count,
                after: Uuid::new_v4(),
            }),
        };
        let rows = checker.rows().await.context("cannot count the rows")?;
        let mut lines = Lines::new(rows, verbosity.is_quiet());
        let ended = checker.check(&mut lines).await;
        lines.bar.finish_and_clear();
        lines.written?;
        ended.with_context(|| format!("cannot check {url}"))
    })?;
    write_summary(&checked, began.elapsed().as_secs_f64())?;
    if checked.faults > 0 {
        let error = anyhow!("{url} has {}", number(checked.faults, "fault"));
        return Err(Failure::Other(error)
            .with_hint("restore the rows from a backup; the guide to operations says how"));
    }
    Ok(())
}

fn write_summary(checked: &Checked, seconds: f64) -> std::io::Result<()> {
    let mut out = terminal::stdout();
    writeln!(
        out,
        "{}, {} ({} computed again, {} of another engine or calibration), {} checked in {seconds:.1} s: {}",
        number(checked.sheets, "price sheet"),
        number(checked.estimates, "estimate"),
        checked.repeated,
        checked.by_others,
        number(checked.offers, "offer"),
        number(checked.faults, "fault"),
    )?;
    if checked.unsettled > 0 {
        writeln!(
            out,
            "{} not compared: an import is running; check again when it has ended",
            number(checked.unsettled, "offer")
        )?;
    }
    Ok(())
}

/// Faults as lines on standard output, and the progress as a bar on standard error, where that is a terminal.
struct Lines {
    rows: RowCounts,
    bar: ProgressBar,
    written: std::io::Result<()>,
}

impl Lines {
    fn new(rows: RowCounts, is_quiet: bool) -> Self {
        let bar = ProgressBar::no_length();
        if is_quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg} [{bar:20}] {human_pos}/{human_len}, {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            rows,
            bar,
            written: Ok(()),
        }
    }
}

impl Watch for Lines {
    fn begin(&mut self, part: Part) {
        let (name, count) = match part {
            Part::Sheets => ("price sheets", self.rows.sheets),
            Part::Estimates => ("estimates", self.rows.estimates),
            Part::Histories => ("histories", self.rows.offers),
        };
        self.bar.reset();
        self.bar.set_length(count.unsigned_abs());
        self.bar.set_message(name);
    }

    fn advance(&mut self, rows: usize) {
        self.bar.inc(rows as u64);
    }

    fn fault(&mut self, fault: &Fault) {
        if self.written.is_ok() {
            let line = terminal::quoted(&fault.to_string());
            self.written = self.bar.suspend(|| writeln!(terminal::stdout(), "{line}"));
        }
    }
}

//! `unroof check`: the integrity of a database, which is only read unless it is repaired.

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
use unroof_import::integrity::{Checked, Checker, Fault, Part, Sample, Watch};
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, RowCounts, ServingLock, Store, StoreLimits, link_text};

use crate::record::migrate::open_store;

/// Arguments of `unroof check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof check
  unroof check --head
  unroof check --repair
  unroof check --sample 500 --database-url postgres://unroof@db/unroof")]
pub(crate) struct CheckArguments {
    /// Number of estimates to compute again, from a random one on; all if left out
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    /// Derive damaged rows again from documents and from what was seen; not while a service uses an SQLite file
    #[arg(long)]
    repair: bool,
    /// Print the heads of the chains of changes and of the audit log, to be noted elsewhere
    #[arg(long)]
    head: bool,
    /// Head that was noted earlier, in hexadecimal: a fault where it is in no chain any more
    #[arg(long, value_name = "HASH", value_parser = link_of)]
    expect_head: Option<Link>,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    database: DatabaseArguments,
}

/// A link of a chain.
#[derive(Debug, Clone)]
struct Link(Vec<u8>);

fn link_of(text: &str) -> Result<Link, String> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(|index| byte(2 * index)).collect();
    let bytes = bytes.filter(|_| text.len() == 64);
    bytes.map(Link).ok_or_else(|| {
        "write the 64 hexadecimal digits that `unroof check --head` prints".to_owned()
    })
}

pub(crate) fn run(arguments: &CheckArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let estimator = arguments.calibration.estimator()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let began = Instant::now();
    let (checked, found) = runtime.block_on(async {
        let (store, _lock) = open(arguments, &url).await?;
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
            expected_link: arguments
                .expect_head
                .as_ref()
                .map(|link| link.0.clone())
                .unwrap_or_default(),
        };
        let (outcome, found) = check(&checker, arguments.repair, verbosity).await?;
        if found > 0 {
            let words = format!("{} found, {} left", number(found, "fault"), outcome.faults);
            let noted = checker.store.note_repair(checker.clock.now(), words).await;
            noted.context("cannot note the repair in the audit log")?;
        }
        anyhow::Ok((outcome, found))
    })?;
    write_summary(&checked, began.elapsed().as_secs_f64())?;
    if arguments.repair {
        let (found, left) = (number(found, "fault"), checked.faults);
        writeln!(
            terminal::stdout(),
            "{found} found, {left} could not be repaired"
        )?;
    }
    if arguments.head {
        write_heads(&checked)?;
    }
    if checked.faults > 0 {
        let error = anyhow!("{url} has {}", number(checked.faults, "fault"));
        return Err(Failure::Other(error)
            .with_hint("repair what follows from documents and facts with --repair, or restore a backup; the guide to operations says how"));
    }
    if arguments.expect_head.is_some() && !checked.has_expected {
        let error = anyhow!("the expected head is in no chain of {url}");
        return Err(Failure::Other(error)
            .with_hint("rows were removed or replaced since it was noted, or have expired; compare with a backup"));
    }
    Ok(())
}

/// Opens the database: to read, or to repair it.
async fn open(
    arguments: &CheckArguments,
    url: &DatabaseUrl,
) -> anyhow::Result<(Store, Option<ServingLock>)> {
    let limits = StoreLimits::without_timeouts();
    if !arguments.repair {
        let opened = Store::open_to_read(url, limits).await;
        return Ok((
            opened.with_context(|| format!("cannot open the database {url}"))?,
            None,
        ));
    }
    let lock = ServingLock::take(url).context("a database in use is not repaired")?;
    Ok((open_store(url, limits).await?, lock))
}

/// Repairs a database, if that is wanted, and checks it; how many faults there were before the repair.
async fn check(
    checker: &Checker,
    repairs: bool,
    verbosity: Verbosity,
) -> anyhow::Result<(Checked, usize)> {
    let rows = checker.rows().await.context("cannot count the rows")?;
    let mut lines = Lines::new(rows, verbosity.is_quiet());
    let found = if repairs {
        checker.repair(&mut lines).await
    } else {
        Ok(0)
    };
    let ended = checker.check(&mut lines).await;
    lines.bar.finish_and_clear();
    lines.written?;
    let found = found.context("the repair ended early")?;
    Ok((ended.context("the check ended early")?, found))
}

fn write_heads(checked: &Checked) -> std::io::Result<()> {
    let mut out = terminal::stdout();
    for (name, head) in ["changes", "audit log"].into_iter().zip(&checked.heads) {
        let head = if head.is_empty() {
            "none yet".to_owned()
        } else {
            link_text(head)
        };
        writeln!(out, "head of the {name}: {head}")?;
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
            Part::Rows => ("rows", 0),
            Part::Chains => ("chains", 0),
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

//! Progress of `unroof import`, and what it says where it is stopped from the keyboard.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, anyhow};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{Failure, report_failure};

/// Interval at which a waiting bar moves.
const TICK: Duration = Duration::from_millis(120);
/// Template of the bar before the number of entries is known.
const READING: &str = "{spinner} {msg}, {elapsed}";
/// Template of the bar once the number of entries is known.
const COUNTING: &str = "{msg} [{bar:20}] {human_pos}/{human_len}, {rate}, {left}";

/// A bar on standard error, for people; the same bar is that of all catalogs and of the models after them.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar, hidden where standard error goes elsewhere than to a terminal.
    pub(crate) fn new(is_hidden: bool) -> Self {
        let bar = ProgressBar::no_length();
        if is_hidden || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { bar }
    }

    /// Waits for something of unknown length.
    pub(super) fn wait(&self, what: String) {
        self.bar.reset();
        self.bar.set_style(style(READING));
        self.bar.set_message(what);
        self.bar.enable_steady_tick(TICK);
    }

    /// Counts from now on.
    pub(super) fn count(&self, what: impl Into<String>, length: usize) {
        self.bar.reset();
        self.bar.set_style(style(COUNTING));
        self.bar.set_length(length as u64);
        self.bar.set_message(what.into());
    }

    /// One more is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Shows that at least so many are done.
    pub(super) fn reach(&self, done: usize) {
        self.bar.set_position(self.bar.position().max(done as u64));
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Ends the process on Ctrl-C, with a word on how to continue. What was stored is committed.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(super) fn end_on_interrupt(&self, is_dry_run: bool) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        let progress = self.clone();
        let wait = move || {
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                let (done, length) = (progress.bar.position(), progress.bar.length());
                progress.clear();
                let _ = report_failure(&stopped(done, length, is_dry_run));
                std::process::exit(Failure::INTERRUPTED.into());
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(wait).context("cannot listen for signals")?;
        Ok(())
    }
}

fn stopped(done: u64, length: Option<u64>, is_dry_run: bool) -> Failure {
    let place = match length {
        Some(length) => format!("stopped after {done} of {length}"),
        None => "stopped".to_owned(),
    };
    let hint = if is_dry_run {
        "nothing was stored"
    } else {
        "what was stored stays; the same command continues where it stopped"
    };
    Failure::Interrupted(anyhow!(place)).with_hint(hint)
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style
        .progress_chars("=> ")
        .with_key("rate", rate)
        .with_key("left", time_left)
}

/// Entries per second, in two digits.
fn rate(state: &ProgressState, out: &mut dyn Write) {
    let rate = state.per_sec();
    let decimals = usize::from(rate < 9.5);
    // An error of the terminal is none of the import.
    let _ = write!(out, "{rate:.decimals$}/s");
}

/// The time that is left, from the first entry on.
fn time_left(state: &ProgressState, out: &mut dyn Write) {
    // An error of the terminal is none of the import.
    let _ = if state.pos() == 0 {
        write!(out, "begun {} ago", HumanDuration(state.elapsed()))
    } else {
        write!(out, "{} left", HumanDuration(state.eta()))
    };
}

//! `unroof backup`: a checked copy of an SQLite database while a service writes to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::HumanBytes;

use crate::service::stop;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_store::{BackupError, DatabaseUrl, back_up};

/// Arguments of `unroof backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof backup unroof-backup.db
  unroof backup --database-url sqlite:/data/unroof.db \"/backup/unroof-$(date +%F).db\"")]
pub(crate) struct BackupArguments {
    /// File to write, which must not exist; only its owner can read it
    file: PathBuf,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(crate) fn run(arguments: &BackupArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let began = Instant::now();
    let bytes = runtime.block_on(back_up_unless_stopped(&url, &arguments.file));
    // An interrupted copy is not waited for.
    runtime.shutdown_background();
    let (bytes, seconds) = (bytes?, began.elapsed().as_secs_f64());
    writeln!(
        terminal::stdout(),
        "{url} is backed up to `{}` and checked: {} in {seconds:.1} s",
        arguments.file.display(),
        HumanBytes(bytes)
    )?;
    Ok(())
}

async fn back_up_unless_stopped(url: &DatabaseUrl, file: &Path) -> Result<u64, Failure> {
    // Before there is a file that a signal could leave behind.
    let asked_to_end = stop::asked_to_end().context("cannot listen for signals")?;
    tokio::select! {
        made = back_up(url, file) => made.map_err(|error| failure(url, error)),
        () = asked_to_end => Err(Failure::Interrupted(anyhow!("stopped; no file is left"))),
    }
}

fn failure(url: &DatabaseUrl, error: BackupError) -> Failure {
    let is_on_server = matches!(error, BackupError::OnServer);
    let is_usage = is_on_server || matches!(error, BackupError::Exists(_) | BackupError::Name);
    let error = anyhow::Error::new(error).context(format!("cannot back up {url}"));
    if is_on_server {
        return Failure::Usage(error).with_hint(
            "a PostgreSQL database is backed up with `pg_dump --format=custom`, or with `pg_basebackup` and its write-ahead log",
        );
    }
    if is_usage {
        return Failure::Usage(error);
    }
    Failure::Other(error)
}

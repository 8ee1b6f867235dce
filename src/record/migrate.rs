//! `unroof migrate`: migrates the database without serving.

use std::io::Write;

use anyhow::Context;
use clap::Args;

use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_store::{Store, StoreLimits};

/// Arguments of `unroof migrate`.
#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Existing PostgreSQL role that gets read access to the views of the schema `reporting`, and nothing else
    #[arg(long, value_name = "NAME")]
    reporting_role: Option<String>,
    #[command(flatten)]
    database: DatabaseArguments,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a command takes its arguments"
)]
pub(crate) fn run(arguments: MigrateArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let store = Store::open(&url, StoreLimits::default())
            .await
            .with_context(|| format!("cannot open the database {url}"))?;
        store
            .migrate()
            .await
            .with_context(|| format!("cannot bring the tables of {url} up to date"))?;
        if let Some(role) = &arguments.reporting_role {
            store.grant_reporting(role).await.with_context(|| {
                format!("cannot grant `{role}` read access to the views of {url}")
            })?;
        }
        store.close().await;
        anyhow::Ok(())
    })?;
    writeln!(terminal::stdout(), "the tables of {url} are up to date")?;
    if let Some(role) = &arguments.reporting_role {
        writeln!(
            terminal::stdout(),
            "`{role}` has read access to the views of the schema reporting"
        )?;
    }
    Ok(())
}

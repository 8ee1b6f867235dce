//! `unroof migrate`: migrates the database without serving.

use std::io::Write;

use anyhow::Context;
use clap::Args;

use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_store::{DatabaseUrl, Store, StoreLimits};

/// Arguments of `unroof migrate`.
#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Existing PostgreSQL role that gets read access to the views of the schema `reporting`, and nothing else
    #[arg(long, value_name = "NAME")]
    reporting_role: Option<String>,
    #[command(flatten)]
    database: DatabaseArguments,
}

/// Opens a database whose tables are brought up to date.
///
/// # Errors
/// It cannot be opened or migrated.
pub(crate) async fn open_store(url: &DatabaseUrl, limits: StoreLimits) -> anyhow::Result<Store> {
    let opened = Store::open(url, limits).await;
    let store = opened.with_context(|| format!("cannot open the database {url}"))?;
    let migrated = store.migrate().await;
    migrated.with_context(|| format!("cannot bring the tables of {url} up to date"))?;
    Ok(store)
}

pub(crate) fn run(arguments: &MigrateArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let store = open_store(&url, StoreLimits::default()).await?;
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

//! `unroof migrate`: tables up to date, for those who do it apart from serving.

use std::io::Write;

use anyhow::Context;

use super::{DatabaseArguments, Failure};
use crate::storage::{Store, StoreLimits};

#[expect(
    clippy::needless_pass_by_value,
    reason = "a command takes its arguments"
)]
pub(super) fn run(arguments: DatabaseArguments) -> Result<(), Failure> {
    arguments.start_logging()?;
    let url = arguments.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let store = Store::open(&url, StoreLimits::default())
            .await
            .with_context(|| format!("cannot open the database {url}"))?;
        store
            .migrate()
            .await
            .with_context(|| format!("cannot bring the tables of {url} up to date"))?;
        store.close().await;
        anyhow::Ok(())
    })?;
    writeln!(anstream::stdout(), "the tables of {url} are up to date")?;
    Ok(())
}

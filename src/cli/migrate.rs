//! `unroof migrate`: tables up to date, for those who do it apart from serving.

use std::io::Write;

use anyhow::Context;

use super::{DatabaseArguments, Failure, open_store};

#[expect(
    clippy::needless_pass_by_value,
    reason = "a command takes its arguments"
)]
pub(super) fn run(arguments: DatabaseArguments) -> Result<(), Failure> {
    arguments.start_logging()?;
    let url = arguments.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        open_store(&url).await?.close().await;
        anyhow::Ok(())
    })?;
    writeln!(anstream::stdout(), "the tables of {url} are up to date")?;
    Ok(())
}

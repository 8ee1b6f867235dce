//! `unroof serve`: the HTTP API.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::examples::EXAMPLE_SHEETS;
use super::{DatabaseArguments, Failure, open_store};
use crate::http::{App, Clock, Server, serve};

/// Arguments of `unroof serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof serve --examples
  unroof serve --database-url postgres://unroof@db/unroof --listen 0.0.0.0:8080 --log-format json")]
pub(super) struct ServeArguments {
    /// Address and port; port 0 takes a free one
    #[arg(
        long,
        env = "UNROOF_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    listen: SocketAddr,
    /// Store estimates of the example sheets first
    #[arg(long)]
    examples: bool,
    #[command(flatten)]
    database: DatabaseArguments,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a command takes its arguments"
)]
pub(super) fn run(arguments: ServeArguments) -> Result<(), Failure> {
    arguments.database.start_logging()?;
    let url = arguments.database.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let outcome = runtime.block_on(async {
        // Bound first: a port that is taken is found out before anything is stored.
        let bound = Server::bind(arguments.listen).await;
        let server = bound.with_context(|| format!("cannot listen on {}", arguments.listen))?;
        let app = App::new(open_store(&url).await?, Clock::system());
        if arguments.examples {
            let sheets = EXAMPLE_SHEETS.map(|(_, text)| text);
            let new = app.load(&sheets).await.map_err(anyhow::Error::msg)?;
            tracing::info!(sheets = sheets.len(), new, "loaded the example sheets");
        }
        let address = server.address();
        if !address.ip().is_loopback() {
            // Whatever is logged, this is said.
            writeln!(
                anstream::stderr(),
                "warning: anyone who can reach {address} can read and write: there is no authentication; put a proxy \
                 before it"
            )?;
        }
        tracing::info!(%address, database = %url, "listening");
        writeln!(anstream::stdout(), "unroof listens on http://{address} (API docs at http://{address}/docs)")?;
        serve(server, app).await.context("the server failed")
    });
    // What is still being worked out for clients that have gone does not hold the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(outcome?)
}

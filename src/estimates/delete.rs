//! `unroof estimates`: deletes stored answers to questions.

use std::io::Write;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use tokio::runtime::Runtime;
use unroof_store::access::Actor;
use unroof_store::clock::Clock;
use unroof_store::{Deletion, Store, StoreLimits};
use uuid::Uuid;

use crate::record::migrate::open_store;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};

/// Arguments of `unroof estimates`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof estimates delete 4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11")]
pub(crate) struct EstimatesArguments {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    database: DatabaseArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Delete the answer to a question; the estimate of a price or of a model stays
    Delete {
        /// Id of the estimate
        id: Uuid,
    },
}

pub(crate) fn run(arguments: &EstimatesArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let store = open_store(&url, StoreLimits::without_timeouts()).await?;
        let Action::Delete { id } = arguments.action;
        let outcome = delete(&store, id).await;
        store.close().await;
        outcome
    })
}

async fn delete(store: &Store, id: Uuid) -> Result<(), Failure> {
    let now = Clock::system().now();
    let deletion = store.delete_estimate(id, now, &Actor::COMMAND_LINE).await;
    match deletion.context("the estimate cannot be deleted")? {
        Deletion::Done => Ok(writeln!(
            terminal::stdout(),
            "The estimate {id} is deleted."
        )?),
        Deletion::Unknown => Err(Failure::Other(anyhow!("there is no estimate {id}"))),
        Deletion::Linked(reason) => Err(Failure::Other(anyhow!(
            "the estimate {id} is not only the answer to a question: {}",
            terminal::quoted(&reason)
        ))),
    }
}

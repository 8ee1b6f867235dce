//! Settings of a service whose database has more than one server.

use anyhow::ensure;
use clap::Args;

use crate::{DatabaseArguments, Failure};
use unroof_store::{DatabaseUrl, Databases};

/// Settings of a database with several servers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several servers")]
pub(crate) struct ScaleArguments {
    /// Standby of the database, which lists are read from while it has everything that they must show
    #[arg(
        long,
        env = "UNROOF_READ_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    read_database_url: Option<DatabaseUrl>,
    /// Ask for changes four times a second, and do not LISTEN for them
    #[arg(long, env = "UNROOF_NO_LISTEN")]
    no_listen: bool,
}

impl ScaleArguments {
    /// All addresses of the database.
    pub(crate) fn databases(&self, database: &DatabaseArguments) -> Result<Databases, Failure> {
        let databases = Databases {
            main: database.stated_url()?,
            direct: database.direct_database_url.clone(),
            standby: self.read_database_url.clone(),
            polls: self.no_listen,
        };
        check(&databases).map_err(Failure::Usage)?;
        Ok(databases)
    }
}

/// Checks that only PostgreSQL has several addresses.
fn check(databases: &Databases) -> anyhow::Result<()> {
    let others = [
        ("--direct-database-url", &databases.direct),
        ("--read-database-url", &databases.standby),
    ];
    for (flag, url) in others {
        let Some(url) = url else { continue };
        for url in [url, &databases.main] {
            let is_file = matches!(url, DatabaseUrl::Sqlite(..));
            ensure!(
                !is_file,
                "{flag} needs PostgreSQL: an SQLite file has one process"
            );
        }
    }
    Ok(())
}

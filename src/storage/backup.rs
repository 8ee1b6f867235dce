//! Backup of an embedded database while a service writes to it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::file::make_new_file;
use super::{DatabaseUrl, StoreError};

/// Time for which the database may be locked by another process.
const BUSY: Duration = Duration::from_secs(30);

/// Reason why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is on a PostgreSQL server.
    #[error("only an SQLite database is backed up by this command")]
    OnServer,
    /// There is a file of this name.
    #[error("`{0}` exists, and a backup overwrites nothing")]
    Exists(String),
    /// The name of the file is not text.
    #[error("the path of the backup is not UTF-8")]
    Name,
    /// The copy was made and is not sound.
    #[error("the copy is damaged: {0}")]
    Damaged(String),
    /// The database or the file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Copies an embedded database to a new file that only this user can read, as it is at one moment, while others may write to
/// it; then checks the copy. The size of the copy in bytes.
///
/// # Errors
/// There is no such database, the file exists, or the copy could not be made or is damaged. Then no file is left.
pub async fn back_up(url: &DatabaseUrl, to: &Path) -> Result<u64, BackupError> {
    let DatabaseUrl::Sqlite(database) = url else {
        return Err(BackupError::OnServer);
    };
    if !database.exists() {
        return Err(StoreError::NoDatabase(database.display().to_string()).into());
    }
    let place = Place::reserve(to)?;
    let mut source = open_to_read(database).await?;
    let name = place.partial.to_str().ok_or(BackupError::Name)?;
    // In one read transaction: what is committed meanwhile is in the log, and not in the copy.
    let copy = sqlx::query("VACUUM INTO $1").bind(name);
    copy.execute(&mut source).await?;
    source.close().await?;
    let mut copy = open_to_read(&place.partial).await?;
    if let Some(fault) = structure_faults(&mut copy).await?.into_iter().next() {
        return Err(BackupError::Damaged(fault));
    }
    copy.close().await?;
    Ok(place.complete()?)
}

async fn open_to_read(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    // It takes its time, which is not worth a line in the log.
    options
        .busy_timeout(BUSY)
        .disable_statement_logging()
        .connect()
        .await
}

/// Faults in the structure of an SQLite file: its pages, indexes, constraints and references.
pub(super) async fn structure_faults(
    connection: &mut SqliteConnection,
) -> Result<Vec<String>, StoreError> {
    let checked: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_all(&mut *connection)
        .await?;
    let dangling: Vec<(String, Option<i64>, String)> =
        sqlx::query_as("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check")
            .fetch_all(connection)
            .await?;
    let dangling = dangling.into_iter().map(|(table, row, parent)| {
        let row = row.map(|row| format!(" {row}")).unwrap_or_default();
        format!("row{row} of {table} refers to a row of {parent} that is missing")
    });
    let pages = checked.into_iter().filter(|line| line != "ok");
    Ok(pages.chain(dangling).collect())
}

/// The place of a backup: its name, which is reserved, and the file next to it that is written first. Both are removed
/// unless it is completed.
struct Place {
    to: PathBuf,
    partial: PathBuf,
    is_complete: bool,
}

impl Place {
    fn reserve(to: &Path) -> Result<Self, BackupError> {
        let to = std::path::absolute(to).map_err(StoreError::of_file(to))?;
        let mut partial = to.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        make(&to)?;
        // From here on it is removed.
        let mut place = Self {
            to,
            partial: PathBuf::new(),
            is_complete: false,
        };
        make(&partial)?;
        place.partial = partial;
        Ok(place)
    }

    /// Gives the copy its name once it is on the disk.
    fn complete(mut self) -> Result<u64, StoreError> {
        let partial = File::open(&self.partial).map_err(StoreError::of_file(&self.partial))?;
        partial
            .sync_all()
            .map_err(StoreError::of_file(&self.partial))?;
        let size = partial.metadata().map(|metadata| metadata.len());
        let size = size.map_err(StoreError::of_file(&self.partial))?;
        std::fs::rename(&self.partial, &self.to).map_err(StoreError::of_file(&self.to))?;
        self.is_complete = true;
        #[cfg(unix)]
        if let Some(folder) = self.to.parent() {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(StoreError::of_file(folder))?;
        }
        Ok(size)
    }
}

fn make(path: &Path) -> Result<(), BackupError> {
    match make_new_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(BackupError::Exists(path.display().to_string()))
        }
        made => Ok(made.map_err(StoreError::of_file(path))?),
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_complete {
            // A file that cannot be removed is empty, or is called a part.
            let _ = std::fs::remove_file(&self.partial);
            let _ = std::fs::remove_file(&self.to);
        }
    }
}

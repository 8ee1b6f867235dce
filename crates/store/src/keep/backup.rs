//! Backup of an embedded database while a service writes to it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::connect::file::{make_new_file, with_ending};
use crate::{DatabaseUrl, StoreError};

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
/// it; then checks the copy. The size of the copy in bytes. The file has its name once it is whole and checked.
///
/// # Errors
/// There is no such database, the file exists, or the copy could not be made or is damaged. Then no file is left, and
/// neither where this is not waited for to the end.
pub async fn back_up(url: &DatabaseUrl, to: &Path) -> Result<u64, BackupError> {
    let DatabaseUrl::Sqlite(database) = url else {
        return Err(BackupError::OnServer);
    };
    if !database.exists() {
        return Err(StoreError::NoDatabase(database.display().to_string()).into());
    }
    let place = Place::reserve(to)?;
    let mut source = open_to_read(database).await?;
    let name = address_of_existing(&place.partial)?;
    // In one read transaction: what is committed meanwhile is in the log, and not in the copy.
    let copy = sqlx::query("VACUUM INTO $1").bind(name);
    copy.execute(&mut source).await?;
    source.close().await?;
    let mut copy = open_to_read(&place.partial).await?;
    if let Some(fault) = structure_faults(&mut copy).await?.into_iter().next() {
        return Err(BackupError::Damaged(fault));
    }
    copy.close().await?;
    place.complete()
}

/// The address by which SQLite opens a file that is there, and makes none: its thread may begin after the copy was given up
/// and the file removed.
fn address_of_existing(file: &Path) -> Result<String, BackupError> {
    let name = file.to_str().ok_or(BackupError::Name)?;
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
    Ok(format!("file:{name}?mode=rw"))
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
pub(crate) async fn structure_faults(
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

/// The place of a backup: its name, and the file next to it that is written first, so that a file of this name is whole.
/// The other one is removed at the end in any case.
struct Place {
    to: PathBuf,
    partial: PathBuf,
}

impl Place {
    fn reserve(to: &Path) -> Result<Self, BackupError> {
        let to = std::path::absolute(to).map_err(StoreError::of_file(to))?;
        // Found out before the copy is made; another file may still take the name meanwhile.
        if to.symlink_metadata().is_ok() {
            return Err(BackupError::Exists(to.display().to_string()));
        }
        let partial = with_ending(&to, ".partial");
        make_new_file(&partial).map_err(|error| not_made(&partial, error))?;
        Ok(Self { to, partial })
    }

    /// Gives the copy its name once it is on the disk.
    fn complete(self) -> Result<u64, BackupError> {
        let of_partial = StoreError::of_file(&self.partial);
        let partial = File::open(&self.partial).map_err(&of_partial)?;
        partial.sync_all().map_err(&of_partial)?;
        let size = partial.metadata().map_err(&of_partial)?.len();
        give_name(&self.partial, &self.to).map_err(|error| not_made(&self.to, error))?;
        #[cfg(unix)]
        if let Some(folder) = self.to.parent() {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(StoreError::of_file(folder))?;
        }
        Ok(size)
    }
}

/// Gives a file another name, which no file has: a rename would replace one that has it.
fn give_name(file: &Path, name: &Path) -> io::Result<()> {
    match std::fs::hard_link(file, name) {
        Ok(()) => {
            // The file has its name; that it may have two is no failure.
            let _ = std::fs::remove_file(file);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links. An empty file takes the name for a moment, and only that one is replaced.
        Err(_) => {
            make_new_file(name)?;
            std::fs::rename(file, name).inspect_err(|_| {
                let _ = std::fs::remove_file(name);
            })
        }
    }
}

fn not_made(file: &Path, error: io::Error) -> BackupError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return BackupError::Exists(file.display().to_string());
    }
    StoreError::of_file(file)(error).into()
}

impl Drop for Place {
    fn drop(&mut self) {
        // A file that cannot be removed is called a part. SQLite makes no journal for a file that is gone.
        let _ = std::fs::remove_file(&self.partial);
        let _ = std::fs::remove_file(with_ending(&self.partial, "-journal"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_copy_that_is_given_up_is_removed_with_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::reserve(&folder.path().join("backup.db")).unwrap();
        std::fs::write(folder.path().join("backup.db.partial-journal"), "").unwrap();
        assert_eq!(files(folder.path()), 2);
        drop(place);
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn a_file_that_takes_the_name_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        let place = Place::reserve(&file).unwrap();
        std::fs::write(&file, "other").unwrap();
        assert!(matches!(place.complete(), Err(BackupError::Exists(_))));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "other");
        assert_eq!(files(folder.path()), 1);
    }
}

//! The migrations of this program.

use sqlx::migrate::Migrator;

/// The lock of a transaction takes the place of the migrator's own, which is of a session.
pub(crate) static POSTGRES_MIGRATIONS: Migrator = Migrator {
    locking: false,
    ..sqlx::migrate!("../../migrations/postgres")
};
pub(crate) static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// The newest migration of this program, which is the same for both databases.
pub(crate) fn own_migration() -> i64 {
    newest_of(&SQLITE_MIGRATIONS)
}

/// The newest migration of a program.
pub(crate) fn newest_of(migrations: &Migrator) -> i64 {
    let versions = migrations.iter().map(|migration| migration.version);
    versions.max().unwrap_or_default()
}

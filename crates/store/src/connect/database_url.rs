//! The address of a database, which may hold a password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use unroof_telemetry::secrets::{is_ambiguous, without_secrets};

/// Address of the store: `postgres://…` or `sqlite:path`.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A PostgreSQL server; tried with 15.
    Postgres(String),
    /// A file, created if it does not exist.
    Sqlite(PathBuf),
}

/// Reason why a text names no database. It never contains the text, which may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// A text of neither form.
    #[error("expected `postgres://user@host/database` or `sqlite:path/to/file.db`, a file")]
    Unknown,
    /// A password contains an unescaped delimiter of an address.
    #[error(
        "the end of the password is not clear: write `/`, `?`, `#`, `%` and `@` in it as %2F, %3F, %23, %25 and %40, \
         or leave it out and set PGPASSWORD"
    )]
    Ambiguous,
    /// A parameter that the driver ignores.
    #[error(
        "a parameter after `?` is not one of sslmode, sslrootcert, sslcert, sslkey, statement-cache-capacity, host, \
         hostaddr, port, dbname, user, password, application_name and options"
    )]
    Parameter,
    /// A parameter of an SQLite file.
    #[error("`sqlite:` takes a path without parameters: leave out `?` and what is behind it")]
    SqliteParameter,
}

/// Parameters that the driver reads after `?`. It logs the values of all others.
const PARAMETERS: &str = "application_name dbname host hostaddr options password port ssl-ca ssl-cert ssl-key ssl-mode \
    ssl-root-cert sslcert sslkey sslmode sslrootcert statement-cache-capacity user";

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        if let Some(rest) = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
        {
            check_postgres(text, rest)?;
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = text
            .strip_prefix("sqlite:")
            .map(|path| path.strip_prefix("//").unwrap_or(path));
        // What other programs ask for with it is done anyway: the file is created.
        let path = path.map(|path| path.strip_suffix("?mode=rwc").unwrap_or(path));
        if path.is_some_and(|path| path.contains('?')) {
            return Err(DatabaseUrlError::SqliteParameter);
        }
        // An address behind `sqlite:` is not a path and may hold a password.
        path.filter(|path| !["", ":memory:"].contains(path) && !path.contains("://"))
            .map(|path| Self::Sqlite(path.into()))
            .ok_or(DatabaseUrlError::Unknown)
    }
}

/// Refuses a PostgreSQL address that the driver would misread.
fn check_postgres(text: &str, rest: &str) -> Result<(), DatabaseUrlError> {
    let url = url::Url::parse(text).map_err(|_| {
        // With a password in it, that is the likeliest reason.
        if rest.contains('@') {
            DatabaseUrlError::Ambiguous
        } else {
            DatabaseUrlError::Unknown
        }
    })?;
    if is_ambiguous(rest) || url.fragment().is_some() || url.path().contains('@') {
        return Err(DatabaseUrlError::Ambiguous);
    }
    let is_known = |name: &str| {
        PARAMETERS.split_whitespace().any(|known| known == name) || name.starts_with("options[")
    };
    if !url.query_pairs().all(|(name, _)| is_known(&name)) {
        return Err(DatabaseUrlError::Parameter);
    }
    PgConnectOptions::from_str(text)
        .map(drop)
        .map_err(|_| DatabaseUrlError::Ambiguous)
}

/// Writes the address without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(text) => formatter.write_str(&without_secrets(text)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_picks_the_database_and_the_password_is_not_shown() {
        let postgres: DatabaseUrl = "postgres://ann:secret@db/unroof".parse().unwrap();
        assert_eq!(postgres.to_string(), "postgres://ann@db/unroof");
        assert_eq!(format!("{postgres:?}"), "postgres://ann@db/unroof");
        assert_eq!(
            "sqlite:a/b.db".parse(),
            Ok(DatabaseUrl::Sqlite("a/b.db".into()))
        );
        assert_eq!(
            "sqlite:///a/b.db".parse(),
            Ok(DatabaseUrl::Sqlite("/a/b.db".into()))
        );
        assert_eq!(
            "sqlite://a/b.db?mode=rwc".parse(),
            Ok(DatabaseUrl::Sqlite("a/b.db".into()))
        );
        let refused = "sqlite:a.db?mode=ro".parse::<DatabaseUrl>();
        assert_eq!(refused, Err(DatabaseUrlError::SqliteParameter));
        for text in ["", "mysql://db", "sqlite:", "sqlite::memory:", "a.db"] {
            let read = text.parse::<DatabaseUrl>();
            assert_eq!(read, Err(DatabaseUrlError::Unknown), "{text}");
        }
    }

    #[test]
    fn an_address_whose_password_has_no_certain_end_is_refused() {
        for text in [
            "postgres://ann:s3/cret@db/unroof",
            "postgres://ann:s3#cret@db/unroof",
            "postgres://ann:s3?cret@db/unroof",
            "postgres://ann:12/cret@db/unroof",
            "postgres://ann:12#cret@db/unroof",
            "postgres://ann:12?cret@db/unroof",
            "postgres://ann:s3%ffcret@db/unroof",
            "postgres://ann@db/unroof#cret",
        ] {
            let read = text.parse::<DatabaseUrl>();
            assert_eq!(read, Err(DatabaseUrlError::Ambiguous), "{text}");
        }
        let read = "postgres://db/unroof?passwrd=cret".parse::<DatabaseUrl>();
        assert_eq!(read, Err(DatabaseUrlError::Parameter));
        for text in [
            "postgres://ann:s3@cret@db/unroof",
            "postgres://ann:s3%2Fcret@db:5432/unroof?sslmode=require",
            "postgres://ann:s3cret@[::1]/unroof",
            "postgres://ann@%2Frun%2Fpostgresql/unroof",
            "postgres:///unroof?host=/run/postgresql&user=ann&password=a@b",
        ] {
            assert!(text.parse::<DatabaseUrl>().is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_shown_of_an_address_holds_no_secret() {
        for (text, shown) in [
            (
                "postgres://ann:s3%40@db/unroof?password=x",
                "postgres://ann@db/unroof",
            ),
            (
                "postgres:///unroof?host=/run&password=x",
                "postgres:///unroof",
            ),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
        }
    }
}

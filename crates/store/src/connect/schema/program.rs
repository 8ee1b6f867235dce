//! Version of the program that the tables belong to.

use std::fmt;

/// Version of this program.
pub(crate) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A version of the program, without a pre-release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Release([u32; 3]);

impl Release {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(['-', '+']).next()?.split('.');
        let mut next = || parts.next()?.parse().ok();
        Some(Self([next()?, next()?, next()?]))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(to, "{major}.{minor}.{patch}")
    }
}

/// Tables with a migration that this program does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewerTables {
    /// Number of the newest migration.
    migration: i64,
    /// The program that applied it, where it is recorded.
    program: Option<Release>,
}

impl NewerTables {
    /// Tables with this newest migration, which a program of this version has applied.
    pub(crate) fn new(migration: i64, program: &str) -> Self {
        Self {
            migration,
            program: Release::read(program),
        }
    }
}

impl fmt::Display for NewerTables {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.program {
            Some(release) => write!(
                to,
                "its tables are those of unroof {release}, and this is unroof {OWN_VERSION}"
            ),
            None => write!(
                to,
                "its tables have migration {}, which unroof {OWN_VERSION} does not know",
                self.migration
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_without_its_suffix() {
        let shown = |text: &str| Release::read(text).map(|release| release.to_string());
        assert_eq!(shown("1.20.3"), Some("1.20.3".to_owned()));
        assert_eq!(shown("0.2.0-rc.1+abc"), Some("0.2.0".to_owned()));
        assert_eq!(shown(""), None);
        assert_eq!(shown("1.2"), None);
    }
}

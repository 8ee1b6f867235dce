//! Addresses of the database of a service that runs on more than one machine.

use crate::DatabaseUrl;

/// Addresses of one database, and how they are used.
#[derive(Debug, Clone)]
pub struct Databases {
    /// Address of the database.
    pub main: DatabaseUrl,
    /// Server of the database, for migrations and LISTEN, if the other addresses lead through a pooler in transaction mode.
    pub direct: Option<DatabaseUrl>,
    /// A standby, which lists are read from.
    pub standby: Option<DatabaseUrl>,
    /// Whether changes are polled, and LISTEN is not used.
    pub polls: bool,
}

impl Databases {
    /// A database at a single address.
    #[must_use]
    pub fn at(main: DatabaseUrl) -> Self {
        Self {
            main,
            direct: None,
            standby: None,
            polls: false,
        }
    }
}

//! Tables of the database: migrations, and a guard against tables of a newer program.

pub(crate) mod migrate;
pub(crate) mod migrations;
pub(crate) mod newer_tables;
pub(crate) mod program;
pub(crate) mod whole;

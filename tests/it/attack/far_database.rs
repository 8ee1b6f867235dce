//! A PostgreSQL server that is far away.

//! Queries: constant texts with parameters, executed on either database.

use std::fmt::Write as _;

use sqlx::{Arguments, AssertSqlSafe, Database, Encode, Type};

use super::value::Value;

/// A query. Its text consists of constants; every value is a parameter.
#[derive(Debug, Clone)]
pub(crate) struct Query<'a> {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value<'a>>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(sql: &'static str) -> Self {
        Self {
            sql: sql.to_owned(),
            values: Vec::new(),
        }
    }

    pub(crate) fn text(mut self, sql: &'static str) -> Self {
        self.sql.push_str(sql);
        self
    }

    /// A parameter at the end of the text.
    pub(crate) fn value(mut self, value: impl Into<Value<'a>>) -> Self {
        self = self.bind(value);
        // Writing to a text does not fail.
        let _ = write!(self.sql, "${}", self.values.len());
        self
    }

    /// A parameter whose number is in the text.
    pub(crate) fn bind(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Text and parameters for a database.
    pub(crate) fn parts<D: Database>(
        self,
    ) -> Result<(AssertSqlSafe<String>, D::Arguments), sqlx::Error>
    where
        Value<'a>: Encode<'a, D> + Type<D>,
    {
        let mut arguments = D::Arguments::default();
        for value in self.values {
            arguments.add(value).map_err(sqlx::Error::Encode)?;
        }
        Ok((AssertSqlSafe(self.sql), arguments))
    }
}

//! Timestamps as both databases store them.

use jiff::{Timestamp, TimestampRound, Unit};
use serde::Serialize;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgHasArrayType, PgTypeInfo};
use sqlx::{Database, Decode, Encode, Postgres, Sqlite, Type};

/// A timestamp cut to microseconds, which is what PostgreSQL keeps; SQLite keeps text of fixed width, so that the
/// order of the texts is the order of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DbTime(Timestamp);

impl From<Timestamp> for DbTime {
    fn from(timestamp: Timestamp) -> Self {
        let cut = TimestampRound::new()
            .smallest(Unit::Microsecond)
            .mode(jiff::RoundMode::Floor);
        Self(timestamp.round(cut).unwrap_or(timestamp))
    }
}

impl From<DbTime> for Timestamp {
    fn from(time: DbTime) -> Self {
        time.0
    }
}

impl Type<Postgres> for DbTime {
    fn type_info() -> <Postgres as Database>::TypeInfo {
        <jiff_sqlx::Timestamp as Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for DbTime {
    fn array_type_info() -> PgTypeInfo {
        <jiff_sqlx::Timestamp as PgHasArrayType>::array_type_info()
    }
}

impl Encode<'_, Postgres> for DbTime {
    fn encode_by_ref(
        &self,
        buffer: &mut <Postgres as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode_by_ref(&jiff_sqlx::Timestamp::from(self.0), buffer)
    }
}

impl<'row> Decode<'row, Postgres> for DbTime {
    fn decode(value: <Postgres as Database>::ValueRef<'row>) -> Result<Self, BoxDynError> {
        Ok(Self(
            <jiff_sqlx::Timestamp as Decode<Postgres>>::decode(value)?.to_jiff(),
        ))
    }
}

impl Type<Sqlite> for DbTime {
    fn type_info() -> <Sqlite as Database>::TypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for DbTime {
    fn encode_by_ref(
        &self,
        buffer: &mut <Sqlite as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode(format!("{:.6}", self.0), buffer)
    }
}

impl<'row> Decode<'row, Sqlite> for DbTime {
    fn decode(value: <Sqlite as Database>::ValueRef<'row>) -> Result<Self, BoxDynError> {
        Ok(Self(<&str as Decode<Sqlite>>::decode(value)?.parse()?))
    }
}

//! Kinds of fields of a sheet, and checks between its parts.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods of a cursor are of one lifetime only"
)]

use iso_currency::Currency;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, TimestampRound, Unit as TimeUnit};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};

use super::JsonObject;
use super::currency::CurrencyCode;
use unroof_base::input::body::document::{ReadAs, inline, named};
use unroof_base::input::body::{Kind, Source};
use unroof_base::input::cursor::{Cursor, SMALLEST_NUMBER};
use unroof_base::input::json::Json;
use unroof_base::input::schema::Name;

/// The largest token count or duration.
pub(crate) const MOST_COUNT: u32 = 2_147_483_647;
/// Most rate cells of a sheet.
pub(crate) const MOST_RATE_CELLS: usize = 128;
/// Most sources of a sheet.
pub const MOST_SOURCES: usize = 64;

/// Field that holds a currency, an ISO 4217 code.
pub(super) fn currency() -> ReadAs<String> {
    named::<CurrencyCode, _>(|field| {
        let code = field.name()?;
        if Currency::from_code(&code).is_none() {
            return field.refuse(
                format!("`{code}` is not a currency"),
                "write an ISO 4217 code in capitals, such as \"USD\" or \"CNY\"",
            );
        }
        Some(code)
    })
}

/// A date and time.
pub(crate) fn timestamp() -> ReadAs<Timestamp> {
    inline(read_timestamp, || {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .pattern(Some("^(19[7-9]|[2-9][0-9]{2})[0-9]-"))
            .into()
    })
}

/// Field that holds a day, `YYYY-MM-DD`.
pub(super) fn day() -> ReadAs<Date> {
    inline(
        |field| field.day(),
        || {
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
                .into()
        },
    )
}

/// Databases keep microseconds, so finer digits are cut.
fn read_timestamp(field: &Cursor<'_>) -> Option<Timestamp> {
    const HINT: &str = "write a date and time with its offset (RFC 3339) between 1970 and 9999, such as \"2026-11-21T00:00:00Z\"";
    let text = field.name()?;
    let cut = TimestampRound::new()
        .smallest(TimeUnit::Microsecond)
        .mode(jiff::RoundMode::Floor);
    match text
        .parse::<Timestamp>()
        .and_then(|timestamp| timestamp.round(cut))
    {
        Ok(timestamp) if timestamp >= Timestamp::UNIX_EPOCH => Some(timestamp),
        _ => field.refuse(format!("`{text}` is not a date and time"), HINT),
    }
}

/// Field that holds an IANA time zone.
pub(super) fn time_zone() -> ReadAs<String> {
    named::<Name, _>(|field| {
        let name = field.name()?;
        if TimeZone::get(&name).is_err() {
            return field.refuse(
                format!("`{name}` is not a time zone"),
                "write an IANA name such as \"UTC\" or \"Asia/Shanghai\"",
            );
        }
        Some(name)
    })
}

/// Days of the week in their order, each once; Monday is 1.
pub(super) fn days() -> ReadAs<Vec<u8>> {
    fn schema() -> RefOr<Schema> {
        let day = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(7));
        ArrayBuilder::new()
            .items(day)
            .description(Some("days on which it starts, Monday is 1"))
            .into()
    }
    inline(
        |field| {
            let mut days = field.list_of(|day| u8::try_from(day.whole_number(1..=7)?).ok())?;
            days.sort_unstable();
            days.dedup();
            Some(days)
        },
        schema,
    )
}

/// A time of day: `HH:MM` between 00:00 and 24:00.
pub(super) fn time_of_day() -> ReadAs<String> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))
            .into()
    }
    fn is_time_of_day(text: &str) -> bool {
        let two_digits =
            |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        text.split_once(':').is_some_and(|(hour, minute)| {
            two_digits(hour)
                && two_digits(minute)
                && minute < "60"
                && (hour < "24" || text == "24:00")
        })
    }
    inline(
        |field| {
            let text = field.name()?;
            if !is_time_of_day(&text) {
                return field.refuse(
                    format!("`{text}` is not a time of day"),
                    "write HH:MM between 00:00 and 24:00",
                );
            }
            Some(text)
        },
        schema,
    )
}

/// A number above 0 and up to `MOST`.
pub(super) fn positive<const MOST: u32>() -> ReadAs<f64> {
    inline(
        |field| {
            let number = field.number()?;
            if number <= 0.0 || number > f64::from(MOST) {
                return field.refuse(
                    format!("{number} is out of range"),
                    format!("write a number above 0 and up to {MOST}"),
                );
            }
            Some(number)
        },
        || (SMALLEST_NUMBER..=f64::from(MOST)).schema(),
    )
}

/// An object whose fields are kept as they are.
pub(super) fn verbatim() -> ReadAs<JsonObject> {
    inline(
        |field| field.verbatim_object(),
        || ObjectBuilder::new().into(),
    )
}

/// Index into the list of sources. Its faults depend on that list: [`refers_within_sheet`] records them.
pub(super) fn source_index() -> ReadAs<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^32")]
    const LAST: u32 = MOST_SOURCES as u32 - 1;
    inline(
        |field| field.unrecorded(|field| field.whole_number(0..=LAST)),
        || (0..=LAST).schema(),
    )
}

/// Records a fault if the validity ends before it begins.
pub(super) fn ends_after_start(
    object: Source<'_, '_>,
    from: Option<&Option<Timestamp>>,
    to: Option<&Option<Timestamp>>,
) {
    if let (Some(Some(from)), Some(Some(to))) = (from, to)
        && to <= from
    {
        object.fault_of(
            "valid_to",
            "`valid_to` is not after `valid_from`",
            "write an end after the start; the end is exclusive",
        );
    }
}

/// Records a fault for each cell with an undefined schedule or source.
pub(super) fn refers_within_sheet<Cell>(object: Source<'_, '_>, rates: Option<&Vec<Cell>>) {
    let (Some(fields), Some(_)) = (object.fields, rates) else {
        return;
    };
    let sheet = &fields.cursor;
    let sources = match sheet.at("sources").map(|sources| sources.json) {
        Some(Json::Array(sources)) => sources.len().min(MOST_SOURCES),
        _ => 0,
    };
    let most = u32::try_from(sources.saturating_sub(1)).unwrap_or(0);
    let schedules = sheet.at("schedules");
    for rate in sheet
        .at("rates")
        .and_then(|rates| rates.items())
        .unwrap_or_default()
    {
        if let Some(field) = rate.at("schedule")
            && let Some(name) = field.unrecorded(|field| field.name())
            && schedules
                .as_ref()
                .is_none_or(|known| known.at(&name).is_none())
        {
            field.fault(
                format!("the schedule `{name}` is not defined"),
                "define it under `schedules`, or leave it out",
            );
        }
        if let Some(field) = rate.at("source") {
            let _ = field.whole_number(0..=most);
        }
    }
}

//! Reads the canonical form `pricesheet/v1` from a JSON tree.

mod rates;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use iso_currency::Currency;
use jiff::tz::TimeZone;
use jiff::{Timestamp, TimestampRound, Unit as TimeUnit};
use rates::read_rates;

use super::{
    CacheWriteBilling, ContextTierMeasure, ContextTierSemantics, Limits, Modifier, OtherMeter,
    PriceSheet, Schedule, SchemaName, ServiceLevelObjective, ServiceTier, Source, SourceFormat,
    SpeedBound, SpeedMetric, SpeedMultiplier, Unit, Window,
};
use crate::input::cursor::{Cursor, Fault, Faults, Fields};
use crate::input::json::Json;

/// Token counts and durations: one to 2³¹ − 1.
const COUNT: RangeInclusive<u32> = 1..=2_147_483_647;
/// Entries of a list or map of a sheet: far more than any provider publishes, and few enough to compare in pairs.
const MOST_ENTRIES: usize = 64;

/// Reads a whole document that is one sheet.
///
/// # Errors
/// Every fault of the document.
pub fn read(json: &Json) -> Result<PriceSheet, Vec<Fault>> {
    let faults = Faults::default();
    let sheet = read_sheet(&Cursor::root(json, &faults));
    faults.into_result(sheet)
}

/// Reads one sheet; `None` or a fault recorded means that it cannot be used.
#[must_use]
pub fn read_sheet(sheet: &Cursor<'_>) -> Option<PriceSheet> {
    let fields = sheet.fields()?;
    let schema = fields
        .required("schema", "write \"schema\": \"pricesheet/v1\"")
        .and_then(|field| field.one_of(&[("pricesheet/v1", SchemaName::V1)]));
    let provider = fields
        .required(
            "provider",
            "name the billing provider, such as \"anthropic\"",
        )
        .and_then(|field| field.name());
    let model = fields
        .required("model", "name the model as the provider spells it")
        .and_then(|field| field.name());
    let currency = fields
        .required("currency", "write an ISO 4217 code such as \"USD\"")
        .and_then(|field| read_currency(&field));
    let unit = fields
        .required("unit", "write \"unit\": \"per_1m_tokens\"")
        .and_then(|field| field.one_of(&[("per_1m_tokens", Unit::PerMillionTokens)]));
    let (valid_from, valid_to) = read_validity(&fields);
    let schedules = read_map(fields.get("schedules"), read_schedule);
    let service_tiers = read_map(fields.get("service_tiers"), read_service_tier);
    let sources = fields
        .required(
            "sources",
            "say where the prices were published: [{\"url\": \"…\", \"format\": \"official\"}]",
        )
        .and_then(|field| read_sources(&field));
    let rates = fields
        .required(
            "rates",
            "list at least one rate cell, such as {\"input\": \"1.25\", \"output\": \"10\"}",
        )
        .and_then(|field| read_rates(&field, &schedules, sources.as_ref().map_or(0, Vec::len)));
    let sheet = PriceSheet {
        schema: schema.unwrap_or(SchemaName::V1),
        provider: provider.unwrap_or_default(),
        upstream_provider: fields
            .get("upstream_provider")
            .and_then(|field| field.name()),
        model: model.unwrap_or_default(),
        canonical_model: fields.get("canonical_model").and_then(|field| field.name()),
        aliases: read_names(fields.get("aliases")),
        region: fields
            .get("region")
            .map_or_else(
                || Some(PriceSheet::DEFAULT_REGION.to_owned()),
                |field| field.name(),
            )
            .unwrap_or_default(),
        quantization: fields.get("quantization").and_then(|field| field.name()),
        currency: currency.unwrap_or_default(),
        unit: unit.unwrap_or(Unit::PerMillionTokens),
        valid_from,
        valid_to,
        limits: fields
            .get("limits")
            .and_then(|field| read_limits(&field))
            .unwrap_or_default(),
        context_tier_semantics: read_semantics(&fields),
        context_tier_measure: read_measure(&fields),
        cache_write_billing: read_billing(&fields),
        schedules,
        service_tiers,
        rates: rates.unwrap_or_default(),
        modifiers: read_list(fields.get("modifiers"), read_modifier),
        other_meters: read_list(fields.get("other_meters"), read_meter),
        sources: sources.unwrap_or_default(),
        notes: read_list(fields.get("notes"), Cursor::text),
        unmapped: fields
            .get("unmapped")
            .and_then(|field| field.verbatim_object())
            .unwrap_or_default(),
    };
    fields.refuse_unknown();
    Some(sheet)
}

fn read_names(field: Option<Cursor<'_>>) -> Vec<String> {
    read_list(field, Cursor::name)
}

fn read_list<'a, T>(field: Option<Cursor<'a>>, read: impl Fn(&Cursor<'a>) -> Option<T>) -> Vec<T> {
    let items = field.and_then(|field| at_most(&field, MOST_ENTRIES, field.items()?));
    items.unwrap_or_default().iter().filter_map(read).collect()
}

/// The entries, if they are not too many.
fn at_most<T>(field: &Cursor<'_>, most: usize, entries: Vec<T>) -> Option<Vec<T>> {
    if entries.len() > most {
        field.fault(
            format!("{} entries", entries.len()),
            format!("list up to {most} entries"),
        );
        return None;
    }
    Some(entries)
}

fn read_map<T>(
    field: Option<Cursor<'_>>,
    read: impl Fn(&Cursor<'_>) -> Option<T>,
) -> BTreeMap<String, T> {
    let entries = field
        .and_then(|field| at_most(&field, MOST_ENTRIES, field.entries()?))
        .unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(name, value)| Some((value.key_as_name(name)?, read(&value)?)))
        .collect()
}

fn read_currency(field: &Cursor<'_>) -> Option<String> {
    let code = field.name()?;
    if Currency::from_code(&code).is_none() {
        field.fault(
            format!("`{code}` is not a currency"),
            "write an ISO 4217 code in capitals, such as \"USD\" or \"CNY\"",
        );
        return None;
    }
    Some(code)
}

fn read_validity(fields: &Fields<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    let valid_from = fields
        .get_or_null("valid_from")
        .and_then(|field| read_timestamp(&field));
    let to_field = fields.get_or_null("valid_to");
    let valid_to = to_field.as_ref().and_then(read_timestamp);
    if let (Some(from), Some(to), Some(field)) = (valid_from, valid_to, to_field)
        && to <= from
    {
        field.fault(
            "`valid_to` is not after `valid_from`",
            "write an end after the start; the end is exclusive",
        );
    }
    (valid_from, valid_to)
}

/// Databases keep microseconds, so finer digits are cut.
pub(crate) fn read_timestamp(field: &Cursor<'_>) -> Option<Timestamp> {
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
        _ => {
            field.fault(format!("`{text}` is not a date and time"), HINT);
            None
        }
    }
}

fn read_limits(limits: &Cursor<'_>) -> Option<Limits> {
    let fields = limits.fields()?;
    let count = |name| fields.get(name).and_then(|field| field.whole_number(COUNT));
    let limits = Limits {
        context: count("context"),
        max_input: count("max_input"),
        max_output: count("max_output"),
        cache_min_tokens: count("cache_min_tokens"),
    };
    fields.refuse_unknown();
    Some(limits)
}

fn read_semantics(fields: &Fields<'_>) -> ContextTierSemantics {
    let choices = [
        ("whole_request", ContextTierSemantics::WholeRequest),
        ("marginal", ContextTierSemantics::Marginal),
        ("unknown", ContextTierSemantics::Unknown),
    ];
    fields
        .get("context_tier_semantics")
        .and_then(|field| field.one_of(&choices))
        .unwrap_or_default()
}

fn read_measure(fields: &Fields<'_>) -> ContextTierMeasure {
    let choices = [
        ("prompt_tokens", ContextTierMeasure::PromptTokens),
        (
            "prompt_plus_output_tokens",
            ContextTierMeasure::PromptPlusOutputTokens,
        ),
        ("session", ContextTierMeasure::Session),
        ("unknown", ContextTierMeasure::Unknown),
    ];
    fields
        .get("context_tier_measure")
        .and_then(|field| field.one_of(&choices))
        .unwrap_or_default()
}

fn read_billing(fields: &Fields<'_>) -> CacheWriteBilling {
    let choices = [
        ("priced", CacheWriteBilling::Priced),
        ("as_input", CacheWriteBilling::AsInput),
        ("not_published", CacheWriteBilling::NotPublished),
    ];
    fields
        .get("cache_write_billing")
        .and_then(|field| field.one_of(&choices))
        .unwrap_or_default()
}

fn read_schedule(schedule: &Cursor<'_>) -> Option<Schedule> {
    let fields = schedule.fields()?;
    let timezone = fields
        .required("timezone", "name the time zone, such as \"UTC\"")
        .and_then(|field| {
            let name = field.name()?;
            if TimeZone::get(&name).is_err() {
                field.fault(
                    format!("`{name}` is not a time zone"),
                    "write an IANA name such as \"UTC\" or \"Asia/Shanghai\"",
                );
                return None;
            }
            Some(name)
        });
    let windows = fields
        .required(
            "windows",
            "list at least one window, such as {\"start\": \"16:30\", \"end\": \"00:30\"}",
        )
        .and_then(|field| {
            if field.items()?.is_empty() {
                field.fault("the list is empty", "list at least one window");
            }
            field.list_of(read_window)
        });
    let except_calendar = fields.get("except_calendar").and_then(|field| field.name());
    fields.refuse_unknown();
    Some(Schedule {
        timezone: timezone?,
        windows: windows?,
        except_calendar,
    })
}

fn read_window(window: &Cursor<'_>) -> Option<Window> {
    let fields = window.fields()?;
    let time = |name| {
        fields
            .required(name, "write a time of day such as \"16:30\"")
            .and_then(|field| read_time_of_day(&field))
    };
    let (start, end) = (time("start"), time("end"));
    let days = fields
        .get("days")
        .and_then(|field| field.list_of(|day| u8::try_from(day.whole_number(1..=7)?).ok()))
        .map(|days| {
            days.into_iter()
                .collect::<BTreeSet<u8>>()
                .into_iter()
                .collect()
        });
    fields.refuse_unknown();
    Some(Window {
        days: days.unwrap_or_default(),
        start: start?,
        end: end?,
    })
}

fn read_time_of_day(field: &Cursor<'_>) -> Option<String> {
    let text = field.name()?;
    if !is_time_of_day(&text) {
        field.fault(
            format!("`{text}` is not a time of day"),
            "write HH:MM between 00:00 and 24:00",
        );
        return None;
    }
    Some(text)
}

/// `HH:MM` between 00:00 and 24:00.
pub(super) fn is_time_of_day(text: &str) -> bool {
    let two_digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(hour, minute)| {
        two_digits(hour) && two_digits(minute) && minute < "60" && (hour < "24" || text == "24:00")
    })
}

fn read_service_tier(tier: &Cursor<'_>) -> Option<ServiceTier> {
    let fields = tier.fields()?;
    let tier = ServiceTier {
        request: fields
            .get("request")
            .and_then(|field| field.verbatim_object())
            .unwrap_or_default(),
        aliases: read_names(fields.get("aliases")),
        price_multiplier: fields
            .get("price_multiplier")
            .and_then(|field| field.decimal()),
        speed_multiplier: fields
            .get("speed_multiplier")
            .and_then(|field| read_speed_multiplier(&field)),
        slo: fields.get("slo").and_then(|field| read_objective(&field)),
        completion_window_seconds: fields
            .get("completion_window_seconds")
            .and_then(|field| field.whole_number(COUNT)),
        excludes: read_names(fields.get("excludes")),
        stacks_with: read_names(fields.get("stacks_with")),
    };
    fields.refuse_unknown();
    Some(tier)
}

fn read_speed_multiplier(multiplier: &Cursor<'_>) -> Option<SpeedMultiplier> {
    let fields = multiplier.fields()?;
    let bounds = [
        ("up_to", SpeedBound::UpTo),
        ("at_least", SpeedBound::AtLeast),
        ("typical", SpeedBound::Typical),
    ];
    let metrics = [
        (
            "output_tokens_per_second",
            SpeedMetric::OutputTokensPerSecond,
        ),
        ("time_to_first_token", SpeedMetric::TimeToFirstToken),
        ("end_to_end_latency", SpeedMetric::EndToEndLatency),
    ];
    let multiplier = SpeedMultiplier {
        value: fields.get("value").and_then(|field| field.decimal()),
        bound: fields.get("bound").and_then(|field| field.one_of(&bounds)),
        metric: fields
            .get("metric")
            .and_then(|field| field.one_of(&metrics)),
    };
    fields.refuse_unknown();
    Some(multiplier)
}

fn read_objective(objective: &Cursor<'_>) -> Option<ServiceLevelObjective> {
    let fields = objective.fields()?;
    let positive = |name: &'static str, most: f64| {
        fields.get(name).and_then(|field| {
            let number = field.number()?;
            if number <= 0.0 || number > most {
                field.fault(
                    format!("{number} is out of range"),
                    format!("write a number above 0 and up to {most}"),
                );
                return None;
            }
            Some(number)
        })
    };
    let objective = ServiceLevelObjective {
        output_tokens_per_second_min: positive("output_tokens_per_second_min", 1e9),
        percentile: positive("percentile", 100.0),
        uptime_percent: positive("uptime_percent", 100.0),
    };
    fields.refuse_unknown();
    Some(objective)
}

fn read_modifier(modifier: &Cursor<'_>) -> Option<Modifier> {
    let fields = modifier.fields()?;
    let name = fields
        .required("name", "name the modifier")
        .and_then(|field| field.name());
    let multiplier = fields
        .required("multiplier", "write the factor, such as \"1.1\"")
        .and_then(|field| field.decimal());
    let when = fields
        .get("when")
        .and_then(|field| field.verbatim_object())
        .unwrap_or_default();
    let applies_to = read_names(fields.get("applies_to"));
    fields.refuse_unknown();
    Some(Modifier {
        name: name?,
        when,
        multiplier: multiplier?,
        applies_to,
    })
}

fn read_meter(meter: &Cursor<'_>) -> Option<OtherMeter> {
    let fields = meter.fields()?;
    let name = fields
        .required("meter", "name what is metered")
        .and_then(|field| field.name());
    let unit = fields
        .required("unit", "say what the price is for")
        .and_then(|field| field.name());
    let price = fields
        .required("price", "write the price")
        .and_then(|field| field.decimal());
    let note = fields.get("note").and_then(|field| field.text());
    fields.refuse_unknown();
    Some(OtherMeter {
        meter: name?,
        unit: unit?,
        price: price?,
        note,
    })
}

fn read_sources(sources: &Cursor<'_>) -> Option<Vec<Source>> {
    let count = sources.items()?.len();
    if count == 0 || count > PriceSheet::MOST_SOURCES {
        sources.fault(
            format!("a list of {count} sources"),
            format!("list 1 to {} sources", PriceSheet::MOST_SOURCES),
        );
    }
    // A source with faults keeps its place, so that the indices in `rates` are judged against the list as written.
    let read = sources.items()?.into_iter().take(PriceSheet::MOST_SOURCES);
    Some(read.map(|source| read_source(&source)).collect())
}

fn read_source(source: &Cursor<'_>) -> Source {
    let fields = source.fields();
    let text = |name| {
        fields
            .as_ref()
            .and_then(|fields| fields.get(name))
            .and_then(|field| field.text())
    };
    let required = |name, hint| {
        fields
            .as_ref()
            .and_then(|fields| fields.required(name, hint))
    };
    let read = Source {
        url: required("url", "write the address")
            .and_then(|field| field.text())
            .unwrap_or_default(),
        format: required("format", "write \"official\" for the provider's own page")
            .and_then(|field| field.one_of(&SourceFormat::ALL))
            .unwrap_or(SourceFormat::Manual),
        retrieved_at: text("retrieved_at"),
        published_at: text("published_at"),
        sha256: text("sha256"),
        locator: text("locator"),
    };
    if let Some(fields) = fields {
        fields.refuse_unknown();
    }
    read
}

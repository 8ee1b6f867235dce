//! An answer for a person: the price sheet in one table, the readings with their equations in numbers, the conflicts,
//! within 80 columns.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};

use super::label;
use crate::clue::assumptions::Origin;
use crate::clue::reading::{Detail, Kind, Reading, Value};
use crate::estimate::Answer;
use crate::sheet::{Basis, PriceSheet, RateCell};
use crate::units::{Decimal, readable};

const WIDTH: usize = 80;

pub(super) fn write(out: &mut impl Write, sheet: &PriceSheet, answer: &Answer) -> io::Result<()> {
    write_sheet(out, sheet)?;
    write_readings(out, answer)?;
    write_conflicts(out, answer)?;
    write_not_defined(out, answer)?;
    write_values(out, answer)?;
    writeln!(
        out,
        "estimate {} (engine {})\n",
        answer.id, answer.engine_version
    )
}

fn paragraph(out: &mut impl Write, text: &str, indent: usize) -> io::Result<()> {
    let blank = " ".repeat(indent);
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&blank)
        .subsequent_indent(&blank);
    textwrap::wrap(text, options)
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
}

fn write_sheet(out: &mut impl Write, sheet: &PriceSheet) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        label(&format!("{} {}", sheet.provider, sheet.model))
    )?;
    let mut facts = vec![
        format!("region {}", sheet.region),
        format!("{} per million tokens", sheet.currency),
    ];
    facts.extend(
        sheet
            .canonical_model
            .as_ref()
            .map(|model| format!("canonical model {model}")),
    );
    let date = |time: &jiff::Timestamp| time.strftime("%Y-%m-%d").to_string();
    facts.extend(
        sheet
            .valid_from
            .as_ref()
            .map(|from| format!("from {}", date(from))),
    );
    facts.extend(
        sheet
            .valid_to
            .as_ref()
            .map(|to| format!("until {}", date(to))),
    );
    paragraph(out, &facts.join(", "), 0)?;
    writeln!(out, "{}\n", rate_table(sheet))
}

fn rate_table(sheet: &PriceSheet) -> Table {
    let mut rates: Vec<&RateCell> = sheet.rates.iter().collect();
    rates.sort_by(|left, right| left.key().cmp(&right.key()));
    let columns: [(&str, fn(&RateCell) -> String); 8] = [
        ("tier", tier_name),
        ("prompt", |rate| prompt_range(rate)),
        ("input", |rate| price(rate.input.as_ref())),
        ("output", |rate| price(rate.output.as_ref())),
        ("reasoning", |rate| price(rate.reasoning.as_ref())),
        ("cache read", |rate| price(rate.cache_read.as_ref())),
        ("cache write", cache_writes),
        ("storage/h", |rate| {
            price(rate.cache_storage_per_hour.as_ref())
        }),
    ];
    // A column that no cell fills is not shown.
    let shown: Vec<_> = columns
        .iter()
        .filter(|(_, text)| rates.iter().any(|rate| !text(rate).is_empty()))
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(80)
        .set_header(shown.iter().map(|(name, _)| *name));
    for rate in rates {
        table.add_row(shown.iter().map(|(_, text)| text(rate)));
    }
    table
}

fn tier_name(rate: &RateCell) -> String {
    let schedule = rate
        .schedule
        .as_ref()
        .map_or(String::new(), |schedule| format!(", {schedule}"));
    let computed = if rate.basis == Basis::Computed {
        " (computed)"
    } else {
        ""
    };
    format!("{}{schedule}{computed}", rate.service_tier)
}

fn prompt_range(rate: &RateCell) -> String {
    let tier = rate.context_tier;
    match (tier.min_prompt_tokens, tier.inclusive) {
        (0, _) => String::new(),
        (tokens, true) => format!("≥ {}", readable(f64::from(tokens))),
        (tokens, false) => format!("> {}", readable(f64::from(tokens))),
    }
}

fn price(price: Option<&Decimal>) -> String {
    price.map_or(String::new(), |price| price.normalized().to_string())
}

fn cache_writes(rate: &RateCell) -> String {
    let write = |write: &crate::sheet::CacheWrite| match write.ttl_seconds {
        Some(ttl) => format!(
            "{} for {}",
            write.price.normalized(),
            duration(f64::from(ttl))
        ),
        None => write.price.normalized().to_string(),
    };
    rate.cache_write
        .iter()
        .map(write)
        .collect::<Vec<_>>()
        .join("\n")
}

fn duration(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min")];
    let unit = units
        .iter()
        .find(|(length, _)| seconds >= *length && seconds % length == 0.0);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(length, name)| format!("{} {name}", seconds / length),
    )
}

fn write_readings(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut clue = "";
    for reading in answer
        .readings
        .iter()
        .filter(|reading| reading.value.is_some())
    {
        if reading.clue != clue {
            clue = reading.clue;
            writeln!(out, "{}", label(clue))?;
        }
        write_reading(out, reading)?;
    }
    if !clue.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn write_reading(out: &mut impl Write, reading: &Reading) -> io::Result<()> {
    let value = reading.value.as_ref().map_or(String::new(), |value| {
        valued(reading.kind, value, reading.unit)
    });
    let range = range(reading.low, reading.high);
    let heading = format!("{}{}", reading.id, told_apart(reading));
    let answer = format!("{value}{range}");
    let room = WIDTH.saturating_sub(2 + textwrap::core::display_width(&answer) + 1);
    if textwrap::core::display_width(&heading) <= room {
        writeln!(out, "  {heading:<room$}{} {}", "", label(&answer))?;
    } else {
        paragraph(out, &heading, 2)?;
        writeln!(out, "{:>WIDTH$}", answer)?;
    }
    paragraph(out, reading.equation, 4)?;
    if let Some(working) = &reading.working {
        paragraph(out, working, 6)?;
    }
    let details: Vec<String> = reading.details.iter().map(detail).collect();
    if !details.is_empty() {
        paragraph(out, &details.join(" · "), 4)?;
    }
    reading
        .caveats
        .iter()
        .try_for_each(|caveat| paragraph(out, &format!("note: {caveat}"), 4))
}

/// What tells this entry apart from others of its id.
fn told_apart(reading: &Reading) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        reading
            .label("service_tier")
            .filter(|tier| *tier != RateCell::STANDARD)
            .map(str::to_owned),
    );
    parts.extend(reading.label("schedule").map(str::to_owned));
    parts.extend(
        reading
            .label("cache")
            .filter(|cache| *cache != "implicit")
            .map(str::to_owned),
    );
    let tokens = reading
        .input("min_prompt_tokens")
        .filter(|tokens| *tokens > 0.0);
    parts.extend(tokens.map(|tokens| format!("> {} tokens", readable(tokens))));
    parts.extend(reading.input("ttl_seconds").map(duration));
    let pair = reading
        .input("ttl_short_seconds")
        .zip(reading.input("ttl_long_seconds"));
    parts.extend(pair.map(|(short, long)| format!("{} to {}", duration(short), duration(long))));
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    }
}

fn valued(kind: Kind, value: &Value, unit: &str) -> String {
    let sign = match kind {
        Kind::Equal => "",
        Kind::Upper => "≤ ",
        Kind::Lower => "≥ ",
    };
    let value = match value {
        Value::Number(number) => readable(*number),
        Value::Name(name) => name.clone(),
    };
    format!("{sign}{value} {unit}").trim_end().to_owned()
}

fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!(" [{} to {}]", readable(low), readable(high)),
        _ => String::new(),
    }
}

fn detail(detail: &Detail) -> String {
    let value = valued(detail.kind, &detail.value, detail.unit);
    format!(
        "{} {value}{}",
        detail.name.replace('_', " "),
        range(detail.low, detail.high)
    )
}

fn write_conflicts(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    if answer.conflicts.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("conflicts"))?;
    for conflict in &answer.conflicts {
        paragraph(
            out,
            &format!("{} against {}", conflict.between[0], conflict.between[1]),
            2,
        )?;
        paragraph(out, &conflict.why, 4)?;
    }
    writeln!(out)
}

/// Readings without a value, those with one reason together.
fn write_not_defined(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for reading in &answer.readings {
        let Some(reason) = &reading.not_defined else {
            continue;
        };
        match reasons
            .iter_mut()
            .find(|(detail, _)| *detail == reason.detail)
        {
            Some((_, ids)) if ids.contains(&reading.id) => {}
            Some((_, ids)) => ids.push(reading.id),
            None => reasons.push((&reason.detail, vec![reading.id])),
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("not defined"))?;
    for (detail, ids) in reasons {
        paragraph(out, &ids.join(", "), 2)?;
        paragraph(out, detail, 4)?;
    }
    writeln!(out)
}

fn write_values(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    if answer.values.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("values used"))?;
    for input in &answer.values {
        let from = match input.from {
            Origin::Stated => "stated",
            Origin::Sheet => "sheet",
            Origin::Textbook => "textbook",
            Origin::Reference => "reference",
        };
        let value = valued(Kind::Equal, &input.value, &input.unit);
        let symbol = if input.symbol.is_empty() {
            String::new()
        } else {
            format!("{} = ", input.symbol)
        };
        paragraph(
            out,
            &format!(
                "{symbol}{value}{} {} ({from})",
                range(input.low, input.high),
                input.name
            ),
            2,
        )?;
    }
    writeln!(out)
}

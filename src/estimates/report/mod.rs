//! The text report of an answer, within the width of the terminal: the price sheet in one table, the readings with substituted
//! equations, the conflicts.

mod headline;
mod joint;

pub(crate) use joint::{interval, moves, percent, public_values, waits_for};

use std::io::{self, Write};

use comfy_table::ColumnConstraint::LowerBoundary;
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle, Width};
use jiff::Timestamp;
use textwrap::core::display_width;

use crate::label;
use crate::shell::terminal::width;
use unroof_base::units::{Decimal, readable};
use unroof_infer::estimate::{Answer, StoredEstimate};
use unroof_infer::evidence::assumptions::Origin;
use unroof_infer::evidence::reading::{Detail, Input, Kind, Reading, Value, duration};
use unroof_price_sheet::sheet::{Basis, PriceSheet, RateCell};

/// Cells up to this width stay on one line where the table has room.
const SHORT_CELL: usize = 16;
/// A blank that lines do not end at.
pub(crate) const NO_BREAK: &str = "\u{a0}";
/// Places where the text of a cell may be broken.
const BREAKS: [char; 2] = [' ', '\n'];

/// Parts of a report beside the estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grounds {
    /// Nothing but the estimates is shown.
    LeftOut,
    /// The sheet, every reading with its numbers, and how the estimates came about.
    Shown,
}

pub(crate) fn write(
    out: &mut impl Write,
    sheets: &[PriceSheet],
    answer: &Answer,
    grounds: Grounds,
) -> io::Result<()> {
    let estimated = StoredEstimate::of(answer)?;
    write_estimated(out, &estimated, grounds)?;
    if grounds == Grounds::Shown {
        joint::write_grounds(out, answer, &estimated)?;
        sheets
            .iter()
            .try_for_each(|sheet| write_sheet(out, sheet))?;
        write_readings(out, answer)?;
        write_not_defined(out, answer)?;
        write_values(out, answer)?;
    }
    write_id(out, &estimated)
}

/// The report of a stored estimate.
pub(crate) fn write_stored(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    write_estimated(out, estimated, Grounds::LeftOut)?;
    write_id(out, estimated)
}

fn write_estimated(
    out: &mut impl Write,
    estimated: &StoredEstimate,
    grounds: Grounds,
) -> io::Result<()> {
    headline::write(out, estimated)?;
    headline::write_warnings(out, estimated)?;
    joint::write(out, estimated)?;
    write_conflicts(out, estimated, grounds)
}

fn write_id(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let StoredEstimate {
        id, engine_version, ..
    } = estimated;
    writeln!(out, "estimate {id} (engine {engine_version})\n")
}

/// The day of a time, in UTC.
pub(crate) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// Texts as one, with a separator.
pub(crate) fn joined(texts: impl IntoIterator<Item: AsRef<str>>, separator: &str) -> String {
    let texts: Vec<_> = texts.into_iter().collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    texts.join(separator)
}

/// A number and what it counts, such as `1 entry` and `2 entries`.
pub(crate) fn number(count: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}

pub(crate) fn paragraph(out: &mut impl Write, text: &str, indent: usize) -> io::Result<()> {
    let blank = " ".repeat(indent);
    // Ids and units hold hyphens and slashes; a line ends between words only.
    let options = textwrap::Options::new(width())
        .initial_indent(&blank)
        .subsequent_indent(&blank)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
        .iter()
        .try_for_each(|line| writeln!(out, "{}", line.replace(NO_BREAK, " ")))
}

/// A table with a line under its header and no other.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let columns = Columns::of(header, &rows);
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns.width)
        .set_header(header);
    for row in rows {
        table.add_row(row);
    }
    let least = columns.least.into_iter();
    table.set_constraints(least.map(|width| LowerBoundary(Width::Fixed(width))));
    if columns.are_close {
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, 1));
        });
    }
    table
}

/// Widths of a table's columns.
struct Columns {
    /// Least widths with padding, so that no number is split.
    least: Vec<u16>,
    /// Width of the table.
    width: u16,
    /// Whether columns are separated by one blank and not by two.
    are_close: bool,
    /// Whether the terminal is wide enough.
    fits: bool,
}

impl Columns {
    /// Words and short cells stay on one line where there is room; else columns are closer, long names are split, then cells
    /// end at blanks. A table whose numbers need more than the terminal is wider.
    fn of(header: &[&str], rows: &[Vec<String>]) -> Self {
        let widths = |of_cell: fn(&str) -> usize, padding: usize| -> Vec<usize> {
            let of_column = |column: usize| {
                let cells = rows
                    .iter()
                    .filter_map(|row| row.get(column).map(String::as_str));
                let texts = cells.chain([header[column]]);
                texts.map(of_cell).max().unwrap_or(0) + padding
            };
            (0..header.len()).map(of_column).collect()
        };
        let layouts = [
            (widths(whole_words, 2), false),
            (widths(whole_words, 1), true),
            (widths(short_cell, 2), false),
            (widths(short_cell, 1), true),
            (widths(longest_word, 2), false),
            (widths(longest_word, 1), true),
        ];
        // Every two columns have a blank between them, beside their padding.
        let between = header.len().saturating_sub(1);
        let whole = |least: &[usize]| least.iter().sum::<usize>() + between;
        let fits = |(least, _): &&(Vec<usize>, bool)| whole(least) <= width();
        let found = layouts.iter().find(fits);
        let (least, are_close) = found.unwrap_or(&layouts[layouts.len() - 1]);
        let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
        Self {
            width: narrow(whole(least).max(width())),
            least: least.iter().copied().map(narrow).collect(),
            are_close: *are_close,
            fits: found.is_some(),
        }
    }
}

/// Width that a cell needs: that of a short cell as a whole, or that of the longest word of a longer one.
fn whole_words(text: &str) -> usize {
    let words = text.split(BREAKS).map(display_width);
    words.max().unwrap_or(0).max(short_cell(text))
}

/// Width that a cell needs: that of its longest word. Names that are longer than any number may be split.
fn longest_word(text: &str) -> usize {
    const LONGEST_NUMBER: usize = 16;
    let words = text.split(BREAKS).map(display_width);
    words.max().unwrap_or(0).min(LONGEST_NUMBER)
}

/// Width of a short cell as a whole; 0 for a longer one.
fn short_cell(text: &str) -> usize {
    match text.lines().map(display_width).max().unwrap_or(0) {
        width if width <= SHORT_CELL => width,
        _ => longest_word(text),
    }
}

/// Writes rows as a table where the terminal has room, else each as its first cell and the others below it.
pub(crate) fn write_rows(
    out: &mut impl Write,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    if Columns::of(header, &rows).fits {
        return write_table(out, &table(header, rows));
    }
    for row in rows {
        let mut cells = header.iter().zip(row);
        if let Some((_, first)) = cells.next() {
            paragraph(out, &label(&first), 0)?;
        }
        let others = cells.map(|(name, cell)| format!("{name} {}", cell.replace('\n', " · ")));
        paragraph(out, &joined(others, ", "), 2)?;
    }
    writeln!(out)
}

pub(crate) fn write_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    table
        .lines()
        .try_for_each(|line| writeln!(out, "{}", line.trim_end().replace(NO_BREAK, " ")))?;
    writeln!(out)
}

fn write_sheet(out: &mut impl Write, sheet: &PriceSheet) -> io::Result<()> {
    let offer = format!("{} {}", sheet.provider, sheet.model);
    for line in textwrap::wrap(&offer, width()) {
        writeln!(out, "{}", label(&line))?;
    }
    let mut facts = vec![
        format!("region {}", sheet.region),
        format!("{} per million tokens", sheet.currency),
    ];
    let model = sheet.canonical_model.iter();
    facts.extend(model.map(|model| format!("canonical model {model}")));
    facts.extend(sheet.valid_from.map(|from| format!("from {}", day(from))));
    facts.extend(sheet.valid_to.map(|to| format!("until {}", day(to))));
    let limits = [
        ("context", sheet.limits.context),
        ("prompt up to", sheet.limits.max_input),
    ];
    let longest = limits
        .into_iter()
        .find_map(|(name, tokens)| Some((name, tokens?)));
    facts
        .extend(longest.map(|(name, tokens)| format!("{name} {} tokens", readable(tokens.into()))));
    paragraph(out, &facts.join(", "), 0)?;
    writeln!(out)?;
    write_table(out, &rate_table(sheet))
}

/// Name and text of a column of the rate table.
type Column = (&'static str, fn(&RateCell) -> String);

const COLUMNS: [Column; 9] = [
    ("tier", tier_name),
    ("prompt", prompt_range),
    ("input", |rate| price(rate.input.as_ref())),
    ("output", |rate| price(rate.output.as_ref())),
    ("reasoning", |rate| price(rate.reasoning.as_ref())),
    ("cache read", |rate| price(rate.cache_read.as_ref())),
    ("explicit", |rate| price(rate.cache_read_explicit.as_ref())),
    ("cache write", cache_writes),
    ("storage/h", |rate| {
        price(rate.cache_storage_per_hour.as_ref())
    }),
];

fn rate_table(sheet: &PriceSheet) -> Table {
    let mut rates: Vec<&RateCell> = sheet.rates.iter().collect();
    rates.sort_by(|left, right| left.key().cmp(&right.key()));
    // A column that no cell fills is not shown.
    let is_filled = |(_, text): &Column| rates.iter().any(|rate| !text(rate).is_empty());
    let (header, texts): (Vec<_>, Vec<_>) = COLUMNS.into_iter().filter(is_filled).unzip();
    let row = |rate: &&RateCell| texts.iter().map(|text| text(rate)).collect();
    table(&header, rates.iter().map(row))
}

fn tier_name(rate: &RateCell) -> String {
    let schedule = rate.schedule.as_deref();
    let schedule = schedule.map_or(String::new(), |schedule| format!(", {schedule}"));
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
    let write = |write: &unroof_price_sheet::sheet::CacheWrite| match write.ttl_seconds {
        Some(ttl) => format!(
            "{} for {}",
            write.price.normalized(),
            duration(f64::from(ttl))
        ),
        None => write.price.normalized().to_string(),
    };
    joined(rate.cache_write.iter().map(write), "\n")
}

/// Readings with a value, by clue; common parts of entries are printed once.
fn write_readings(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let defined: Vec<&Reading> = answer
        .textbook
        .readings
        .iter()
        .filter(|reading| reading.value.is_some())
        .collect();
    for of_clue in defined.chunk_by(|left, right| left.clue == right.clue) {
        writeln!(out, "{}", label(of_clue[0].clue.name()))?;
        for entries in of_clue.chunk_by(|left, right| left.id == right.id) {
            paragraph(
                out,
                &format!("{}: {}", entries[0].id, in_one_piece(entries[0].equation)),
                2,
            )?;
            equal_entries(entries)
                .iter()
                .try_for_each(|(reading, qualifiers)| write_entry(out, reading, qualifiers))?;
        }
        let mut caveats: Vec<&String> = of_clue
            .iter()
            .flat_map(|reading| &reading.caveats)
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        caveats.retain(|caveat| seen.insert(*caveat));
        caveats
            .iter()
            .try_for_each(|caveat| paragraph(out, &format!("note: {caveat}"), 2))?;
    }
    if defined.is_empty() {
        Ok(())
    } else {
        writeln!(out)
    }
}

/// Keeps a text on one line where it fits on one.
fn in_one_piece(text: &str) -> String {
    const WIDEST_INDENT: usize = 8;
    let fits = display_width(text) + WIDEST_INDENT <= width();
    if fits {
        text.replace(' ', NO_BREAK)
    } else {
        text.to_owned()
    }
}

/// Entries of one reading, those of one value together with what each is of: batch, flex and priority are often sold in
/// proportion.
fn equal_entries<'a>(entries: &[&'a Reading]) -> Vec<(&'a Reading, String)> {
    let mut folded: Vec<(&'a Reading, String, Vec<String>, String)> = Vec::new();
    for reading in entries.iter().copied() {
        let of = reading.qualifiers();
        let (tier, rest) = of.split_once(", ").unwrap_or((&of, ""));
        let value = result(reading);
        let same = folded
            .iter_mut()
            .find(|(_, known, _, of_same)| *known == value && of_same == rest);
        match same {
            Some((_, _, tiers, _)) => tiers.push(tier.to_owned()),
            None => folded.push((reading, value, vec![tier.to_owned()], rest.to_owned())),
        }
    }
    let named = |(reading, _, mut tiers, rest): (&'a Reading, String, Vec<String>, String)| {
        tiers.push(rest);
        tiers.retain(|part| !part.is_empty());
        (reading, tiers.join(", "))
    };
    folded.into_iter().map(named).collect()
}

/// The value of a reading with its range and what is read beside it.
fn result(reading: &Reading) -> String {
    let details = joined(reading.details.iter().map(detail), " ");
    format!("{} {details}", answer_of(reading))
}

fn answer_of(reading: &Reading) -> String {
    let value = reading.value.as_ref().map_or(String::new(), |value| {
        valued(reading.kind, value, reading.unit)
    });
    format!("{value}{}", range(reading.low, reading.high))
}

fn write_entry(out: &mut impl Write, reading: &Reading, apart: &str) -> io::Result<()> {
    let answer = answer_of(reading);
    let width = width();
    let room = width.saturating_sub(4 + display_width(&answer) + 1);
    if display_width(apart) <= room {
        let gap = " ".repeat(room - display_width(apart) + 1);
        writeln!(out, "    {apart}{gap}{}", label(&answer))?;
    } else {
        paragraph(out, apart, 4)?;
        writeln!(
            out,
            "{}{}",
            " ".repeat(width.saturating_sub(display_width(&answer))),
            label(&answer)
        )?;
    }
    if let Some(working) = &reading.working {
        paragraph(out, &in_one_piece(working), 6)?;
    }
    let details: Vec<String> = reading.details.iter().map(detail).collect();
    if details.is_empty() {
        Ok(())
    } else {
        paragraph(out, &details.join(&format!("{NO_BREAK}· ")), 6)
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
    let name = detail.name.replace('_', " ");
    let value = valued(detail.kind, &detail.value, detail.unit);
    in_one_piece(&format!("{name} {value}{}", range(detail.low, detail.high)))
}

/// Conflicts of a report without its grounds.
const MOST_CONFLICTS: usize = 2;

fn write_conflicts(
    out: &mut impl Write,
    estimated: &StoredEstimate,
    grounds: Grounds,
) -> io::Result<()> {
    let conflicts = &estimated.conflicts;
    if conflicts.is_empty() {
        return Ok(());
    }
    let shown = match grounds {
        Grounds::Shown => conflicts.len(),
        Grounds::LeftOut => conflicts.len().min(MOST_CONFLICTS),
    };
    writeln!(out, "{}", label("conflicts"))?;
    for conflict in &conflicts[..shown] {
        paragraph(out, &conflict.sides().join(" against "), 2)?;
        paragraph(out, &conflict.why, 4)?;
    }
    if shown < conflicts.len() {
        let more = conflicts.len() - shown;
        paragraph(
            out,
            &format!("and {more} more: --readings shows them all"),
            2,
        )?;
    }
    writeln!(out)
}

/// Readings without a value.
fn write_not_defined(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let readings = answer.textbook.readings.iter();
    let reasons = readings.filter_map(|reading| {
        let reason = reading.not_defined.as_ref()?;
        Some((&*reason.detail, reading.id.name()))
    });
    write_reasons(out, reasons)
}

/// Names of what is not defined, those with one reason together.
pub(crate) fn write_reasons<'a>(
    out: &mut impl Write,
    reasons: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> io::Result<()> {
    let reasons = by_reason(reasons);
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("not defined"))?;
    for (reason, names) in reasons {
        paragraph(out, &names.join(", "), 2)?;
        paragraph(out, reason, 4)?;
    }
    writeln!(out)
}

/// Every reason once, with the names that it is given for, in the order in which they come.
fn by_reason<'a, Reason: PartialEq>(
    reasons: impl IntoIterator<Item = (Reason, &'a str)>,
) -> Vec<(Reason, Vec<&'a str>)> {
    let mut grouped: Vec<(Reason, Vec<&str>)> = Vec::new();
    for (reason, name) in reasons {
        match grouped.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => grouped.push((reason, vec![name])),
        }
    }
    grouped
}

fn write_values(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    if answer.textbook.values.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("values used"))?;
    let row = |input: &Input| {
        let from = match input.from {
            Origin::Stated => "stated",
            Origin::Sheet => "sheet",
            Origin::Textbook => "textbook",
            Origin::Reference => "reference",
        };
        let value = valued(Kind::Equal, &input.value, &input.unit);
        vec![
            input.symbol.to_owned(),
            input.name.to_owned(),
            format!("{value}{}", range(input.low, input.high)),
            from.to_owned(),
        ]
    };
    write_table(
        out,
        &table(
            &["", "name", "value", "from"],
            answer.textbook.values.iter().map(row),
        ),
    )
}

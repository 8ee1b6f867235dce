//! Shared parts of the calculators' commands: a request from a file and flags, and a report.

use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;

use crate::estimates::chart::{Chart, show};
use crate::estimates::report::{paragraph, table, write_reasons, write_table};
use crate::shell::input::read_input;
use crate::shell::terminal;
use crate::{Failure, label};
use unroof_base::input::RequestError;
use unroof_base::input::body::{
    Body, Flag, LIST_PLACEHOLDER, TIME_PLACEHOLDER, TRUTH_PLACEHOLDER, flags,
};
use unroof_base::units::{Bytes, Seconds, readable};
use unroof_roofline::calculator::inputs::{EquationUsed, InputOrigin, InputUsed, NoValue};
use unroof_roofline::calculator::scenario::model::FILE_PLACEHOLDER;
use unroof_roofline::reference::accelerators;

/// Arguments of a calculator's command: a request from a file and flags, and where the answer goes.
#[derive(Debug, Args)]
pub(crate) struct Calculation<Request: Body + Clone> {
    #[arg(help = file_help::<Request>())]
    file: Option<PathBuf>,
    #[command(flatten)]
    stated: RequestFlags<Request>,
    /// Print the answer as HTTP gives it
    #[arg(long)]
    json: bool,
    /// Save the curve of the answer as an SVG picture
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Print the ids of the accelerators instead
    #[arg(long, exclusive = true)]
    list_accelerators: bool,
}

/// Help of the file of a request, whose type is named after its route.
fn file_help<Request: Body>() -> String {
    let route = Request::NAME.trim_end_matches("Request").to_lowercase();
    format!(
        "File with a request as `POST /{route}` takes it; `-` reads standard input; all defaults if left out"
    )
}

impl<Request: Body + Clone> Calculation<Request> {
    /// Answers the request, prints the answer, shows its chart and returns it; or lists the accelerators.
    pub(crate) fn run<Answer: Serialize>(
        &self,
        answer: impl Fn(&[u8]) -> Result<Answer, RequestError>,
        write: impl Fn(&mut dyn Write, &Answer) -> io::Result<()>,
        chart: impl Fn(&Answer) -> Option<Chart>,
        is_drawn: bool,
    ) -> Result<Option<Answer>, Failure> {
        if self.list_accelerators {
            let list = List::of("", accelerators())
                .column("id", |row| row.id.clone())
                .column("name", |row| row.name.clone());
            list.write(&mut terminal::stdout())?;
            return Ok(None);
        }
        let answer = answered(self.file.as_deref(), &self.stated, answer)?;
        print(&answer, self.json, write)?;
        show(chart(&answer), self.save.as_deref(), is_drawn && !self.json)?;
        Ok(Some(answer))
    }

    /// Calls fields by their flags in remarks on an answer to a request that is made of flags alone.
    pub(crate) fn name_flags(&self, caveats: &mut [String], not_defined: &mut [NoValue]) {
        if self.file.is_some() {
            return;
        }
        let all = flags::<Request>();
        let reasons = not_defined.iter_mut().map(|entry| &mut entry.reason);
        for text in caveats.iter_mut().chain(reasons) {
            *text = with_flags(text, &all);
        }
    }
}

/// Flags that state fields of a request; the request's type declares them.
#[derive(Debug)]
pub(crate) struct RequestFlags<Request> {
    stated: Vec<(Flag, String)>,
    request: PhantomData<Request>,
}

impl<Request: Body + Clone> Args for RequestFlags<Request> {
    fn augment_args(command: Command) -> Command {
        let argument = |flag: Flag| {
            let argument = Arg::new(flag.name)
                .long(flag.name)
                .value_name(flag.placeholder)
                .allow_negative_numbers(true)
                .help(flag.help.trim_end_matches('.').replace('\n', " "));
            if flag.placeholder == TRUTH_PLACEHOLDER {
                let argument = argument.num_args(0..=1).require_equals(true);
                return argument.default_missing_value("true");
            }
            argument
        };
        command.args(flags::<Request>().into_iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<Request: Body + Clone> FromArgMatches for RequestFlags<Request> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let stated = |flag: Flag| {
            let value = matches.get_one::<String>(flag.name)?.clone();
            Some((flag, value))
        };
        Ok(Self {
            stated: flags::<Request>().into_iter().filter_map(stated).collect(),
            request: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<Request: Body + Clone> RequestFlags<Request> {
    /// Sets the fields of a request that the flags state.
    ///
    /// # Errors
    /// A file that a flag names cannot be read.
    pub(crate) fn apply(&self, request: &mut Value) -> Result<(), Failure> {
        for (flag, value) in &self.stated {
            *place(request, &flag.pointer) = match flag.placeholder {
                LIST_PLACEHOLDER => {
                    let items = value.split(',');
                    items.map(|item| stated_value(item.trim())).collect()
                }
                FILE_PLACEHOLDER => table_or_json(Path::new(value))?,
                TRUTH_PLACEHOLDER => {
                    let truth = value.parse();
                    truth.map_or_else(|_| Value::String(value.clone()), Value::Bool)
                }
                TIME_PLACEHOLDER => seconds(value).unwrap_or_else(|| stated_value(value)),
                _ => stated_value(value),
            };
        }
        Ok(())
    }

    /// Calls fields by the flags that state them.
    pub(crate) fn name_flags(&self, error: RequestError) -> RequestError {
        naming_flags(error, &self.stated, &flags::<Request>())
    }
}

/// The rows of a CSV file, or the content of a JSON file.
pub(crate) fn table_or_json(file: &Path) -> Result<Value, Failure> {
    let text = read_input(file)?;
    let name = file.display();
    Ok(
        if file.extension().is_some_and(|extension| extension == "csv") {
            rows_of(&text).with_context(|| format!("`{name}` is not valid CSV"))?
        } else {
            serde_json::from_slice(&text).with_context(|| format!("`{name}` is not valid JSON"))?
        },
    )
}

/// Rows of a table as objects of its columns, cells that are empty left out.
fn rows_of(text: &[u8]) -> Result<Value, csv::Error> {
    let mut table = csv::Reader::from_reader(text);
    let columns = table.headers()?.clone();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record?;
        let cells = columns
            .iter()
            .zip(&record)
            .filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(column, cell)| (column.to_owned(), stated_value(cell)));
        Ok(Value::Object(cells.collect()))
    };
    table.records().map(row).collect()
}

/// The answer to the request in a file, or to an empty request, with the fields stated by flags.
fn answered<Request: Body + Clone, Answer>(
    file: Option<&Path>,
    flags: &RequestFlags<Request>,
    answer: impl Fn(&[u8]) -> Result<Answer, RequestError>,
) -> Result<Answer, Failure> {
    let text = file.map_or_else(|| Ok(b"{}".to_vec()), read_input)?;
    if flags.stated.is_empty() {
        return Ok(answer(&text)?);
    }
    // Faults of the file are those of the file as it is written.
    if file.is_some() {
        answer(&text)?;
    }
    let mut request: Value =
        serde_json::from_slice(&text).context("the request is not an object")?;
    flags.apply(&mut request)?;
    let answer = answer(request.to_string().as_bytes());
    Ok(answer.map_err(|error| flags.name_flags(error))?)
}

/// The field of a request by its path, created if absent.
fn place<'r>(request: &'r mut Value, pointer: &str) -> &'r mut Value {
    // An object may be written as its name or its accelerator alone.
    let bare = if pointer.contains("machine/") {
        "accelerator"
    } else {
        "name"
    };
    pointer.split('/').skip(1).fold(request, |object, name| {
        if let Value::String(written) = object {
            *object = serde_json::json!({bare: written});
        }
        &mut object[name]
    })
}

/// Writes the flag in place of the pointer in faults of fields that a flag states, and in place of the names of fields
/// that have a flag.
fn naming_flags(error: RequestError, stated: &[(Flag, String)], all: &[Flag]) -> RequestError {
    let RequestError::Wrong(mut faults) = error else {
        return error;
    };
    for fault in &mut faults {
        let is_of = |flag: &Flag| {
            let rest = fault.pointer.strip_prefix(&flag.pointer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A field that is missing has the pointer of the object that lacks it.
        let is_within = |flag: &Flag| flag.pointer.starts_with(&format!("{}/", fault.pointer));
        let flag = stated.iter().find(|(flag, _)| is_of(flag));
        let flag = flag.or_else(|| stated.iter().find(|(flag, _)| is_within(flag)));
        let Some((flag, _)) = flag else {
            continue;
        };
        fault.pointer = format!("--{}", flag.name);
        for text in [&mut fault.detail, &mut fault.hint] {
            *text = with_flags(text, all);
        }
    }
    RequestError::Wrong(faults)
}

/// A message in which fields that have a flag are called by it.
fn with_flags(text: &str, all: &[Flag]) -> String {
    all.iter().fold(text.to_owned(), |text, flag| {
        let path = flag.pointer.trim_start_matches('/').replace('/', ".");
        let name = flag.pointer.rsplit('/').next().unwrap_or_default();
        let flag = format!("--{}", flag.name);
        text.replace(&format!("`{path}`"), &flag)
            .replace(&format!("`{name}`"), &flag)
    })
}

/// The seconds of a time with a unit, as `200ms` or `1m 30s`.
fn seconds(written: &str) -> Option<Value> {
    let time: SignedDuration = written.parse().ok()?;
    Some(time.as_secs_f64().into())
}

/// The value of a flag as JSON: a number or an object if it is one, else a string.
fn stated_value(written: &str) -> Value {
    match serde_json::from_str(written) {
        Ok(value @ (Value::Number(_) | Value::Object(_))) => value,
        _ => Value::String(written.to_owned()),
    }
}

/// Prints an answer as JSON, as HTTP gives it, or as a report.
pub(crate) fn print<Answer: Serialize>(
    answer: &Answer,
    as_json: bool,
    write: impl Fn(&mut dyn Write, &Answer) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = terminal::stdout();
    if as_json {
        let text = serde_json::to_string(answer).context("the answer could not be serialised")?;
        writeln!(out, "{text}")?;
    } else {
        write(&mut out, answer)?;
    }
    Ok(())
}

/// Names and values for [`write_values`].
macro_rules! values {
    ($($name:literal => $value:expr;)*) => { [$(($name, $value)),*] };
}
pub(crate) use values;

/// A heading and two columns: name and value.
pub(crate) fn write_values(
    mut out: &mut dyn Write,
    heading: &str,
    values: &[(&str, String)],
) -> io::Result<()> {
    writeln!(out, "{}", label(heading))?;
    let widest = values.iter().map(|(name, _)| name.chars().count()).max();
    for (name, value) in values {
        let gap = " ".repeat(widest.unwrap_or(0) - name.chars().count());
        paragraph(&mut out, &format!("{name}{gap}  {value}"), 2)?;
    }
    writeln!(out)
}

/// A table of items below a heading, column by column.
pub(crate) struct List<'i, Item> {
    heading: &'i str,
    items: Vec<&'i Item>,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl<'i, Item> List<'i, Item> {
    /// A table without columns; without a heading if that is empty.
    pub(crate) fn of(heading: &'i str, items: impl IntoIterator<Item = &'i Item>) -> Self {
        let items: Vec<&Item> = items.into_iter().collect();
        Self {
            heading,
            header: Vec::new(),
            rows: vec![Vec::new(); items.len()],
            items,
        }
    }

    /// Adds a column: the name, and the cell of each item.
    pub(crate) fn column(mut self, name: &'static str, cell: impl Fn(&Item) -> String) -> Self {
        self.header.push(name);
        for (row, item) in self.rows.iter_mut().zip(&self.items) {
            row.push(cell(item));
        }
        self
    }

    /// Writes the table.
    pub(crate) fn write(self, mut out: &mut dyn Write) -> io::Result<()> {
        if !self.heading.is_empty() {
            writeln!(out, "{}", label(self.heading))?;
        }
        write_table(&mut out, &table(&self.header, self.rows))
    }
}

/// Last part of every report of a calculator: null values, equations, inputs.
pub(crate) fn write_grounds(
    mut out: &mut dyn Write,
    not_defined: &[NoValue],
    equations: &[EquationUsed],
    inputs: &[InputUsed],
) -> io::Result<()> {
    let reasons = not_defined.iter();
    write_reasons(&mut out, reasons.map(|entry| (&*entry.reason, entry.value)))?;
    writeln!(out, "{}", label("equations"))?;
    for equation in equations {
        let text = format!(
            "{} {} [{}]",
            equation.id, equation.equation, equation.source
        );
        paragraph(&mut out, text.trim_start(), 2)?;
    }
    writeln!(out)?;
    List::of("values used", inputs)
        .column("name", |input| input.name.clone())
        .column("value", |input| {
            let written = format!("{} {}", input.value, input.unit);
            written.trim_end().to_owned()
        })
        .column("from", |input| origin(input.from).to_owned())
        .write(out)
}

fn origin(from: InputOrigin) -> &'static str {
    match from {
        InputOrigin::Stated => "stated",
        InputOrigin::Reference => "reference",
        InputOrigin::Derived => "derived",
        InputOrigin::Default => "default",
        InputOrigin::Unused => "unused",
    }
}

/// A value with its unit, or a dash.
pub(crate) fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

/// A number, or a dash.
pub(crate) fn number(number: Option<f64>) -> String {
    or_dash(number.map(readable))
}

/// A duration in seconds, or in milliseconds where it is less than one second.
pub(crate) fn time(time: Seconds) -> String {
    if time.0 >= 1.0 {
        format!("{} s", readable(time.0))
    } else {
        format!("{} ms", readable(time.0 * 1e3))
    }
}

/// Bytes in a readable unit.
pub(crate) fn size(bytes: Bytes) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(unit, _)| bytes.0 >= *unit);
    match unit {
        Some((unit, name)) if bytes.0 < 1e16 => {
            // Four digits are enough to compare by.
            let (whole, decimals) = (bytes.0 / unit, [2, 1, 0]);
            let digits = decimals[usize::from(whole >= 10.0) + usize::from(whole >= 100.0)];
            format!("{whole:.digits$} {name}")
        }
        _ => bytes.to_string(),
    }
}

/// The value of an input by its name, as text.
pub(crate) fn input(inputs: &[InputUsed], name: &str) -> Option<String> {
    let mut inputs = inputs.iter();
    let found = inputs.find(|input| input.name == name)?;
    Some(found.value.to_string())
}

pub(crate) fn yes_no(answer: bool) -> String {
    if answer { "yes" } else { "no" }.to_owned()
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The model of an answer: by its name, else by its sizes.
pub(crate) fn model_of(inputs: &[InputUsed]) -> String {
    input(inputs, "model.name").unwrap_or_else(|| {
        let total = input(inputs, "model.total_parameters").unwrap_or_default();
        format!("a model of {total} parameters")
    })
}

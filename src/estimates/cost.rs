//! `unroof cost`: the exact cost of a usage, without a server.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::infer::{catalog_by_name, format_of};
use super::report::{joined, paragraph, table, write_table};
use crate::calculators::calculator::{RequestFlags, print};
use crate::record::migrate;
use crate::shell::input::read_input;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_base::input::text::printable;
use unroof_base::input::{RequestError, json};
use unroof_infer::estimate::read_file;
use unroof_price_sheet::catalog::Catalog;
use unroof_price_sheet::cost::{
    Cost, CostEntry, CostLine, CostRequest, CostSum, SheetInForce, Tally, cost, read_cost, usage_id,
};
use unroof_store::clock::Clock;
use unroof_store::{AsOf, KeptPrices, PriceInForce, ServingLock, Store, StoreLimits};

/// Arguments of `unroof cost`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof cost --sheet examples/openai_gpt-5.4.json --input 12000 --output 800
  unroof cost --sheet litellm.json --format litellm --entry gpt-5.4 --input 300000
  unroof cost --provider openai --model gpt-5.4 --at 2026-08-25T00:00:00Z --input 12000
  unroof cost usages.ndjson --lines --sheet sheet.json")]
pub(crate) struct CostArguments {
    /// File with a request as `POST /cost` takes it; `-` reads standard input
    file: Option<PathBuf>,
    /// The file has a request per line (NDJSON); the output has a line for each, and a last one with the sums
    #[arg(long, requires = "file")]
    lines: bool,
    /// Price sheet for requests that name neither an offer nor a sheet
    #[arg(long, value_name = "FILE")]
    sheet: Option<PathBuf>,
    /// The sheet is a whole catalog of this format or a bare entry of it
    #[arg(long, requires = "entry", requires = "sheet", value_parser = catalog_by_name())]
    format: Option<&'static Catalog>,
    /// The entry's key in its catalog
    #[arg(long, requires = "format", value_name = "KEY")]
    entry: Option<String>,
    #[command(flatten)]
    stated: RequestFlags<CostRequest>,
    /// Print the answer as HTTP gives it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(crate) fn run(arguments: &CostArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(price_all(arguments))
}

async fn price_all(arguments: &CostArguments) -> Result<(), Failure> {
    let now = Clock::system().now();
    let sheet = read_sheet(arguments, now)?;
    let mut pricer = Pricer {
        arguments,
        now,
        sheet,
        store: None,
        kept: KeptPrices::default(),
    };
    if let Some(file) = arguments.file.as_deref().filter(|_| arguments.lines) {
        return price_lines(&mut pricer, file).await;
    }
    let text = match &arguments.file {
        Some(file) => read_input(file)?,
        None => b"{}".to_vec(),
    };
    let cost = pricer.price(&text).await?;
    print(&cost, arguments.json, write_cost)
}

/// Prices a list of requests, a line of output for each.
async fn price_lines(pricer: &mut Pricer<'_>, file: &Path) -> Result<(), Failure> {
    let mut input = open(file)?;
    let mut out = terminal::stdout();
    let mut tally = Tally::default();
    let (mut line, mut text) = (0, Vec::new());
    loop {
        text.clear();
        if input
            .read_until(b'\n', &mut text)
            .context("cannot read the list")?
            == 0
        {
            break;
        }
        line += 1;
        if text.trim_ascii().is_empty() {
            continue;
        }
        let entry = match pricer.price(&text).await {
            Ok(cost) => CostEntry::Cost {
                line,
                cost: Box::new(cost),
            },
            Err(Failure::Refused(error)) => CostEntry::refused(line, usage_id(&text), error),
            Err(failure) => return Err(failure),
        };
        tally.add(&entry);
        write_entry(&mut out, &entry)?;
    }
    let sum = tally.sum();
    let CostSum { faults, .. } = sum;
    write_entry(&mut out, &CostEntry::Done(sum))?;
    if faults > 0 {
        let words = if faults == 1 {
            "line has"
        } else {
            "lines have"
        };
        return Err(Failure::Other(anyhow!("{faults} {words} faults")));
    }
    Ok(())
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("cannot read `{}`", file.display()));
    Ok(Box::new(BufReader::new(opened.map_err(Failure::Usage)?)))
}

fn write_entry(out: &mut impl Write, entry: &CostEntry) -> Result<(), Failure> {
    let text = serde_json::to_string(entry).context("a line could not be serialised")?;
    Ok(writeln!(out, "{text}")?)
}

/// The sheet of the command line.
fn read_sheet(
    arguments: &CostArguments,
    now: Timestamp,
) -> Result<Option<Arc<SheetInForce>>, Failure> {
    let Some(file) = &arguments.sheet else {
        return Ok(None);
    };
    let mut request = json!({});
    arguments.stated.apply(&mut request)?;
    let at = request["at"].as_str().and_then(|at| at.parse().ok());
    let entry = arguments.format.zip(arguments.entry.as_deref());
    let format = format_of(entry, at.unwrap_or(now));
    let read = read_file(&read_input(file)?, &format, None)?;
    let mut sheets = read.requests.into_iter().flat_map(|request| request.sheets);
    let (Some(sheet), None) = (sheets.next(), sheets.next()) else {
        let several = anyhow!("`{}` has several sheets; a usage has one", file.display());
        return Err(Failure::Usage(several));
    };
    Ok(Some(Arc::new(SheetInForce::stated(sheet))))
}

/// Pricer of requests, by one sheet or by the database.
struct Pricer<'a> {
    arguments: &'a CostArguments,
    now: Timestamp,
    sheet: Option<Arc<SheetInForce>>,
    /// The database, once a request names an offer.
    store: Option<(Store, Option<ServingLock>)>,
    kept: KeptPrices,
}

impl Pricer<'_> {
    async fn price(&mut self, text: &[u8]) -> Result<Cost, Failure> {
        let (request, sheet) = self.read(text)?;
        let now = AsOf::Now(self.now.into());
        let as_of = request.at.map_or(now, |at| AsOf::Time(at.into()));
        let at = as_of.time().into();
        let priced_by = match (sheet, request.price_sheet, &request.offer) {
            (Some(sheet), _, _) => sheet,
            (None, Some(sheet), _) => Arc::new(SheetInForce::stated(sheet)),
            (None, None, Some(offer)) => {
                let (store, _) = match &mut self.store {
                    Some(store) => store,
                    none => none.insert(open_store(&self.arguments.database).await?),
                };
                let found = self.kept.price_in_force(store, offer, as_of).await;
                match found.context("cannot read the price of the offer")? {
                    PriceInForce::Sheet(priced_by) => priced_by,
                    missing => {
                        let fault = missing.fault(offer, at);
                        return Err(RequestError::Wrong(vec![fault]).into());
                    }
                }
            }
            // Refused when the request was read.
            (None, None, None) => return Err(RequestError::Wrong(Vec::new()).into()),
        };
        Ok(cost(request.id, &priced_by, &request.usage, at))
    }

    /// Reads a request with what the flags state, and the sheet of the command line if it has none of its own.
    fn read(&self, text: &[u8]) -> Result<(CostRequest, Option<Arc<SheetInForce>>), Failure> {
        // Finds what a second reader would not, such as a key that occurs twice.
        json::parse(text).map_err(RequestError::from)?;
        let mut request: Value =
            serde_json::from_slice(text).context("the request cannot be read")?;
        if !request.is_object() {
            return Ok((read_cost(text)?, None));
        }
        self.arguments.stated.apply(&mut request)?;
        let names_sheet = ["offer", "price_sheet"]
            .iter()
            .any(|name| request.get(name).is_some());
        let sheet = self.sheet.as_ref().filter(|_| !names_sheet);
        if let Some(SheetInForce { sheet, .. }) = sheet.map(AsRef::as_ref) {
            request["offer"] = json!({"provider": sheet.provider, "model": sheet.model});
        }
        let read = read_cost(request.to_string().as_bytes());
        let request = read.map_err(|error| self.arguments.stated.name_flags(error))?;
        Ok((request, sheet.cloned()))
    }
}

async fn open_store(database: &DatabaseArguments) -> Result<(Store, Option<ServingLock>), Failure> {
    let url = database.database_url()?;
    let lock = ServingLock::take(&url);
    let lock = lock
        .with_context(|| format!("cannot open {url}; ask the running service's /cost instead"))?;
    let store = migrate::open_store(&url, StoreLimits::without_timeouts()).await?;
    Ok((store, lock))
}

fn write_cost(mut out: &mut dyn Write, cost: &Cost) -> io::Result<()> {
    let sheet = &cost.sheet;
    let offer = format!(
        "{} of {}, region {}, at {}",
        sheet.model, sheet.provider, sheet.region, cost.at
    );
    paragraph(&mut out, &printable(&offer), 0)?;
    if let Some(tariff) = &cost.tariff {
        let schedule = tariff.schedule.as_deref();
        let schedule = schedule.map_or_else(String::new, |name| format!(", schedule {name}"));
        let context = format!("{} context tokens", tariff.context_tokens);
        let words = format!("tier {}{schedule}, {context}", tariff.service_tier);
        paragraph(&mut out, &printable(&words), 0)?;
    }
    writeln!(out)?;
    let header = [
        "meter",
        "tokens",
        "per Mtok",
        "factors",
        cost.currency.as_str(),
    ];
    write_table(&mut out, &table(&header, cost.lines.iter().map(row)))?;
    let total = match &cost.total {
        Some(total) => format!("total {total} {}", cost.currency),
        None => format!(
            "no total; the lines with a price are {} {}",
            cost.priced, cost.currency
        ),
    };
    let lines = cost.lines.iter().filter_map(|line| {
        let (reason, hint) = line.reason.as_ref().zip(line.hint.as_ref())?;
        Some(format!("{}: {reason}; {hint}", line.meter.name()))
    });
    let sources = cost.sources.iter().map(|source| {
        let words = match &source.total {
            None => "no total".to_owned(),
            Some(total) if source.agrees => format!("{total} {}, agrees", source.currency),
            Some(total) => format!("{total} {}, differs", source.currency),
        };
        format!("source {}: {words}", source.source)
    });
    let left_out = [
        ("modifiers not applied", &cost.modifiers_left_out),
        ("meters not in the total", &cost.other_meters_left_out),
    ];
    let left_out = left_out.into_iter().filter(|(_, names)| !names.is_empty());
    let left_out = left_out.map(|(what, names)| format!("{what}: {}", names.join(", ")));
    let texts = [total]
        .into_iter()
        .chain(lines)
        .chain(sources)
        .chain(left_out);
    let mut texts = texts.chain(cost.notes.iter().cloned());
    texts.try_for_each(|text| paragraph(&mut out, &printable(&text), 0))
}

fn row(line: &CostLine) -> Vec<String> {
    let seconds = line
        .seconds
        .map_or_else(String::new, |seconds| format!(", {seconds} s"));
    let priced_as = line
        .priced_as
        .map_or_else(String::new, |meter| format!(", as {}", meter.name()));
    let factors = line.factors.iter();
    let factors =
        factors.map(|factor| format!("{} × {}", printable(&factor.name), factor.multiplier));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    vec![
        format!("{}{seconds}{priced_as}", line.meter.name()),
        line.tokens.to_string(),
        or_dash(line.price.as_ref().map(ToString::to_string)),
        joined(factors, ", "),
        or_dash(line.amount.as_ref().map(ToString::to_string)),
    ]
}

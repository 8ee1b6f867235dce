//! `unroof model`: the stored estimate of a model from all of its sheets.

use std::io::{self, Write};

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;

use super::report::{table, write_table};
use super::{DatabaseArguments, Failure, label, terminal};
use crate::clock::Clock;
use crate::http::ModelShown;
use crate::storage::{Store, StoreLimits};
use unroof_core::estimate::StoredRow;
use unroof_core::estimate::margins::ImpliedMargin;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::units::readable;

/// Arguments of `unroof model`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof model openai/gpt-oss-120b
  unroof model google/gemini-2.5-pro --as-of 2026-06-01T00:00:00Z --json")]
pub(super) struct ModelArguments {
    /// The model's canonical name, author/model
    #[arg(value_name = "NAME")]
    name: String,
    /// Only from sheets that were seen up to this time, such as 2026-06-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Print the estimate as HTTP gives it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(super) fn run(arguments: &ModelArguments) -> Result<(), Failure> {
    arguments.database.start_logging()?;
    let url = arguments.database.database_url()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let shown = runtime.block_on(async {
        let opened = Store::open(&url, StoreLimits::without_timeouts()).await;
        let store = opened.with_context(|| format!("cannot open the database {url}"))?;
        let migrated = store.migrate().await;
        migrated.with_context(|| format!("cannot bring the tables of {url} up to date"))?;
        let as_of = arguments.as_of.map(Into::into);
        let now = Clock::system().now().into();
        let shown = ModelShown::read(&store, &arguments.name, as_of, now).await;
        let shown = shown.context("cannot read the estimate")?;
        store.close().await;
        anyhow::Ok(shown)
    })?;
    let hint = "import a catalog first, or look for the name with `GET /models`";
    let missing = || {
        anyhow!(
            "there is no estimate of a model `{}`; {hint}",
            arguments.name
        )
    };
    let shown = shown.ok_or_else(missing)?;
    let mut out = terminal::stdout();
    if arguments.json {
        let text = shown
            .to_json()
            .context("the estimate could not be serialised")?;
        writeln!(out, "{text}")?;
    } else {
        write_model(&mut out, &shown)?;
    }
    Ok(())
}

fn write_model(out: &mut impl Write, shown: &ModelShown) -> io::Result<()> {
    let row = &shown.row;
    writeln!(out, "{}", label(&terminal::quoted(&row.canonical_model)))?;
    writeln!(
        out,
        "{} sheets, {} pricing decisions; estimate {}",
        row.sheets, row.decisions, row.id
    )?;
    writeln!(out)?;
    let stored = StoredRow::read(&row.row_values);
    let quantities = JointQuantity::ALL.map(|quantity| {
        let of = stored.quantity(quantity);
        let number = |value: Option<f64>| value.map_or("–".to_owned(), readable);
        let identified = if of.identified == Some(true) {
            "yes"
        } else {
            "no"
        };
        vec![
            quantity.definition().label.to_owned(),
            number(of.median),
            format!("{} to {}", number(of.low_90), number(of.high_90)),
            identified.to_owned(),
        ]
    });
    let header = ["quantity", "median", "90 % interval", "identified"];
    write_table(out, &table(&header, quantities))?;
    let offers = shown.offers.iter().map(|offer| {
        let of = &offer.offer;
        let price = |price: Option<f64>| price.map_or("–".to_owned(), |price| format!("{price}"));
        let name = format!("{}/{} {}", of.provider, of.model, of.region);
        vec![
            terminal::quoted(&name),
            price(of.input_per_mtok),
            margin(offer.input_margin),
            price(of.output_per_mtok),
            margin(offer.output_margin),
        ]
    });
    let header = ["offer", "input", "margin", "output", "margin"];
    write_table(out, &table(&header, offers))
}

fn margin(margin: Option<ImpliedMargin>) -> String {
    margin.map_or("–".to_owned(), |margin| {
        format!("{:.0} %", 100.0 * margin.median)
    })
}

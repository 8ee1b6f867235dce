//! `unroof margins`: what hosts of open models ask over what the engine says that serving them costs.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::Args;
use jiff::Timestamp;
use unroof_base::units::compact;
use unroof_infer::hosts::league::{
    HostMargin, HostTable, ModelMargins, PriceOverCost, SellerMargin, TypicalMargin,
};
use unroof_infer::hosts::usual_price::SellerKind;
use unroof_roofline::reference::calibration::CostLaw;

use super::report::{interval, number, paragraph, percent, write_rows};
use crate::record::names;
use crate::record::source::SourceArguments;
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};

/// Arguments of `unroof margins`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof margins
  unroof margins --least-models 5
  unroof margins deepseek/deepseek-v3.2
  unroof margins gpt-oss-120b --as-of 2026-06-01T00:00:00Z --json")]
pub(crate) struct MarginsArguments {
    /// The canonical name of an open model, whose sellers are listed; all hosts if left out
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// Only hosts of at least this many open models
    #[arg(
        long,
        default_value_t = 3,
        value_name = "NUMBER",
        conflicts_with = "model"
    )]
    least_models: usize,
    /// As it was known at this time, such as 2026-06-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Print the answer of GET /margins, or of GET /margins/{author}/{model}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

pub(crate) fn run(arguments: &MarginsArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    let as_of = arguments.as_of.map(|time| time.to_string());
    let as_of: Vec<(&str, &str)> = as_of.iter().map(|time| ("as_of", time.as_str())).collect();
    let Some(model) = &arguments.model else {
        let table = source.get(&["margins"], &as_of)?;
        let least = arguments.least_models;
        return table.print(arguments.json, |out, table| write_hosts(out, least, table));
    };
    let Some((author, name)) = names::parts(&source, model)? else {
        return Err(names::unknown(&source, model)?);
    };
    match source.find(&["margins", &author, &name], &as_of)? {
        Some(sellers) => sellers.print(arguments.json, write_sellers),
        None if source.find(&["models", &author, &name], &as_of)?.is_some() => {
            let closed =
                anyhow!("the architecture of `{model}` is not published: its cost is not known");
            let hint = format!(
                "`unroof show {model}` has its margins over the cost that its prices suggest"
            );
            Err(Failure::Usage(closed).with_hint(hint))
        }
        None => Err(names::unknown(&source, model)?),
    }
}

fn write_hosts(out: &mut impl Write, least: usize, table: &HostTable) -> io::Result<()> {
    let shown: Vec<&HostMargin> = table
        .data
        .iter()
        .filter(|host| host.models >= least)
        .collect();
    if shown.is_empty() {
        let none = "No such host is stored. `unroof import` stores the prices of a catalog; --least-models 1 lists every host.";
        return paragraph(out, none, 0);
    }
    let header = [
        "host", "models", "input", "/usual", "below", "output", "/usual", "below",
    ];
    let row = |host: &&HostMargin| {
        let mut cells = vec![terminal::quoted(&host.provider), host.models.to_string()];
        cells.extend(typical(host.input.as_ref()));
        cells.extend(typical(host.output.as_ref()));
        cells
    };
    write_rows(out, &header, shown.iter().map(row))?;
    let left_out = table.data.len() - shown.len();
    let hosts = match left_out {
        0 => String::new(),
        _ => format!(
            " {} of fewer than {least} models left out.",
            number(left_out, "host")
        ),
    };
    let about = format!(
        "Medians over the open models of a host: margin over the engine's cost, price over the usual price for that cost, share of \
         models below cost.{hosts}"
    );
    paragraph(out, &about, 0)?;
    write_law(out, &table.law)
}

fn typical(line: Option<&TypicalMargin>) -> [String; 3] {
    let Some(line) = line else {
        return std::array::from_fn(|_| "–".to_owned());
    };
    [
        margin(line.margin),
        format!("× {:.1}", line.price_over_usual),
        format!("{} %", percent(line.below_cost)),
    ]
}

fn write_sellers(out: &mut impl Write, margins: &ModelMargins) -> io::Result<()> {
    let [input, output] = [margins.input_cost, margins.output_cost].map(|cost| {
        let held = interval(cost.interval_90, compact);
        format!("{} ({held})", compact(cost.median))
    });
    let costs = format!(
        "{}: by the engine, a million input tokens cost {input} USD and a million output tokens {output} USD.",
        margins.open_model
    );
    paragraph(out, &costs, 0)?;
    if margins.data.is_empty() {
        return paragraph(out, "No offer of it is in force.", 0);
    }
    writeln!(out)?;
    let header = [
        "seller", "input", "margin", "usual", "output", "margin", "usual",
    ];
    let row = |seller: &SellerMargin| {
        let mark = match seller.kind {
            SellerKind::Author => " (author)",
            SellerKind::Host => "",
        };
        let mut cells = vec![format!("{}{mark}", terminal::quoted(&seller.provider))];
        cells.extend(priced(seller.input.as_ref()));
        cells.extend(priced(seller.output.as_ref()));
        cells
    };
    write_rows(out, &header, margins.data.iter().map(row))?;
    paragraph(
        out,
        "USD per million tokens. Usual is the median price for this cost, release and kind of seller.",
        0,
    )?;
    write_law(out, &margins.law)
}

fn priced(line: Option<&PriceOverCost>) -> [String; 3] {
    let Some(line) = line else {
        return std::array::from_fn(|_| "–".to_owned());
    };
    [
        compact(line.price_usd_per_mtok),
        margin(line.margin.median),
        compact(line.usual.median),
    ]
}

/// Margin in percent, as far as −100 %.
fn margin(margin: f64) -> String {
    if margin < -1.0 {
        "< −100 %".to_owned()
    } else {
        format!("{} %", percent(margin))
    }
}

/// Record of the law of usual prices.
fn write_law(out: &mut impl Write, law: &CostLaw) -> io::Result<()> {
    let record = &law.hosts;
    let [input, output] = record.rmse_log.map(f64::exp);
    let [below_input, below_output] = record.below_cost.map(percent);
    let [law_input, law_output] = record.below_cost_probability.map(percent);
    let words = format!(
        "Usual prices are off by a factor of {input:.1} (input) and {output:.1} (output), root mean square, over {} prices of hosts \
         that the law had not seen; {below_input} and {below_output} % of them lie below the engine's cost, by the law {law_input} \
         and {law_output} %.",
        record.prices
    );
    paragraph(out, &words, 0)
}

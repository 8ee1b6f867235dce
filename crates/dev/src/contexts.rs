//! `unroof-dev contexts`: KV bytes from the speeds of decoding at several contexts, against published architectures.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use statrs::statistics::{Data, OrderStatistics, Statistics};
use unroof_roofline::forward::KvCache;
use unroof_roofline::reference::{
    ContextSpeed, OpenModel, context_speeds, kv_bytes_from_speeds, open_models,
};

use crate::generated::{Template, write};

/// The page whose figures are written.
const PAGE: &str = "docs/model/context-speeds.md";
const PAGE_TEXT: &str = include_str!("../../../docs/model/context-speeds.md");
/// Least context at which a step takes measurably longer, tokens.
const LEAST_CONTEXT: f64 = 16_000.0;
/// Bytes of a cache element: half precision, the default of the engines.
const ELEMENT_BYTES: f64 = 2.0;
const GIB: f64 = 1_073_741_824.0;

/// Arguments of `unroof-dev contexts`.
#[derive(Debug, Args)]
pub(crate) struct ContextsArguments {
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
}

/// Writes the errors of the reading.
pub(crate) fn run(arguments: &ContextsArguments, out: &mut impl Write) -> Result<()> {
    let by_model = readings();
    let errors: Vec<f64> = by_model
        .values()
        .map(|ratios| middle(ratios).ln())
        .collect();
    let mut folds = Data::new(
        errors
            .iter()
            .map(|error| error.abs().exp())
            .collect::<Vec<_>>(),
    );
    let words = format!(
        "off by {:.2}× in the median and by more than {:.1}× for one in ten of {} models; the root mean square of the logarithm is {:.2}",
        folds.median(),
        folds.quantile(0.9),
        errors.len(),
        errors.iter().quadratic_mean(),
    );
    let row = |(model, ratios): (&&str, &Vec<f64>)| {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        [
            (*model).to_owned(),
            ratios.len().to_string(),
            format!("{:.2}", middle(ratios)),
            format!("{least:.2} to {most:.2}"),
        ]
    };
    let mut page = Template::new(PAGE_TEXT);
    page.between("The reading is ", ".\n", &words);
    page.table("| model | rows", by_model.iter().map(row));
    write(&arguments.project.join(PAGE), &page.filled())?;
    writeln!(out, "wrote {PAGE}")?;
    Ok(())
}

fn middle(ratios: &[f64]) -> f64 {
    Data::new(ratios.to_vec()).median()
}

/// Reading ÷ truth of each model: one per machine and context.
fn readings() -> BTreeMap<&'static str, Vec<f64>> {
    let mut by_model: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in context_speeds() {
        let open = open_models().iter().find(|open| open.name == row.model);
        let without = context_speeds().iter().find(|other| {
            other.depth_tokens <= 0.0
                && (&other.model, &other.machine, &other.engine)
                    == (&row.model, &row.machine, &row.engine)
        });
        if let (Some(open), Some(without)) = (open, without)
            && row.depth_tokens >= LEAST_CONTEXT
        {
            let ratio = over_truth(open, without, row);
            by_model.entry(&row.model).or_default().push(ratio);
        }
    }
    by_model
}

/// The bytes that two speeds show over those of the published architecture, at this context.
fn over_truth(open: &OpenModel, without: &ContextSpeed, behind: &ContextSpeed) -> f64 {
    let architecture = &open.architecture;
    let active_share = architecture.active_parameters / architecture.total_parameters;
    let weights = behind.size_gib * GIB * active_share;
    let speeds = [without.tokens_per_second, behind.tokens_per_second];
    let read = kv_bytes_from_speeds(weights, speeds, behind.depth_tokens);
    let cache = KvCache::new(architecture);
    read / cache
        .read_per_token_at(behind.depth_tokens, ELEMENT_BYTES)
        .0
}

//! `unroof-dev ratios`: sizes from the ratios of one vendor's figures, against published architectures.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use statrs::statistics::{Data, OrderStatistics};
use unroof_infer::estimate::judgement::published::published_value;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::hosts::engine_cost::engine_cost;
use unroof_roofline::reference::{FigureKind, VendorFigure, open_models, vendor_figures};

use crate::generated::{Template, write};

/// The page whose figures are written.
const PAGE: &str = "docs/model/vendor-figures.md";
const PAGE_TEXT: &str = include_str!("../../../docs/model/vendor-figures.md");

/// Arguments of `unroof-dev ratios`.
#[derive(Debug, Args)]
pub(crate) struct RatiosArguments {
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
}

/// Writes the errors of each reading, by vendor.
pub(crate) fn run(arguments: &RatiosArguments, out: &mut impl Write) -> Result<()> {
    let mut by_vendor: BTreeMap<(FigureKind, &str), Vec<Shown>> = BTreeMap::new();
    for row in vendor_figures() {
        let of_vendor = by_vendor.entry((row.kind, &row.vendor)).or_default();
        of_vendor.extend(Shown::of(row));
    }
    let mut page = Template::new(PAGE_TEXT);
    page.table("| figure | vendor", by_vendor.iter().map(row));
    write(&arguments.project.join(PAGE), &page.filled())?;
    writeln!(out, "wrote {PAGE}")?;
    Ok(())
}

/// A figure of a model beside the size that it should be in proportion to, in logarithms.
struct Shown {
    family: &'static str,
    /// log of the figure, or of its reciprocal.
    log_figure: f64,
    log_truth: f64,
}

impl Shown {
    /// None of a model whose size is not published.
    fn of(row: &VendorFigure) -> Option<Self> {
        let open = open_models().iter().find(|open| open.name == row.model)?;
        let published = |quantity| published_value(open, quantity);
        let (truth, sign) = match row.kind {
            FigureKind::StorageFee => (published(JointQuantity::KvBytesStored), 1.0),
            FigureKind::UnitThroughput => (published(JointQuantity::ActiveParameters), -1.0),
            FigureKind::TrainingPrice => (published(JointQuantity::ActiveParameters), 1.0),
            FigureKind::OutputWeight => {
                let costs = engine_cost(open);
                (
                    costs.map(|costs| costs.output.median / costs.input.median),
                    1.0,
                )
            }
        };
        Some(Self {
            family: &open.family,
            log_figure: sign * row.value.ln(),
            log_truth: truth?.ln(),
        })
    }
}

fn row(((kind, vendor), models): (&(FigureKind, &str), &Vec<Shown>)) -> [String; 6] {
    let name = match kind {
        FigureKind::StorageFee => "storage fee, for k_st",
        FigureKind::UnitThroughput => "throughput of a unit, for N_a",
        FigureKind::OutputWeight => "output weight, for the engine's ratio of costs",
        FigureKind::TrainingPrice => "training price, for N_a",
    };
    let with = |one: &Shown, other: &Shown| {
        (one.log_figure - other.log_figure) - (one.log_truth - other.log_truth)
    };
    let without = |one: &Shown, other: &Shown| one.log_truth - other.log_truth;
    let [median, most] = folds(models, with);
    let [median_without, most_without] = folds(models, without);
    [
        name.to_owned(),
        (*vendor).to_owned(),
        models.len().to_string(),
        format!("{median_without:.2}× / {most_without:.1}×"),
        format!("{median:.2}× / {most:.1}×"),
        verdict(models).to_owned(),
    ]
}

/// Factors by which the ratio of two models of different families is off: the median, and nine in ten.
fn folds(models: &[Shown], log_error: impl Fn(&Shown, &Shown) -> f64) -> [f64; 2] {
    let pairs = models.iter().enumerate().flat_map(|(place, one)| {
        let others = models[place + 1..].iter();
        others.map(move |other| (one, other))
    });
    let apart = pairs.filter(|(one, other)| one.family != other.family);
    let folds: Vec<f64> = apart
        .map(|(one, other)| log_error(one, other).abs().exp())
        .collect();
    let mut folds = Data::new(folds);
    [folds.median(), folds.quantile(0.9)]
}

/// Whether the vendor makes a difference between its models at all.
fn verdict(models: &[Shown]) -> &'static str {
    let is_same = |pair: &[Shown]| pair[0].log_figure.total_cmp(&pair[1].log_figure).is_eq();
    if models.windows(2).all(is_same) {
        "one for all"
    } else {
        "by model"
    }
}

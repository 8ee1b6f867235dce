//! `unroof-dev rivals`: the folds of the validation as a table, to which `crates/dev/rivals.py` fits other methods.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use unroof_calibration::prices::{PricedModel, built_in};
use unroof_calibration::validation::rival_rows;
use unroof_roofline::reference::RecordSetting;

/// Arguments of `unroof-dev rivals`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof-dev rivals > rows.csv
  python3 crates/dev/rivals.py rows.csv")]
pub(crate) struct RivalsArguments {}

/// Prints the rows of every setting in which rivals are compared.
pub(crate) fn run(_: &RivalsArguments, out: &mut impl Write) -> Result<()> {
    let models = built_in();
    let models: Vec<&PricedModel> = models.iter().collect();
    let mut table = csv::Writer::from_writer(out);
    for setting in [
        RecordSetting::PooledHosts,
        RecordSetting::AuthorAlone,
        RecordSetting::OtherHostAlone,
    ] {
        for row in rival_rows(&models, setting) {
            table.serialize(row)?;
        }
    }
    table.flush()?;
    Ok(())
}

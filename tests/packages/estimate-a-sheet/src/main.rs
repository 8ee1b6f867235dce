//! Prints the estimate of a model's active parameters, in billions, from the file of a price sheet.

use std::error::Error;

use unroof_infer::estimate::{Format, infer, read_request};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("which price sheet?")?;
    let request = read_request(&std::fs::read(file)?, &Format::Canonical)?;
    let answer = infer(&request);
    let estimate = &answer.joint.quantities.active_parameters;
    let (least, most) = (estimate.interval_90.low, estimate.interval_90.high);
    println!(
        "{:.1} ({:.1} to {:.1})",
        estimate.median / 1e9,
        least / 1e9,
        most / 1e9
    );
    Ok(())
}

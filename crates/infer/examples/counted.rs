//! Work whose instructions are counted: `counted WORK TIMES` does it so many times. `scripts/instructions` runs it.

use std::error::Error;
use std::hint::black_box;

use jiff::Timestamp;
use unroof_infer::clue;
use unroof_infer::estimate::{CancelToken, Estimator, Format, Request, read_request};
use unroof_infer::posterior::{EFFECTIVE_DRAWS, Prior, sample};
use unroof_price_sheet::catalog::Catalog;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

const RICH: &[u8] = include_bytes!("../../../benches/rich_sheet.json");
/// An entry of a catalog in LiteLLM's format.
const ENTRY: &[u8] = br#"{"litellm_provider": "example", "mode": "chat", "input_cost_per_token": 1.2e-6,
    "output_cost_per_token": 6e-6, "cache_read_input_token_cost": 1.2e-7, "max_input_tokens": 131072, "max_tokens": 8192}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let work = arguments.next().ok_or("which work?")?;
    let times: u32 = arguments.next().ok_or("how many times?")?.parse()?;
    let rich = read(RICH, &Format::Canonical)?;
    let contents: Vec<PriceSheet> = rich
        .sheets
        .iter()
        .map(PriceSheet::pricing_content)
        .collect();
    let calibration = Calibration::shipped();
    let terms = clue::observed(&contents, &rich.assumptions, calibration);
    let prior = Prior::of_sheets(calibration, &rich.assumptions, &contents);
    let estimator = Estimator::default();
    for _ in 0..times {
        match work.as_str() {
            "posterior" => drop(black_box(sample(&prior, &terms, EFFECTIVE_DRAWS))),
            "reading" => drop(black_box(read(RICH, &Format::Canonical)?)),
            "entry" => drop(black_box(import(&estimator)?)),
            _ => return Err("it is posterior, reading or entry".into()),
        }
    }
    Ok(())
}

fn read(text: &[u8], format: &Format) -> Result<Request, Box<dyn Error>> {
    read_request(text, format).map_err(|refused| format!("{refused:?}").into())
}

/// Everything that an import does for an entry but storing it.
fn import(estimator: &Estimator) -> Result<String, Box<dyn Error>> {
    let catalog = "litellm".parse::<&Catalog>()?;
    let format = Format::Entry {
        catalog,
        model: "example/m-1".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    };
    let request = read(ENTRY, &format)?;
    let answer = estimator
        .infer(&request, &CancelToken::default())
        .map_err(|_| "cancelled")?;
    Ok(serde_json::to_string(&answer)?)
}

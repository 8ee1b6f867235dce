//! Quality of the proposals on 397 sheets: two prices or three, 14 input prices by 9 ratios, and the examples. Prints the mean of
//! draws, of effective draws and of those that are effective once every clue is left out, and the sheets of which k̂ is above 0.7.

#![expect(clippy::print_stdout, reason = "it says what it found")]

use std::error::Error;
use std::fs;
use std::path::Path;

use unroof_infer::clue;
use unroof_infer::estimate::{Format, read_request};
use unroof_infer::posterior::{EFFECTIVE_DRAWS, Prior, sample};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

const INPUTS: [f64; 14] = [
    0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 0.8, 1.25, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0,
];
const RATIOS: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
/// Price of a cached token over the input price, where there is one.
const CACHED: [Option<f64>; 3] = [None, Some(0.1), Some(0.5)];
const MOST_K: f64 = 0.7;

fn main() -> Result<(), Box<dyn Error>> {
    let calibration = Calibration::shipped();
    let (mut drawn, mut effective, mut before) = (0.0, 0.0, 0.0);
    let sheets = sheets()?;
    for (name, text) in &sheets {
        let request = read_request(text.as_bytes(), &Format::Canonical)
            .map_err(|refused| format!("{name}: {refused:?}"))?;
        let contents: Vec<PriceSheet> = request
            .sheets
            .iter()
            .map(PriceSheet::pricing_content)
            .collect();
        let terms = clue::observed(&contents, &request.assumptions, calibration);
        let prior = Prior::of_sheets(calibration, &request.assumptions, &contents);
        let posterior = sample(&prior, &terms, EFFECTIVE_DRAWS);
        drawn += f64::from(u32::try_from(posterior.drawn)?);
        effective += posterior.effective_sample_size;
        before += effective_draws(&posterior.log_prior_weights);
        if posterior.pareto_k > MOST_K {
            println!("k {:.2}: {name}", posterior.pareto_k);
        }
    }
    let count = f64::from(u32::try_from(sheets.len())?);
    println!(
        "{count} sheets: {:.0} draws, of which {:.0} effective, and {:.0} without any clue",
        drawn / count,
        effective / count,
        before / count
    );
    Ok(())
}

/// Number of independent draws with the same information as weighted ones.
fn effective_draws(log_weights: &[f64]) -> f64 {
    let weights = || log_weights.iter().map(|log_weight| log_weight.exp());
    weights().sum::<f64>().powi(2) / weights().map(|weight| weight * weight).sum::<f64>()
}

/// Name and text of each sheet.
fn sheets() -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sheets = Vec::new();
    for input in INPUTS {
        for ratio in RATIOS {
            for cached in CACHED {
                let name = format!("{input}, {ratio} × for output, cached {cached:?}");
                sheets.push((name, sheet(input, ratio, cached)));
            }
        }
    }
    for entry in fs::read_dir(repository.join("examples"))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            sheets.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    for name in ["rich_sheet.json", "plain_sheet.json"] {
        let path = repository.join("benches").join(name);
        sheets.push((name.to_owned(), fs::read_to_string(path)?));
    }
    Ok(sheets)
}

fn sheet(input: f64, ratio: f64, cached: Option<f64>) -> String {
    let output = input * ratio;
    let cache_read = cached.map_or_else(String::new, |share| {
        format!(r#""cache_read": "{:.4}", "#, input * share)
    });
    format!(
        r#"{{"schema": "pricesheet/v1", "provider": "example", "model": "m", "region": "global", "currency": "USD",
        "unit": "per_1m_tokens", "valid_from": null, "valid_to": null,
        "rates": [{{"service_tier": "standard", "input": "{input}", "output": "{output:.4}", {cache_read}"source": 0}}],
        "sources": [{{"url": "https://example.com/pricing", "format": "manual", "locator": "made up"}}]}}"#
    )
}

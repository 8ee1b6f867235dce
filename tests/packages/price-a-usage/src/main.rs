//! Prints the cost of a usage by the price of a model in a LiteLLM file.

use std::error::Error;

use unroof_price_sheet::catalog::read_catalog;
use unroof_price_sheet::cost::{SheetInForce, cost, read_cost};

fn main() -> Result<(), Box<dyn Error>> {
    let catalog = read_catalog(include_bytes!("../litellm.json"))?.into_iter();
    let mut sheets = catalog.flat_map(|entry| entry.sheets.unwrap_or_default());
    let sheet = sheets
        .find(|sheet| sheet.model == "gpt-5.4")
        .ok_or("no such model")?;
    let request = read_cost(include_bytes!("../usage.json"))?;
    let at = request.at.ok_or("the usage has no time")?;
    let cost = cost(None, &SheetInForce::stated(sheet), &request.usage, at);
    println!(
        "{} {}",
        cost.total.ok_or("a price is missing")?,
        cost.currency
    );
    Ok(())
}

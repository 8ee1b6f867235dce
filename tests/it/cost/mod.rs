//! The cost of a usage: the arithmetic, the tariffs of every catalog format, the route and the command.

mod command;
mod formats;
mod list;
mod route;
mod rules;

use jiff::Timestamp;
use serde_json::{Value, json};
use unroof_price_sheet::cost::{SheetInForce, cost, read_cost};

/// The cost of a usage by a sheet at a time.
fn priced(sheet: &Value, usage: &Value, at: &str) -> Value {
    let request = json!({"price_sheet": sheet, "usage": usage}).to_string();
    let request = read_cost(request.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let sheet = SheetInForce::stated(request.price_sheet.unwrap());
    let at: Timestamp = at.parse().unwrap();
    serde_json::to_value(cost(None, &sheet, &request.usage, at)).unwrap()
}

/// `input 1000 × 1.25 = 0.00125`, one for each line.
fn lines(cost: &Value) -> Vec<String> {
    let lines = cost["lines"].as_array().unwrap().iter();
    lines.map(line).collect()
}

fn line(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().unwrap_or("?").to_owned();
    let factors = line["factors"].as_array().into_iter().flatten();
    let factors: Vec<String> = factors
        .map(|factor| format!(" × {}", factor["multiplier"].as_str().unwrap()))
        .collect();
    let factors = factors.concat();
    let seconds = line["seconds"].as_u64();
    let seconds = seconds.map_or_else(String::new, |seconds| format!(" {seconds}s"));
    let priced_as = line["priced_as"].as_str();
    let priced_as = priced_as.map_or_else(String::new, |meter| format!(" as {meter}"));
    format!(
        "{} {}{seconds}{priced_as} × {}{factors} = {}",
        text("meter"),
        line["tokens"],
        text("price"),
        text("amount")
    )
}

/// The reasons of the lines without a price.
fn reasons(cost: &Value) -> Vec<&str> {
    let lines = cost["lines"].as_array().unwrap().iter();
    lines.filter_map(|line| line["reason"].as_str()).collect()
}

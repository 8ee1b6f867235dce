//! Parts that the answers of several calculators have.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use crate::chart::mark::bar;
use crate::chart::tone::Tone;
use crate::words::without_zeros;
use unroof_base::units::{compact, readable};
use unroof_roofline::calculator::inputs::{InputUsed, InputValue, NoValue};
use unroof_roofline::reference::FigureInterval;

/// Width of a bar.
const BAR: f64 = 160.0;
/// Height of a bar.
const HEIGHT: f64 = 12.0;

/// A figure of an answer, with its interval and two digits where it has one.
#[must_use]
pub fn ranged(
    intervals: &[FigureInterval],
    figure: &str,
    value: f64,
    shown: fn(f64) -> String,
) -> String {
    match FigureInterval::find(intervals, figure) {
        Some(interval) => interval.around(value, |value| without_zeros(&shown(value))),
        None => shown(value),
    }
}

/// A value as a reader writes it.
pub fn written(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::Number(number)) => number.as_f64().map_or_else(|| number.to_string(), readable),
        Ok(Value::String(text)) => text.replace('_', " "),
        Ok(Value::Null) | Err(_) => "–".to_owned(),
        Ok(other) => other.to_string(),
    }
}

/// The value of an input, as a reader writes it.
#[must_use]
pub fn input(inputs: &[InputUsed], name: &str) -> Option<String> {
    find(inputs, name).map(|used| written(&used.value))
}

/// The number that an input is.
#[must_use]
pub fn number(inputs: &[InputUsed], name: &str) -> Option<f64> {
    match find(inputs, name)?.value {
        InputValue::Number(number) => Some(number),
        InputValue::Name(_) => None,
    }
}

fn find<'i>(inputs: &'i [InputUsed], name: &str) -> Option<&'i InputUsed> {
    inputs.iter().find(|used| used.name == name)
}

/// An amount in US dollars.
#[must_use]
pub fn usd(amount: f64) -> String {
    format!("${}", compact(amount))
}

/// An amount of bytes.
#[must_use]
pub fn bytes(amount: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let fitting = UNITS.into_iter().find(|(unit, _)| amount >= *unit);
    let (unit, name) = fitting.unwrap_or((1.0, "B"));
    format!("{} {name}", compact(amount / unit))
}

/// A time in a unit that fits.
#[must_use]
pub fn time(seconds: f64) -> String {
    if seconds < 5e-4 && seconds > 0.0 {
        format!("{} µs", compact(1e6 * seconds))
    } else if seconds < 0.5 {
        format!("{} ms", compact(1e3 * seconds))
    } else {
        format!("{} s", compact(seconds))
    }
}

/// A share as a bar.
#[must_use]
pub fn part(share: f64) -> Markup {
    html! {
        svg.chart viewBox=(format!("0 0 {BAR} {HEIGHT}")) width=(BAR) height=(HEIGHT) aria-hidden="true" {
            (bar(Tone::Estimate, (0.0, 1.0), (BAR * share.clamp(0.0, 1.0), HEIGHT - 1.0), 0.8))
        }
    }
}

/// Amounts of which each is a bar beside the largest.
pub fn bars(parts: &[(&str, f64)], largest: f64, write: impl Fn(f64) -> String) -> Markup {
    html! {
        table.parts {
            tbody {
                @for (name, amount) in parts {
                    tr {
                        th scope="row" { (name) }
                        td { @if largest > 0.0 { (part(amount / largest)) } }
                        td.number { (write(*amount)) }
                    }
                }
            }
        }
    }
}

/// The reasons for values that are not there, each once.
#[must_use]
pub fn missing(values: &[NoValue]) -> Markup {
    let mut reasons: Vec<&str> = values.iter().map(|value| value.reason.as_str()).collect();
    reasons.dedup();
    html! {
        @for reason in reasons { p.warning { "Not computed: " (reason) "." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_fits() {
        let written = [12.0, 2.6e9, 1.34e13].map(bytes);
        assert_eq!(written, ["12.0 B", "2.60 GB", "13.4 TB"]);
    }

    #[test]
    fn a_time_has_a_unit_that_fits() {
        let written = [0.0, 2e-5, 0.02, 2.0].map(time);
        assert_eq!(written, ["0 ms", "20.0 µs", "20.0 ms", "2.00 s"]);
    }
}

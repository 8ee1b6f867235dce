//! Speeds of an endpoint as `OpenRouter` measured them over 30 minutes of its own traffic.
//!
//! Throughput is in tokens per second from the request to the end of the answer; latency in milliseconds to the first
//! token. Both are null to requests without an API key.

use crate::catalog::entry::Entry;
use crate::sheet::{MeasuredSpeed, Percentiles};
use unroof_base::input::json::Json;

/// Names of the fields: of latency, and of throughput.
pub(super) const FIELDS: [&str; 2] = ["latency_last_30m", "throughput_last_30m"];
/// Name of the measurer.
const ROUTER: &str = "openrouter";
const SECONDS_PER_MILLISECOND: f64 = 1e-3;

/// Takes out the speeds that are percentiles above 0; others are kept as they are.
pub(super) fn take(entry: &mut Entry<'_>) -> Option<MeasuredSpeed> {
    let [latency, throughput] = FIELDS;
    let output_tokens_per_second = entry.take_read(throughput, |json| percentiles(json, 1.0));
    let time_to_first_token_seconds =
        entry.take_read(latency, |json| percentiles(json, SECONDS_PER_MILLISECOND));
    if output_tokens_per_second.is_none() && time_to_first_token_seconds.is_none() {
        return None;
    }
    Some(MeasuredSpeed {
        measured_by: Some(ROUTER.to_owned()),
        output_tokens_per_second,
        time_to_first_token_seconds,
    })
}

/// An object of known percentiles alone, times `factor`, each a number in the range that a sheet allows.
fn percentiles(json: &Json, factor: f64) -> Option<Percentiles> {
    let Json::Object(fields) = json else {
        return None;
    };
    let mut percentiles = Percentiles::default();
    for (name, value) in fields {
        let Json::Number(written) = value else {
            return None;
        };
        let value = written.parse::<f64>().ok()? * factor;
        let field = match name {
            "p50" => &mut percentiles.p50,
            "p75" => &mut percentiles.p75,
            "p90" => &mut percentiles.p90,
            "p99" => &mut percentiles.p99,
            _ => return None,
        };
        if !Percentiles::PERMITTED.contains(&value) {
            return None;
        }
        *field = Some(value);
    }
    (percentiles != Percentiles::default()).then_some(percentiles)
}

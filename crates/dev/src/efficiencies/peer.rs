//! The section of `docs/VALIDATION.md` on another tool: what was measured, what unroof predicts, what the other one does.

use super::figures::median;
use super::predict::peer_ms;
use crate::generated::{Template, VALIDATION_TEXT};
use unroof_base::units::readable;
use unroof_roofline::reference::{FittedAttainment, PeerTime, peer_times};

/// The page with what these efficiencies predict.
#[must_use]
pub fn peer_markdown(fitted: &FittedAttainment) -> String {
    let mut page = Template::new(VALIDATION_TEXT);
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    let rows = peer_times().iter().map(|time| {
        let ours = peer_ms(time, fitted);
        let theirs = time.aiconfigurator_ms;
        let log = |predicted: f64| (predicted / time.measured_ms).ln().abs();
        of_ours.extend(ours.map(log));
        of_theirs.extend(theirs.map(log));
        let shown = |predicted: Option<f64>| {
            predicted.map_or_else(
                || "–".to_owned(),
                |ms| format!("{ms:.2} ({:.2})", ms / time.measured_ms),
            )
        };
        [
            case(time),
            format!("{:.2}", time.measured_ms),
            shown(ours),
            shown(theirs),
        ]
    });
    page.table("# The forward model and aiconfigurator", rows);
    let medians = format!("{:.2} unroof, {:.2}", median(of_ours), median(of_theirs));
    page.between(
        "Median of |ln(predicted/measured)|: ",
        " aiconfigurator.",
        &medians,
    );
    page.filled()
}

fn case(time: &PeerTime) -> String {
    format!(
        "{}, {} × {}, {}: {} → {}, {} at once",
        time.model,
        time.chips,
        time.accelerator,
        time.engine,
        readable(time.prompt_tokens),
        readable(time.output_tokens),
        time.concurrency,
    )
}

//! A compute margin that the caller states, of its own knowledge or as it was reported of a vendor.

use super::Clue;
use crate::evidence::assumptions::Interval;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{Likelihood, Observed, log_normal, normal_tail, terms};
use crate::evidence::quantity::{NINETY_PERCENT, Quantity as Q};
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::elementary::exp;
use unroof_roofline::reference::calibration::Calibration;

/// A term only where a margin is stated: no margin is assumed of itself.
pub(super) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

/// Standard deviation of log cost over price of one line around that of all that a vendor sells: a factor of 1.5 either way
/// in two of three cases \[D, chosen\].
const OF_LINES_SD: f64 = 0.4;

/// The output line of the first priced sheet, at a stated compute margin.
#[derive(Debug, Clone)]
struct StatedMargin {
    /// log of the cost that the margin leaves of the price, USD per Mtok
    log_cost: f64,
    sd: f64,
}

impl StatedMargin {
    fn new(price_usd_per_mtok: f64, margin: Interval) -> Self {
        let (most, least) = ((1.0 - margin.low).ln(), (1.0 - margin.high).ln());
        let of_span = (most - least) / (2.0 * NINETY_PERCENT);
        Self {
            log_cost: price_usd_per_mtok.ln() + f64::midpoint(most, least),
            sd: of_span.hypot(OF_LINES_SD),
        }
    }

    fn residual(&self, unknowns: &Unknowns<'_>) -> f64 {
        unknowns.log_output_cost() - self.log_cost
    }
}

impl Likelihood for StatedMargin {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ComputeMargin]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        exp(log_normal(self.residual(unknowns), self.sd))
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        normal_tail(self.residual(unknowns), self.sd)
    }
}

fn observe(sheets: &[Evidence<'_>], _calibration: &Calibration) -> Observed {
    let stated = |evidence: &Evidence<'_>| {
        let margin = evidence.assumptions.stated(Q::ComputeMargin)?;
        let rate = evidence.assumptions.middle(Q::UsdPerCurrencyUnit);
        let usd = rate.or(evidence.in_usd().then_some(1.0))?;
        let price = usd * evidence.base_cell()?.output().ok()?.to_f64();
        Some(StatedMargin::new(price, margin))
    };
    terms(sheets.iter().find_map(stated))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Format, infer, read_request};

    /// The 90 % interval of the output margin, the warnings, and whether the clue moved the cost.
    fn answer(assumptions: &str) -> (f64, f64, Vec<String>, bool) {
        let body = format!(
            r#"{{"price_sheet": {{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
                "unit": "per_1m_tokens", "rates": [{{"input": "2", "output": "10"}}],
                "sources": [{{"url": "https://acme.example", "format": "official"}}]}}, "assumptions": {assumptions}}}"#
        );
        let request = read_request(body.as_bytes(), &Format::Canonical).unwrap();
        let joint = infer(&request).joint;
        let margin = joint
            .margins
            .into_iter()
            .find(|margin| margin.line == "output");
        let interval = margin.unwrap().interval_90;
        let moves = joint.quantities.cost_output_usd_per_mtok.moved_by;
        let by_margin = moves
            .iter()
            .any(|step| step.clue == ClueKind::ComputeMargin);
        (
            interval.low,
            interval.high,
            joint.diagnostics.warnings,
            by_margin,
        )
    }

    #[test]
    fn a_margin_is_assumed_only_where_it_is_chosen_and_the_answer_says_so() {
        let (low, high, warnings, by_margin) = answer("{}");
        assert!(warnings.is_empty() && !by_margin, "{warnings:?}");
        let (chosen_low, chosen_high, warnings, by_margin) =
            answer(r#"{"compute_margin": "anthropic"}"#);
        assert!(by_margin);
        assert!(
            warnings
                .iter()
                .any(|warning| warning.contains("compute margin of 0.53 to 0.68"))
        );
        assert!(chosen_high - chosen_low < 0.7 * (high - low));
        assert!(
            chosen_low < 0.53 && 0.68 < chosen_high,
            "{chosen_low} {chosen_high}"
        );
        let by_range = answer(r#"{"compute_margin": {"low": 0.53, "high": 0.68}}"#);
        assert!(
            (by_range.0 - chosen_low).abs() < 1e-12 && (by_range.1 - chosen_high).abs() < 1e-12
        );
    }

    #[test]
    fn a_name_without_a_report_is_refused_with_those_that_have_one() {
        let refused = unroof_base::input::read(
            br#"{"compute_margin": "acme"}"#,
            crate::evidence::assumptions::Assumptions::read,
        );
        let error = format!("{:?}", refused.unwrap_err());
        assert!(
            error.contains("anthropic") && error.contains("openai"),
            "{error}"
        );
    }
}

//! A compute margin: as the caller states it, else as it was reported of a vendor that sells its own closed models.

use super::Clue;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{
    Likelihood, Observed, student_t_below, student_t_over_peak, terms,
};
use crate::evidence::quantity::{NINETY_PERCENT, Quantity as Q};
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use statrs::distribution::StudentsT;
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::closed_weights::runs_the_weights;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::calibration::{Calibration, PriceLaw};
use unroof_roofline::reference::{reported_compute_margin, vendors_with_compute_margin};

/// A term only where a margin is stated or was reported: none is assumed of itself.
pub(super) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

/// The output line of the first priced sheet, at a compute margin of all that the vendor sells.
#[derive(Debug, Clone)]
struct VendorMargin {
    /// log of the cost that the margin leaves of the price, USD per Mtok
    log_cost: f64,
    /// Scale of log cost over price of one line around that of all lines.
    scale: f64,
    law: StudentsT,
}

impl VendorMargin {
    /// One line earns more or less than all of them as output prices of one size differ at a seller: by the law of prices.
    fn new(price_usd_per_mtok: f64, (low, high): (f64, f64), law: &PriceLaw) -> Option<Self> {
        let (most, least) = ((1.0 - low).ln(), (1.0 - high).ln());
        let of_span = (most - least) / (2.0 * NINETY_PERCENT);
        let of_lines = (law.deviation[1][1] + law.noise[1][1]).sqrt();
        Some(Self {
            log_cost: price_usd_per_mtok.ln() + f64::midpoint(most, least),
            scale: of_span.hypot(of_lines),
            law: StudentsT::new(0.0, 1.0, law.degrees_of_freedom).ok()?,
        })
    }

    /// Scales between the cost of a draw and what the margin leaves.
    fn standardised(&self, unknowns: &Unknowns<'_>) -> f64 {
        (unknowns.log_output_cost() - self.log_cost) / self.scale
    }
}

impl Likelihood for VendorMargin {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ComputeMargin]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        student_t_over_peak(self.standardised(unknowns), self.law.freedom())
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        2.0 * student_t_below(-self.standardised(unknowns).abs(), &self.law)
    }
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let of_vendor = |evidence: &Evidence<'_>| {
        let of_caller = evidence.assumptions.stated(Q::ComputeMargin);
        let of_caller = of_caller.map(|margin| (margin.low, margin.high));
        let margin = of_caller.or_else(|| Some(reported_of(evidence.sheet)?.1))?;
        let rate = evidence.assumptions.middle(Q::UsdPerCurrencyUnit);
        let usd = rate.or(evidence.in_usd().then_some(1.0))?;
        let price = usd * evidence.base_cell()?.output().ok()?.to_f64();
        VendorMargin::new(price, margin, &calibration.price_law)
    };
    terms(sheets.iter().find_map(of_vendor))
}

/// First day whose prices the reported margins are about.
const REPORTED_FROM: Date = date(2025, 1, 1);

/// The vendor that sells the sheet's closed model of its own, and the least and greatest compute margin that was reported of
/// it; none of sheets from before the reports.
pub(crate) fn reported_of(sheet: &PriceSheet) -> Option<(&'static str, (f64, f64))> {
    let name = sheet.canonical_model.clone();
    let name = name.or_else(|| canonical_model(&sheet.model))?;
    let is_own = runs_the_weights(&name, &sheet.provider)? && is_sold_by_author(sheet)?;
    let start = sheet
        .valid_from
        .map(|start| start.to_zoned(TimeZone::UTC).date());
    let is_recent = start
        .or(sheet.released)
        .is_none_or(|day| day >= REPORTED_FROM);
    let seller = vendor(&sheet.provider);
    let vendors = vendors_with_compute_margin();
    let vendor = vendors.into_iter().find(|known| *known == seller)?;
    (is_own && is_recent).then_some((vendor, reported_compute_margin(vendor)?))
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

    #[test]
    fn a_report_is_read_of_the_vendors_own_closed_models_alone() {
        let sheet = |provider: &str, model: &str, day: Date| PriceSheet {
            released: Some(day),
            ..PriceSheet::new(provider, model, Vec::new())
        };
        let (before, since) = (date(2023, 6, 1), date(2026, 3, 5));
        let of = |provider, model, day| reported_of(&sheet(provider, model, day));
        assert_eq!(of("openai", "gpt-5.4", since), Some(("openai", (0.7, 0.7))));
        assert_eq!(of("azure", "gpt-5.4", since), None);
        assert_eq!(of("openai", "gpt-4", before), None);
        assert_eq!(of("openai", "gpt-oss-120b", since), None);
        assert_eq!(of("google", "gemini-3.1-pro", since), None);
    }
}

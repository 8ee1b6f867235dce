//! Compute margins that were reported of vendors: the share of what paying users pay that serving them leaves.

use serde::Deserialize;

embedded_tables! {
    /// Reported compute margins of vendors.
    compute_margins: ComputeMargin = "compute_margins.csv";
}

/// The compute margin of a vendor in a period.
#[derive(Debug, Clone, Deserialize)]
pub struct ComputeMargin {
    /// Vendor that published the margin.
    pub vendor: String,
    /// Month or year, as in ISO 8601.
    pub period: String,
    /// 1 − cost of serving paying users ÷ what they pay.
    pub compute_margin: f64,
    /// `reported`, `projected` by the vendor, or `derived` from its financials.
    pub basis: String,
    /// Whether it is of the days whose prices are estimated, so that naming the vendor states it.
    pub is_offered: bool,
    /// Source of the figure.
    pub source: String,
    /// Remarks on the row.
    pub note: String,
}

/// Least and greatest margin that naming a vendor states; none where none is reported.
#[must_use]
pub fn reported_compute_margin(vendor: &str) -> Option<(f64, f64)> {
    let own = compute_margins()
        .iter()
        .filter(|row| row.is_offered && row.vendor == vendor);
    let margins = own.map(|row| row.compute_margin);
    let span = |(low, high): (f64, f64), margin: f64| (low.min(margin), high.max(margin));
    margins
        .map(|margin| (margin, margin))
        .reduce(|all, (margin, _)| span(all, margin))
}

/// Vendors whose compute margin may be stated by their name.
#[must_use]
pub fn vendors_with_compute_margin() -> Vec<&'static str> {
    let offered = compute_margins().iter().filter(|row| row.is_offered);
    let mut vendors: Vec<&str> = offered.map(|row| row.vendor.as_str()).collect();
    vendors.sort_unstable();
    vendors.dedup();
    vendors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_source_and_the_latest_are_offered_by_name() {
        for row in compute_margins() {
            assert!(
                !row.source.is_empty() && row.compute_margin < 1.0,
                "{row:?}"
            );
            assert!(["reported", "projected", "derived"].contains(&row.basis.as_str()));
        }
        assert_eq!(vendors_with_compute_margin(), ["anthropic", "openai"]);
        assert_eq!(reported_compute_margin("anthropic"), Some((0.53, 0.68)));
        assert_eq!(reported_compute_margin("openai"), Some((0.70, 0.70)));
        assert_eq!(reported_compute_margin("acme"), None);
    }
}

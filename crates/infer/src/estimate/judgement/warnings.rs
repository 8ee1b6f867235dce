//! Reasons to doubt an estimate, one sentence each.
//!
//! ```
//! use unroof_infer::estimate::judgement::warnings::warnings;
//! use unroof_infer::estimate::{Format, StoredEstimate, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "CNY",
//!     "unit": "per_1m_tokens", "rates": [{"input": "4", "output": "16"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let estimate = StoredEstimate::of(&infer(&request)).unwrap();
//! assert!(warnings(&estimate, None)[0].contains("state the assumption `usd_per_currency_unit`"));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use crate::estimate::margins::LineMargin;
use crate::estimate::record::stored_estimate::StoredEstimate;
use unroof_base::units::readable;

/// Reasons to doubt an estimate: prices that do not fit, or cannot be read in US dollars, and lines below cost. `currency` is
/// that of the sheet by which it is shown; the estimate of a model states none.
#[must_use]
pub fn warnings(estimate: &StoredEstimate, currency: Option<&str>) -> Vec<String> {
    let misfit = &estimate.misfit;
    let unlikely = misfit
        .checks
        .iter()
        .filter(|check| check.probability < misfit.threshold);
    let unlikely = unlikely.map(|check| {
        format!(
            "misfit: the {} lies this far out in {} of a million cases, given the clues before it",
            check.clue,
            readable((1e6 * check.probability).round())
        )
    });
    let contradictions = misfit.contradictions.iter();
    let contradictions = contradictions.map(|found| format!("misfit: {found}"));
    let doubts = estimate.diagnostics.warnings.iter().cloned();
    let below_cost = estimate.best_margins().iter().filter_map(below_cost);
    let foreign = foreign(estimate, currency).into_iter();
    let of_prices = foreign.chain(unlikely).chain(contradictions);
    of_prices.chain(doubts).chain(below_cost).collect()
}

/// Prices whose level says nothing, as no rate of exchange is stated: they have no margins.
fn foreign(estimate: &StoredEstimate, currency: Option<&str>) -> Option<String> {
    let sheets = estimate.price_sheets.iter();
    let stated = sheets.filter_map(|sheet| sheet.currency.as_deref());
    let mut stated = stated.chain(currency);
    let foreign = stated.find(|currency| *currency != "USD")?;
    estimate.margins.is_empty().then(|| {
        format!(
            "the prices are in {foreign}, so their level says nothing about the size: state the assumption \
             `usd_per_currency_unit`"
        )
    })
}

fn below_cost(margin: &LineMargin) -> Option<String> {
    let warning = margin.warning.as_ref()?;
    Some(format!("{}: {warning}", margin.line.replace('_', " ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::estimate::{Format, infer, read_request};

    fn estimate(currency: &str, input: &str) -> StoredEstimate {
        let sheet = json!({
            "schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": currency,
            "unit": "per_1m_tokens", "rates": [{"input": input, "output": "10.00"}],
            "sources": [{"url": "https://example.com", "format": "official"}],
        });
        let request = read_request(sheet.to_string().as_bytes(), &Format::Canonical).unwrap();
        StoredEstimate::of(&infer(&request)).unwrap()
    }

    #[test]
    fn a_sheet_that_fits_has_no_warning_whatever_its_currency_is_called() {
        let fitting = estimate("USD", "1.25");
        assert_eq!(warnings(&fitting, None), [""; 0]);
        // Margins are only known where prices are read in US dollars.
        assert_eq!(warnings(&fitting, Some("EUR")), [""; 0]);
    }

    #[test]
    fn prices_in_another_currency_and_prices_that_do_not_fit_are_doubtful() {
        let foreign = warnings(&estimate("EUR", "1.25"), None);
        assert!(
            foreign[0].starts_with("the prices are in EUR"),
            "{foreign:?}"
        );
        let misfit = warnings(&estimate("USD", "900000"), None);
        assert!(misfit[0].starts_with("misfit: "), "{misfit:?}");
    }
}

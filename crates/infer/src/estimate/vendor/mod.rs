//! A vendor's models together: one markup and one accelerator for all of them, so that the ratio of two sizes is known
//! better than either size.
//!
//! A hypothesis h is a markup and an accelerator, common to the vendor's models. Each model is drawn once by itself; its draws
//! d, of weight w, give the evidence E(h) = Σ w·p(prices | d, markup)/p(prices | d) over the draws of that accelerator. A
//! hypothesis has the weight prior(h)·Π E(h), and given it the models are independent.
//!
//! ```
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! use unroof_infer::estimate::vendor::{VendorModel, estimate};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let model = |name: &str, input: &str, output: &str| {
//! #     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! #     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//! #     let sheets = vec![PriceSheet::new("acme", name, vec![cell])];
//!     VendorModel { canonical_model: format!("acme/{name}"), sheets }
//! };
//! let models = [model("large", "5", "25"), model("small", "1", "5")];
//! let vendor = estimate("acme", &models, Calibration::shipped(), &Default::default())?.unwrap();
//! assert_eq!(vendor.ratios[0].larger, "acme/large");
//! assert!(vendor.ratios[0].more_active_parameters > 0.5);
//! # Ok::<(), unroof_base::input::cancel::Cancelled>(())
//! ```

mod answer;
mod drawn;
mod hypothesis;
#[cfg(test)]
mod tests;
mod together;

pub use self::answer::{MarkupEstimate, SizeEstimate, SizeRatio, VendorEstimate};

use self::drawn::{Drawn, price_terms};
use self::hypothesis::{Accelerators, markups, with_markup};
pub use self::together::MOST_MODELS;
use self::together::together;
use crate::clue;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::likelihood::Observed;
use crate::evidence::machine::machines;
use crate::posterior::{EFFECTIVE_DRAWS, Prior, sample_while};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

/// A model of a vendor with the sheets that its estimate reads.
#[derive(Debug, Clone)]
pub struct VendorModel {
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// Sheets by which the author sells the model.
    pub sheets: Vec<PriceSheet>,
}

/// Estimates a vendor's models together, from sheets by which it sells them itself. None without models.
///
/// # Errors
/// The work is cancelled.
pub fn estimate(
    seller: &str,
    models: &[VendorModel],
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Option<VendorEstimate>, Cancelled> {
    if models.is_empty() {
        return Ok(None);
    }
    let assumptions = Assumptions::default();
    let prior = Prior::new(calibration, &assumptions);
    let markups = markups(seller, calibration);
    let accelerators = Accelerators::of(&machines(&assumptions));
    let by_markup: Vec<Calibration> = markups
        .iter()
        .map(|markup| with_markup(calibration, seller, *markup))
        .collect();
    let mut drawn = Vec::with_capacity(models.len());
    for model in models.iter().take(MOST_MODELS) {
        let terms = clue::observed(&model.sheets, &assumptions, calibration);
        let posterior = sample_while(&prior, &terms, EFFECTIVE_DRAWS, wanted)?;
        let prices = |calibration| price_terms(&model.sheets, &assumptions, calibration);
        let alone = prices(calibration);
        let given: Vec<Observed> = by_markup.iter().map(prices).collect();
        wanted.check()?;
        drawn.push(Drawn::new(
            &model.canonical_model,
            &posterior.draws,
            &accelerators,
            &alone,
            &given,
        ));
    }
    Ok(Some(together(
        &drawn,
        calibration.price_law.author,
        &markups,
        &accelerators,
    )))
}

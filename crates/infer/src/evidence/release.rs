//! Release date of a model: the stated one, else the earliest of its sheets, else that of the open weights of its name.
//!
//! ```
//! use unroof_infer::evidence::release::years;
//!
//! // The calibration counts years from the start of 2025.
//! assert_eq!(years(jiff::civil::date(2025, 1, 1)), 0.0);
//! assert!((years(jiff::civil::date(2026, 7, 2)) - 1.5).abs() < 0.01);
//! ```

use jiff::civil::{Date, date};

use crate::evidence::open_name::open_model_of;
use crate::evidence::sheet::Evidence;
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_roofline::reference::calibration::Calibration;

/// Days of a year.
const DAYS_PER_YEAR: f64 = 365.25;
/// The day that years are counted from.
const START: Date = date(2025, 1, 1);

/// Years from the start of 2025 to a day.
#[must_use]
pub fn years(day: Date) -> f64 {
    f64::from((day - START).get_days()) / DAYS_PER_YEAR
}

/// A release as the calibration counts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Release {
    /// Years from the mean release of the calibration's models; 0 where it is not known.
    pub(crate) years: f64,
    /// Standard deviation, years; 0 where it is known.
    pub(crate) sd: f64,
}

/// The release of the model of these sheets: the stated one, else the earliest that a sheet names, else that of its open weights.
pub(crate) fn release(sheets: &[Evidence<'_>], calibration: &Calibration) -> Release {
    let dates = &calibration.population.dates;
    let stated = sheets
        .first()
        .and_then(|evidence| evidence.assumptions.release_date());
    let named = sheets.iter().filter_map(|evidence| evidence.sheet.released);
    match stated.or(named.min()).or_else(|| known(sheets)) {
        Some(day) => Release {
            years: years(day) - dates.mean_years,
            sd: 0.0,
        },
        None => Release {
            years: 0.0,
            sd: dates.sd_years,
        },
    }
}

/// The release of the open weights that the first sheet names.
fn known(sheets: &[Evidence<'_>]) -> Option<Date> {
    let sheet = sheets.first()?.sheet;
    let read = || canonical_model(&sheet.model);
    let name = sheet.canonical_model.clone().or_else(read)?;
    open_model_of(&name)?.released
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_are_counted_from_the_start_of_2025() {
        assert!(years(date(2025, 1, 1)).abs() < 1e-12);
        assert!((years(date(2026, 1, 1)) - 365.0 / 365.25).abs() < 1e-12);
        assert!(years(date(2024, 7, 1)) < -0.5);
    }
}

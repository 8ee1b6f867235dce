//! Differences between the estimate of a sheet and that of its model.

use serde::Serialize;
use utoipa::ToSchema;

use super::super::quantities::{JointQuantity, Quantities};
use super::super::quantity_estimate::QuantityEstimate;
use crate::posterior::Interval;
use unroof_base::units::significant;

/// A quantity on which two estimates differ: their 90 % intervals have no value in common, or their medians are a factor
/// of two apart.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// Name of the quantity.
    pub quantity: &'static str,
    /// The sheet's median over the model's.
    pub factor: f64,
    /// Whether the 90 % intervals have a value in common.
    pub intervals_overlap: bool,
}

/// Factor between medians from which two estimates differ.
const NOTED_FACTOR: f64 = 2.0;

/// Quantities on which the estimate of a sheet differs from that of its model, given as median and 90 % interval each.
#[must_use]
pub fn differences(
    sheet: &Quantities,
    model: impl Fn(JointQuantity) -> Option<(f64, Interval)>,
) -> Vec<Difference> {
    let differs = |(quantity, of_sheet): (JointQuantity, &QuantityEstimate)| {
        let (median, interval) = model(quantity)?;
        let own = of_sheet.interval_90;
        let intervals_overlap = own.low <= interval.high && interval.low <= own.high;
        let factor = of_sheet.median / median;
        let is_far = factor.ln().abs() >= NOTED_FACTOR.ln();
        (is_far || !intervals_overlap).then(|| Difference {
            quantity: quantity.name(),
            factor: significant(factor),
            intervals_overlap,
        })
    };
    sheet.in_order().into_iter().filter_map(differs).collect()
}

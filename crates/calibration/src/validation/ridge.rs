//! Baseline: ridge regression on a model's median prices.

use nalgebra::{DMatrix, DVector};

use super::published::truth;
use super::score::{quantile, sorted};
use crate::prices::{PricedModel, mean};
use unroof_base::units::Decimal;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::sheet::RateCell;

/// Weight of the penalty on standardised slopes, in models.
const PENALTY: f64 = 1.0;

/// A regression on the logarithms of median input and output price.
pub(super) struct Ridge {
    quantity: JointQuantity,
    centre: [f64; 2],
    spread: [f64; 2],
    intercept: f64,
    slopes: DVector<f64>,
}

impl Ridge {
    /// Fits a quantity of models that have both prices.
    pub(super) fn fit(models: &[&PricedModel], quantity: JointQuantity) -> Option<Self> {
        let rows: Vec<([f64; 2], f64)> = models
            .iter()
            .filter_map(|model| Some((median_prices(model)?, truth(&model.truth, quantity))))
            .collect();
        let centre = [0, 1].map(|line| mean(rows.iter().map(|row| row.0[line])));
        let spread = [0, 1].map(|line| {
            let squares = rows.iter().map(|row| (row.0[line] - centre[line]).powi(2));
            mean(squares).sqrt()
        });
        let intercept = mean(rows.iter().map(|row| row.1));
        let design = DMatrix::from_fn(rows.len(), 2, |row, line| {
            (rows[row].0[line] - centre[line]) / spread[line]
        });
        let values = DVector::from_iterator(rows.len(), rows.iter().map(|row| row.1 - intercept));
        let normal = design.transpose() * &design + DMatrix::identity(2, 2) * PENALTY;
        let slopes = normal.cholesky()?.solve(&(design.transpose() * values));
        Some(Self {
            quantity,
            centre,
            spread,
            intercept,
            slopes,
        })
    }

    /// Prediction of the quantity of a model less its published value, both as logarithms.
    pub(super) fn error(&self, model: &PricedModel) -> Option<f64> {
        let prices = median_prices(model)?;
        let standardised = |line: usize| (prices[line] - self.centre[line]) / self.spread[line];
        let predicted =
            self.intercept + self.slopes[0] * standardised(0) + self.slopes[1] * standardised(1);
        Some(predicted - truth(&model.truth, self.quantity))
    }
}

pub(super) fn median_prices(model: &PricedModel) -> Option<[f64; 2]> {
    let logs = |price: fn(&RateCell) -> Option<&Decimal>| {
        let base = model.sheets.iter().filter_map(|sheet| sheet.base_rate());
        let ascending = sorted(base.filter_map(price).map(|price| price.to_f64().ln()));
        (!ascending.is_empty()).then(|| quantile(&ascending, 0.5))
    };
    Some([
        logs(|rate| rate.input.as_ref())?,
        logs(|rate| rate.output.as_ref())?,
    ])
}

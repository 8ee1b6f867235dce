//! Fitted efficiencies, and each measurement beside its prediction.

use serde::Serialize;

use super::fit::{FitError, fit};
use super::predict::{predict, predict_at_peak};
use unroof_core::reference::Attainment;
use unroof_core::reference::measurement::{Measurement, Purpose, measurements};
use unroof_core::units::Seconds;

/// Significant digits that efficiencies are kept with: more would be noise.
const DIGITS: i32 = 4;

/// A measurement and its prediction.
#[derive(Debug, Clone)]
pub struct Scored {
    /// The measurement.
    pub measured: &'static Measurement,
    /// With the efficiencies fitted to all rows.
    pub fitted: Option<f64>,
    /// With the efficiencies of a fit without the row's generation; only for fitted rows.
    pub left_out: Option<f64>,
    /// At peak.
    pub peak: Option<f64>,
}

impl Scored {
    /// Predicted over measured.
    pub(super) fn ratio(&self, predicted: Option<f64>) -> Option<f64> {
        Some(predicted? / self.measured.value)
    }

    /// |predicted/measured − 1| on a generation that the fit has not seen.
    #[must_use]
    pub fn left_out_error(&self) -> Option<f64> {
        Some((self.ratio(self.left_out)? - 1.0).abs())
    }
}

/// A fit that leaves a generation out.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    /// The generation.
    pub generation: String,
    /// Efficiencies fitted to the other rows.
    pub attainment: Attainment,
}

/// The file built into the program.
#[derive(Debug, Serialize)]
pub struct FittedFile<'a> {
    /// Command and data of the fit.
    source: &'static str,
    /// Efficiencies fitted to all rows.
    fitted: Attainment,
    /// Efficiencies fitted without one generation each.
    left_out: &'a [LeftOut],
}

/// All measurements, the fit, and the fits that leave a generation out.
#[derive(Debug, Clone)]
pub struct Report {
    /// Efficiencies fitted to all rows.
    pub fitted: Attainment,
    /// Efficiencies fitted without one generation each.
    pub left_out: Vec<LeftOut>,
    /// Efficiencies fitted without the rows of one accelerator, the H800.
    pub without_h800: Attainment,
    /// Every measurement.
    pub rows: Vec<Scored>,
}

impl Report {
    /// Fits the published measurements.
    ///
    /// # Errors
    /// [`FitError`]
    pub fn new() -> Result<Self, FitError> {
        let rows: Vec<&'static Measurement> = measurements().iter().collect();
        let fitted = rounded(fit(&rows)?);
        let mut generations: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.purpose == Purpose::Fit) {
            if !generations.contains(&row.generation.as_str()) {
                generations.push(&row.generation);
            }
        }
        let without = |leave_out: &dyn Fn(&Measurement) -> bool| {
            let rest: Vec<_> = rows.iter().copied().filter(|row| !leave_out(row)).collect();
            fit(&rest).map(rounded)
        };
        let left_out = generations
            .iter()
            .map(|generation| {
                Ok(LeftOut {
                    generation: (*generation).to_owned(),
                    attainment: without(&|row| row.generation == *generation)?,
                })
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        let scored = |measured: &'static Measurement| Scored {
            measured,
            fitted: predict(measured, fitted),
            left_out: left_out
                .iter()
                .find(|fit| {
                    fit.generation == measured.generation && measured.purpose == Purpose::Fit
                })
                .and_then(|fit| predict(measured, fit.attainment)),
            peak: predict_at_peak(measured),
        };
        Ok(Self {
            fitted,
            without_h800: without(&|row| row.accelerator == "h800")?,
            rows: rows.iter().map(|row| scored(row)).collect(),
            left_out,
        })
    }

    /// Content of `data/efficiencies.json`.
    #[must_use]
    pub fn file(&self) -> FittedFile<'_> {
        FittedFile {
            source: "unroof-dev fit --write, from data/serving_measurements.csv",
            fitted: self.fitted,
            left_out: &self.left_out,
        }
    }

    /// Rows that are fitted and scored.
    pub fn scored(&self) -> impl Iterator<Item = &Scored> {
        self.rows
            .iter()
            .filter(|row| row.measured.purpose == Purpose::Fit)
    }

    /// The median error on generations left out.
    #[must_use]
    pub fn median_left_out_error(&self) -> f64 {
        median(self.scored().filter_map(Scored::left_out_error).collect())
    }
}

fn rounded(attainment: Attainment) -> Attainment {
    let round = |value: f64| {
        format!("{value:.*e}", usize::try_from(DIGITS - 1).unwrap_or(0))
            .parse()
            .unwrap_or(value)
    };
    Attainment {
        compute: round(attainment.compute),
        bandwidth: round(attainment.bandwidth),
        network: round(attainment.network),
        vectors_per_token_and_layer: round(attainment.vectors_per_token_and_layer),
        seconds_per_stage: Seconds(round(attainment.seconds_per_stage.0)),
    }
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => f64::midpoint(values[even / 2 - 1], values[even / 2]),
    }
}

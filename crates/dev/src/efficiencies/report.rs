//! Fitted efficiencies, and each measurement beside its prediction.

use serde::Serialize;
use serde_json::{Value, json};

use super::figures::median;
use super::fit::{FitError, fit, fit_from};
use super::predict::{predict, predict_at_peak};
use unroof_base::units::Seconds;
use unroof_roofline::reference::measurement::{MeasuredPhase, Measurement, Purpose, measurements};
use unroof_roofline::reference::{Attainment, open_model};

/// Significant digits that efficiencies are kept with: more would be noise.
const DIGITS: i32 = 4;

/// A measurement and its prediction.
#[derive(Debug, Clone)]
pub struct Scored {
    /// Measurement that is predicted.
    pub measured: &'static Measurement,
    /// Prediction with the efficiencies fitted to all rows.
    pub fitted: Option<f64>,
    /// With the efficiencies of a fit without the row's publication.
    pub left_out: Option<f64>,
    /// Prediction at peak, in the measurement's unit.
    pub peak: Option<f64>,
}

/// Kinds of rows that are summed up apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Generated tokens, at a published batch or at batch 1.
    Decode,
    /// Prompt tokens.
    Prefill,
    /// Prompts and answers on the same chips, dense models.
    SharedDense,
    /// Prompts and answers on the same chips, mixtures of experts.
    SharedExperts,
    /// Prompts and answers on the same chips, at a published or required speed per user.
    AtSpeed,
    /// Added after the model was chosen.
    Check,
}

impl Scored {
    /// Prediction over the measured value.
    pub(super) fn ratio(&self, predicted: Option<f64>) -> Option<f64> {
        Some(predicted? / self.measured.value)
    }

    /// log(predicted/measured) by a fit that has not seen the publication.
    #[must_use]
    pub fn left_out_log(&self) -> Option<f64> {
        Some(self.ratio(self.left_out)?.ln())
    }

    /// Kind of the row.
    #[must_use]
    pub fn kind(&self) -> RowKind {
        let measured = self.measured;
        let is_mixture =
            open_model(&measured.model).is_some_and(|model| model.architecture.experts.is_some());
        match measured.phase {
            _ if measured.purpose == Purpose::Check => RowKind::Check,
            MeasuredPhase::Prefill => RowKind::Prefill,
            MeasuredPhase::Decode => RowKind::Decode,
            _ if measured.tokens_per_second_per_user.is_some() => RowKind::AtSpeed,
            _ if is_mixture => RowKind::SharedExperts,
            _ => RowKind::SharedDense,
        }
    }
}

/// A fit that leaves a publication out.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    /// Publication of the measurement.
    pub publication: String,
    /// Efficiencies fitted to the other rows.
    pub attainment: Attainment,
}

/// All measurements, the fit, and the fits that leave a publication out.
#[derive(Debug, Clone)]
pub struct Report {
    /// Efficiencies fitted to all rows.
    pub fitted: Attainment,
    /// Efficiencies fitted without one publication each.
    pub left_out: Vec<LeftOut>,
    /// Efficiencies fitted without the rows of one accelerator, the H800.
    pub without_h800: Attainment,
    /// Every measurement, with its predictions.
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
        let mut publications: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.purpose != Purpose::Check) {
            if !publications.contains(&row.publication.as_str()) {
                publications.push(&row.publication);
            }
        }
        let without = |leave_out: &dyn Fn(&Measurement) -> bool| {
            let rest: Vec<_> = rows.iter().copied().filter(|row| !leave_out(row)).collect();
            fit_from(fitted, &rest).map(rounded)
        };
        let left_out = publications
            .iter()
            .map(|publication| {
                Ok(LeftOut {
                    publication: (*publication).to_owned(),
                    attainment: without(&|row| row.publication == *publication)?,
                })
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        let scored = |measured: &'static Measurement| Scored {
            measured,
            fitted: predict(measured, fitted),
            left_out: left_out
                .iter()
                .find(|fit| fit.publication == measured.publication)
                .map_or(Some(fitted), |fit| Some(fit.attainment))
                .and_then(|fit| predict(measured, fit)),
            peak: predict_at_peak(measured),
        };
        Ok(Self {
            fitted,
            without_h800: without(&|row| row.accelerator == "h800")?,
            rows: rows.iter().map(|row| scored(row)).collect(),
            left_out,
        })
    }

    /// Content of `crates/roofline/data/efficiencies.json`.
    #[must_use]
    pub fn file(&self) -> Value {
        json!({
            "source": "unroof-dev fit --write, from crates/roofline/data/serving_measurements.csv",
            "fitted": self.fitted,
            "left_out": self.left_out,
        })
    }

    /// Predicted rows of a kind.
    pub fn of_kind(&self, kind: RowKind) -> impl Iterator<Item = &Scored> {
        self.rows
            .iter()
            .filter(move |row| row.left_out.is_some() && row.kind() == kind)
    }

    /// Median |log(predicted/measured)| of a kind, each row by a fit that has not seen its publication.
    #[must_use]
    pub fn median_error(&self, kind: RowKind) -> f64 {
        let logs = self.of_kind(kind).filter_map(Scored::left_out_log);
        median(logs.map(f64::abs).collect())
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
        expert_compute_ratio: round(attainment.expert_compute_ratio),
        attention_compute_ratio: round(attainment.attention_compute_ratio),
        bandwidth: round(attainment.bandwidth),
        network: round(attainment.network),
        exposed_exchange: round(attainment.exposed_exchange),
        vectors_per_token_and_layer: round(attainment.vectors_per_token_and_layer),
        seconds_per_stage: Seconds(round(attainment.seconds_per_stage.0)),
    }
}

//! Fitted efficiencies, and each measurement beside its prediction.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::thread;

use super::figures::median;
use super::fit::{FitError, fit, fit_from, is_fitted};
use super::measured::{all_measurements, benchmark};
use super::predict::{predict, predict_at_peak};
use unroof_roofline::reference::measurement::{MeasuredPhase, Measurement, measurements};
use unroof_roofline::reference::{FittedAttainment, accelerator, open_model};

/// A measurement and its prediction.
#[derive(Debug, Clone)]
pub struct Scored {
    /// Measurement that is predicted.
    pub measured: &'static Measurement,
    /// Whether it is of the reference data, which are shown row by row.
    pub is_shown: bool,
    /// Prediction with the efficiencies fitted to all rows.
    pub fitted: Option<f64>,
    /// With the efficiencies of a fit without the row's benchmark.
    pub left_out: Option<f64>,
    /// With the efficiencies of a fit without the generation of the row's chips.
    pub without_generation: Option<f64>,
    /// Prediction at peak, in the measurement's unit.
    pub peak: Option<f64>,
}

/// Kinds of rows that are summed up apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
}

impl RowKind {
    /// The words of tables.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Prefill => "prefill",
            Self::SharedDense => "both on the same chips, dense",
            Self::SharedExperts => "both on the same chips, experts",
            Self::AtSpeed => "the same at a speed per user",
        }
    }
}

impl Scored {
    /// Prediction over the measured value.
    pub(super) fn ratio(&self, predicted: Option<f64>) -> Option<f64> {
        Some(predicted? / self.measured.value)
    }

    /// log(predicted/measured) by a fit that has not seen the benchmark.
    #[must_use]
    pub fn left_out_log(&self) -> Option<f64> {
        Some(self.ratio(self.left_out)?.ln())
    }

    /// Generation of the chips.
    #[must_use]
    pub fn generation(&self) -> &'static str {
        generation(self.measured)
    }

    /// Kind of the row.
    #[must_use]
    pub fn kind(&self) -> RowKind {
        let measured = self.measured;
        match measured.phase {
            MeasuredPhase::Prefill => RowKind::Prefill,
            MeasuredPhase::Decode => RowKind::Decode,
            _ if measured.tokens_per_second_per_user.is_some() => RowKind::AtSpeed,
            _ if is_mixture(measured) => RowKind::SharedExperts,
            _ => RowKind::SharedDense,
        }
    }
}

/// Whether the model that was measured has routed experts.
pub(super) fn is_mixture(measured: &Measurement) -> bool {
    let model = open_model(&measured.model);
    model.is_some_and(|model| model.architecture.experts.is_some())
}

fn generation(measured: &Measurement) -> &'static str {
    accelerator(&measured.accelerator).map_or("", |row| row.generation.as_str())
}

/// A fit without some rows.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// Benchmark, or generation of chips, that is left out.
    pub name: &'static str,
    /// Efficiencies fitted to the other rows.
    pub fitted: FittedAttainment,
}

impl LeftOut {
    /// The fit of these without a name.
    pub(super) fn find<'f>(fits: &'f [Self], name: &str) -> Option<&'f FittedAttainment> {
        let mut fits = fits.iter();
        fits.find(|fit| fit.name == name).map(|fit| &fit.fitted)
    }
}

/// All measurements, the fit, and the fits that leave a benchmark or a generation out.
#[derive(Debug, Clone)]
pub struct Report {
    /// Efficiencies fitted to all rows.
    pub fitted: FittedAttainment,
    /// Efficiencies fitted without one benchmark each.
    pub left_out: Vec<LeftOut>,
    /// Efficiencies fitted without one generation of chips each.
    pub without_generation: Vec<LeftOut>,
    /// Efficiencies fitted without the rows of one accelerator, the H800.
    pub without_h800: FittedAttainment,
    /// Every measurement, with its predictions.
    pub rows: Vec<Scored>,
}

impl Report {
    /// The published measurements and their fit, which is made once in a process: it takes seconds.
    ///
    /// # Errors
    /// [`FitError`]
    pub fn shared() -> Result<&'static Self, FitError> {
        static REPORT: LazyLock<Result<Report, FitError>> = LazyLock::new(Report::new);
        REPORT.as_ref().map_err(Clone::clone)
    }

    fn new() -> Result<Self, FitError> {
        let rows: Vec<&'static Measurement> = all_measurements().collect();
        let fitted = fit(&rows)?;
        let without = |is_out: &dyn Fn(&'static Measurement) -> bool| {
            let rest: Vec<_> = rows.iter().copied().filter(|row| !is_out(row)).collect();
            fit_from(&fitted, &rest)
        };
        let each = |of: fn(&'static Measurement) -> &'static str| {
            let names: BTreeSet<&'static str> = rows.iter().map(|row| of(row)).collect();
            thread::scope(|scope| {
                let fits: Vec<_> = names
                    .into_iter()
                    .filter(|name| !name.is_empty())
                    .map(|name| (name, scope.spawn(move || without(&|row| of(row) == name))))
                    .collect();
                let joined = |(name, fit): (_, thread::ScopedJoinHandle<'_, _>)| {
                    let fitted = fit.join().expect("a fit does not panic")?;
                    Ok(LeftOut { name, fitted })
                };
                fits.into_iter()
                    .map(joined)
                    .collect::<Result<Vec<_>, FitError>>()
            })
        };
        let left_out = each(benchmark)?;
        let without_generation = each(generation)?;
        let scored = |measured: &'static Measurement| {
            let by = |fits: &[LeftOut], name| {
                predict(measured, LeftOut::find(fits, name).unwrap_or(&fitted))
            };
            Scored {
                measured,
                is_shown: measurements().iter().any(|row| std::ptr::eq(row, measured)),
                fitted: predict(measured, &fitted),
                left_out: by(&left_out, benchmark(measured)),
                without_generation: by(&without_generation, generation(measured)),
                peak: predict_at_peak(measured),
            }
        };
        let without_h800 = without(&|row| row.accelerator == "h800")?;
        let rows: Vec<Scored> = rows.iter().map(|row| scored(row)).collect();
        Ok(Self {
            fitted,
            left_out,
            without_generation,
            without_h800,
            rows,
        })
    }

    /// Rows that are shown one by one.
    pub fn shown(&self) -> impl Iterator<Item = &Scored> {
        self.rows.iter().filter(|row| row.is_shown)
    }

    /// Predicted rows of a kind that are shown one by one.
    pub fn of_kind(&self, kind: RowKind) -> impl Iterator<Item = &Scored> {
        let is_of = move |row: &&Scored| row.left_out.is_some() && row.kind() == kind;
        self.shown().filter(is_of)
    }

    /// Every row that is fitted, each with its log(predicted/measured) by a fit without its benchmark.
    pub fn with_logs(&self) -> impl Iterator<Item = (&Scored, f64)> {
        let fitted = self.rows.iter().filter(|row| is_fitted(row.measured));
        fitted.filter_map(|row| Some((row, row.left_out_log()?)))
    }

    /// Median |log(predicted/measured)| of a kind, each row by a fit that has not seen its benchmark.
    #[must_use]
    pub fn median_error(&self, kind: RowKind) -> f64 {
        let logs = self.of_kind(kind).filter_map(Scored::left_out_log);
        median(logs.map(f64::abs).collect())
    }
}

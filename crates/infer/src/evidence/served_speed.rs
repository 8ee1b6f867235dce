//! Measured output speed against the step of the engine: how fast, and so in which batch and on which machine, a model of known
//! sizes is served.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::likelihood::Likelihood;
//! use unroof_infer::evidence::served_speed::ServedSpeed;
//! use unroof_infer::posterior::{Prior, sample_prior};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
//! let mut draws: Vec<_> = sample_prior(&prior, 64).iter().collect();
//! draws.sort_by(|one, other| one.log_output_speed().total_cmp(&other.log_output_speed()));
//! // 300 tokens per second are more probable of the fastest draw than of the slowest.
//! let speed = ServedSpeed::of_hosts([300.0]).unwrap();
//! assert!(speed.likelihood(&draws[63]) > speed.likelihood(&draws[0]));
//! ```

use super::clue_table::ClueKind;
use super::likelihood::{Likelihood, MISPRINTS, log_normal, normal_tail};
use super::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_base::units::elementary::exp;
use unroof_price_sheet::sheet::{PriceSheet, RateCell, ServiceTier};
use unroof_roofline::reference::serving_speeds;

/// log of the tokens that a step yields beyond the engine's: some hosts draft, and say nothing about it \[D\].
const LOG_DRAFTED: f64 = 0.3;
/// Standard deviation of that \[D\].
const DRAFTED_SD: f64 = 0.35;
/// Standard deviation of log v between the hosts of one model in `data/serving_speeds.csv`.
const HOST_SD: f64 = 0.98;
/// log of the fastest speed that is printed over the slowest.
const LOG_RANGE: f64 = 8.0;

/// Published speeds of an open-weight model at its hosts, tokens per second of one user.
pub fn published_speeds(model: &str) -> impl Iterator<Item = f64> {
    let own = serving_speeds()
        .iter()
        .filter(move |row| row.model == model);
    own.map(|row| row.output_tokens_per_second)
}

/// The mean speed of a model at its hosts.
#[derive(Debug, Clone, Copy)]
pub struct ServedSpeed {
    log_speed: f64,
    sd: f64,
}

impl ServedSpeed {
    /// Speed of a model from those at its hosts, tokens per second of one user; none without any. A speed that is repeated counts
    /// once.
    #[must_use]
    pub fn of_hosts(speeds: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut logs: Vec<f64> = speeds.into_iter().map(f64::ln).collect();
        logs.sort_by(f64::total_cmp);
        logs.dedup();
        let hosts = count_f64(logs.len());
        (!logs.is_empty()).then(|| Self {
            log_speed: logs.iter().sum::<f64>() / hosts,
            sd: DRAFTED_SD.hypot(HOST_SD / hosts.sqrt()),
        })
    }

    /// Speed of an open-weight model by its sheets, else by what is published of it.
    #[must_use]
    pub fn of_model(model: &str, sheets: &[PriceSheet]) -> Option<Self> {
        let standard = sheets
            .iter()
            .filter_map(|sheet| sheet.service_tiers.get(RateCell::STANDARD));
        let published = || Self::of_hosts(published_speeds(model));
        Self::of_hosts(standard.filter_map(median_speed)).or_else(published)
    }

    fn residual(&self, unknowns: &Unknowns<'_>) -> f64 {
        self.log_speed - LOG_DRAFTED - unknowns.log_output_speed()
    }
}

/// Half of the requests of a tier are decoded at this speed or faster, tokens/s.
pub(crate) fn median_speed(service: &ServiceTier) -> Option<f64> {
    let measured = service.measured.as_ref()?;
    measured.output_tokens_per_second.as_ref()?.p50
}

impl Likelihood for ServedSpeed {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::OutputSpeed]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let density = exp(log_normal(self.residual(unknowns), self.sd));
        MISPRINTS / LOG_RANGE + (1.0 - MISPRINTS) * density
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        normal_tail(self.residual(unknowns), self.sd)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use unroof_price_sheet::sheet::{MeasuredSpeed, Percentiles};

    #[test]
    fn the_deviation_of_hosts_is_that_of_the_published_speeds() {
        let mut by_model: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in serving_speeds() {
            let logs = by_model.entry(&row.model).or_default();
            logs.push(row.output_tokens_per_second.ln());
        }
        let squares = |logs: &Vec<f64>| {
            let middle = logs.iter().sum::<f64>() / count_f64(logs.len());
            logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
        };
        let freedom = count_f64(serving_speeds().len() - by_model.len());
        let sd = (by_model.values().map(squares).sum::<f64>() / freedom).sqrt();
        assert!((sd - HOST_SD).abs() < 0.006, "{sd}");
    }

    #[test]
    fn order_and_repetition_change_nothing() {
        let of = |speeds: &[f64]| {
            let speed = ServedSpeed::of_hosts(speeds.iter().copied()).unwrap();
            [speed.log_speed, speed.sd].map(f64::to_bits)
        };
        assert_eq!(of(&[30.0, 50.0, 90.0]), of(&[90.0, 30.0, 50.0, 30.0]));
    }

    #[test]
    fn a_speed_of_the_sheets_comes_before_a_published_one() {
        let published = ServedSpeed::of_model("Llama-3.3-70B", &[]).unwrap();
        let mut sheet = PriceSheet::new("acme", "llama-3.3-70b-instruct", Vec::new());
        let tier = ServiceTier {
            measured: Some(MeasuredSpeed {
                output_tokens_per_second: Some(Percentiles {
                    p50: Some(500.0),
                    ..Percentiles::default()
                }),
                ..MeasuredSpeed::default()
            }),
            ..ServiceTier::default()
        };
        sheet
            .service_tiers
            .insert(RateCell::STANDARD.to_owned(), tier);
        let stated = ServedSpeed::of_model("Llama-3.3-70B", &[sheet]).unwrap();
        assert!((stated.log_speed - 500_f64.ln()).abs() < 1e-12);
        // Eighteen hosts say more than one.
        assert!(published.sd < stated.sd && published.log_speed < stated.log_speed);
        assert!(ServedSpeed::of_model("DeepSeek-V4-Pro", &[]).is_none());
    }
}

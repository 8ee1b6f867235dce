//! Output speed: promised, an upper bound on the bytes that a step reads; promised or measured, evidence of the active
//! parameters.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::ReadingBuilder;
use crate::evidence::clue_table::{ClueKind, ReadingId};
use crate::evidence::fastest_step::{Waits, log_fastest_speed};
use crate::evidence::likelihood::{
    Likelihood, MISPRINTS, Observed, log_normal, normal_below, normal_tail, terms,
};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::Reading;
use crate::evidence::reading::{Kind, Specification};
use crate::evidence::served_speed::median_speed;
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_base::units::elementary::exp;
use unroof_price_sheet::sheet::{MeasuredSpeed, RateCell, ServiceTier};
use unroof_roofline::reference::calibration::Calibration;

pub(super) static CLUE: Clue = Clue::new(&[&WEIGHT_BYTES], read)
    .about_modes()
    .observed_by(observe);

static WEIGHT_BYTES: Specification = Specification {
    quantity: "weight_bytes",
    equation: "w·N_t ≤ η_m·W·V/v",
    unit: "B",
    kind: Kind::Upper,
    needs: "a promised number of output tokens per second; an accelerator",
    not_defined_when: "the sheet promises no tokens per second: a multiplier is not a speed",
    assumes: &[
        "a step reads all weights and the whole batch's KV cache: w·N_t + B·L·k ≤ η_m·W·V/v",
    ],
    source: "D",
    ..Specification::of(ReadingId::OutputSpeedWeightBytes)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let of_tier = |(tier, service): (&String, &ServiceTier)| {
        Some(Ok(weight_bytes(evidence, tier, promised_speed(service)?)))
    };
    let drawn = evidence.sheet.service_tiers.iter().filter_map(of_tier);
    let lack = "the sheet promises no output tokens per second; a multiplier is not a speed";
    or_lacking(drawn, lack)
}

fn weight_bytes(evidence: &Evidence<'_>, tier: &str, tokens_per_second: f64) -> Reading {
    let quantities = [
        Q::DecodeBandwidthEfficiency,
        Q::Chips,
        Q::UnitBandwidth,
        Q::AcceptedTokens,
    ];
    let with_capacity = [&quantities[..], &[Q::UnitCapacity]].concat();
    ReadingBuilder::new(&WEIGHT_BYTES, evidence)
        .label("service_tier", tier)
        .sheet(
            "output_tokens_per_second",
            "v",
            tokens_per_second,
            "tokens/s",
        )
        .solve(&quantities, |values| {
            let bytes_per_second = values[Q::DecodeBandwidthEfficiency] * values[Q::UnitBandwidth];
            Ok(bytes_per_second * values[Q::AcceptedTokens] / tokens_per_second)
        })
        .detail(
            ("speed_with_full_hbm", "tokens/s", Kind::Upper),
            &with_capacity,
            |values| {
                let sweeps_per_second = values[Q::UnitBandwidth] / values[Q::UnitCapacity];
                Ok(values[Q::DecodeBandwidthEfficiency]
                    * values[Q::AcceptedTokens]
                    * sweeps_per_second)
            },
        )
        .build()
}

/// The law of speeds, learned from `data/serving_speeds.csv`: log v = `CONSTANT` + `ACTIVE`·log `N_a` + `INPUT`·log `p_in` +
/// `OUTPUT`·log `p_out`, with v in tokens per second of one user and prices in USD per million tokens. A host that charges
/// more for a model of one size serves it faster. Accepted tokens, batch, machine and context are in the deviations \[D\].
const CONSTANT: f64 = 17.83;
const ACTIVE: f64 = -0.531_1;
const INPUT: f64 = 0.638_6;
const OUTPUT: f64 = -0.411_5;
/// Standard deviations of log v around the law, leaving out the family and the host that are predicted: of a model at all
/// of its hosts, and of a host.
const MODEL_SD: f64 = 0.44;
const HOST_SD: f64 = 0.93;
/// log of the fastest speed that is printed over the slowest.
const LOG_RANGE: f64 = 8.0;
/// Deviation of the fastest decoding of a machine: its kernels and exchanges may be shorter than the fitted ones. Chosen.
const CEILING_SD: f64 = 0.3;
/// log of the fresh tokens of prompts with which a wait for the first token is measured: 1,000. Chosen.
const LOG_PROMPT_TOKENS: f64 = 6.907_755_278_982_137;
/// Deviation of that length and of the share of arithmetic in the wait. Chosen.
const PROMPT_SD: f64 = 1.0;
/// Measurer whose waits for the first token say nothing about a model's size: a gain of −0.003 ± 0.005 nats.
const ROUTER: &str = "openrouter";

/// A speed on the sheets of a model.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpeedTerm {
    /// Measured in the standard tier: the mean over hosts of log v without what their prices explain, and its deviation.
    Measured { excess: f64, sd: f64 },
    /// Promised in the standard tier: the same, at least.
    AtLeast { excess: f64, sd: f64 },
    /// log v of another tier, which may be served at batch 1.
    OfMode { log_speed: f64, waits: Waits },
    /// log of the seconds to the first token, within which the prompt is computed.
    FirstToken { log_seconds: f64 },
}

/// Speeds that the sheets state: of the standard tier by the law, of other tiers as what the machine must reach.
fn observe(sheets: &[Evidence<'_>], _calibration: &Calibration) -> Observed {
    let mut measured = Vec::new();
    let mut promised: Option<f64> = None;
    let mut of_modes: Option<f64> = None;
    let mut first_token: Option<f64> = None;
    for sheet in sheets {
        let explained = explained_by_prices(sheet);
        for (tier, service) in &sheet.sheet.service_tiers {
            let (promise, speed) = (promised_speed(service), median_speed(service));
            if tier != RateCell::STANDARD {
                let speeds = promise.into_iter().chain(speed);
                of_modes = speeds.map(f64::ln).chain(of_modes).reduce(f64::max);
                continue;
            }
            if let Some(explained) = explained {
                let excess = |speed: f64| speed.ln() - explained;
                measured.extend(speed.map(excess));
                promised = promise
                    .map(excess)
                    .into_iter()
                    .chain(promised)
                    .reduce(f64::max);
            }
            let wait = service.measured.as_ref().and_then(stated_wait);
            first_token = wait
                .map(f64::ln)
                .into_iter()
                .chain(first_token)
                .reduce(f64::min);
        }
    }
    let sd = MODEL_SD.hypot(HOST_SD);
    let found = [
        mean_over_hosts(measured),
        promised.map(|excess| SpeedTerm::AtLeast { excess, sd }),
        of_modes.map(|log_speed| SpeedTerm::OfMode {
            log_speed,
            waits: Waits::fitted(),
        }),
        first_token.map(|log_seconds| SpeedTerm::FirstToken { log_seconds }),
    ];
    terms(found.into_iter().flatten())
}

/// The part of the law that follows from the base prices; none where one is missing, free, or in another currency.
fn explained_by_prices(sheet: &Evidence<'_>) -> Option<f64> {
    let cell = sheet.in_usd().then(|| sheet.base_cell())??;
    let input = cell.input().ok()?.to_f64();
    let output = cell.output().ok()?.to_f64();
    Some(CONSTANT + INPUT * input.ln() + OUTPUT * output.ln())
}

/// Least speed that a tier promises, tokens/s.
pub(crate) fn promised_speed(service: &ServiceTier) -> Option<f64> {
    service.slo.as_ref()?.output_tokens_per_second_min
}

/// The median wait for the first token in seconds, unless a router measured it.
fn stated_wait(measured: &MeasuredSpeed) -> Option<f64> {
    let is_of_router = measured.measured_by.as_deref() == Some(ROUTER);
    let wait = measured.time_to_first_token_seconds.as_ref()?.p50;
    wait.filter(|_| !is_of_router)
}

/// The deviation of the model is common to all of its hosts, and each speed counts once.
fn mean_over_hosts(mut excesses: Vec<f64>) -> Option<SpeedTerm> {
    excesses.sort_by(f64::total_cmp);
    excesses.dedup();
    if excesses.is_empty() {
        return None;
    }
    let hosts = count_f64(excesses.len());
    Some(SpeedTerm::Measured {
        excess: excesses.iter().sum::<f64>() / hosts,
        sd: MODEL_SD.hypot(HOST_SD / hosts.sqrt()),
    })
}

impl SpeedTerm {
    /// log of the machine's speed over the stated one, and its deviation.
    fn margin(self, unknowns: &Unknowns<'_>) -> (f64, f64) {
        let by_size = ACTIVE * unknowns.log_active_parameters;
        match self {
            Self::Measured { excess, sd } | Self::AtLeast { excess, sd } => (by_size - excess, sd),
            Self::OfMode { log_speed, waits } => {
                (log_fastest_speed(unknowns, &waits) - log_speed, CEILING_SD)
            }
            Self::FirstToken { log_seconds } => {
                (log_seconds - log_prompt_seconds(unknowns), PROMPT_SD)
            }
        }
    }
}

/// log of S·`N_a`/(`η_pre`·M·G), the arithmetic of a prompt, seconds (E16 without attention).
fn log_prompt_seconds(unknowns: &Unknowns<'_>) -> f64 {
    let machine = unknowns.machine;
    LOG_PROMPT_TOKENS + unknowns.log_active_parameters
        - machine.log_prefill_efficiency
        - machine.log_multiply_rate
        - machine.log_chips
}

impl Likelihood for SpeedTerm {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::OutputSpeed]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let (margin, sd) = self.margin(unknowns);
        match self {
            Self::Measured { .. } => {
                MISPRINTS / LOG_RANGE + (1.0 - MISPRINTS) * exp(log_normal(margin, sd))
            }
            _ => MISPRINTS + (1.0 - MISPRINTS) * normal_below(margin / sd),
        }
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let (margin, sd) = self.margin(unknowns);
        match self {
            Self::Measured { .. } => normal_tail(margin, sd),
            _ => normal_below(margin / sd),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use nalgebra::{Matrix4, Vector4};

    use super::*;
    use unroof_roofline::reference::{ServingSpeed, open_models, serving_speeds};

    /// A row in logarithms.
    struct Point {
        model: &'static str,
        family: &'static str,
        host: &'static str,
        known: Vector4<f64>,
        log_speed: f64,
    }

    fn points() -> Vec<Point> {
        let point = |row: &'static ServingSpeed| {
            let mut models = open_models().iter();
            let model = models
                .find(|model| model.name == row.model)
                .unwrap_or_else(|| panic!("{} is not an open model", row.model));
            Point {
                family: &model.family,
                known: Vector4::new(
                    1.0,
                    model.architecture.active_parameters.ln(),
                    row.input_usd_per_mtok.ln(),
                    row.output_usd_per_mtok.ln(),
                ),
                log_speed: row.output_tokens_per_second.ln(),
                model: &row.model,
                host: &row.host,
            }
        };
        serving_speeds().iter().map(point).collect()
    }

    /// Least squares, a model with n rows counting √n times.
    fn law_of(points: &[&Point]) -> Vector4<f64> {
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        for point in points {
            *counts.entry(point.model).or_default() += 1.0;
        }
        let mut moments = Matrix4::zeros();
        let mut products = Vector4::zeros();
        for point in points {
            let weight = counts[point.model].sqrt().recip();
            moments += weight * point.known * point.known.transpose();
            products += weight * point.log_speed * point.known;
        }
        moments.lu().solve(&products).expect("four kinds of rows")
    }

    /// Residuals by model, each by the law of the other families' and hosts' rows.
    fn residuals(points: &[Point]) -> BTreeMap<&'static str, Vec<f64>> {
        let mut residuals: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for point in points {
            let others: Vec<&Point> = (points.iter())
                .filter(|other| other.family != point.family && other.host != point.host)
                .collect();
            let residual = point.log_speed - law_of(&others).dot(&point.known);
            residuals.entry(point.model).or_default().push(residual);
        }
        residuals
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn the_law_of_speeds_is_that_of_the_published_ones() {
        let points = points();
        let pairs: BTreeSet<(&str, &str)> = (points.iter())
            .map(|point| (point.model, point.host))
            .collect();
        assert!(pairs.len() >= 100, "{}", pairs.len());
        let all: Vec<&Point> = points.iter().collect();
        let shipped = Vector4::new(CONSTANT, ACTIVE, INPUT, OUTPUT);
        let law = law_of(&all);
        assert!((law - shipped).abs().max() < 0.006, "{law}");
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
    fn the_deviations_are_those_of_families_and_hosts_left_out() {
        let points = points();
        let residuals = residuals(&points);
        let squares = |values: &Vec<f64>| {
            let middle = mean(values);
            values
                .iter()
                .map(|value| (value - middle).powi(2))
                .sum::<f64>()
        };
        let freedom = points.len() - residuals.len();
        let host = residuals.values().map(squares).sum::<f64>() / freedom as f64;
        let of_models: Vec<f64> = residuals
            .values()
            .map(|values| mean(values).powi(2) - host / values.len() as f64)
            .collect();
        assert!((host.sqrt() - HOST_SD).abs() < 0.006, "{}", host.sqrt());
        let model = mean(&of_models).sqrt();
        assert!((model - MODEL_SD).abs() < 0.006, "{model}");
    }

    #[test]
    fn more_hosts_say_more_and_a_speed_that_is_repeated_counts_once() {
        let sd = |excesses: &[f64]| match mean_over_hosts(excesses.to_vec()) {
            Some(SpeedTerm::Measured { sd, .. }) => sd,
            other => panic!("{other:?}"),
        };
        assert!(sd(&[1.0, 2.0]) < sd(&[1.0]));
        assert!((sd(&[1.0, 1.0]) - sd(&[1.0])).abs() < f64::EPSILON);
        assert!(mean_over_hosts(Vec::new()).is_none());
    }
}

//! Fast modes: two points on the curve of cost against speed.

use super::{Clue, Readings, or_lacking_modes};
use crate::evidence::assumptions::Assumptions;
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::clue_table::{ClueKind, ReadingId};
use crate::evidence::likelihood::{
    Likelihood, MISPRINTS, Observed, log_normal, normal_below, normal_tail, terms,
};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{NotDefined, Specification};
use crate::evidence::sheet::{Evidence, ModePrices};
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::elementary::exp;
use unroof_price_sheet::sheet::{SpeedBound, SpeedMetric, SpeedMultiplier};
use unroof_roofline::reference::calibration::Calibration;

pub(super) static CLUE: Clue = Clue::new(&[&BATCH_RATIO, &KV_OVER_WEIGHTS, &MAX_SPEEDUP], read)
    .about_modes()
    .observed_by(observe);

/// A specification with everything that the readings of this clue share.
const fn of_mode(id: ReadingId) -> Specification {
    Specification {
        needs: "a mode whose output costs more, and its output speed on the sheet or in `speed_multiplier`",
        not_defined_when: "no output speed is stated, m_p ≤ 1, or m_s ≤ 1",
        assumes: &[
            "the same hardware serves both modes, at the same margin; only the batch differs",
            "a step takes a fixed time (reading weights) and a time in proportion to the batch",
        ],
        source: "D",
        ..Specification::of(id)
    }
}

static BATCH_RATIO: Specification = Specification {
    quantity: "standard_batch_over_fast_batch",
    equation: "B_std/B_fast = m_p·m_s",
    ..of_mode(ReadingId::FastModeBatchRatio)
};

static KV_OVER_WEIGHTS: Specification = Specification {
    quantity: "batch_time_over_fixed_time",
    equation: "y = (m_s − 1)/(1 − 1/m_p)",
    ..of_mode(ReadingId::FastModeKvOverWeights)
};

static MAX_SPEEDUP: Specification = Specification {
    quantity: "greatest_speed_multiplier",
    equation: "1 + y = 1 + (m_s − 1)/(1 − 1/m_p)",
    ..of_mode(ReadingId::FastModeMaxSpeedup)
};

/// A mode against the standard tier.
#[derive(Clone, Copy)]
struct Multipliers {
    /// `m_p`: price of the mode over that of the standard tier, above 1.
    price: f64,
    /// `m_s`: speed of the mode over that of the standard tier, above 1.
    speed: f64,
}

impl Multipliers {
    /// y, with one rounding error less than the equation.
    fn batch_time_over_fixed_time(self) -> f64 {
        (self.speed - 1.0) * self.price / (self.price - 1.0)
    }
}

/// A reading and its closed form.
type Form = (&'static Specification, fn(Multipliers) -> f64);

const FORMS: [Form; 3] = [
    (&BATCH_RATIO, |mode| mode.price * mode.speed),
    (&KV_OVER_WEIGHTS, Multipliers::batch_time_over_fixed_time),
    (&MAX_SPEEDUP, |mode| 1.0 + mode.batch_time_over_fixed_time()),
];

/// Output speed of a mode against the standard tier.
#[derive(Clone, Copy)]
enum Speed {
    /// The caller states it.
    Stated,
    /// The sheet says it.
    OnSheet(f64, Option<SpeedBound>, bool),
}

fn read(evidence: &Evidence<'_>) -> Readings {
    let mut drawn: [Vec<Drawn>; FORMS.len()] = Default::default();
    for mode in evidence.modes() {
        let tier = evidence.sheet.service_tiers.get(mode);
        let aliases = tier.into_iter().flat_map(|tier| &tier.aliases);
        let names: Vec<&str> = aliases.map(String::as_str).chain([mode]).collect();
        let stated = evidence.assumptions.with_speed_of(&names);
        let assumptions: &Assumptions = stated.as_ref().unwrap_or(evidence.assumptions);
        let with_speed = Evidence {
            sheet: evidence.sheet,
            assumptions,
        };
        let claim = tier.and_then(|tier| tier.speed_multiplier.as_ref());
        let speed = if stated.is_some() {
            Ok(Speed::Stated)
        } else {
            speed_on_sheet(mode, claim)
        };
        for prices in evidence.mode_prices(mode) {
            if !is_fast(&prices) && speed.is_err() {
                continue;
            }
            for (entries, form) in drawn.iter_mut().zip(&FORMS) {
                entries.push(mode_reading(form, &with_speed, mode, &prices, &speed));
            }
        }
    }
    let lack = "the sheet states no mode that costs more than the standard one";
    or_lacking_modes(evidence, drawn.into_iter().flatten(), lack)
}

fn is_fast(prices: &ModePrices<'_>) -> bool {
    prices.output_ratio.as_ref().is_ok_and(|ratio| *ratio > 1.0)
}

fn speed_on_sheet(mode: &str, claim: Option<&SpeedMultiplier>) -> Result<Speed, NotDefined> {
    let lacks = |what: &str| {
        let detail = format!("the sheet states {what}; state `speed_multiplier` for `{mode}`");
        NotDefined::sheet_lacks_unless(&["speed_multiplier"], &detail)
    };
    match claim {
        Some(SpeedMultiplier {
            metric: Some(SpeedMetric::TimeToFirstToken),
            ..
        }) => Err(lacks("a time to first token, not an output speed")),
        Some(SpeedMultiplier {
            metric: Some(SpeedMetric::EndToEndLatency),
            ..
        }) => Err(lacks("an end-to-end latency, not an output speed")),
        Some(SpeedMultiplier {
            value: Some(value),
            bound,
            metric,
        }) => Ok(Speed::OnSheet(value.to_f64(), *bound, metric.is_some())),
        _ => Err(lacks("no speed")),
    }
}

fn mode_reading(
    (specification, form): &Form,
    evidence: &Evidence<'_>,
    mode: &str,
    prices: &ModePrices<'_>,
    speed: &Result<Speed, NotDefined>,
) -> Drawn {
    let mut builder = ReadingBuilder::new(specification, evidence).of_mode(mode, &prices.cell);
    let price = builder.given(prices.output_ratio.clone())?;
    builder = builder.sheet("output_price_multiplier", "m_p", price, "");
    let speed = builder.given(speed.clone())?;
    let quantities: &[Q] = match speed {
        Speed::Stated => &[Q::SpeedMultiplier],
        Speed::OnSheet(value, bound, names_metric) => {
            builder = builder.sheet("speed_multiplier", "m_s", value, "");
            if bound == Some(SpeedBound::UpTo) {
                builder =
                    builder.caveat(format!("\"up to {value}×\" is a bound, not a measurement"));
            }
            if !names_metric {
                builder = builder.caveat(
                    "the sheet does not say which speed it means; read as output tokens per second",
                );
            }
            &[]
        }
    };
    Ok(builder
        .solve(quantities, |values: &Values| {
            let speed = match speed {
                Speed::Stated => values[Q::SpeedMultiplier],
                Speed::OnSheet(value, ..) => value,
            };
            if price <= 1.0 {
                return Err(NotDefined::no_solution(
                    "m_p ≤ 1: the mode costs no more than the standard one",
                ));
            }
            if speed <= 1.0 {
                return Err(NotDefined::no_solution(
                    "m_s ≤ 1: the mode is no faster than the standard one",
                ));
            }
            Ok(form(Multipliers { price, speed }))
        })
        .build())
}

/// log of the greatest speed-up by the mode's price and speed against that of the machine: prices are round and speeds
/// are promises, so a factor of 1.6 either way. No published truth says how far off they are.
const LOG_NOISE: f64 = 0.5;

/// log of the greatest speed-ups that are promised of any machine.
const LOG_RANGE: f64 = 5.0;

/// A mode's greatest speed-up 1 + y.
#[derive(Debug, Clone, Copy)]
pub(super) struct GreatestSpeedup {
    log_speedup: f64,
    noise: f64,
    /// log density at the expected speed-up
    log_peak: f64,
}

impl GreatestSpeedup {
    /// 1 + y by the reading [`MAX_SPEEDUP`], with the noise of its logarithm.
    #[must_use]
    pub(super) fn new(speedup: f64, noise: f64) -> Self {
        Self {
            log_speedup: speedup.ln(),
            noise,
            log_peak: log_normal(0.0, noise),
        }
    }

    /// A step of max(`t_comp`, `t_mem`) shrinks to the time of reading the weights: 1 + y = β·max(`η_m`/`η_c`, r).
    fn expected(unknowns: &Unknowns<'_>) -> f64 {
        let step =
            unknowns.log_actual_memory_over_compute().max(0.0) - unknowns.machine.log_balance;
        unknowns.log_batch_over_optimal + step
    }
}

fn observe(sheets: &[Evidence<'_>], _calibration: &Calibration) -> Observed {
    let readings = sheets.iter().filter_map(|sheet| read(sheet).ok()).flatten();
    let mut speedups: Vec<f64> = readings
        .filter(|reading| reading.id == MAX_SPEEDUP.id)
        .filter_map(|reading| reading.number())
        .collect();
    // The same mode on longer prompts, or on another host, is counted once.
    speedups.sort_by(f64::total_cmp);
    speedups.dedup();
    let observed = speedups
        .into_iter()
        .map(|speedup| GreatestSpeedup::new(speedup, LOG_NOISE));
    terms(observed)
}

impl Likelihood for GreatestSpeedup {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::FastMode]
    }

    fn has_regimes(&self) -> bool {
        true
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let expected = Self::expected(unknowns);
        // A mode that is not faster is not sold as a fast mode: only values above 1 are observed.
        let standardised = (self.log_speedup - expected) / self.noise;
        let density = exp(self.log_peak - 0.5 * standardised * standardised);
        let of_machine = density / normal_below(expected / self.noise);
        MISPRINTS / LOG_RANGE + (1.0 - MISPRINTS) * of_machine
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        normal_tail(self.log_speedup - Self::expected(unknowns), self.noise)
    }
}

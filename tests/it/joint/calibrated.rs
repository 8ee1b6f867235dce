//! Simulation-based calibration (Talts et al., 2018): models drawn from the prior, sheets drawn from the models; the truth
//! then lies at every place of its posterior alike.

use jiff::ToSpan;
use jiff::civil::date;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_infer::evidence::kv_reading::KvReading;
use unroof_infer::evidence::likelihood::student_t_scale_mixture;
use unroof_infer::evidence::machine::{Machine, machines};
use unroof_infer::evidence::serving_cost::{DECODE_ERROR_SD, PREFILL_ERROR_SD};
use unroof_infer::evidence::unknowns::{Running, Unknowns};
use unroof_infer::posterior::{Prior, sample, summarize};
use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell, ServiceTier, SpeedMultiplier};
use unroof_roofline::reference::calibration::{Calibration, ModelClass, OverLines};
use unroof_roofline::reference::{AttentionKind, decode_contexts};

/// Simulated sheets, and draws per posterior.
const TRIALS: usize = 1_000;
const DRAWS: usize = 1_500;
const BINS: usize = 10;
/// χ² with 9 degrees of freedom lies above this once in a thousand cases; ten quantities are looked at, so that all of them
/// together pass in 99 of 100 cases.
const LARGEST_CHI_SQUARE: f64 = 29.7;

struct Nature {
    random: Xoshiro256PlusPlus,
    calibration: &'static Calibration,
    machines: Vec<Machine>,
}

/// True values of a model, and its published sheet.
struct Trial {
    logs: [f64; 6],
    log_utilisation: f64,
    log_rental: f64,
    is_dense: bool,
    attention: AttentionKind,
    machine: usize,
    running: Running,
    sheet: PriceSheet,
}

/// Facts of a sheet next to its prices.
#[derive(Clone, Copy)]
struct Facts {
    /// Years from the mean release; 0 where no release is stated.
    years: f64,
    is_dated: bool,
    sells_cache_reads: bool,
    /// Less the mean share of sellers.
    cache: f64,
}

/// A model and its longest context.
struct Model {
    logs: [f64; 4],
    log_maximum: f64,
    is_dense: bool,
    attention: AttentionKind,
}

/// A machine and how it is run.
struct Run {
    machine: usize,
    log_utilisation: f64,
    log_rental: f64,
    running: Running,
}

impl Nature {
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.random)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.random::<f64>() < share
    }

    /// Two lines with this covariance.
    fn lines(&mut self, covariance: &OverLines, scale: f64) -> [f64; 2] {
        let first = covariance[0][0].sqrt();
        let slope = covariance[0][1] / first;
        let rest = (covariance[1][1] - slope * slope).sqrt();
        let (x, y) = (self.normal(), self.normal());
        [first * x, slope * x + rest * y].map(|line| line * scale.sqrt())
    }

    fn one_of<const COUNT: usize>(&mut self, values: [f64; COUNT]) -> f64 {
        values[self.random.random_range(0..COUNT)]
    }

    /// A model with these facts; none where such a one cannot exist.
    fn model(&mut self, facts: Facts) -> Option<Model> {
        let population = &self.calibration.population;
        let ModelClass {
            is_dense,
            attention,
            size: beside,
            ..
        } = *self.class(facts);
        let sizes = if is_dense {
            &population.dense
        } else {
            &population.mixture_of_experts
        };
        let scale = self.one_of(student_t_scale_mixture::<4>(
            population.size_degrees_of_freedom,
        ));
        let deviation = if is_dense {
            let active = (scale * sizes.covariance[0][0]).sqrt() * self.normal();
            [active, active]
        } else {
            self.lines(&sizes.covariance, scale)
        };
        let [active, total] = [0, 1].map(|size| sizes.mean[size] + beside[size] + deviation[size]);
        let law = &population.stored;
        let stored = law.by_kind[attention as usize]
            + law.active * (active - law.centre[0])
            + law.total * (total - law.centre[1])
            + law.sd * self.normal();
        let of_kind = population
            .attention
            .iter()
            .find(|law| law.kind == attention)?;
        let read = stored + of_kind.log_read_over_stored + of_kind.sd * self.normal();
        let context = &population.context;
        let spread = if facts.is_dated {
            context.scale
        } else {
            context
                .scale
                .hypot(context.per_year * population.dates.sd_years)
        };
        let far: f64 = StudentT::new(context.degrees_of_freedom)
            .ok()?
            .sample(&mut self.random);
        let log_maximum = context.intercept
            + context.by_kind[attention as usize]
            + context.per_year * facts.years
            + context.active * active
            + context.total * total
            + context.stored * stored
            + spread * far;
        let exists = active <= total && KvReading::is_possible(attention, read, stored);
        exists.then_some(Model {
            logs: [active, total, read, stored],
            log_maximum,
            is_dense,
            attention,
        })
    }

    /// A class as common as it is with these facts.
    fn class(&mut self, facts: Facts) -> &'static ModelClass {
        let classes = &self.calibration.population.classes;
        let odds = |[at_mean, per_year, sold]: [f64; 3]| {
            (at_mean + per_year * facts.years + sold * facts.cache).exp()
        };
        let all: f64 = classes.iter().map(|class| odds(class.log_odds)).sum();
        let mut left = self.random.random::<f64>() * all;
        let found = classes.iter().find(|class| {
            left -= odds(class.log_odds);
            left <= 0.0
        });
        found.unwrap_or(&classes[0])
    }

    /// log prices of an unknown host.
    fn prices(&mut self, model: [f64; 4], is_dense: bool) -> [f64; 2] {
        let law = &self.calibration.price_law;
        let line = |line: usize, [active, total]: [f64; 2]| {
            let dense = if is_dense {
                active - law.dense_centre
            } else {
                0.0
            };
            law.intercept[line]
                + law.active[line] * active
                + law.total[line] * total
                + law.dense[line] * dense
        };
        if self.chance(0.01) {
            let middling = |place: usize| {
                law.intercept[place] + law.active[place] * 23.5 + law.total[place] * 25.0
            };
            return [0, 1].map(|place| middling(place) + 6.0 * self.normal());
        }
        let scale = self.one_of(student_t_scale_mixture::<8>(law.degrees_of_freedom));
        let host = self.lines(&law.host, 1.0);
        let deviation = self.lines(&law.deviation, scale);
        let noise = self.lines(&law.noise, 1.0);
        [0, 1].map(|place| {
            line(place, [model[0], model[1]]) + host[place] + deviation[place] + noise[place]
        })
    }

    fn trial(&mut self) -> Option<Trial> {
        let facts = self.facts();
        let Model {
            logs: model,
            log_maximum,
            is_dense,
            attention,
        } = self.model(facts)?;
        let log_batch = 2.5_f64.ln() + 0.5 * self.normal();
        let contexts = decode_contexts();
        let log_context = contexts.log_mean + contexts.log_sd * self.normal();
        let logs = [
            model[0],
            model[1],
            model[2],
            model[3],
            log_batch,
            log_context,
        ];
        let run = self.run(logs, (is_dense, attention))?;
        let machine = run.machine;
        let prices = self.prices(model, is_dense).map(f64::exp);
        let mut base = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
        base.input = Some(written(prices[0])?);
        base.output = Some(written(prices[1])?);
        if facts.sells_cache_reads {
            base.cache_read = Some(written(0.1 * prices[0])?);
        }
        let mut rates = vec![base.clone()];
        if self.chance(0.5) {
            rates.push(self.above_a_threshold(&base, model, attention)?);
        }
        let mut sheet = PriceSheet::new("unknown-host", "m-1", rates);
        sheet.canonical_model = Some("acme/m-1".to_owned());
        if facts.is_dated {
            let days = (facts.years + self.calibration.population.dates.mean_years) * 365.25;
            #[expect(clippy::cast_possible_truncation, reason = "a few thousand days")]
            let days = days.round() as i32;
            sheet.released = Some(date(2025, 1, 1) + days.days());
        }
        if self.chance(0.5) {
            let logs = [
                model[0],
                model[1],
                model[2],
                model[3],
                log_batch,
                log_context,
            ];
            self.add_fast_mode(&mut sheet, &base, logs, attention, machine)?;
        }
        if self.chance(0.7) {
            let log_stated = if self.chance(0.8) {
                log_maximum
            } else {
                log_maximum - 5.5 * self.random.random::<f64>()
            };
            sheet.limits.context = Some(tokens(log_stated)?);
        }
        Some(Trial {
            logs: [
                model[0],
                model[1],
                model[2],
                model[3],
                log_batch,
                log_context,
            ],
            log_utilisation: run.log_utilisation,
            log_rental: run.log_rental,
            is_dense,
            attention,
            machine,
            running: run.running,
            sheet,
        })
    }

    fn facts(&mut self) -> Facts {
        let dates = self.calibration.population.dates;
        let is_dated = self.chance(0.5);
        let sells_cache_reads = self.chance(0.5);
        let days = (365.25 * dates.sd_years * self.normal()).round();
        // The release that a sheet names is a whole day.
        let mean_days = (365.25 * dates.mean_years).round();
        let years = (mean_days + days) / 365.25 - dates.mean_years;
        Facts {
            years: if is_dated { years } else { 0.0 },
            is_dated,
            sells_cache_reads,
            cache: f64::from(u8::from(sells_cache_reads)) - dates.mean_cache_share,
        }
    }

    fn machine(&mut self) -> usize {
        let uniform = self.random.random::<f64>();
        let mut below = 0.0;
        let machine = self.machines.iter().position(|machine| {
            below += machine.share;
            uniform < below
        });
        machine.unwrap_or(self.machines.len() - 1)
    }

    /// The first of four machines that holds a model; what none holds is not on sale.
    fn run(&mut self, logs: [f64; 6], (is_dense, attention): (bool, AttentionKind)) -> Option<Run> {
        let share = |odds: f64| 1.0 / (1.0 + (-odds).exp());
        let log_utilisation = share(4_f64.ln() + self.normal()).ln();
        let [log_decode_error, log_prefill_error] = [
            DECODE_ERROR_SD * self.normal(),
            PREFILL_ERROR_SD * self.normal(),
        ];
        let cached_share = share(self.normal());
        let of_rental = self.normal();
        for _ in 0..4 {
            let machine = self.machine();
            let size = self.random.random::<f64>();
            let of_machine = &self.machines[machine];
            let log_rental = of_machine.log_rental + of_machine.rental_sd * of_rental;
            let unplaced = Unknowns {
                log_active_parameters: logs[0],
                log_total_parameters: logs[1],
                log_kv_bytes_read: logs[2],
                log_kv_bytes_stored: logs[3],
                log_batch_over_optimal: logs[4],
                log_mean_decode_context: logs[5],
                log_utilisation,
                log_rental,
                is_dense,
                attention,
                machine: of_machine,
                running: Running {
                    log_decode_error,
                    log_prefill_error,
                    cached_share,
                    ..Running::typical(of_machine)
                },
            };
            if let Some(running) = unplaced.placed(size, true) {
                return Some(Run {
                    machine,
                    log_utilisation,
                    log_rental,
                    running,
                });
            }
        }
        None
    }

    fn above_a_threshold(
        &mut self,
        base: &RateCell,
        model: [f64; 4],
        attention: AttentionKind,
    ) -> Option<RateCell> {
        let law = &self.calibration.context_tier;
        let log_threshold = if self.chance(law.convention_share) {
            law.convention_mean + law.convention_sd * self.normal()
        } else {
            let far: f64 = StudentT::new(law.degrees_of_freedom)
                .unwrap()
                .sample(&mut self.random);
            let slope = KvReading::new(attention, model[2], model[3]).log_slope();
            law.mean + model[0] - slope + law.scale * far
        };
        let mut above = base.clone();
        above.context_tier.min_prompt_tokens = tokens(log_threshold)?;
        above.output = Some(written(base.output.as_ref()?.to_f64() * 1.5)?);
        Some(above)
    }

    /// A mode at four times the price that is as fast as the machine can be for it.
    fn add_fast_mode(
        &mut self,
        sheet: &mut PriceSheet,
        base: &RateCell,
        logs: [f64; 6],
        attention: AttentionKind,
        machine: usize,
    ) -> Option<()> {
        let machine = &self.machines[machine];
        let balanced = machine.log_weight_bytes + logs[0]
            - machine.log_compute_to_bandwidth
            - machine.log_kv_element_bytes;
        let read = KvReading::new(attention, logs[2], logs[3]).bytes_at(logs[5].exp());
        let ratio = ((-logs[4]).exp() + read / balanced.exp()).ln() + machine.log_balance;
        let expected = logs[4] + ratio.max(0.0) - machine.log_balance;
        // Only modes that are faster are ever seen.
        let log_speedup = loop {
            let drawn = expected + 0.5 * self.normal();
            if drawn > 0.0 {
                break drawn;
            }
        };
        let speed = 1.0 + log_speedup.exp_m1() * 0.75;
        let tier = ServiceTier {
            speed_multiplier: Some(SpeedMultiplier {
                value: Some(written(speed)?),
                ..SpeedMultiplier::default()
            }),
            ..ServiceTier::default()
        };
        sheet.service_tiers.insert("fast".to_owned(), tier);
        let mut fast = base.clone();
        "fast".clone_into(&mut fast.service_tier);
        fast.output = Some(written(base.output.as_ref()?.to_f64() * 4.0)?);
        sheet.rates.push(fast);
        Some(())
    }
}

/// A price with twelve digits; none for an implausible one.
fn written(value: f64) -> Option<unroof_base::units::Decimal> {
    let usable = (1e-9..1e9).contains(&value);
    usable
        .then(|| format!("{value:.12}").parse().ok())
        .flatten()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range"
)]
fn tokens(log: f64) -> Option<u32> {
    let tokens = log.exp().round();
    (1.0..2e9).contains(&tokens).then_some(tokens as u32)
}

impl Nature {
    fn new(seed: u64, calibration: &'static Calibration) -> Self {
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            calibration,
            machines: machines(&Assumptions::default()),
        }
    }
}

/// Estimates of a trial: the standard deviation of the logarithm of each quantity.
fn spreads(trial: &Trial, assumptions: &Assumptions, calibration: &Calibration) -> Vec<f64> {
    let prior = Prior::new(calibration, assumptions);
    let terms =
        unroof_infer::clue::observed(&[trial.sheet.pricing_content()], assumptions, calibration);
    let posterior = sample(&prior, &terms, DRAWS);
    let spread = |quantity: JointQuantity| {
        let logs = posterior.draws.iter().map(|draw| quantity.log_value(&draw));
        summarize(logs, posterior.draws.weights()).log_sd
    };
    JointQuantity::ALL.into_iter().map(spread).collect()
}

#[test]
fn what_is_stated_narrows_its_own_interval_and_the_others_on_average() {
    /// Quantities that are stated, each within ten percent of the truth.
    const STATED: [&str; 6] = [
        "active_parameters",
        "total_parameters",
        "kv_bytes_per_token_read",
        "kv_bytes_per_token_stored",
        "batch_over_optimal_batch",
        "mean_decode_context_tokens",
    ];
    const SHEETS: usize = 60;
    let calibration = Calibration::shipped();
    let mut nature = Nature::new(1_948, calibration);
    let mut totals = vec![vec![0.0; JointQuantity::ALL.len()]; STATED.len() + 1];
    let trials: Vec<Trial> = std::iter::from_fn(|| Some(nature.trial()))
        .flatten()
        .take(SHEETS)
        .collect();
    for trial in &trials {
        let free = spreads(trial, &Assumptions::default(), calibration);
        for (place, name) in STATED.into_iter().enumerate() {
            let truth = trial.logs[place].exp();
            let stated = format!(
                "{{\"{name}\": {{\"low\": {}, \"high\": {}}}}}",
                0.9 * truth,
                1.1 * truth
            );
            let assumptions =
                unroof_base::input::read(stated.as_bytes(), Assumptions::read).unwrap();
            let reported = spreads(trial, &assumptions, calibration);
            let own = JointQuantity::ALL
                .iter()
                .position(|quantity| quantity.name() == name);
            assert!(
                own.is_none_or(|own| reported[own] < 0.5 * free[own]),
                "{name}: {reported:?} after {free:?}"
            );
            for (total, spread) in totals[place].iter_mut().zip(reported) {
                *total += spread * spread;
            }
        }
        for (total, spread) in totals[STATED.len()].iter_mut().zip(free) {
            *total += spread * spread;
        }
    }
    for (name, reported) in STATED.iter().zip(&totals) {
        for ((quantity, reported), free) in JointQuantity::ALL
            .iter()
            .zip(reported)
            .zip(&totals[STATED.len()])
        {
            // Beyond the noise of so many sheets.
            assert!(
                *reported < 1.05 * free,
                "{name} widens {}: {reported} after {free}",
                quantity.name()
            );
        }
    }
}

#[test]
fn the_truth_lies_at_every_place_of_its_posterior_alike() {
    let assumptions = Assumptions::default();
    let calibration = Calibration::shipped();
    let prior = Prior::new(calibration, &assumptions);
    let mut nature = Nature::new(2_018, calibration);
    let mut counts = [[0.0; BINS]; JointQuantity::ALL.len()];
    let mut trials = 0;
    let mut given_up = 0;
    while trials < TRIALS {
        let Some(trial) = nature.trial() else {
            given_up += 1;
            continue;
        };
        trials += 1;
        let content = [trial.sheet.pricing_content()];
        let terms = unroof_infer::clue::observed(&content, &assumptions, calibration);
        let posterior = sample(&prior, &terms, DRAWS);
        let [active, total, read, stored, batch, decode_context] = trial.logs;
        let truth = Unknowns {
            log_active_parameters: active,
            log_total_parameters: total,
            log_kv_bytes_read: read,
            log_kv_bytes_stored: stored,
            log_batch_over_optimal: batch,
            log_mean_decode_context: decode_context,
            log_utilisation: trial.log_utilisation,
            log_rental: trial.log_rental,
            is_dense: trial.is_dense,
            attention: trial.attention,
            machine: &nature.machines[trial.machine],
            running: trial.running,
        };
        for (count, quantity) in counts.iter_mut().zip(JointQuantity::ALL) {
            let value = quantity.log_value(&truth);
            let weighted = posterior.draws.iter().zip(posterior.draws.weights());
            let below: f64 = weighted
                .filter(|(draw, _)| quantity.log_value(draw) < value)
                .map(|(_, weight)| weight)
                .sum();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of the bins"
            )]
            let bin = ((below * 10.0) as usize).min(BINS - 1);
            count[bin] += 1.0;
        }
    }
    // Some of the prior fits no unit of any machine, or is too slow.
    assert!(
        given_up < TRIALS / 2,
        "{given_up} sheets of models without a machine"
    );
    for (count, quantity) in counts.iter().zip(JointQuantity::ALL) {
        let expected = count.iter().sum::<f64>() / 10.0;
        let chi_square: f64 = count
            .iter()
            .map(|bin| (bin - expected).powi(2) / expected)
            .sum();
        assert!(
            chi_square < LARGEST_CHI_SQUARE,
            "{}: χ² {chi_square:.1}, {count:?}",
            quantity.name()
        );
    }
}

//! The prior: the calibrated population of models, their operation and their machines; stated values replace parts of it.

use nalgebra::{DMatrix, DVector};

use super::draw::Drawn;
use super::gaussian::{Gaussian, Mixture, UNKNOWNS};
use super::sobol::Point;
use crate::evidence::assumptions::{Assumptions, SizeClass};
use crate::evidence::kv_reading::{KvReading, log_slope_over_read};
use crate::evidence::likelihood::student_t_scale_mixture;
use crate::evidence::machine::{Machine, machines, machines_sold};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::serving_cost::{DECODE_ERROR_SD, PREFILL_ERROR_SD};
use crate::evidence::unknowns::{Running, Unknowns};
use unroof_base::units::count_f64;
use unroof_base::units::elementary::{exp, ln};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::forward::USUAL_PROMPT_TOKENS;
use unroof_roofline::reference::calibration::{AttentionLaw, Calibration, ModelClass, Population};
use unroof_roofline::reference::{AttentionKind, decode_contexts};

/// Coordinates of the unknowns.
const ACTIVE: usize = 0;
const TOTAL: usize = 1;
const KV_READ: usize = 2;
const KV_STORED: usize = 3;
const BATCH: usize = 4;
const CONTEXT: usize = 5;
/// No coordinate of its own: it follows from [`KV_READ`] or [`KV_STORED`], by the kind of attention.
const KV_SLOPE: usize = UNKNOWNS;

/// log of a median, and the standard deviation of the logarithm.
#[derive(Debug, Clone, Copy)]
struct LogNormal {
    log_median: f64,
    sd: f64,
}

/// β: serving runs at two to three times the optimal batch [T, DS6]; 1.1 to 5.7 in 90 of 100 cases.
const BATCH_OVER_OPTIMAL: LogNormal = LogNormal {
    log_median: 0.916_290_731_874_155,
    sd: 0.5,
};
/// log odds of U, tokens served over those that the paid units would serve at the batch all day: 0.8, 0.44 to 0.95 in 90 of
/// 100 cases. Who rents for the busiest hour of [DS6] uses 226.75 of 278 nodes, 0.82; who gives nodes back, as they did,
/// nearly 1; loads of other services are less even.
const UTILISATION_ODDS: LogNormal = LogNormal {
    log_median: 1.386_294_361_119_890_6,
    sd: 1.0,
};
/// log odds of the share of prompt tokens that are found in a cache: half, 0.16 to 0.84 in 90 of 100 cases; 0.56 in [DS6].
const CACHED_ODDS_SD: f64 = 1.0;

/// Normal distributions that a Student-t of sizes is mixed of, each as probable.
const SCALES: usize = Mixture::MOST_PARTS;

/// The prior of one class of models.
#[derive(Debug, Clone)]
pub(super) struct ClassPrior {
    /// Whether the class is of dense models, `N_t` = `N_a`.
    pub(super) is_dense: bool,
    /// Kind of attention of the class.
    attention: AttentionKind,
    /// log of its share
    pub(super) log_share: f64,
    /// A mixture over the free unknowns, with the logs of its shares.
    pub(super) mixture: [(f64, Gaussian); SCALES],
    /// Mixture over the free unknowns, prepared for densities.
    weighed: Mixture,
    /// Coordinates of the free unknowns.
    slots: [usize; UNKNOWNS],
    /// Values of the fixed coordinates.
    fixed: [f64; UNKNOWNS],
}

/// The distribution of the unknowns before a sheet is read.
#[derive(Debug, Clone)]
pub struct Prior {
    pub(super) classes: Vec<ClassPrior>,
    machines: Vec<Machine>,
    /// Cumulative shares of the machines.
    machines_below: Vec<f64>,
    /// Utilisation as stated; none where [`UTILISATION_ODDS`] holds.
    utilisation: Option<LogNormal>,
    /// Tokens of a prompt, stated or usual.
    prompt_tokens: f64,
    /// Share of them that is cached, as stated.
    cached_share: Option<f64>,
    /// Whether output must be fast enough for a user who waits.
    is_for_users: bool,
    /// log density of the stated values of the unknowns.
    log_statement: f64,
    /// Draws of the prior that answers share, once they are wanted.
    pub(super) drawn: Drawn,
}

/// A statement about one coordinate: a normal distribution of its logarithm, of no width where it is fixed.
#[derive(Debug, Clone, Copy)]
struct Statement {
    slot: usize,
    mean: f64,
    sd: f64,
}

impl Prior {
    /// The calibrated prior; stated values replace calibrated ones.
    #[must_use]
    pub fn new(calibration: &Calibration, assumptions: &Assumptions) -> Self {
        let population = &calibration.population;
        let statements = statements(assumptions);
        let scales = student_t_scale_mixture(population.size_degrees_of_freedom);
        let is_stated = |class: &&ModelClass| match assumptions.architecture() {
            Some(SizeClass::Dense) => class.is_dense,
            Some(SizeClass::Mixture) => !class.is_dense,
            None => true,
        };
        let mut classes: Vec<ClassPrior> = population
            .classes
            .iter()
            .filter(is_stated)
            .filter_map(|class| ClassPrior::new(population, class, &scales, &statements))
            .collect();
        let all = log_sum(classes.iter().map(|class| class.log_share));
        for class in &mut classes {
            class.log_share -= all;
        }
        let utilisation = assumptions.stated(Q::Utilisation).map(|stated| LogNormal {
            log_median: stated.middle.ln(),
            sd: stated.log_sd(),
        });
        let prior = Self {
            classes,
            machines_below: Vec::new(),
            machines: Vec::new(),
            utilisation,
            prompt_tokens: (assumptions.middle(Q::PromptTokens)).unwrap_or(USUAL_PROMPT_TOKENS),
            cached_share: assumptions.middle(Q::CachedPromptShare),
            log_statement: all,
            is_for_users: true,
            drawn: Drawn::default(),
        };
        prior.with_machines(machines(assumptions))
    }

    /// Prior of sheets: machines that were sold by their day, and a least speed unless they are for batches alone.
    #[must_use]
    pub fn of_sheets(
        calibration: &Calibration,
        assumptions: &Assumptions,
        sheets: &[PriceSheet],
    ) -> Self {
        let (day, is_for_users) = Self::circumstances(sheets);
        let prior = Self {
            is_for_users,
            ..Self::new(calibration, assumptions)
        };
        match day {
            Some(day) => prior.with_machines(machines_sold(assumptions, Some(&day))),
            None => prior,
        }
    }

    /// Day of the latest sheet, where one is dated, and whether any sells more than batches.
    pub(super) fn circumstances(sheets: &[PriceSheet]) -> (Option<String>, bool) {
        let day = sheets.iter().filter_map(day_of).max();
        let is_for_users = sheets.is_empty() || sheets.iter().any(is_for_users);
        (day, is_for_users)
    }

    fn with_machines(self, machines: Vec<Machine>) -> Self {
        let add = |below: &mut f64, machine: &Machine| {
            *below += machine.share;
            Some(*below)
        };
        Self {
            machines_below: machines.iter().scan(0.0, add).collect(),
            machines,
            ..self
        }
    }

    /// log density of the stated values of the unknowns' logarithms before a sheet is read; 0 where none is stated.
    #[must_use]
    pub fn log_statement(&self) -> f64 {
        self.log_statement
    }

    /// The machine at a uniform coordinate.
    pub(super) fn machine_at(&self, uniform: f64) -> usize {
        let index = self
            .machines_below
            .partition_point(|below| *below <= uniform);
        index.min(self.machines.len() - 1)
    }

    /// A machine by its index.
    pub(super) fn machine(&self, index: usize) -> &Machine {
        &self.machines[index]
    }

    /// log U at a standard normal coordinate.
    /// Tokens of a prompt.
    #[must_use]
    pub fn prompt_tokens(&self) -> f64 {
        self.prompt_tokens
    }

    pub(super) fn log_utilisation(&self, normal: f64) -> f64 {
        match self.utilisation {
            Some(stated) => stated.log_median + stated.sd * normal,
            None => ln(share(
                UTILISATION_ODDS.log_median + UTILISATION_ODDS.sd * normal,
            )),
        }
    }

    /// Load and errors of a machine at these coordinates, its chips apart.
    pub(super) fn running(&self, machine: &Machine, point: &Point) -> Running {
        let drawn = || share(CACHED_ODDS_SD * point.cached);
        Running {
            log_decode_error: DECODE_ERROR_SD * point.decode_error,
            log_prefill_error: PREFILL_ERROR_SD * point.prefill_error,
            cached_share: self.cached_share.unwrap_or_else(drawn),
            prompt_tokens: self.prompt_tokens,
            ..Running::typical(machine)
        }
    }

    /// log R of a machine, by its index.
    pub(super) fn log_rental(&self, machine: usize, point: &Point) -> f64 {
        let of_machine = &self.machines[machine];
        of_machine.log_rental + of_machine.rental_sd * point.rental
    }

    /// Whether output must be fast enough for a user who waits.
    pub(super) fn is_for_users(&self) -> bool {
        self.is_for_users
    }

    /// The part of a uniform coordinate that the choice of the machine leaves.
    pub(super) fn rest_of(&self, machine: usize, uniform: f64) -> f64 {
        let below = machine
            .checked_sub(1)
            .map_or(0.0, |before| self.machines_below[before]);
        let rest = (uniform - below) / self.machines[machine].share;
        // Below 1, so that it is below the sum of all shares.
        rest.clamp(0.0, 1.0 - f64::EPSILON)
    }
}

/// Whether there are models like a draw: no more parameters are active than there are, and it reads what it stores.
pub(super) fn exists(unknowns: &Unknowns<'_>) -> bool {
    unknowns.log_active_parameters <= unknowns.log_total_parameters
        && KvReading::is_possible(
            unknowns.attention,
            unknowns.log_kv_bytes_read,
            unknowns.log_kv_bytes_stored,
        )
}

impl ClassPrior {
    /// Prior of a class; none if the stated values rule the class out.
    fn new(
        population: &Population,
        class: &ModelClass,
        scales: &[f64; SCALES],
        statements: &[Statement],
    ) -> Option<Self> {
        let (is_dense, attention) = (class.is_dense, class.attention);
        let mut own = statements.to_vec();
        let mut agreement = 0.0;
        if is_dense {
            agreement += merge(&mut own, TOTAL, ACTIVE)?;
        }
        agreement += merge_slope(&mut own, attention)?;
        if !attention.reads_other_than_stored() {
            agreement += merge(&mut own, KV_READ, KV_STORED)?;
        }
        let is_tied = |slot: usize| {
            is_dense && slot == TOTAL || !attention.reads_other_than_stored() && slot == KV_READ
        };
        let is_fixed = |slot: usize| {
            own.iter()
                .any(|stated| stated.slot == slot && stated.sd <= 0.0)
        };
        let free: Vec<usize> = (0..UNKNOWNS)
            .filter(|slot| !(is_fixed(*slot) || is_tied(*slot)))
            .collect();
        let mut slots = [0; UNKNOWNS];
        slots[..free.len()].copy_from_slice(&free);
        let mut fixed = [0.0; UNKNOWNS];
        let mut mixture = scales.map(|scale| {
            let (mut mean, mut covariance) = class_moments(population, class, scale);
            let log_probability = replace(&mut mean, &mut covariance, &own);
            fixed = std::array::from_fn(|slot| mean[slot]);
            let free_covariance = covariance.select_rows(&free).select_columns(&free);
            (
                log_probability,
                Gaussian::new(&mean.select_rows(&free), &free_covariance),
            )
        });
        let all = log_sum(mixture.iter().map(|(log_probability, _)| *log_probability));
        for (log_share, _) in &mut mixture {
            *log_share -= all;
        }
        let log_share = class.share.ln() + agreement + all - count_f64(SCALES).ln();
        let weighed =
            Mixture::new(&mixture.map(|(log_share, gaussian)| (log_share.exp(), gaussian)));
        Some(Self {
            is_dense,
            attention,
            log_share,
            mixture,
            weighed,
            slots,
            fixed,
        })
    }

    /// The mixture over the free coordinates, for densities.
    pub(super) fn weighed(&self) -> &Mixture {
        &self.weighed
    }

    /// The widest part of the mixture: scales descend.
    pub(super) fn widest(&self) -> &Gaussian {
        &self.mixture[0].1
    }

    /// log density of free coordinates.
    #[cfg(test)]
    pub(super) fn log_density(&self, point: &[f64; UNKNOWNS]) -> f64 {
        self.weighed.density(point).ln()
    }

    /// Number of free coordinates.
    pub(super) fn free(&self) -> usize {
        self.mixture[0].1.free()
    }

    /// Coordinates that are free.
    pub(super) fn slots(&self) -> &[usize] {
        &self.slots[..self.free()]
    }

    /// All coordinates at free ones.
    pub(super) fn values(&self, point: &[f64; UNKNOWNS]) -> [f64; UNKNOWNS] {
        let mut values = self.fixed;
        for (slot, value) in self.slots().iter().zip(point) {
            values[*slot] = *value;
        }
        if self.is_dense {
            values[TOTAL] = values[ACTIVE];
        }
        if !self.attention.reads_other_than_stored() {
            values[KV_READ] = values[KV_STORED];
        }
        values
    }

    /// The unknowns at all coordinates.
    pub(super) fn unknowns<'a>(
        &self,
        values: &[f64; UNKNOWNS],
        machine: &'a Machine,
    ) -> Unknowns<'a> {
        Unknowns {
            log_active_parameters: values[ACTIVE],
            log_total_parameters: values[TOTAL],
            log_kv_bytes_read: values[KV_READ],
            log_kv_bytes_stored: values[KV_STORED],
            log_batch_over_optimal: values[BATCH],
            log_mean_decode_context: values[CONTEXT],
            log_utilisation: 0.0,
            log_rental: machine.log_rental,
            is_dense: self.is_dense,
            attention: self.attention,
            machine,
            running: Running::typical(machine),
        }
    }
}

/// The share that log odds mean.
fn share(log_odds: f64) -> f64 {
    1.0 / (1.0 + exp(-log_odds))
}

/// The day for which the prices of a sheet are known to hold: the start of their validity, as in ISO 8601.
fn day_of(sheet: &PriceSheet) -> Option<String> {
    sheet.valid_from.as_ref().map(ToString::to_string)
}

/// Whether a sheet sells more than batches.
fn is_for_users(sheet: &PriceSheet) -> bool {
    sheet.rates.is_empty() || sheet.rates.iter().any(|rate| rate.service_tier != "batch")
}

/// Mean and covariance of a class's unknowns for one scale of its sizes: what depends on size keeps its own spread.
fn class_moments(
    population: &Population,
    class: &ModelClass,
    scale: f64,
) -> (DVector<f64>, DMatrix<f64>) {
    let sizes = if class.is_dense {
        &population.dense
    } else {
        &population.mixture_of_experts
    };
    let stored = &population.stored;
    let of_kind = |law: &&AttentionLaw| law.kind == class.attention;
    let law = population.attention.iter().find(of_kind);
    let (over_stored, over_stored_sd) =
        law.map_or((0.0, 0.0), |law| (law.log_read_over_stored, law.sd));
    let slopes = [stored.active, stored.total];
    let mut mean = DVector::zeros(UNKNOWNS);
    // Every unknown as a sum of sizes, the noise of the stored bytes and that of the read ones.
    let mut loadings = DMatrix::zeros(UNKNOWNS, 2);
    mean[KV_STORED] = stored.by_kind[class.attention as usize];
    for size in [ACTIVE, TOTAL] {
        mean[size] = sizes.mean[size] + class.size[size];
        loadings[(size, size)] = 1.0;
        mean[KV_STORED] += slopes[size] * (mean[size] - stored.centre[size]);
        loadings[(KV_STORED, size)] = slopes[size];
        loadings[(KV_READ, size)] = slopes[size];
    }
    mean[KV_READ] = mean[KV_STORED] + over_stored;
    let of_sizes = DMatrix::from_fn(2, 2, |row, column| scale * sizes.covariance[row][column]);
    let mut covariance = &loadings * of_sizes * loadings.transpose();
    for (row, column) in [KV_READ, KV_STORED]
        .into_iter()
        .flat_map(|row| [(row, KV_READ), (row, KV_STORED)])
    {
        covariance[(row, column)] += stored.sd * stored.sd;
    }
    covariance[(KV_READ, KV_READ)] += over_stored_sd * over_stored_sd;
    let contexts = decode_contexts();
    let mean_decode_context = LogNormal {
        log_median: contexts.log_mean,
        sd: contexts.log_sd,
    };
    for (slot, run) in [(BATCH, BATCH_OVER_OPTIMAL), (CONTEXT, mean_decode_context)] {
        mean[slot] = run.log_median;
        covariance[(slot, slot)] = run.sd * run.sd;
    }
    (mean, covariance)
}

fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    greatest + logs.map(|log| (log - greatest).exp()).sum::<f64>().ln()
}

/// Stated values of the unknowns; KV bytes are stated as served and brought to one byte per element.
fn statements(assumptions: &Assumptions) -> Vec<Statement> {
    let element = assumptions.middle(Q::KvBytesPerElement).unwrap_or(1.0);
    let slots = [
        (ACTIVE, Q::ActiveParameters, 1.0),
        (TOTAL, Q::TotalParameters, 1.0),
        (KV_READ, Q::KvBytesRead, element),
        (KV_SLOPE, Q::KvBytesReadSlope, element),
        (KV_STORED, Q::KvBytesStored, element),
        (BATCH, Q::BatchOverOptimal, 1.0),
        (CONTEXT, Q::MeanDecodeContext, 1.0),
    ];
    let statement = |(slot, quantity, unit): (usize, Q, f64)| {
        let stated = assumptions.stated(quantity)?;
        Some(Statement {
            slot,
            mean: (stated.middle / unit).ln(),
            sd: stated.log_sd(),
        })
    };
    slots.into_iter().filter_map(statement).collect()
}

/// A statement about the bytes read per further token is one about what these follow from. Returns as [`merge`] does.
fn merge_slope(statements: &mut Vec<Statement>, attention: AttentionKind) -> Option<f64> {
    let of_read = log_slope_over_read(attention).map(|log_slope| (KV_READ, log_slope));
    let (into, log_slope_over_it) = of_read.unwrap_or((KV_STORED, 0.0));
    let of_slope = |stated: &&mut Statement| stated.slot == KV_SLOPE;
    if let Some(stated) = statements.iter_mut().find(of_slope) {
        stated.mean -= log_slope_over_it;
    }
    merge(statements, KV_SLOPE, into)
}

/// Turns a statement about the first of two coordinates, which are one in a class of models, into one about the second. Returns the
/// log density of the agreement of two such statements; none if they exclude each other.
fn merge(statements: &mut Vec<Statement>, from: usize, into: usize) -> Option<f64> {
    /// Two equal numbers agree with certainty.
    const CERTAIN: f64 = 50.0;
    let Some(place) = statements.iter().position(|stated| stated.slot == from) else {
        return Some(0.0);
    };
    let first = statements.remove(place);
    let Some(second) = statements.iter_mut().find(|stated| stated.slot == into) else {
        statements.push(Statement {
            slot: into,
            ..first
        });
        return Some(0.0);
    };
    let variance = second.sd * second.sd + first.sd * first.sd;
    let apart = second.mean - first.mean;
    if variance <= 0.0 {
        return (apart.abs() < 1e-9).then_some(CERTAIN);
    }
    let weight = first.sd * first.sd / variance;
    second.mean = weight * second.mean + (1.0 - weight) * first.mean;
    second.sd = second.sd * first.sd / variance.sqrt();
    Some(-0.5 * (apart * apart / variance + (2.0 * std::f64::consts::PI * variance).ln()))
}

/// Replaces the prior of some coordinates by statements about them; the others follow by regression. Returns the log
/// probability of the statements under the prior.
fn replace(
    mean: &mut DVector<f64>,
    covariance: &mut DMatrix<f64>,
    statements: &[Statement],
) -> f64 {
    if statements.is_empty() {
        return 0.0;
    }
    let slots: Vec<usize> = statements.iter().map(|stated| stated.slot).collect();
    let stated_mean =
        DVector::from_iterator(slots.len(), statements.iter().map(|stated| stated.mean));
    let stated_spread = DMatrix::from_diagonal(&DVector::from_iterator(
        slots.len(),
        statements.iter().map(|stated| stated.sd * stated.sd),
    ));
    let before = covariance.select_rows(&slots).select_columns(&slots);
    let across = covariance.select_columns(&slots);
    let moved = &stated_mean - mean.select_rows(&slots);
    let predictive = Gaussian::new(&mean.select_rows(&slots), &(&before + &stated_spread));
    let mut at = [0.0; UNKNOWNS];
    at[..slots.len()].copy_from_slice(stated_mean.as_slice());
    let log_probability = predictive.log_density(&at);
    let inverse = before
        .clone()
        .pseudo_inverse(1e-12)
        .expect("the tolerance is positive");
    let gain = across * inverse;
    *mean += &gain * moved;
    *covariance += &gain * (stated_spread - before) * gain.transpose();
    for stated in statements {
        mean[stated.slot] = stated.mean;
    }
    log_probability
}

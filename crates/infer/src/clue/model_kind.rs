//! The class of a model, dense or a mixture, and its kind of attention, by its release and by whether cache reads are sold.

use super::Clue;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{Likelihood, Observed, terms};
use crate::evidence::release::release;
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::Calibration;

pub(super) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

/// Probability of each class given the release and the share of sellers that sell cache reads, over its share of all models:
/// proportional to the density of both given the class.
#[derive(Debug, Clone)]
struct ModelKind {
    /// Probability over share of dense models and of mixtures, by [`AttentionKind`].
    over_share: [[f64; AttentionKind::COUNT]; 2],
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let priced: Vec<bool> = sheets
        .iter()
        .filter_map(|evidence| evidence.sheet.base_rate())
        .filter(|rate| rate.input.is_some() || rate.output.is_some())
        .map(|rate| rate.cache_read.is_some())
        .collect();
    if priced.is_empty() {
        return Observed::new();
    }
    let released = release(sheets, calibration);
    terms([ModelKind::new(
        released.years,
        share_of(&priced) - calibration.population.dates.mean_cache_share,
        calibration,
    )])
}

fn share_of(priced: &[bool]) -> f64 {
    let sellers = priced.iter().filter(|sells| **sells).count();
    count_f64(sellers) / count_f64(priced.len())
}

impl ModelKind {
    fn new(years: f64, cache: f64, calibration: &Calibration) -> Self {
        let classes = &calibration.population.classes;
        let odds =
            |[at_mean, per_year, sold]: [f64; 3]| (at_mean + per_year * years + sold * cache).exp();
        let all: f64 = classes.iter().map(|class| odds(class.log_odds)).sum();
        let mut over_share = [[1.0; AttentionKind::COUNT]; 2];
        for class in classes {
            over_share[usize::from(class.is_dense)][class.attention as usize] =
                odds(class.log_odds) / all / class.share;
        }
        Self { over_share }
    }
}

impl Likelihood for ModelKind {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::ModelKind]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        self.over_share[usize::from(unknowns.is_dense)][unknowns.attention as usize]
    }

    /// A release and a cache offer are facts about the model, and never surprising.
    fn tail_probability(&self, _part: usize, _unknowns: &Unknowns<'_>) -> f64 {
        1.0
    }
}

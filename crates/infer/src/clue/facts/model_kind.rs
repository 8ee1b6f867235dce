//! The class of a model, dense or a mixture, and its kind of attention: by its release, by whether cache reads are sold, and
//! in the words of its authors.

use crate::clue::Clue;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{Likelihood, MISPRINTS, Observed, terms};
use crate::evidence::release::release;
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_price_sheet::sheet::ArchitectureWord;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::Calibration;

pub(in crate::clue) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

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
    let mut found = terms(in_words(sheets));
    if !priced.is_empty() {
        let released = release(sheets, calibration);
        let sold = share_of(&priced) - calibration.population.dates.mean_cache_share;
        found.extend(terms([ModelKind::new(released.years, sold, calibration)]));
    }
    found
}

/// The word of all sheets on the architecture; none where they contradict each other.
fn in_words(sheets: &[Evidence<'_>]) -> Option<InWords> {
    let items = sheets.iter().flat_map(|evidence| &evidence.sheet.evidence);
    let mut words = items.filter_map(|item| item.architecture);
    let first = words.next()?;
    let is_dense = first == ArchitectureWord::Dense;
    words
        .all(|word| word == first)
        .then_some(InWords { is_dense })
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

/// Whether the authors say that the model is dense.
#[derive(Debug, Clone, Copy)]
struct InWords {
    is_dense: bool,
}

impl Likelihood for InWords {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::Architecture]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        if unknowns.is_dense == self.is_dense {
            1.0 - MISPRINTS
        } else {
            MISPRINTS
        }
    }

    /// A word is a fact about the model, and never surprising.
    fn tail_probability(&self, _part: usize, _unknowns: &Unknowns<'_>) -> f64 {
        1.0
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

//! The draws of one model by itself, weighed under every hypothesis about its vendor.

use super::hypothesis::Accelerators;
use crate::clue;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::Observed;
use crate::posterior::Draws;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

/// One draw of a model in so many is weighed for every markup. Every third would fall in step with the proposals.
const STRIDE: usize = 2;

/// A draw of a model: logarithms of active and total parameters.
pub(super) type Sizes = [f64; 2];

/// The draws of one model, by accelerator, and their weights under every markup.
pub(super) struct Drawn {
    pub(super) name: String,
    /// Groups of draws by accelerator.
    pub(super) groups: Vec<Group>,
    /// All draws with their weights, whatever the accelerator and the markup.
    pub(super) alone: Choice,
}

/// The draws of one model on one accelerator.
pub(super) struct Group {
    /// Draws to choose from, by markup.
    pub(super) choices: Vec<Choice>,
    /// log evidence, by markup.
    pub(super) log_evidence: Vec<f64>,
}

/// Draws to choose from by their weights.
pub(super) struct Choice {
    sizes: Vec<Sizes>,
    below: Vec<f64>,
}

impl Choice {
    fn new(sizes: Vec<Sizes>, weights: &[f64]) -> Self {
        let add = |below: &mut f64, weight: &f64| {
            *below += weight;
            Some(*below)
        };
        Self {
            sizes,
            below: weights.iter().scan(0.0, add).collect(),
        }
    }

    fn total(&self) -> f64 {
        self.below.last().copied().unwrap_or_default()
    }

    /// The draw at a uniform coordinate.
    pub(super) fn at(&self, uniform: f64) -> Sizes {
        let wanted = uniform * self.total();
        let place = self.below.partition_point(|below| *below <= wanted);
        self.sizes[place.min(self.sizes.len() - 1)]
    }
}

/// The terms of a model's prices, which alone depend on the markup.
pub(super) fn price_terms(
    sheets: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
) -> Observed {
    let mut terms = clue::observed(sheets, assumptions, calibration);
    let is_price = |part: &ClueKind| matches!(part, ClueKind::InputPrice | ClueKind::OutputPrice);
    terms.retain(|term| term.parts().iter().any(is_price));
    terms
}

impl Drawn {
    /// Every draw of one model, weighed under every markup.
    pub(super) fn new(
        name: &str,
        draws: &Draws<'_>,
        accelerators: &Accelerators,
        alone: &Observed,
        given: &[Observed],
    ) -> Self {
        let mut sizes = vec![Vec::new(); accelerators.shares.len()];
        let mut weights = vec![vec![Vec::new(); given.len()]; accelerators.shares.len()];
        let (mut all, mut own) = (Vec::new(), Vec::new());
        for (unknowns, weight) in draws.iter().zip(draws.weights()).step_by(STRIDE) {
            let density = |terms: &Observed| -> f64 {
                terms
                    .iter()
                    .map(|term| term.likelihood(&unknowns))
                    .product()
            };
            let place = accelerators.place(unknowns.machine);
            let size = [
                unknowns.log_active_parameters,
                unknowns.log_total_parameters,
            ];
            let per_density = weight / density(alone);
            sizes[place].push(size);
            for (of_markup, terms) in weights[place].iter_mut().zip(given) {
                of_markup.push(per_density * density(terms));
            }
            all.push(size);
            own.push(*weight);
        }
        let groups = sizes.into_iter().zip(weights).zip(&accelerators.shares);
        let groups = groups.map(|((sizes, weights), share)| Group::new(&sizes, &weights, *share));
        Self {
            name: name.to_owned(),
            groups: groups.collect(),
            alone: Choice::new(all, &own),
        }
    }
}

impl Group {
    fn new(sizes: &[Sizes], weights: &[Vec<f64>], share: f64) -> Self {
        let choices: Vec<Choice> = weights
            .iter()
            .map(|weights| Choice::new(sizes.to_vec(), weights))
            .collect();
        let log_evidence = choices.iter().map(|choice| (choice.total() / share).ln());
        Self {
            log_evidence: log_evidence.collect(),
            choices,
        }
    }
}

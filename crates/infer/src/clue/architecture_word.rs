//! Architecture in the words of a model's authors: dense, or a mixture of experts.

use super::Clue;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{Likelihood, MISPRINTS, Observed, terms};
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_price_sheet::sheet::ArchitectureWord;
use unroof_roofline::reference::calibration::Calibration;

/// A term and no reading: a word is no number.
pub(super) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

/// Whether the model is said to be dense.
#[derive(Debug, Clone, Copy)]
struct SaidToBe {
    is_dense: bool,
}

/// The word of all sheets; none where they contradict each other.
fn observe(sheets: &[Evidence<'_>], _calibration: &Calibration) -> Observed {
    let items = sheets.iter().flat_map(|evidence| &evidence.sheet.evidence);
    let mut words = items.filter_map(|item| item.architecture);
    let first = words.next();
    let word = first.filter(|first| words.all(|word| word == *first));
    terms(word.map(|word| SaidToBe {
        is_dense: word == ArchitectureWord::Dense,
    }))
}

impl Likelihood for SaidToBe {
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

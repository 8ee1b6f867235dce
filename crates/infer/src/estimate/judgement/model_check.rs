//! Whether the sheets fit the model: the tail probability of each clue, prices in an order that no cost explains, and
//! language models of another kind.

use serde::Serialize;
use utoipa::ToSchema;

use crate::evidence::clue_table::ClueKind;
use crate::joint::steps::Step;
use unroof_base::units::significant;
use unroof_price_sheet::sheet::{PriceSheet, RateCell};

/// Whether the sheets fit the model.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Misfit {
    /// Whether a clue below does not fit, or most of the sheets have prices that contradict each other.
    pub flagged: bool,
    /// A clue whose probability is below this is a misfit.
    pub threshold: f64,
    /// Posterior predictive checks of the clues, in order, each given the clues before it.
    pub checks: Vec<Check>,
    /// Prices in an order that no cost explains, and kinds of language models that the equations are not about.
    pub contradictions: Vec<String>,
}

/// Tail probability of a clue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Check {
    /// Clue that is checked.
    pub clue: ClueKind,
    /// Probability of a value at least as extreme.
    pub probability: f64,
}

/// Threshold of a misfit: a clue of a fitting sheet is flagged once in a thousand sheets.
const THRESHOLD: f64 = 0.001;

pub(crate) fn check(contents: &[PriceSheet], steps: &[Step]) -> Misfit {
    let checks: Vec<Check> = steps
        .iter()
        .map(|step| Check {
            clue: step.clue,
            probability: significant(step.tail_probability.clamp(0.0, 1.0)),
        })
        .collect();
    let by_sheet: Vec<Vec<String>> = contents.iter().map(contradictions).collect();
    let contradictory = by_sheet.iter().filter(|found| !found.is_empty()).count();
    Misfit {
        // One seller's misprint does not spoil the evidence of many.
        flagged: 2 * contradictory > contents.len()
            || checks.iter().any(|check| check.probability < THRESHOLD),
        threshold: THRESHOLD,
        checks,
        contradictions: by_sheet.into_iter().flatten().collect(),
    }
}

/// Words in the names of models that write by diffusion.
const DIFFUSION: [&str; 3] = ["mercury", "diffusion", "llada"];

/// Diffusion makes many tokens in one pass, and none of them by a step of decoding.
fn diffusion(sheet: &PriceSheet) -> Option<String> {
    let name = sheet.canonical_model.as_ref().unwrap_or(&sheet.model);
    let name = name.to_lowercase();
    let is_one = DIFFUSION.iter().any(|word| name.contains(word));
    is_one.then(|| {
        "a diffusion model generates many tokens per pass: it is outside of the equations of decoding".to_owned()
    })
}

/// A kind of model that is not described, and pairs of prices in an impossible order.
fn contradictions(sheet: &PriceSheet) -> Vec<String> {
    let mut found = Vec::from_iter(diffusion(sheet));
    for cell in &sheet.rates {
        let input = ("a fresh prompt token", &cell.input);
        let cached = ("a prompt token found in the cache", &cell.cache_read);
        let explicit = "a prompt token found in the explicit cache";
        let explicit = (explicit, &cell.cache_read_explicit);
        let output = ("a generated token", &cell.output);
        for ((less, low), (more, high)) in [(cached, input), (explicit, input), (input, output)] {
            if let (Some(low), Some(high)) = (low, high)
                && !high.is_zero()
                && low.to_f64() > high.to_f64()
            {
                found.push(format!("{}: {less} costs more than {more}", place(cell)));
            }
        }
    }
    found.dedup();
    found
}

fn place(cell: &RateCell) -> String {
    match cell.context_tier.min_prompt_tokens {
        0 => cell.service_tier.clone(),
        tokens => format!("{} above {tokens} tokens", cell.service_tier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diffusion_model_is_named_as_outside_the_model() {
        let of = |model: &str| check(&[PriceSheet::new("acme", model, Vec::new())], &[]);
        let outside = of("inception/mercury-2");
        assert!(outside.flagged && outside.contradictions[0].contains("diffusion"));
        assert!(of("google/diffusiongemma-26B-A4B-it").flagged);
        assert!(!of("gpt-5.4").flagged);
    }
}

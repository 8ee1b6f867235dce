//! Thresholds at which prices rise with the length of the prompt, and their relation to the cache.

use std::collections::BTreeMap;

use super::data::PricedModel;
use super::{count, mean, moments};
use unroof_price_sheet::sheet::compare::decision::ContextTierDecision;
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_roofline::reference::calibration::ContextTierLaw;

/// Share of thresholds that are copied from others. Three families have decided on one, too few to estimate it: at this
/// share no held-out decision is scored worse with the clue than without it.
const CONVENTION_SHARE: f64 = 0.7;
/// Standard deviation where too few families have decided on a threshold to estimate it: a factor of 7 either way.
const WIDEST_SD: f64 = 2.0;
/// Thresholds there are: 90 of 100 between 10,000 and 1,000,000 tokens, where too few are known.
const ANY_THRESHOLD: (f64, f64) = (11.5, 1.4);

/// A decision, with its value for each of its models.
struct Seen {
    decision: ContextTierDecision,
    /// log(`k_bw`·`L_1`/`N_a`) of each model.
    of_models: BTreeMap<String, f64>,
}

/// The law over the means of families: families decide, and copy themselves.
pub(super) fn law(models: &[&PricedModel]) -> ContextTierLaw {
    let seen = decisions(models);
    let mut families: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for decision in &seen {
        let mean = mean(decision.of_models.values().copied());
        let log_threshold = f64::from(decision.decision.threshold_tokens).ln();
        families
            .entry(&decision.decision.family)
            .or_default()
            .push((mean, log_threshold));
    }
    let mean_of = |part: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let families = families.values();
        families.map(|own| mean(own.iter().map(part))).collect()
    };
    let positions = mean_of(|decision| decision.0);
    let thresholds = mean_of(|decision| decision.1);
    let known = count(families.len());
    let (mut position, mut threshold) = (moments(&positions), moments(&thresholds));
    if families.len() < 3 {
        position.1 = WIDEST_SD;
        threshold = ANY_THRESHOLD;
    }
    ContextTierLaw {
        decisions: seen.len(),
        families: families.len(),
        mean: position.0,
        scale: position.1 * (1.0 + 1.0 / known.max(1.0)).sqrt(),
        degrees_of_freedom: (known - 1.0).max(1.0),
        convention_share: CONVENTION_SHARE,
        convention_mean: threshold.0,
        convention_sd: threshold.1,
    }
}

/// The models of every decision.
#[must_use]
pub fn models_by_decision(models: &[&PricedModel]) -> Vec<Vec<String>> {
    decisions(models)
        .into_iter()
        .map(|seen| seen.of_models.into_keys().collect())
        .collect()
}

/// Every decision once, whichever host lists it.
fn decisions(models: &[&PricedModel]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for model in models {
        for sheet in &model.sheets {
            let Some(decision) = decision(&model.family, sheet) else {
                continue;
            };
            let log_threshold = f64::from(decision.threshold_tokens).ln();
            let position = model.truth.log_kv_read + log_threshold - model.truth.log_active;
            let known = seen
                .iter_mut()
                .find(|known| known.decision.is_same(&decision));
            match known {
                Some(known) => {
                    known
                        .of_models
                        .entry(model.name.clone())
                        .or_insert(position);
                }
                None => seen.push(Seen {
                    decision,
                    of_models: BTreeMap::from([(model.name.clone(), position)]),
                }),
            }
        }
    }
    seen
}

/// The first threshold of a sheet at which the output price rises.
fn decision(family: &str, sheet: &PriceSheet) -> Option<ContextTierDecision> {
    let base = sheet.base_rate()?;
    let above = sheet
        .rates
        .iter()
        .filter(|rate| {
            rate.service_tier == RateCell::STANDARD && rate.context_tier.min_prompt_tokens > 0
        })
        .min_by_key(|rate| rate.context_tier.min_prompt_tokens)?;
    let multipliers = [
        above.input.as_ref()?.over(base.input.as_ref()?),
        above.output.as_ref()?.over(base.output.as_ref()?),
    ];
    (multipliers[1] > 1.0).then(|| ContextTierDecision {
        family: family.to_owned(),
        threshold_tokens: above.context_tier.min_prompt_tokens,
        multipliers,
    })
}

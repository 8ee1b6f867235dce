//! Prompts and answers on units of their own, with the ratio of prefill to decode units.

use super::decode::DecodeUnit;
use super::forward::Engine;
use super::prefill::PrefillUnit;
use crate::plan::question::goal::Goal;

/// Units of one kind of chip that a plan may use, with what they cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    /// Index among the units.
    pub(crate) index: usize,
    /// Units, where the rate is known.
    pub(crate) units: f64,
    /// Requests per second of one unit.
    pub(crate) rate: f64,
    /// Cost per request, in USD or chip-seconds.
    pub(crate) cost: f64,
}

impl Choice {
    /// Units that serve the wanted rate together, or this rate each.
    fn new(index: usize, units: f64, rate: f64, price: f64, goal: &Goal) -> Self {
        Self {
            index,
            units,
            rate,
            cost: match goal.rate {
                Some(wanted) => units * price / wanted,
                None => price / rate,
            },
        }
    }
}

/// The cheapest prefill units within the limits, cheapest first.
pub(crate) fn prefill_choices(
    units: &[PrefillUnit<'_>],
    goal: &Goal,
    price: impl Fn(&Engine<'_>) -> f64,
    most: usize,
) -> Vec<Choice> {
    let of_unit = |(index, unit): (usize, &PrefillUnit<'_>)| {
        let price = price(&unit.engine);
        if let Some(wanted) = goal.rate {
            let units = unit.units_for(goal, wanted)?;
            return Some(Choice::new(index, units, wanted / units, price, goal));
        }
        let half = (goal.budget? / 2.0 / unit.engine.chips()).floor().max(1.0);
        let rate = unit.rate_of(&goal.limits, half) / half;
        (rate > 0.0).then(|| Choice::new(index, half, rate, price, goal))
    };
    cheapest(units.iter().enumerate().filter_map(of_unit).collect(), most)
}

/// The cheapest decode units within the limits, cheapest first.
pub(crate) fn decode_choices(
    units: &[DecodeUnit<'_>],
    goal: &Goal,
    price: impl Fn(&Engine<'_>) -> f64,
    most: usize,
) -> Vec<Choice> {
    let deviations = goal.limits.percentile.deviations();
    let of_unit = |(index, unit): (usize, &DecodeUnit<'_>)| {
        let batch = unit.most_batch(goal.limits.per_token_s, deviations)?;
        let rate = unit.rate(batch);
        let units = match goal.rate {
            Some(wanted) if goal.whole_units => (wanted / rate - 1e-9).ceil().max(1.0),
            Some(wanted) => wanted / rate,
            None => 1.0,
        };
        let price = price(&unit.engine);
        Some(Choice::new(index, units, rate, price, goal))
    };
    cheapest(units.iter().enumerate().filter_map(of_unit).collect(), most)
}

fn cheapest(mut choices: Vec<Choice>, most: usize) -> Vec<Choice> {
    choices.sort_by(|left, right| left.cost.total_cmp(&right.cost));
    choices.truncate(most);
    choices
}

/// Units of both kinds, and the rate that they serve together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairing {
    pub(crate) prefill_units: f64,
    pub(crate) decode_units: f64,
    pub(crate) rate: f64,
}

/// The numbers of units of a pair of choices; none if the chips do not suffice.
pub(crate) fn paired(
    goal: &Goal,
    prefill: (&Choice, &PrefillUnit<'_>),
    decode: (&Choice, &DecodeUnit<'_>),
) -> Option<Pairing> {
    let (prefill_chips, decode_chips) = (prefill.1.engine.chips(), decode.1.engine.chips());
    if let Some(rate) = goal.rate {
        let chips = prefill.0.units * prefill_chips + decode.0.units * decode_chips;
        return goal.allows(chips).then_some(Pairing {
            prefill_units: prefill.0.units,
            decode_units: decode.0.units,
            rate,
        });
    }
    let budget = goal.budget?;
    let per_request = prefill_chips / prefill.0.rate + decode_chips / decode.0.rate;
    let near = budget / per_request / prefill.0.rate;
    let mut best: Option<Pairing> = None;
    for offset in -2_i32..=3 {
        let prefill_units = (near.floor() + f64::from(offset)).max(1.0);
        let decode_units = ((budget - prefill_units * prefill_chips) / decode_chips).floor();
        if decode_units < 1.0 {
            continue;
        }
        let rate = prefill
            .1
            .rate_of(&goal.limits, prefill_units)
            .min(decode_units * decode.0.rate);
        if best.is_none_or(|best| rate > best.rate) {
            best = Some(Pairing {
                prefill_units,
                decode_units,
                rate,
            });
        }
    }
    best.filter(|best| best.rate > 0.0)
}

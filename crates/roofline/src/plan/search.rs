//! The search: every layout as prefill unit, as decode unit and as a unit that does both.

use super::answer::ServingKind;
use super::grid::{self, Layout};
use crate::calculator::scenario::Chip;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::serving::aggregated::SharedUnit;
use crate::plan::serving::candidate::{Candidate, Way};
use crate::plan::serving::chunks::Chunks;
use crate::plan::serving::decode::DecodeUnit;
use crate::plan::serving::disaggregated::{decode_choices, paired, prefill_choices};
use crate::plan::serving::forward::Engine;
use crate::plan::serving::prefill::PrefillUnit;

/// Prefill units, and decode units, of which every pair is tried.
const PAIRED: usize = 12;

/// Units of a search, with all times that do not depend on rate and limits.
#[derive(Debug)]
pub(super) struct Search<'a> {
    question: &'a Question,
    prefill: Vec<PrefillUnit<'a>>,
    decode: Vec<DecodeUnit<'a>>,
    shared: Vec<SharedUnit<'a>>,
    /// Layouts that were considered, those that do not fit included.
    pub(super) considered: usize,
}

impl Goal {
    /// The goal that a request states.
    pub(super) fn of(question: &Question) -> Self {
        Self {
            rate: question.load.rate,
            budget: question.budget.map(f64::from),
            limits: question.limits,
            whole_units: question.whole_units,
            whole_trays: question.whole_trays(),
        }
    }
}

/// The layouts of prefill units and of decode units; one list where the chips are the same.
pub(super) fn layouts_of(question: &Question) -> Vec<Vec<Layout>> {
    let of = |chip: &Chip| {
        let architecture = &question.model.architecture;
        grid::layouts(
            architecture,
            &question.degrees,
            chip.domain,
            question.budget,
        )
    };
    let decode = of(&question.decode_chip);
    if question.has_two_chips() {
        vec![of(&question.prefill_chip), decode]
    } else {
        vec![decode]
    }
}

/// Layouts that a search tries.
pub(super) fn layouts(question: &Question) -> usize {
    layouts_of(question).iter().map(Vec::len).sum()
}

impl<'a> Search<'a> {
    /// Every layout of the grid.
    pub(super) fn new(question: &'a Question) -> Self {
        match layouts_of(question).as_slice() {
            [prefill, decode] => Self::among(question, prefill, decode),
            both => {
                let both = both.first().map_or(&[][..], Vec::as_slice);
                Self::among(question, both, both)
            }
        }
    }

    /// Search among the given layouts alone.
    pub(super) fn among(question: &'a Question, prefill: &[Layout], decode: &[Layout]) -> Self {
        let engine = |chip, layout: &Layout| Engine::new(question, chip, *layout);
        let prefill_units: Vec<PrefillUnit<'a>> = prefill
            .iter()
            .flat_map(|layout| PrefillUnit::all(question, &engine(&question.prefill_chip, layout)))
            .collect();
        let decode_units: Vec<DecodeUnit<'a>> = decode
            .iter()
            .filter_map(|layout| DecodeUnit::new(question, engine(&question.decode_chip, layout)))
            .collect();
        let shared = if question.has_two_chips() {
            Vec::new()
        } else {
            shared_units(question, &prefill_units, &decode_units)
        };
        let considered = if question.has_two_chips() {
            prefill.len() + decode.len()
        } else {
            decode.len()
        };
        Self {
            question,
            prefill: prefill_units,
            decode: decode_units,
            shared,
            considered,
        }
    }

    /// Units that are compared: layouts with each number of prompts per pass.
    pub(super) fn units(&self) -> usize {
        self.prefill.len() + self.decode.len() + self.shared.len()
    }

    #[cfg(test)]
    pub(super) fn prefill_units(&self) -> &[PrefillUnit<'a>] {
        &self.prefill
    }

    #[cfg(test)]
    pub(super) fn shared_units(&self) -> &[SharedUnit<'a>] {
        &self.shared
    }

    /// Whether any layout holds the model.
    pub(super) fn holds_model(&self) -> bool {
        !self.decode.is_empty()
    }

    /// Every candidate that reaches the goal, cheapest first.
    pub(super) fn candidates(&self, goal: &Goal) -> Vec<Candidate<'_>> {
        let shared = self.wanted_units();
        let mut found: Vec<Candidate<'_>> = shared
            .filter_map(|unit| self.aggregated(unit, goal))
            .collect();
        if self.wants(ServingKind::Disaggregated) {
            found.extend(self.pairs(goal));
        }
        found.sort_by(|left, right| {
            let costs = left.ranked_cost().total_cmp(&right.ranked_cost());
            let chips = left.chips().total_cmp(&right.chips());
            let speeds = left
                .per_token_s(goal)
                .1
                .total_cmp(&right.per_token_s(goal).1);
            costs.then(chips).then(speeds)
        });
        found
    }

    fn wants(&self, serving: ServingKind) -> bool {
        self.question.serving.is_none_or(|wanted| wanted == serving)
    }

    /// Units that do both, in the ways of serving that the request asks for.
    fn wanted_units(&self) -> impl Iterator<Item = &SharedUnit<'a>> {
        (self.shared.iter()).filter(|unit| self.wants(unit.serving()))
    }

    /// The cheapest candidate that reaches the goal. Units are solved from the least bound of their cost on, until no
    /// bound is below the cheapest cost.
    pub(super) fn cheapest(&self, goal: &Goal) -> Option<Candidate<'_>> {
        let cost = |candidate: &Candidate<'_>| candidate.ranked_cost();
        let mut best = (self.wants(ServingKind::Disaggregated))
            .then(|| self.pairs(goal))
            .and_then(|found| {
                found
                    .into_iter()
                    .min_by(|left, right| cost(left).total_cmp(&cost(right)))
            });
        let mut bounds: Vec<(f64, &SharedUnit<'a>)> = self
            .wanted_units()
            .filter_map(|unit| {
                let price = self.price(unit.decode.engine.chip);
                let rate = unit.most_rate(goal)?;
                let range = unit.decode.engine.time_range();
                let pessimism = range.map_or(1.0, |range| range.high_80);
                Some((price * unit.chips() / rate / 3_600.0 * pessimism, unit))
            })
            .collect();
        bounds.sort_by(|left, right| left.0.total_cmp(&right.0));
        for (bound, unit) in bounds {
            if best.as_ref().is_some_and(|best| cost(best) <= bound) {
                break;
            }
            let Some(candidate) = self.aggregated(unit, goal) else {
                continue;
            };
            if best
                .as_ref()
                .is_none_or(|best| cost(&candidate) < cost(best))
            {
                best = Some(candidate);
            }
        }
        best
    }

    fn aggregated<'s>(&'s self, unit: &'s SharedUnit<'a>, goal: &Goal) -> Option<Candidate<'s>> {
        let (units, rate) = unit.solved(goal)?;
        let work = unit.work(units, rate, goal)?;
        Some(Candidate {
            rate,
            has_rent: self.has_rent(),
            has_whole_trays: goal.whole_units && goal.whole_trays,
            way: Way::Aggregated { unit, units, work },
        })
    }

    fn pairs(&self, goal: &Goal) -> Vec<Candidate<'_>> {
        let price = |engine: &Engine<'_>| engine.chips() * self.price(engine.chip);
        let prefill = prefill_choices(&self.prefill, goal, price, PAIRED);
        let decode = decode_choices(&self.decode, goal, price, PAIRED);
        let mut found = Vec::new();
        for of_prefill in &prefill {
            for of_decode in &decode {
                let (prefill, decode) = (
                    &self.prefill[of_prefill.index],
                    &self.decode[of_decode.index],
                );
                let Some(pairing) = paired(goal, (of_prefill, prefill), (of_decode, decode)) else {
                    continue;
                };
                let most = decode.most_that_fits();
                let batch = decode.batch_for(pairing.rate / pairing.decode_units, most);
                let way = Way::Disaggregated {
                    prefill,
                    decode,
                    pairing,
                    batch,
                };
                found.push(Candidate {
                    rate: pairing.rate,
                    has_rent: self.has_rent(),
                    has_whole_trays: goal.whole_units && goal.whole_trays,
                    way,
                });
            }
        }
        found
    }

    /// Cost of a candidate per million tokens, prompt and generated ones.
    pub(super) fn usd_per_mtok(&self, candidate: &Candidate<'_>) -> Option<f64> {
        let traffic = &self.question.load;
        let tokens = traffic.input.mean() + traffic.output.mean();
        candidate.usd_per_request().map(|usd| usd / tokens * 1e6)
    }

    /// Rent of a chip, or 1 where a rent is not known.
    fn price(&self, chip: &Chip) -> f64 {
        if self.has_rent() {
            chip.usd_per_hour.unwrap_or(0.0)
        } else {
            1.0
        }
    }

    fn has_rent(&self) -> bool {
        let chips = [&self.question.decode_chip, &self.question.prefill_chip];
        chips.into_iter().all(|chip| chip.usd_per_hour.is_some())
    }
}

/// Units of the same layout that prefill and decode: prompts in passes of their own, or in chunks of several sizes.
fn shared_units<'a>(
    question: &Question,
    prefill: &[PrefillUnit<'a>],
    decode: &[DecodeUnit<'a>],
) -> Vec<SharedUnit<'a>> {
    let mut shared = Vec::new();
    for decode in decode {
        let same: Vec<PrefillUnit<'a>> = prefill
            .iter()
            .filter(|unit| unit.engine.layout == decode.engine.layout)
            .map(|unit| PrefillUnit {
                transfer_s: 0.0,
                ..unit.clone()
            })
            .collect();
        let unit = |prefill: &PrefillUnit<'a>, chunks| SharedUnit {
            decode: decode.clone(),
            prefill: prefill.clone(),
            chunks,
        };
        // The first has one prompt for each group of chips.
        if let Some(one) = same.first() {
            let chunks = Chunks::all(question, decode).into_iter();
            shared.extend(chunks.map(|chunks| unit(one, Some(chunks))));
        }
        shared.extend(same.iter().map(|prefill| unit(prefill, None)));
    }
    shared
}

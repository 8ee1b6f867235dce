//! A plan: units with their layouts, their number and the rate of requests that they serve; its cost, latencies and
//! power.

use super::aggregated::{SharedUnit, SharedWork};
use super::decode::DecodeUnit;
use super::disaggregated::Pairing;
use super::forward::Engine;
use super::latency::FirstToken;
use super::prefill::PrefillUnit;
use crate::calculator::scenario::Chip;
use crate::plan::answer::ServingKind;
use crate::plan::grid::{Layout, tray_chips};
use crate::plan::question::goal::Goal;
use crate::reference::TimeRange;

/// A plan that reaches a goal.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<'s> {
    /// Requests per second that the fleet serves.
    pub(crate) rate: f64,
    pub(crate) way: Way<'s>,
    /// Whether the rent of every chip is known.
    pub(crate) has_rent: bool,
    /// Whether trays are rented whole.
    pub(crate) has_whole_trays: bool,
}

/// Distribution of prompts and answers over units.
#[derive(Debug, Clone)]
pub(crate) enum Way<'s> {
    Aggregated {
        unit: &'s SharedUnit<'s>,
        units: f64,
        work: SharedWork,
    },
    Disaggregated {
        prefill: &'s PrefillUnit<'s>,
        decode: &'s DecodeUnit<'s>,
        pairing: Pairing,
        /// Mean sequences of a decode unit.
        batch: f64,
    },
}

impl<'s> Candidate<'s> {
    /// Engines with the number of units of each.
    fn pools(&self) -> Vec<(&'s Engine<'s>, f64)> {
        match &self.way {
            Way::Aggregated { unit, units, .. } => vec![(&unit.decode.engine, *units)],
            Way::Disaggregated {
                prefill,
                decode,
                pairing,
                ..
            } => vec![
                (&prefill.engine, pairing.prefill_units),
                (&decode.engine, pairing.decode_units),
            ],
        }
    }

    /// A sum over all chips that are rented: those of the pools, and of the last trays that no unit uses. Pools of one kind of
    /// chips share their trays.
    fn over_chips(&self, of_chip: impl Fn(&Chip) -> Option<f64>) -> Option<f64> {
        let pools = self.pools();
        let used = |(engine, units): &(&Engine<'_>, f64)| engine.chips() * units;
        let of_kind = |chip: &Chip, chips: f64| {
            let tray = f64::from(tray_chips(chip.domain));
            let rented = if self.has_whole_trays {
                (chips / tray - 1e-9).ceil() * tray
            } else {
                chips
            };
            of_chip(chip).map(|amount| amount * rented)
        };
        match pools.as_slice() {
            [prefill, decode] if !prefill.0.chip.is_like(decode.0.chip) => {
                let of_prefill = of_kind(prefill.0.chip, used(prefill))?;
                Some(of_prefill + of_kind(decode.0.chip, used(decode))?)
            }
            pools => of_kind(self.decode().0.engine.chip, pools.iter().map(used).sum()),
        }
    }

    /// Chips that units use.
    pub(crate) fn used_chips(&self) -> f64 {
        let pools = self.pools().into_iter();
        pools.map(|(engine, units)| engine.chips() * units).sum()
    }

    /// Chips that are rented.
    pub(crate) fn chips(&self) -> f64 {
        self.over_chips(|_| Some(1.0)).unwrap_or(0.0)
    }

    /// Scale-up domains of these chips.
    pub(crate) fn nodes(&self) -> f64 {
        let of_chip = |chip: &Chip| Some(1.0 / f64::from(chip.domain));
        self.over_chips(of_chip).unwrap_or(0.0)
    }

    /// Rent of all chips.
    pub(crate) fn usd_per_hour(&self) -> Option<f64> {
        self.over_chips(|chip| chip.usd_per_hour)
    }

    /// Power of all chips at their thermal design power, in watts.
    pub(crate) fn watts(&self) -> Option<f64> {
        self.over_chips(|chip| chip.row.tdp_watts)
    }

    /// USD per request, or chip-hours where a rent is not known.
    pub(crate) fn cost_per_request(&self) -> f64 {
        let per_hour = if self.has_rent {
            self.usd_per_hour()
        } else {
            None
        };
        per_hour.unwrap_or_else(|| self.chips()) / self.rate / 3_600.0
    }

    /// Errors of prefill and of decoding, those of both where the same units do both.
    pub(crate) fn time_ranges(&self) -> Option<[&'static TimeRange; 2]> {
        let decode = &self.decode().0.engine;
        match &self.way {
            Way::Aggregated { .. } => decode.time_range().map(|both| [both, both]),
            Way::Disaggregated { prefill, .. } => {
                Some([prefill.engine.time_range()?, decode.time_range()?])
            }
        }
    }

    /// An end of the errors of the whole cost over that cost: the mean over the pools by their chips.
    pub(crate) fn cost_factor(&self, end: fn(&TimeRange) -> f64) -> f64 {
        let Some([prefill, decode]) = self.time_ranges() else {
            return 1.0;
        };
        let price = |chip: &Chip| chip.usd_per_hour.filter(|_| self.has_rent).unwrap_or(1.0);
        let cost =
            |(engine, units): (&Engine<'_>, f64)| engine.chips() * units * price(engine.chip);
        let costs: Vec<f64> = self.pools().into_iter().map(cost).collect();
        let [of_prefill, of_decode] = costs[..] else {
            return end(decode);
        };
        (of_prefill * end(prefill) + of_decode * end(decode)) / (of_prefill + of_decode)
    }

    /// Cost that the ranking compares: that at the pessimistic end of its 80 % interval.
    pub(crate) fn ranked_cost(&self) -> f64 {
        self.cost_per_request() * self.cost_factor(|range| range.high_80)
    }

    /// Rent per request, USD.
    pub(crate) fn usd_per_request(&self) -> Option<f64> {
        self.usd_per_hour().map(|usd| usd / self.rate / 3_600.0)
    }

    /// The time to the first token; none where units are always busy.
    pub(crate) fn first_token(&self) -> Option<FirstToken> {
        match &self.way {
            Way::Aggregated { work, .. } => Some(work.first.clone()),
            Way::Disaggregated {
                prefill, pairing, ..
            } => prefill.first_token(pairing.prefill_units, self.rate),
        }
    }

    /// Mean time per generated token, and that at the limit's percentile.
    pub(crate) fn per_token_s(&self, goal: &Goal) -> (f64, f64) {
        match &self.way {
            Way::Aggregated { work, .. } => (work.per_token_s, work.per_token_at_limit_s),
            Way::Disaggregated { decode, batch, .. } => {
                let deviations = goal.limits.percentile.deviations();
                let at_limit = decode.batch_at(*batch, deviations);
                let per_token = |batch: f64| decode.step_s(batch) / decode.accepted;
                (per_token(*batch), per_token(at_limit))
            }
        }
    }

    pub(crate) fn serving(&self) -> ServingKind {
        match &self.way {
            Way::Aggregated { unit, .. } => unit.serving(),
            Way::Disaggregated { .. } => ServingKind::Disaggregated,
        }
    }

    /// Layouts of prefill units, if there are some, and of decode units.
    pub(crate) fn layouts(&self) -> (Option<Layout>, Layout) {
        let prefill = match self.way {
            Way::Aggregated { .. } => None,
            Way::Disaggregated { prefill, .. } => Some(prefill.engine.layout),
        };
        (prefill, self.decode().0.engine.layout)
    }

    /// Mean time of prefill.
    pub(crate) fn mean_prefill_s(&self) -> f64 {
        match &self.way {
            Way::Aggregated { work, .. } => work.first.mean_service_s(),
            Way::Disaggregated { prefill, .. } => prefill.alone().mean_service_s(),
        }
    }

    /// The unit that computes prompts.
    pub(crate) fn prefill(&self) -> &'s PrefillUnit<'s> {
        match self.way {
            Way::Aggregated { unit, .. } => &unit.prefill,
            Way::Disaggregated { prefill, .. } => prefill,
        }
    }

    /// The unit that decodes, and the mean number of sequences on it.
    pub(crate) fn decode(&self) -> (&'s DecodeUnit<'s>, f64) {
        match &self.way {
            Way::Aggregated { unit, work, .. } => (&unit.decode, work.batch),
            Way::Disaggregated { decode, batch, .. } => (decode, *batch),
        }
    }

    /// Transfer of the cache, or the rest of a step that is running.
    pub(crate) fn transfer_s(&self) -> f64 {
        match &self.way {
            Way::Aggregated { work, .. } => work.first.added_s,
            Way::Disaggregated { prefill, .. } => prefill.transfer_s,
        }
    }

    /// Share of the time of the units that compute prompts.
    pub(crate) fn prefill_utilisation(&self) -> f64 {
        match &self.way {
            Way::Aggregated { work, .. } => work.prefill_utilisation,
            Way::Disaggregated {
                prefill, pairing, ..
            } => self.rate / pairing.prefill_units / prefill.capacity(),
        }
    }
}

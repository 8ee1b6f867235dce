//! Physics of a cache on a storage tier: how long it fills, whether loading beats computing again, and what it costs.
//!
//! No constant is fitted to what vendors write about their caches. Each is named with its source.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::cache_tiers::cache_tiers;
//! use unroof_roofline::reference::StorageKind;
//!
//! // Holding a byte for an hour costs most in the memory of the accelerator, and less on each slower tier.
//! let tiers = cache_tiers(&Assumptions::default());
//! let log_hold = |kind| tiers.iter().find(|tier| tier.kind == kind).map(|tier| tier.log_hold);
//! assert!(log_hold(StorageKind::Hbm) > log_hold(StorageKind::Dram));
//! assert!(log_hold(StorageKind::Dram) > log_hold(StorageKind::Flash));
//! ```

use std::f64::consts::LN_2;

use super::assumptions::Assumptions;
use super::hold_cost::tiers;
use super::likelihood::normal_below;
use super::unknowns::Unknowns;
use unroof_base::units::elementary::{exp, ln};
use unroof_base::units::{Bytes, BytesPerSecond, count_f64};
use unroof_roofline::forward::{HoldCost, fill_time};
use unroof_roofline::reference::{
    AcceleratorStatus, StorageKind, StorageTier, accelerators, storage_tiers,
};

/// Share of a device that stays free: what vLLM leaves of an accelerator's memory where nothing is set
/// (`gpu_memory_utilization` 0.9).
pub const HEADROOM: f64 = 0.1;
/// Accelerators whose storage takes the tokens of one that computes prompts: its own alone; all of DeepSeek's day, on
/// which 226.75 nodes served 608e9 prompt tokens at 73,700 per second and node; all of 4 nodes for prompts and 9 for
/// answers (LMSYS, 96 H100). No source says which is usual, so each is as probable.
const POOLED: [f64; 3] = [1.0, 226.75 * 73_700.0 * 86_400.0 / 608e9, 13.0 / 4.0];
/// log of capacity per accelerator: servers are sold with half and with twice as much (1 to 4 TB of memory for
/// eight accelerators, drives of 3.84 to 15.36 TB), taken for a 90 % interval.
const CAPACITY_SD: f64 = LN_2 / super::quantity::NINETY_PERCENT;
/// log of the bandwidth from which an accelerator loads: from one drive for three accelerators to three for one, taken
/// for a 90 % interval.
const LOAD_SD: f64 = 1.098_612_288_668_109_8 / super::quantity::NINETY_PERCENT;
/// The least and the longest time for which a cache is kept where nothing is written about it: the shortest and the
/// longest that any vendor sells.
const SHORTEST_S: f64 = 300.0;
const LONGEST_S: f64 = 86_400.0;

/// Lifetime of a token in a cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    /// Whether `at_most_s` is promised; else a token may be evicted before.
    pub promised: bool,
    /// Shortest stay, in seconds. A tier that fills faster cannot keep the token.
    pub at_least_s: Option<f64>,
    /// Longest stay, in seconds: a choice of the vendor, which excludes no tier.
    pub at_most_s: Option<f64>,
}

impl Lifetime {
    /// Lifetime of which nothing is known.
    pub const UNKNOWN: Self = Self {
        promised: false,
        at_least_s: None,
        at_most_s: None,
    };

    /// Lifetime that the vendor promises, in seconds.
    #[must_use]
    pub fn promise(time_s: f64) -> Self {
        Self {
            promised: true,
            at_least_s: Some(time_s),
            at_most_s: Some(time_s),
        }
    }

    /// The time that is paid for: the geometric middle, since nothing is said about what lies between.
    fn middle_s(&self) -> f64 {
        let longest = self.at_most_s.unwrap_or(LONGEST_S);
        let shortest = self.at_least_s.unwrap_or(SHORTEST_S).min(longest);
        (shortest * longest).sqrt()
    }
}

/// A storage tier with what its placement needs.
#[derive(Debug, Clone, Copy)]
pub struct CacheTier {
    /// Id of the tier.
    pub id: &'static str,
    /// Kind of storage of the tier.
    pub kind: StorageKind,
    /// Share of servers that have it.
    fitted: f64,
    /// log of the seconds in which it fills with a byte per second; none where it is bought as needed. Of the memory of an
    /// accelerator, per byte that it has.
    log_fill: Option<f64>,
    log_bandwidth: f64,
    /// log of USD per byte and hour, all copies.
    pub log_hold: f64,
    /// log of USD per byte read; none in HBM, where a byte is read as any other.
    pub log_read: Option<f64>,
    /// Copies that are kept.
    copies: f64,
    /// Cost of one copy by the capital.
    cost: HoldCost,
    /// Cost of wear of a byte that is written once.
    wear_usd_per_byte: f64,
}

/// The tiers whose costs and bandwidth per accelerator are known.
#[must_use]
pub fn cache_tiers(assumptions: &Assumptions) -> Vec<CacheTier> {
    let tier = |row: &'static StorageTier| {
        let read = if row.tier == StorageKind::Hbm {
            0.0
        } else {
            row.read_usd_per_byte?
        };
        let copies = row.copies?;
        let hold = row.capital_usd_per_byte_hour?;
        let capacity = if row.tier == StorageKind::Hbm {
            Some(Bytes(1.0))
        } else {
            row.accelerator_capacity_bytes
        };
        let fill = capacity.map(|bytes| fill_time(bytes, HEADROOM, copies, BytesPerSecond(1.0)));
        Some(CacheTier {
            id: &row.id,
            kind: row.tier,
            fitted: fitted(row, assumptions),
            log_fill: fill.map(|fill| ln(fill.0)),
            log_bandwidth: ln(row.accelerator_bandwidth_bytes_per_second?.0),
            log_hold: ln(hold * copies),
            log_read: (read > 0.0).then(|| ln(read)),
            copies,
            cost: HoldCost {
                read_usd_per_byte: read,
                hold_usd_per_byte_hour: hold,
            },
            wear_usd_per_byte: row.wear_usd_per_byte()?,
        })
    };
    tiers().filter_map(tier).collect()
}

/// Share of servers that have the tier. A server has one kind of host memory: what comes with its accelerator, else DDR. It has one
/// kind of drive, and no source says which. None of n accelerators comes with memory behind a link or with a disk, which
/// by the rule of succession is one in n + 2. It always has HBM, and a network.
fn fitted(row: &StorageTier, assumptions: &Assumptions) -> f64 {
    let on_offer: Vec<&str> = match assumptions.reference_accelerator() {
        Some(chosen) => vec![&chosen.id],
        None => accelerators()
            .iter()
            .filter(|chip| chip.weighed && chip.status == AcceleratorStatus::Shipping)
            .map(|chip| chip.id.as_str())
            .collect(),
    };
    let share = |ids: &[String]| {
        let with = on_offer
            .iter()
            .filter(|id| ids.iter().any(|with| with == *id));
        count_f64(with.count()) / count_f64(on_offer.len())
    };
    match row.tier {
        StorageKind::Dram if row.comes_with.is_empty() => {
            let others = storage_tiers().iter().map(|other| share(&other.comes_with));
            1.0 - others.sum::<f64>()
        }
        StorageKind::Dram => share(&row.comes_with),
        StorageKind::Flash => {
            let drives = storage_tiers()
                .iter()
                .filter(|other| other.tier == row.tier);
            1.0 / count_f64(drives.count())
        }
        StorageKind::Cxl | StorageKind::Disk => {
            let weighed = accelerators().iter().filter(|chip| chip.weighed).count();
            1.0 / (count_f64(weighed) + 2.0)
        }
        _ => 1.0,
    }
}

/// Bytes that one accelerator for prompts writes and loads, were the unknowns true.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// log of the bytes of fresh tokens per second over the day, `U·x·k_st·b_kv`.
    log_written: f64,
    /// log of the bytes that it computes per second at work, `x·k_st·b_kv`.
    log_computed: f64,
    /// log of the bytes of its own memory.
    log_memory: f64,
    /// log of the cost of a token's bytes at one USD per byte, over the cost of computing the token.
    pub log_bytes_per_usd: f64,
}

/// log of tokens that a price is for
const LOG_MTOK: f64 = 13.815_510_557_964_274;

impl Demand {
    /// x fresh tokens per second of one chip at work, and their cost, by the engine.
    #[must_use]
    pub fn of(unknowns: &Unknowns<'_>) -> Self {
        let machine = unknowns.machine;
        let log_bytes = unknowns.log_kv_bytes_stored + machine.log_kv_element_bytes;
        let log_chip_seconds = unknowns.log_prompt_chip_seconds();
        let log_computed = log_bytes - log_chip_seconds;
        let log_usd = unknowns.log_input_cost_of(log_chip_seconds) - LOG_MTOK;
        // No more than all day.
        let utilisation = unknowns.log_utilisation.min(0.0);
        Self {
            log_written: log_computed + utilisation,
            log_computed,
            log_memory: machine.log_capacity,
            log_bytes_per_usd: log_bytes - log_usd,
        }
    }
}

impl CacheTier {
    /// log of the fill time in seconds of what is attached to one accelerator; none where it is bought as needed.
    #[must_use]
    pub fn log_fill_time(&self, demand: &Demand) -> Option<f64> {
        let of_memory = if self.kind == StorageKind::Hbm {
            demand.log_memory
        } else {
            0.0
        };
        Some(self.log_fill? + of_memory - demand.log_written)
    }

    /// log of the time to load a token over the time to compute it again; none for what is in the accelerator's memory
    /// already.
    #[must_use]
    pub fn log_load_over_recompute(&self, demand: &Demand) -> Option<f64> {
        (self.kind != StorageKind::Hbm).then_some(demand.log_computed - self.log_bandwidth)
    }

    /// Probability that loading beats computing again.
    #[must_use]
    pub fn loads(&self, demand: &Demand) -> f64 {
        self.log_load_over_recompute(demand)
            .map_or(1.0, |log_ratio| normal_below(-log_ratio / LOAD_SD))
    }

    /// USD per byte that is written, kept for this long in all copies, and read once.
    fn cost(&self, time_s: f64) -> f64 {
        self.wear_usd_per_byte * self.copies
            + self.cost.hold_usd_per_byte_hour * self.copies * time_s / 3600.0
            + self.cost.read_usd_per_byte
    }
}

/// A cache offer as its tiers are weighed: its lifetime, and the share of fresh tokens that it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// Time for which the offer keeps a token.
    pub lifetime: Lifetime,
    /// `middle_s` of the lifetime.
    middle_s: f64,
    /// log of its shortest stay.
    log_least: Option<f64>,
    /// Mean and standard deviation of log of what the fill time is longer by than that of one accelerator.
    log_longer: (f64, f64),
}

impl Placement {
    /// `other_ways` are those in which a token can be billed besides this one. A token goes one of the ways, and no
    /// source has their shares: every division of the tokens among them is as probable (a flat Dirichlet distribution).
    /// The share s of one of 1 + n has E ln s = −Σ 1/i and Var ln s = Σ 1/i² over i = 1 … n.
    #[must_use]
    pub fn new(lifetime: Lifetime, other_ways: usize) -> Self {
        let ways = || (1..=other_ways).map(count_f64);
        let (pool_mean, pool_variance) = pooled();
        let mean = pool_mean + ways().map(|way| 1.0 / way).sum::<f64>();
        let variance = pool_variance
            + CAPACITY_SD * CAPACITY_SD
            + ways().map(|way| 1.0 / (way * way)).sum::<f64>();
        Self {
            lifetime,
            middle_s: lifetime.middle_s(),
            log_least: lifetime.at_least_s.map(ln),
            log_longer: (mean, variance.sqrt()),
        }
    }

    /// Relative probability of a tier: that it keeps a token as long as it must, that loading it beats computing it
    /// again, and over its cost. An operator takes what is cheapest for it; costs that are known up to a Gumbel
    /// distribution of scale 1 in the logarithm, a factor of 3.6, make a tier the cheapest in proportion to 1/cost.
    #[must_use]
    pub fn weight(&self, tier: &CacheTier, demand: &Demand) -> f64 {
        let log_fill = self.log_fill(tier, demand);
        let time_s = match log_fill {
            // What may be evicted is kept, and paid for, no longer than the tier takes to fill.
            Some(log_fill) if !self.lifetime.promised => {
                let least = self.lifetime.at_least_s.unwrap_or(0.0);
                self.middle_s.min(exp(log_fill).max(least))
            }
            _ => self.middle_s,
        };
        tier.fitted * self.keeps_at(log_fill) * tier.loads(demand) / tier.cost(time_s)
    }

    /// Probability that a tier keeps a token for the shortest stay.
    #[must_use]
    pub fn keeps(&self, tier: &CacheTier, demand: &Demand) -> f64 {
        self.keeps_at(self.log_fill(tier, demand))
    }

    fn keeps_at(&self, log_fill: Option<f64>) -> f64 {
        log_fill
            .zip(self.log_least)
            .map_or(1.0, |(log_fill, least)| {
                normal_below((log_fill - least) / self.log_longer.1)
            })
    }

    /// Mean of log of the fill time, with the storage of other accelerators and the share of tokens of this offer.
    fn log_fill(&self, tier: &CacheTier, demand: &Demand) -> Option<f64> {
        Some(tier.log_fill_time(demand)? + self.log_longer.0)
    }
}

/// Mean and variance of log of [`POOLED`].
fn pooled() -> (f64, f64) {
    let logs = POOLED.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / count_f64(logs.len());
    let squares = logs.iter().map(|log| (log - mean) * (log - mean));
    (mean, squares.sum::<f64>() / count_f64(logs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(id: &str) -> CacheTier {
        let tiers = cache_tiers(&Assumptions::default());
        tiers.into_iter().find(|tier| tier.id == id).unwrap()
    }

    /// DeepSeek V3 at two bytes per element on a chip that computes so many prompt tokens per second.
    fn deepseek_v3(tokens_per_second: f64) -> Demand {
        let log_written = f64::ln(70_272.0 * tokens_per_second);
        Demand {
            log_written,
            log_computed: log_written,
            log_memory: f64::ln(80e9),
            log_bytes_per_usd: 0.0,
        }
    }

    #[test]
    fn memory_fills_in_minutes_local_flash_in_hours_and_large_flash_in_a_day() {
        // Nodes of eight: 73,700 (DeepSeek's day) and 52,300 prompt tokens per second (LMSYS).
        let (fast, slow) = (deepseek_v3(73_700.0 / 8.0), deepseek_v3(52_300.0 / 8.0));
        let ranges = [
            ("host-dram", 60.0, 6.0, 9.0),
            ("flash-tlc", 3_600.0, 3.0, 5.0),
            ("flash-qlc", 3_600.0, 23.0, 38.0),
        ];
        for (id, unit_s, shortest, longest) in ranges {
            let fill = |demand| (tier(id).log_fill_time(demand).unwrap().exp() / unit_s).round();
            assert!(fill(&fast) >= shortest, "{id}: {}", fill(&fast));
            assert!(fill(&slow) <= longest, "{id}: {}", fill(&slow));
        }
        assert!(tier("flash-network").log_fill_time(&fast).is_none());
        // Loading beats computing again everywhere but on a disk.
        let load = |id: &str| {
            let log = tier(id).log_load_over_recompute(&fast);
            log.map_or(0.0, f64::exp)
        };
        assert!(load("host-dram") < 0.02 && load("flash-tlc") < 0.1);
        assert!(load("flash-network") < 0.1 && load("disk") > 1.0);
    }

    #[test]
    fn networked_flash_costs_what_drives_servers_and_copies_cost_and_not_what_a_cloud_asks() {
        let hold = |id: &str| tier(id).log_hold.exp();
        let ratio = hold("flash-network") / hold("flash-tlc");
        assert!((2.9..3.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_promise_excludes_a_tier_that_fills_faster_and_an_upper_limit_does_not() {
        let demand = deepseek_v3(73_700.0 / 8.0);
        let memory_over_flash = |lifetime: Lifetime| {
            let placement = Placement::new(lifetime, 0);
            placement.weight(&tier("host-dram"), &demand)
                / placement.weight(&tier("flash-tlc"), &demand)
        };
        let limit = Lifetime {
            at_most_s: Some(86_400.0),
            ..Lifetime::UNKNOWN
        };
        assert!(memory_over_flash(Lifetime::promise(300.0)) > 3.0);
        assert!(memory_over_flash(Lifetime::promise(86_400.0)) < 0.01);
        assert!(memory_over_flash(limit) > 1.0);
    }

    #[test]
    fn fewer_tokens_that_ask_for_it_are_kept_for_longer() {
        let demand = deepseek_v3(73_700.0 / 8.0);
        let weight = |ways| {
            Placement::new(Lifetime::promise(3_600.0), ways).weight(&tier("host-dram"), &demand)
        };
        assert!(weight(2) > 1.5 * weight(0), "{} {}", weight(2), weight(0));
    }

    #[test]
    fn a_server_has_one_kind_of_host_memory_and_one_kind_of_drive() {
        let fitted = |id: &str| tier(id).fitted;
        assert!((fitted("host-dram") + fitted("grace-lpddr") - 1.0).abs() < 1e-12);
        assert!((fitted("flash-tlc") + fitted("flash-qlc") - 1.0).abs() < 1e-12);
        assert!(fitted("grace-lpddr") > 0.0 && fitted("grace-lpddr") < fitted("host-dram"));
        assert!(fitted("cxl-dram") > 0.0 && fitted("cxl-dram") < 0.1);
    }
}

//! Caches kept outside the accelerators: time to the first token when they are loaded against computing them again,
//! costs of retrieving and holding, and the time to live at which each tier is cheapest.

use super::candidate::Candidate;
use crate::forward::HoldCost;
use crate::plan::answer::{CheapestTier, OffloadItem, Offloaded};
use crate::plan::question::request::Question;
use crate::reference::names::offered_tiers;
use crate::reference::{StorageKind, StorageTier};
use unroof_base::units::{Bytes, Seconds};

/// Longest time to live that is compared, in seconds: 30 days.
const LONGEST_S: f64 = 2_592_000.0;

/// The mean prompt of a plan as a prefix.
pub(crate) fn offload(question: &Question, best: Option<&Candidate<'_>>) -> OffloadItem {
    let prefix = question.load.input.mean();
    let Some(best) = best else {
        return OffloadItem {
            prefix_tokens: prefix,
            cache_bytes: None,
            tiers: Vec::new(),
            cheapest: Vec::new(),
        };
    };
    let prefill = best.prefill();
    let engine = &prefill.engine;
    let bytes = engine.cache_bytes(prefix);
    let pass = engine.pass(prefill.prompts, prefix, 0.0).total_s;
    let rent = engine.chip.usd_per_hour;
    let in_flight = prefill.servers();
    let recompute_usd = rent.map(|usd| usd * engine.chips() / 3_600.0 * pass / in_flight);
    let hbm_usd = rent.map(|usd| usd / engine.chip.capacity.0);
    let mut tiers = vec![Offloaded {
        id: "recompute".to_owned(),
        name: "computing it again".to_owned(),
        time_to_first_token_seconds: Some(Seconds(pass)),
        retrieve_usd: recompute_usd,
        hold_usd_per_hour: Some(0.0),
        break_even_uses_per_hour: None,
        pays_from_hit_rate: None,
    }];
    let chips = f64::from(engine.layout.tensor * engine.layout.pipeline);
    let id = &engine.chip.row.id;
    let has = |tier: &&StorageTier| tier.comes_with.is_empty() || tier.comes_with.contains(id);
    for tier in offered_tiers().filter(has) {
        let hold = if tier.id == StorageTier::HBM {
            hbm_usd
        } else {
            tier.hold_usd_per_byte_hour
        };
        let retrieve = tier.read_usd_per_byte.map(|usd| usd * bytes);
        let hold = hold.map(|usd| usd * bytes);
        let saved = recompute_usd
            .zip(retrieve)
            .map(|(again, load)| again - load);
        let uses = hold
            .zip(saved.filter(|saved| *saved > 0.0))
            .map(|(hold, saved)| hold / saved);
        tiers.push(Offloaded {
            id: tier.id.clone(),
            name: tier.name.clone(),
            time_to_first_token_seconds: load_s(
                tier,
                bytes,
                chips,
                engine.chip.scale_out.map(|link| link.0),
            ),
            retrieve_usd: retrieve,
            hold_usd_per_hour: hold,
            break_even_uses_per_hour: uses,
            pays_from_hit_rate: uses.map(|uses| uses / (1.0 + uses)),
        });
    }
    OffloadItem {
        prefix_tokens: prefix,
        cache_bytes: Some(Bytes(bytes)),
        cheapest: cheapest(&tiers),
        tiers,
    }
}

/// Time to load a cache by the chips of a prompt, each at the bandwidth it has to its device, and over its links where that is
/// across the network. A cache in HBM is there.
fn load_s(tier: &StorageTier, bytes: f64, chips: f64, link: Option<f64>) -> Option<Seconds> {
    if tier.tier == StorageKind::Hbm {
        return Some(Seconds(0.0));
    }
    let device = tier.accelerator_bandwidth_bytes_per_second?.0;
    let bandwidth = match tier.tier {
        StorageKind::NetworkedFlash | StorageKind::ObjectStorage => {
            link.map_or(device, |link| device.min(link))
        }
        _ => device,
    };
    Some(Seconds(bytes / (bandwidth * chips)))
}

/// The tiers with the least retrieve + hold·t, from t = 0 on.
fn cheapest(tiers: &[Offloaded]) -> Vec<CheapestTier> {
    let costs: Vec<(&str, HoldCost)> = tiers
        .iter()
        .filter_map(|tier| {
            let cost = HoldCost {
                read_usd_per_byte: tier.retrieve_usd?,
                hold_usd_per_byte_hour: tier.hold_usd_per_hour?,
            };
            Some((tier.id.as_str(), cost))
        })
        .collect();
    let order = |left: &&(&str, HoldCost), right: &&(&str, HoldCost)| {
        let (left, right) = (&left.1, &right.1);
        let reads = left.read_usd_per_byte.total_cmp(&right.read_usd_per_byte);
        reads.then(
            left.hold_usd_per_byte_hour
                .total_cmp(&right.hold_usd_per_byte_hour),
        )
    };
    let mut cheapest: Vec<CheapestTier> = Vec::new();
    let Some(mut now) = costs.iter().min_by(order) else {
        return cheapest;
    };
    let mut from = Seconds(0.0);
    loop {
        let next = costs
            .iter()
            .filter(|(_, cost)| cost.hold_usd_per_byte_hour < now.1.hold_usd_per_byte_hour)
            .map(|tier| (tier, now.1.boundary(&tier.1)))
            .filter(|(_, at)| at.0 <= LONGEST_S)
            .min_by(|left, right| left.1.0.total_cmp(&right.1.0));
        cheapest.push(CheapestTier {
            id: now.0.to_owned(),
            from_seconds: from,
            to_seconds: next.map(|(_, at)| at),
        });
        let Some((tier, at)) = next else {
            return cheapest;
        };
        (now, from) = (tier, at);
    }
}

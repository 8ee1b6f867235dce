//! The terms on which a simulated machine is offered: what `price_sheet` of a request states.

use super::hardware::Hardware;
use super::request::{MOST_TOKENS, Model};
use crate::calculator::inputs::{InputOrigin as Origin, InputUsed, Inputs, Number};
use crate::input::cursor::{Cursor, one_of_hint};
use crate::reference::{StorageTier, storage_tiers};
use std::cell::RefCell;

/// Longest context where no model says it.
const DEFAULT_LONGEST_CONTEXT: f64 = 1_048_576.0;
const DEFAULT_MARGIN: f64 = 0.5;
/// Standard batch over fast batch.
const DEFAULT_FAST_BATCH_RATIO: f64 = 4.0;
const DEFAULT_TTLS_SECONDS: [u32; 2] = [300, 3_600];
const MOST_THRESHOLDS: usize = 16;
const MOST_TTLS: usize = 16;
/// Sheets write tokens and seconds as whole numbers up to this.
const MOST_WHOLE: u32 = 2_147_483_647;

/// The terms.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// `μ_in`
    pub(super) input_margin: f64,
    /// `μ_out`
    pub(super) output_margin: f64,
    /// Prompt lengths above which prices step up, ascending.
    pub(super) thresholds: Vec<u32>,
    /// Longest prompt.
    pub(super) longest: u32,
    /// Standard batch over that of the fast mode.
    pub(super) fast_batch_ratio: f64,
    /// Times to live of cache offers, ascending.
    pub(super) ttls_seconds: Vec<u32>,
    /// Where the offered cache lives; the cheapest for the longest time to live if not stated.
    pub(super) cache_tier: Option<&'static StorageTier>,
    /// Bandwidth per chip of the path that loads a cache.
    pub(super) load_path_bytes_per_second: Option<f64>,
}

/// Storage tiers that a cache can be offered on: what holding and reading a byte costs is known.
pub fn offered_tiers() -> impl Iterator<Item = &'static StorageTier> {
    storage_tiers().iter().filter(|tier| {
        tier.id != StorageTier::HBM_COMPONENT
            && tier.hold_usd_per_byte_hour.is_some()
            && tier.read_usd_per_byte.is_some()
    })
}

pub(super) fn read_offer(
    object: &Cursor<'_>,
    model: Option<&Model>,
    hardware: Option<&Hardware>,
    used: &RefCell<Vec<InputUsed>>,
) -> Option<Offer> {
    let inputs = Inputs::of("price_sheet.", Some(object), used);
    let margin = |name| {
        let range = -9.0..=0.999;
        inputs.number(
            &Number {
                name,
                unit: "",
                range,
            },
            DEFAULT_MARGIN,
        )
    };
    let (input_margin, output_margin) = (margin("input_margin"), margin("output_margin"));
    let longest = inputs.number_or_none(
        &Number {
            name: "longest_context_tokens",
            unit: "tokens",
            range: 1.0..=MOST_TOKENS,
        },
        Some(match model.and_then(|model| model.longest_context) {
            Some(tokens) => (tokens, Origin::Reference),
            None => (DEFAULT_LONGEST_CONTEXT, Origin::Default),
        }),
    );
    let thresholds = read_ascending(&inputs, "thresholds_tokens", MOST_THRESHOLDS, &[]);
    let ttls = read_ascending(
        &inputs,
        "cache_ttls_seconds",
        MOST_TTLS,
        &DEFAULT_TTLS_SECONDS,
    );
    let fast_batch_ratio = inputs.number(
        &Number {
            name: "fast_mode_batch_ratio",
            unit: "",
            range: 1.0..=1e6,
        },
        DEFAULT_FAST_BATCH_RATIO,
    );
    let fields = inputs.fields.as_ref()?;
    let cache_tier = fields.optional("cache_storage_tier", read_tier);
    let scale_out = hardware.and_then(|hardware| hardware.machine.scale_out);
    let load_path = Number {
        name: "load_path_bytes_per_second",
        unit: "B/s",
        range: 1.0..=1e18,
    };
    let load_path = inputs.number_or_none(
        &load_path,
        scale_out.map(|link| (link.0, Origin::Reference)),
    );
    inputs.refuse_unknown();
    let (thresholds, longest) = (thresholds?, longest?);
    if let Some(last) = thresholds.last()
        && f64::from(*last) >= longest
    {
        inputs.fault(
            "thresholds_tokens",
            format!("the threshold {last} is not below the longest context {longest}"),
            "state thresholds below `longest_context_tokens`",
        );
        return None;
    }
    Some(Offer {
        input_margin: input_margin?,
        output_margin: output_margin?,
        thresholds,
        longest: whole(longest),
        fast_batch_ratio: fast_batch_ratio?,
        ttls_seconds: ttls?,
        cache_tier: cache_tier.ok()?,
        load_path_bytes_per_second: load_path,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and a billion"
)]
fn whole(tokens: f64) -> u32 {
    tokens.floor() as u32
}

fn read_ascending(
    inputs: &Inputs<'_>,
    name: &'static str,
    most: usize,
    other: &[u32],
) -> Option<Vec<u32>> {
    let Some(field) = inputs.stated(name) else {
        return Some(other.to_vec());
    };
    let count = field.items()?.len();
    let values = field.list_of(|item| item.whole_number(1..=MOST_WHOLE))?;
    if values.len() < count {
        return None;
    }
    if count > most || !values.is_sorted_by(|left, right| left < right) {
        field.fault(
            format!("{count} values that do not rise, or too many of them"),
            format!("list up to {most} values, each above the one before"),
        );
        return None;
    }
    Some(values)
}

fn read_tier(field: &Cursor<'_>) -> Option<&'static StorageTier> {
    let id = field.name()?;
    let found = offered_tiers().find(|tier| tier.id == id);
    if found.is_none() {
        let known: Vec<&str> = offered_tiers().map(|tier| tier.id.as_str()).collect();
        field.fault(
            format!("`{id}` is not a storage tier whose costs are known"),
            one_of_hint(&id, &known),
        );
    }
    found
}

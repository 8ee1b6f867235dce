//! The terms of an offer: the section `price_sheet` of a request.

use std::ops::RangeInclusive;

use super::hardware::Hardware;
use crate::calculator::inputs::{InputOrigin as Origin, Inputs, MOST};
use crate::calculator::scenario::Model;
use crate::calculator::scenario::load::MOST_CONTEXT;
use crate::reference::StorageTier;
use crate::reference::names::{OfferedTierId, offered_tiers};
use unroof_base::input::body::{List, Stated, body, number, optional, value};

/// Longest context if the model states none.
const DEFAULT_LONGEST_CONTEXT: f64 = 1_048_576.0;

/// Sheets write tokens and seconds as whole numbers up to this.
const MOST_WHOLE: u32 = 2_147_483_647;
/// Margins of a price.
const MARGINS: RangeInclusive<f64> = -9.0..=0.999;

body! {
    /// The terms of an offer.
    pub struct SimulatedOffer {
        /// `μ_in`: price = cost/(1 − μ).
        input_margin: Stated<f64> = number(MARGINS).or(0.5),
        /// `μ_out`: margin on generated tokens.
        output_margin: Stated<f64> = number(MARGINS).or(0.5),
        /// Prompt lengths above which prices step up, ascending.
        thresholds_tokens: Stated<Vec<u32>> = value(List::of(1..=MOST_WHOLE, 0..=16).rising()).example([32_000]),
        /// Longest prompt; the model's longest context if left out, else 1,048,576.
        longest_context_tokens: Stated<f64> = number(1.0..=MOST_CONTEXT).unit("tokens"),
        /// Standard batch over that of a fast mode; 1 offers none.
        fast_mode_batch_ratio: Stated<f64> = number(1.0..=1e6).or(4.0),
        /// Times to live of cache offers, ascending.
        cache_ttls_seconds: Stated<Vec<u32>> =
            value(List::of(1..=MOST_WHOLE, 0..=16).rising()).or(vec![300, 3_600]),
        /// Id of `/reference/storage-tiers`; the cheapest for the longest time to live if left out.
        cache_storage_tier: Option<&'static str> = optional(value(OfferedTierId)),
        /// Bandwidth per chip of the path that loads a cache; the scale-out link if left out.
        load_path_bytes_per_second: Stated<f64> = number(1.0..=MOST).unit("B/s"),
    }
}

/// Terms of the implied price sheet.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// `μ_in`: margin on prompt tokens.
    pub(super) input_margin: f64,
    /// `μ_out`: margin on generated tokens.
    pub(super) output_margin: f64,
    /// Prompt lengths above which prices step up, ascending.
    pub(super) thresholds: Vec<u32>,
    /// Longest prompt, in tokens.
    pub(super) longest: u32,
    /// Standard batch over that of the fast mode.
    pub(super) fast_batch_ratio: f64,
    /// Times to live of cache offers, ascending.
    pub(super) ttls_seconds: Vec<u32>,
    /// Storage tier of the offered cache; the cheapest for the longest time to live if not stated.
    pub(super) cache_tier: Option<&'static StorageTier>,
    /// Bandwidth per chip of the path that loads a cache.
    pub(super) load_path_bytes_per_second: Option<f64>,
}

pub(super) fn fill_offer(
    stated: &SimulatedOffer,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
    hardware: Option<&Hardware>,
) -> Option<Offer> {
    let input_margin = inputs.or_default(&stated.input_margin);
    let output_margin = inputs.or_default(&stated.output_margin);
    let longest = match model.and_then(|model| model.longest_context) {
        Some(tokens) => (tokens, Origin::Reference),
        None => (DEFAULT_LONGEST_CONTEXT, Origin::Default),
    };
    let longest = inputs.or_else(&stated.longest_context_tokens, Some(longest));
    let fast_batch_ratio = inputs.or_default(&stated.fast_mode_batch_ratio);
    let scale_out = hardware.and_then(|hardware| hardware.machine.scale_out);
    let load_path = inputs.or_else(
        &stated.load_path_bytes_per_second,
        scale_out.map(|link| (link.0, Origin::Reference)),
    );
    let thresholds = stated.thresholds_tokens.list()?;
    let longest = longest?;
    if let Some(last) = thresholds.last()
        && f64::from(*last) >= longest
    {
        inputs.fault(
            &stated.thresholds_tokens,
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
        ttls_seconds: stated.cache_ttls_seconds.list()?,
        cache_tier: (stated.cache_storage_tier)
            .and_then(|id| offered_tiers().find(|tier| tier.id == id)),
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

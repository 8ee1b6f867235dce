//! What catalogs have in common: names, thresholds, known slips, and when an entry says enough.

use serde_json::Value;

use super::entry::Entry;
use super::{ContextTier, JsonObject, PriceSheet, RateCell};
use crate::input::cursor::{Cursor, LONGEST_NAME};
use crate::input::json::Json;
use crate::units::Decimal;

/// Whether a text can name an offer.
pub(super) fn is_name(text: &str) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= LONGEST_NAME
        && !text.chars().any(char::is_control)
}

/// The tier that begins at a threshold. A catalog that knows only "more than" writes 199,999, and one that knows only
/// "from" writes 200,001, where the provider has 200,000 tokens or more.
pub(super) fn context_tier(threshold: u32) -> ContextTier {
    let (min_prompt_tokens, inclusive) = match threshold % 1_000 {
        999 => (threshold + 1, true),
        1 => (threshold - 1, true),
        _ => (threshold, false),
    };
    ContextTier {
        min_prompt_tokens,
        inclusive: inclusive && min_prompt_tokens > 0,
    }
}

/// Five minutes of a storage fee stand as a write cheaper than input: twelve of them are the fee per hour.
pub(super) fn undo_misfiled_storage(rates: &mut [RateCell]) -> bool {
    let mut undone = false;
    for rate in rates {
        let Some(input) = &rate.input else { continue };
        let misfiled = rate
            .cache_write
            .iter()
            .position(|write| write.price < *input);
        let Some(place) = misfiled else { continue };
        let write = rate.cache_write.remove(place);
        if let Ok((fee, _)) = Decimal::from_catalog(&write.price.to_string(), 12) {
            rate.cache_storage_per_hour = Some(fee);
            undone = true;
        }
    }
    undone
}

/// Records a fault of the entry as a whole, unless one of its values is already at fault. `other_prices` names the prices
/// that are none of tokens.
pub(super) fn is_usable(
    cursor: &Cursor<'_>,
    entry: &Entry<'_>,
    rates: &[RateCell],
    other_prices: &[&str],
) -> bool {
    if entry.has_faults() {
        return false;
    }
    if rates.len() > PriceSheet::MOST_RATE_CELLS {
        cursor.fault(
            format!("the entry has {} rate cells", rates.len()),
            format!("write up to {} rate cells", PriceSheet::MOST_RATE_CELLS),
        );
        return false;
    }
    if !rates.iter().any(RateCell::prices_tokens) {
        cursor.fault(
            format!("the entry has no token price{}", listed(other_prices)),
            "write the price of a token, in the unit and under the names of the catalog",
        );
        return false;
    }
    true
}

fn listed(names: &[&str]) -> String {
    const MOST_NAMES: usize = 6;
    const LONGEST_NAME_SHOWN: usize = 60;
    if names.is_empty() {
        return ", nor any other price".to_owned();
    }
    let shown = names
        .iter()
        .take(MOST_NAMES)
        .map(|name| name.chars().take(LONGEST_NAME_SHOWN).collect::<String>());
    let more = if names.len() > MOST_NAMES {
        " and more"
    } else {
        ""
    };
    format!(
        "; it is priced by {}{more}",
        shown.collect::<Vec<_>>().join(", ")
    )
}

/// A whole number up to 2³¹ − 1; `6144.0` is whole.
pub(super) fn whole_number(json: &Json) -> Option<u32> {
    let Json::Number(written) = json else {
        return None;
    };
    let number: f64 = written.parse().ok()?;
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^31 - 1"
    )]
    is_whole.then_some(number as u32)
}

/// The fields of an object written in code.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}

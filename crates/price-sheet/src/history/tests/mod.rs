//! The rules of histories: by example, and at every time.

mod examples;
mod rules;
mod sources;

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Observation, SourceRank};
use crate::sheet::compare::Cells;
use crate::sheet::{ContextTier, PriceSheet, RateCell};

fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// Cells by service tier, threshold, and prices of input, output and cache reads; 0 for those that are not stated.
fn cells(rates: &[(&str, u32, [u32; 3])]) -> Arc<Cells> {
    let rate = |(tier, min_prompt_tokens, prices): &(&str, u32, [u32; 3])| {
        let threshold = ContextTier {
            min_prompt_tokens: *min_prompt_tokens,
            inclusive: false,
        };
        let mut rate = RateCell::new(tier, threshold, None);
        let [input, output, cache_read] =
            prices.map(|price| Some(price.to_string().parse().unwrap()).filter(|_| price > 0));
        (rate.input, rate.output, rate.cache_read) = (input, output, cache_read);
        rate
    };
    let rates = rates.iter().map(rate).collect();
    Arc::new(Cells::of(&PriceSheet::new("acme", "m", rates)))
}

fn with_cells(observation: Observation, cells: Arc<Cells>) -> Observation {
    Observation {
        cells,
        ..observation
    }
}

/// A sheet of a catalog, seen on these days. Its prices are its number.
fn listed(source: &str, sheet: u32, first: i64, last: i64) -> Observation {
    Observation {
        sheet_id: id(u128::from(sheet)),
        price_id: id(u128::from(sheet)),
        source: source.to_owned(),
        source_rank: SourceRank::Catalog,
        valid_from: None,
        valid_to: None,
        first_at: day(first),
        last_at: day(last),
        next_at: None,
        is_sellers_own: false,
        is_misfit: false,
        states_limits: false,
        cells: cells(&[("standard", 0, [sheet, 0, 0])]),
        input_price: Some(f64::from(sheet)),
        output_price: None,
    }
}

fn since(observation: Observation, start: i64) -> Observation {
    Observation {
        valid_from: Some(day(start)),
        ..observation
    }
}

fn gone(observation: Observation, next: i64) -> Observation {
    Observation {
        next_at: Some(day(next)),
        ..observation
    }
}

fn posted(sheet: u32, at: i64) -> Observation {
    Observation {
        source_rank: SourceRank::Sheet,
        ..listed("posted", sheet, at, at)
    }
}

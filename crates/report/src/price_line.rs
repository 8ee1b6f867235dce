//! The prices of a token that a chart can show.

use unroof_base::units::Decimal;
use unroof_infer::estimate::serving::{CostAt, Serving};
use unroof_price_sheet::sheet::RateCell;

/// A price of a token that a chart can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceLine {
    /// Price of a fresh prompt token.
    Input,
    /// Price of a prompt token found in a cache.
    CacheRead,
    /// Price of a generated token.
    Output,
}

impl PriceLine {
    /// Every line, as pages show them.
    pub const ALL: [Self; 3] = [Self::Output, Self::Input, Self::CacheRead];

    /// The lines whose costs follow from the machine.
    pub const WITH_COSTS: [Self; 2] = [Self::Output, Self::Input];

    /// Name of the line in addresses and in sheets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::Output => "output",
        }
    }

    /// Name of its tokens in a sentence.
    #[must_use]
    pub fn tokens(self) -> &'static str {
        match self {
            Self::Input => "input tokens",
            Self::CacheRead => "cached input tokens",
            Self::Output => "output tokens",
        }
    }

    pub(crate) fn price(self, rate: &RateCell) -> Option<&Decimal> {
        match self {
            Self::Input => rate.input.as_ref(),
            Self::CacheRead => rate.cache_read.as_ref(),
            Self::Output => rate.output.as_ref(),
        }
    }

    /// Costs of the token over the length of its context; empty for a cached token, which costs its storage.
    pub(crate) fn costs(self, serving: &Serving) -> &[CostAt] {
        match self {
            Self::Input => &serving.input,
            Self::CacheRead => &[],
            Self::Output => &serving.output,
        }
    }
}

//! Cells of token prices of a sheet.

use super::fields::{MOST_COUNT, MOST_RATE_CELLS, source_index};
use unroof_base::input::body::document::{
    choice, choices, decimal, document, filled, maybe, name, or_null, part,
};
use unroof_base::input::body::{List, Object, Truth, count, object, plain, value};
use unroof_base::units::Decimal;

document! {
    /// Prices for one service tier, context tier and schedule, each in the sheet's currency per million tokens.
    #[derive(Default, PartialEq)]
    pub struct RateCell {
        /// Name of the service tier.
        service_tier: String = part(value(name()).or(Self::STANDARD.to_owned())),
        /// Prompt length from which the prices apply.
        context_tier: ContextTier = part(value(object()).or_written(ContextTier::default(), |_| serde_json::json!({"min_prompt_tokens": 0}))),
        /// Name of the schedule; left out for all times without a schedule.
        schedule: Option<String> = maybe(name()),
        /// Price of fresh prompt tokens.
        input: Option<Decimal> = maybe(decimal()),
        /// Price of generated tokens.
        output: Option<Decimal> = maybe(decimal()),
        /// Reasoning tokens, if priced separately.
        reasoning: Option<Decimal> = maybe(decimal()),
        /// Prompt tokens found in the cache.
        cache_read: Option<Decimal> = maybe(decimal()),
        /// Prompt tokens found in an explicit cache, if cheaper than in an implicit one.
        cache_read_explicit: Option<Decimal> = maybe(decimal()),
        /// Tokens written to the cache: the full price, by time to live.
        cache_write: Vec<CacheWrite> = filled(List::entries(object()).distinct(
            |one: &CacheWrite, other| one.ttl_seconds == other.ttl_seconds,
            ["a second price for the same time to live", "keep one price per `ttl_seconds`"],
        )),
        /// Price per million tokens held for one hour.
        cache_storage_per_hour: Option<Decimal> = maybe(decimal()),
        /// Whether the source states these prices or they were computed from others; only stated ones are evidence.
        basis: Basis = part(value(choice()).or_default()),
        /// Index of the cell's source in `sources`.
        source: Option<u32> = maybe(source_index()),
    }

    /// The prompt lengths a cell is for.
    #[derive(Copy, Default, PartialEq, Eq)]
    pub struct ContextTier {
        /// Threshold in prompt tokens.
        min_prompt_tokens: u32 = plain(count(0..=MOST_COUNT).hint("write the threshold in prompt tokens, such as 200000")),
        /// Whether a prompt of exactly the threshold is in the tier.
        inclusive: bool = part(value(Truth).or_default()),
    }

    /// Price of a token written to the cache.
    #[derive(PartialEq, Eq)]
    pub struct CacheWrite {
        /// Time to live; null where it is not published.
        ttl_seconds: Option<u32> = or_null(1..=MOST_COUNT),
        /// Full price of a written token, not a surcharge.
        price: Decimal = plain(value(decimal()).hint("write the full price of a written token")),
    }
}

impl RateCell {
    /// The rates of a sheet: one for each service tier, context tier and schedule.
    pub(super) fn list() -> List<Object<Self>> {
        List::of(object::<Self>(), 1..=MOST_RATE_CELLS)
            .called("rate cells")
            .distinct(
                |one, other| one.key() == other.key(),
                [
                    "a second cell for the same service tier, context tier and schedule",
                    "merge the two cells, or distinguish them by service_tier, context_tier.min_prompt_tokens or schedule",
                ],
            )
    }

    /// Service tier of a cell that names none.
    pub const STANDARD: &'static str = "standard";

    /// An empty cell of a service tier, context tier and schedule.
    #[must_use]
    pub fn new(service_tier: &str, context_tier: ContextTier, schedule: Option<&str>) -> Self {
        Self {
            service_tier: service_tier.to_owned(),
            context_tier,
            schedule: schedule.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Key that identifies a cell in its sheet and defines the order: standard and unscheduled cells first.
    #[must_use]
    pub fn key(&self) -> (bool, &str, Option<&str>, u32) {
        let tier = self.service_tier.as_str();
        (
            tier != Self::STANDARD,
            tier,
            self.schedule.as_deref(),
            self.context_tier.min_prompt_tokens,
        )
    }

    /// The prices other than those of cache writes.
    pub(super) fn single_prices(&mut self) -> [&mut Option<Decimal>; 6] {
        [
            &mut self.input,
            &mut self.output,
            &mut self.reasoning,
            &mut self.cache_read,
            &mut self.cache_read_explicit,
            &mut self.cache_storage_per_hour,
        ]
    }

    /// The prices by meter.
    pub(crate) fn prices(&self) -> Vec<(String, &Decimal)> {
        let single = [
            ("input", &self.input),
            ("output", &self.output),
            ("reasoning", &self.reasoning),
            ("cache read", &self.cache_read),
            ("explicit cache read", &self.cache_read_explicit),
            ("cache storage", &self.cache_storage_per_hour),
        ];
        let single = single
            .into_iter()
            .filter_map(|(name, price)| Some((name.to_owned(), price.as_ref()?)));
        let writes = self.cache_write.iter().map(|write| {
            let name = match write.ttl_seconds {
                Some(seconds) => format!("cache write for {seconds} s"),
                None => "cache write".to_owned(),
            };
            (name, &write.price)
        });
        single.chain(writes).collect()
    }

    /// Whether the cell prices any token at all.
    #[must_use]
    pub fn prices_tokens(&self) -> bool {
        self.input.is_some()
            || self.output.is_some()
            || self.cache_read.is_some()
            || !self.cache_write.is_empty()
    }
}

choices! {
    /// Whether a price is in the source.
    #[derive(Default)]
    pub enum Basis {
        /// The source states the price.
        #[default]
        Stated = "stated",
        /// The price was computed.
        Computed = "computed",
    }
}

//! Price sheet of one offer: prices per cell, limits and sources.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use super::fields::{
    MOST_COUNT, currency, day, ends_after_start, refers_within_sheet, timestamp, verbatim,
};
use super::{
    CapacityOffer, EvidenceItem, JsonObject, Modifier, OtherMeter, RateCell, Schedule, ServiceTier,
    Source,
};
use unroof_base::input::body::document::{
    choice, choices, document, filled, maybe, name, or_null, part, text,
};
use unroof_base::input::body::{List, MapOf, object, plain, value};

document! {
    /// One provider's offer of one model in one region over one validity interval.
    ///
    /// Prices are exact decimals in `currency` per million tokens, written as strings. Absent means not published; "0"
    /// means stated free.
    #[derive(Default, PartialEq)]
    #[check(ends_after_start(valid_from, valid_to))]
    #[check(refers_within_sheet(rates))]
    pub struct PriceSheet {
        /// Version of the schema, `pricesheet/v1`.
        schema: SchemaName = plain(value(choice()).hint("write \"schema\": \"pricesheet/v1\"")),
        /// Billing provider: anthropic, amazon-bedrock, openrouter, ...
        provider: String = plain(value(name()).hint("name the billing provider, such as \"anthropic\"")),
        /// Serving provider, if a router bills.
        upstream_provider: Option<String> = maybe(name()),
        /// Model id as the provider spells it.
        model: String = plain(value(name()).hint("name the model as the provider spells it")),
        /// Canonical name, `author/model`, the same at all hosts of a model.
        canonical_model: Option<String> = maybe(name()),
        /// Day on which the model was released.
        released: Option<Date> = maybe(day()),
        /// Other ids of the same offer.
        aliases: Vec<String> = filled(List::entries(name())),
        /// Region in which the model is served.
        region: String = part(value(name()).or(Self::DEFAULT_REGION.to_owned())),
        /// Quantization of the served weights, if stated.
        quantization: Option<String> = maybe(name()),
        /// Currency as an ISO 4217 code.
        currency: String = plain(value(currency()).hint("write an ISO 4217 code such as \"USD\"")),
        /// Unit of all prices, `per_1m_tokens`.
        unit: Unit = plain(value(choice()).hint("write \"unit\": \"per_1m_tokens\"")),
        /// Inclusive start of validity; null if unknown.
        valid_from: Option<Timestamp> = or_null(timestamp()).example("2026-01-01T00:00:00Z"),
        /// Exclusive end of validity; null if open.
        valid_to: Option<Timestamp> = or_null(timestamp()).example("2027-01-01T00:00:00Z"),
        /// Day from which the offer is no longer sold, if it is announced. It is not a part of the prices: they hold while the offer
        /// is listed.
        retires_at: Option<Timestamp> = maybe(timestamp()).example("2027-03-30T00:00:00Z"),
        /// `deprecated` where the offer is to be retired, at `retires_at` or at a time that is not stated.
        status: Option<OfferStatus> = maybe(choice()),
        /// Token limits of the offer.
        limits: Limits = filled(object()),
        /// Whether a context tier reprices the whole request or only the tokens above the threshold.
        context_tier_semantics: ContextTierSemantics = part(value(choice()).or_default()),
        /// Tokens counted against a context threshold.
        context_tier_measure: ContextTierMeasure = part(value(choice()).or_default()),
        /// Billing of cache writes.
        cache_write_billing: CacheWriteBilling = part(value(choice()).or_default()),
        /// Times of day and week at which other rates apply, by name.
        schedules: BTreeMap<String, Schedule> = filled(MapOf(object())),
        /// Service tiers, by name.
        service_tiers: BTreeMap<String, ServiceTier> = filled(MapOf(object())),
        /// Prices of the offer, a cell per set of conditions.
        rates: Vec<RateCell> = plain(value(RateCell::list()).hint("list at least one rate cell, such as {\"input\": \"1.25\", \"output\": \"10\"}")),
        /// Public facts about the model beside its prices; they are not a part of the pricing content.
        evidence: Vec<EvidenceItem> = filled(List::entries(object())),
        /// Factors that apply to many prices at once.
        modifiers: Vec<Modifier> = filled(List::entries(object())),
        /// Prices other than for text tokens.
        other_meters: Vec<OtherMeter> = filled(List::entries(object())),
        /// Units sold by the hour, and the tokens that they are promised to serve.
        capacity_offers: Vec<CapacityOffer> = filled(CapacityOffer::list()),
        /// Publications of the prices.
        sources: Vec<Source> = filled(Source::list()).hint("say where the prices were published: [{\"url\": \"…\", \"format\": \"official\"}]"),
        /// Remarks for a reader.
        notes: Vec<String> = filled(List::entries(text())),
        /// Source fields without a field above, unchanged.
        unmapped: JsonObject = filled(verbatim()),
    }

    /// Token limits of an offer.
    #[derive(Default, PartialEq, Eq)]
    pub struct Limits {
        /// Limit of prompt and answer together, in tokens.
        context: Option<u32> = maybe(1..=MOST_COUNT),
        /// Limit of the prompt, in tokens.
        max_input: Option<u32> = maybe(1..=MOST_COUNT),
        /// Limit of the answer, in tokens.
        max_output: Option<u32> = maybe(1..=MOST_COUNT),
        /// Shortest cacheable prefix, in tokens.
        cache_min_tokens: Option<u32> = maybe(1..=MOST_COUNT),
    }
}

impl PriceSheet {
    /// Region of an offer that names none.
    pub const DEFAULT_REGION: &'static str = "global";

    /// A sheet in US dollars with these prices and nothing else.
    #[must_use]
    pub fn new(provider: &str, model: &str, rates: Vec<RateCell>) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            region: Self::DEFAULT_REGION.to_owned(),
            currency: "USD".to_owned(),
            rates,
            ..Self::default()
        }
    }

    /// The base prices: standard, unscheduled, for the shortest prompts.
    #[must_use]
    pub fn base_rate(&self) -> Option<&RateCell> {
        let is_base =
            |rate: &&RateCell| rate.service_tier == RateCell::STANDARD && rate.schedule.is_none();
        self.rates
            .iter()
            .filter(is_base)
            .min_by_key(|rate| rate.context_tier.min_prompt_tokens)
    }
}

choices! {
    /// The name of the format.
    #[derive(Default)]
    pub enum SchemaName {
        /// Version 1 of the schema.
        #[default]
        V1 = "pricesheet/v1",
    }

    /// Unit of all prices.
    #[derive(Default)]
    pub enum Unit {
        /// Prices are per one million tokens.
        #[default]
        PerMillionTokens = "per_1m_tokens",
    }

    /// State of an offer that its seller has announced.
    pub enum OfferStatus {
        /// The offer is to be retired.
        Deprecated = "deprecated",
    }

    /// Whether a context tier reprices the whole request.
    #[derive(Default)]
    pub enum ContextTierSemantics {
        /// All tokens of a request beyond the threshold.
        #[default]
        WholeRequest = "whole_request",
        /// Only the tokens above the threshold.
        Marginal = "marginal",
        /// The source does not say it.
        Unknown = "unknown",
    }

    /// Tokens counted against a context threshold.
    #[derive(Default)]
    pub enum ContextTierMeasure {
        /// Uncached input, cache reads and cache writes.
        #[default]
        PromptTokens = "prompt_tokens",
        /// Tokens of the prompt and the answer.
        PromptPlusOutputTokens = "prompt_plus_output_tokens",
        /// Tokens of a whole session.
        Session = "session",
        /// The source does not say it.
        Unknown = "unknown",
    }

    /// Billing of cache writes.
    #[derive(Default)]
    pub enum CacheWriteBilling {
        /// Cache writes are billed at a separate price.
        Priced = "priced",
        /// Cache writes are billed at the input rate.
        AsInput = "as_input",
        /// The source does not say it.
        #[default]
        NotPublished = "not_published",
    }
}

//! The price sheet that a machine implies at a margin, and what reading it gives back.
//!
//! Prices follow the rooflines that the readings take: E1 with every weight read, E16, and the cost of keeping a byte.
//! Exchanges between chips and waiting between kernels are no part of those equations; what they cost is stated beside
//! the sheet instead of hidden in it.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Question;
use super::offer::{Offer, offered_tiers};
use crate::reference::StorageTier;
use crate::roofline::{KeepingCost, PromptTokens, crossover_context};
use crate::sheet::{
    CacheWrite, CacheWriteBilling, ContextTier, Limits, PriceSheet, RateCell, SchemaName,
    ServiceTier, Source, SourceFormat, SpeedMetric, SpeedMultiplier, Unit,
};
use crate::units::{BytesPerToken, Decimal, Seconds};

const FAST: &str = "fast";
const MILLION: f64 = 1e6;

/// A price sheet, and what it reveals of the machine that it was made from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ImpliedSheet {
    /// Body for `POST /infer`: the sheet, and what of the machine is to be stated to read it.
    pub infer_request: ReadingRequest,
    /// What the readings of that request give, and what the machine has.
    pub reads_back: Vec<ReadBack>,
    /// Cache offers on every storage tier whose costs are known; the sheet has those of one tier.
    pub cache_offers: Vec<CacheOffer>,
    /// Storage tier of the sheet's cache offers.
    pub cache_storage_tier: Option<&'static str>,
    /// What a token costs here beyond the rooflines that the prices follow, at the operating point.
    pub beyond_rooflines: BeyondRooflines,
}

/// A body for `POST /infer`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadingRequest {
    /// The sheet.
    pub price_sheet: PriceSheet,
    /// What is stated.
    #[schema(value_type = Object)]
    pub assumptions: Value,
}

/// A reading of the implied sheet.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadBack {
    /// Id of the reading.
    #[schema(example = "output_multiplier_cover")]
    pub reading: &'static str,
    /// The detail of it that is meant, where it is not its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
    /// Prompt tokens above which the cell that is read applies.
    pub min_prompt_tokens: u32,
    /// What is read, in a symbol.
    #[schema(example = "x = L0·B*/B")]
    pub quantity: &'static str,
    /// What the machine has; the reading gives it back.
    pub value: f64,
}

/// A cache offer on one storage tier.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CacheOffer {
    /// Id of the storage tier.
    pub storage_tier: &'static str,
    /// Time to live.
    pub ttl_seconds: u32,
    /// Writing a token: computing it, holding it for that long, reading it once.
    pub write_usd_per_mtok: f64,
    /// Loading a token into HBM over the load path.
    pub read_usd_per_mtok: Option<f64>,
    /// Holding a token for an hour.
    pub storage_usd_per_mtok_hour: f64,
    /// Whether no other tier holds and reads it for less.
    pub is_cheapest: bool,
}

/// What the prices leave out.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BeyondRooflines {
    /// Simulated cost of a prompt token over the rooflines' alone.
    pub input_cost_factor: f64,
    /// Simulated cost of a generated token over the rooflines' alone.
    pub output_cost_factor: f64,
    /// Why.
    pub note: &'static str,
}

/// Why there is no sheet.
pub(super) const NO_RENTAL: &str =
    "the accelerator has no published rental: state `machine.rental_usd_per_hour`";
const NO_DECIMAL: &str =
    "a price is too large to be written on a sheet: a million million and more";
const BEYOND: &str = "prices follow E1 with every weight read, and E16, as the readings do; exchanges, memory traffic \
                      per token, waiting between kernels, experts no token of a step goes to and attention's overlap \
                      are not in them";

/// Costs as the readings take them.
struct Costs<'a> {
    question: &'a Question,
    covers_attention: bool,
    /// R
    rent_usd_per_second: f64,
}

impl Costs<'_> {
    /// Time of a decode step, by what must pass through memory: fixed, and in proportion to the batch.
    fn memory_s(&self, batch: f64, context: f64) -> f64 {
        let question = self.question;
        let fixed = question.precision.weights * question.model.architecture.total_parameters;
        (fixed + batch * question.kv_bytes_per_sequence(context))
            / (question.reached.efficiencies.decode_bandwidth * question.unit().bandwidth.0)
    }

    fn compute_s(&self, batch: f64, context: f64) -> f64 {
        let question = self.question;
        let weights =
            question.model.architecture.active_parameters / question.unit().multiply_rate.0;
        let attention =
            question.cache.decode_macs(context) / question.unit().attention_multiply_rate.0;
        batch * question.load.speculation.computed() * (weights + attention)
            / question.reached.efficiencies.decode_compute
    }

    /// E5 with E1, per accepted token.
    fn output_usd(&self, batch: f64, context: f64) -> f64 {
        let step_s = self
            .memory_s(batch, context)
            .max(self.compute_s(batch, context));
        self.rent_usd_per_second * step_s / batch / self.question.load.speculation.accepted
    }

    fn is_memory_bound(&self, batch: f64, context: f64) -> bool {
        self.memory_s(batch, context) >= self.compute_s(batch, context)
    }

    /// Multiply-adds of a prompt token that its price covers: in the mean over a prompt, `N_a` + a·S/2.
    fn prompt_macs(&self, prompt: f64) -> f64 {
        if !self.covers_attention {
            return self.question.model.architecture.active_parameters;
        }
        let attention = self.question.cache.prefill_macs(PromptTokens {
            fresh: prompt,
            cached: 0.0,
        });
        self.question.model.architecture.active_parameters + attention / prompt
    }

    /// E16.
    fn input_usd(&self, prompt: f64) -> f64 {
        let rate =
            self.question.reached.efficiencies.prefill * self.question.unit().multiply_rate.0;
        self.rent_usd_per_second * self.prompt_macs(prompt) / rate
    }
}

/// The sheet, or why there is none.
pub(super) fn implied_sheet(question: &Question, offer: &Offer) -> Result<ImpliedSheet, String> {
    let Some(rental) = question.hardware.rental_usd_per_hour else {
        return Err(NO_RENTAL.to_owned());
    };
    let costs = Costs {
        question,
        covers_attention: offer.input_covers_attention,
        rent_usd_per_second: question.unit().rental_usd_per_second,
    };
    let caches = Caches {
        question,
        offer,
        hold_in_hbm: rental * question.hardware.machine.chips / question.unit().capacity.0,
    };
    let tiers = Tiers::new(&costs, offer);
    let rates = tiers.rates(&caches).ok_or(NO_DECIMAL)?;
    let price_sheet = sheet(question, offer, &tiers, rates).ok_or(NO_DECIMAL)?;
    Ok(ImpliedSheet {
        infer_request: ReadingRequest {
            price_sheet,
            assumptions: assumptions(question, offer, &tiers),
        },
        reads_back: reads_back(&tiers, &caches),
        cache_offers: caches.offers(&tiers),
        cache_storage_tier: caches.chosen().map(|tier| tier.id.as_str()),
        beyond_rooflines: beyond(question, &costs),
    })
}

fn beyond(question: &Question, costs: &Costs<'_>) -> BeyondRooflines {
    let load = &question.load;
    let serving = question.serving();
    let decode_s = serving.decode(load.batch, load.context_tokens).total.0;
    let output = costs.rent_usd_per_second * decode_s / load.batch / load.speculation.accepted;
    let prompt = PromptTokens {
        fresh: load.prompt_tokens,
        cached: 0.0,
    };
    let prefill_s = serving.prefill(load.prompts_per_pass, prompt).total.0;
    let tokens = load.prompts_per_pass * load.prompt_tokens;
    let input = costs.rent_usd_per_second * prefill_s / tokens;
    BeyondRooflines {
        input_cost_factor: input / costs.input_usd(load.prompt_tokens),
        output_cost_factor: output / costs.output_usd(load.batch, load.context_tokens),
        note: BEYOND,
    }
}

/// Context tiers: up to each bound, prices cover the longest prompt there.
struct Tiers<'a> {
    costs: &'a Costs<'a>,
    offer: &'a Offer,
    /// Threshold below, and longest prompt, of each tier.
    bounds: Vec<(u32, u32)>,
}

impl<'a> Tiers<'a> {
    fn new(costs: &'a Costs<'a>, offer: &'a Offer) -> Self {
        let lows = std::iter::once(0).chain(offer.thresholds.iter().copied());
        let highs = offer.thresholds.iter().copied().chain([offer.longest]);
        Self {
            costs,
            offer,
            bounds: lows.zip(highs).collect(),
        }
    }

    fn batch(&self) -> f64 {
        self.costs.question.load.batch
    }

    fn fast_batch(&self) -> f64 {
        self.batch() / self.offer.fast_batch_ratio
    }

    /// USD per million prompt tokens, at which every prompt up to this length is covered.
    fn input(&self, longest: u32) -> f64 {
        self.costs.input_usd(f64::from(longest)) * MILLION / (1.0 - self.offer.input_margin)
    }

    fn output(&self, batch: f64, longest: u32) -> f64 {
        self.costs.output_usd(batch, f64::from(longest)) * MILLION
            / (1.0 - self.offer.output_margin)
    }

    /// `m_s`: speed of the fast mode at a context.
    fn speed(&self, context: f64) -> f64 {
        let step_s = |batch| {
            self.costs
                .memory_s(batch, context)
                .max(self.costs.compute_s(batch, context))
        };
        step_s(self.batch()) / step_s(self.fast_batch())
    }

    fn has_fast_mode(&self) -> bool {
        self.offer.fast_batch_ratio > 1.0
    }

    fn rates(&self, caches: &Caches<'_>) -> Option<Vec<RateCell>> {
        let mut rates = Vec::new();
        for (low, high) in &self.bounds {
            let context_tier = ContextTier {
                min_prompt_tokens: *low,
                inclusive: false,
            };
            let input = self.input(*high);
            let mut cell = RateCell::new(RateCell::STANDARD, context_tier, None);
            cell.input = Some(decimal(input)?);
            cell.output = Some(decimal(self.output(self.batch(), *high))?);
            if let Some(tier) = caches.chosen() {
                cell.cache_read = caches.read_usd_per_mtok().and_then(decimal);
                for ttl in &self.offer.ttls_seconds {
                    // Added as decimals: what holding costs may be lost in a float beside the input price.
                    let keeping = decimal(caches.keeping_usd_per_mtok(tier, *ttl))?;
                    cell.cache_write.push(CacheWrite {
                        ttl_seconds: Some(*ttl),
                        price: decimal(input)?.plus(&keeping),
                    });
                }
            }
            rates.push(cell);
            // One speed is stated for the mode, and with a longer context the same batch gains another.
            if self.has_fast_mode() && *low == 0 {
                let mut fast = RateCell::new(FAST, context_tier, None);
                fast.input = Some(decimal(input)?);
                fast.output = Some(decimal(self.output(self.fast_batch(), *high))?);
                rates.push(fast);
            }
        }
        Some(rates)
    }
}

/// Cache offers.
struct Caches<'a> {
    question: &'a Question,
    offer: &'a Offer,
    /// USD per byte and hour.
    hold_in_hbm: f64,
}

impl Caches<'_> {
    /// `k_st` as served.
    fn stored(&self) -> f64 {
        self.question
            .cache
            .stored_per_token(self.question.precision.cache)
            .0
    }

    fn keeping(&self, tier: &StorageTier) -> KeepingCost {
        let is_hbm = tier.id == StorageTier::HBM;
        KeepingCost {
            // What lies in HBM is read by the step that uses it.
            read_usd_per_byte: tier.read_usd_per_byte.filter(|_| !is_hbm).unwrap_or(0.0),
            hold_usd_per_byte_hour: tier
                .hold_usd_per_byte_hour
                .filter(|_| !is_hbm)
                .unwrap_or(self.hold_in_hbm),
        }
    }

    fn cheapest(&self, ttl: u32) -> Option<&'static StorageTier> {
        let cost = |tier: &StorageTier| self.keeping(tier).for_duration(Seconds(f64::from(ttl)));
        offered_tiers().min_by(|left, right| cost(left).total_cmp(&cost(right)))
    }

    /// Where the sheet's offers live.
    fn chosen(&self) -> Option<&'static StorageTier> {
        let longest = *self.offer.ttls_seconds.last()?;
        self.offer.cache_tier.or_else(|| self.cheapest(longest))
    }

    /// Holding a token for so long and reading it once. It is passed on at cost, since the readings take it so; computing
    /// the token is sold as input is.
    fn keeping_usd_per_mtok(&self, tier: &StorageTier, ttl: u32) -> f64 {
        let keeping = self.keeping(tier).for_duration(Seconds(f64::from(ttl)));
        self.stored() * keeping * MILLION
    }

    /// The time that a token's bytes take on the load path, at the chip's rent.
    fn read_usd_per_mtok(&self) -> Option<f64> {
        let machine = &self.question.hardware.machine;
        let rent_per_chip = machine.unit.rental_usd_per_second / machine.chips;
        let path = self.offer.load_path_bytes_per_second?;
        let cost = self.stored() * rent_per_chip / path * MILLION;
        Some(cost / (1.0 - self.offer.input_margin))
    }

    fn offers(&self, tiers: &Tiers<'_>) -> Vec<CacheOffer> {
        let base_input = tiers
            .bounds
            .first()
            .map_or(0.0, |(_, high)| tiers.input(*high));
        let offer = |ttl: &u32, tier: &'static StorageTier| CacheOffer {
            storage_tier: &tier.id,
            ttl_seconds: *ttl,
            write_usd_per_mtok: base_input + self.keeping_usd_per_mtok(tier, *ttl),
            read_usd_per_mtok: self.read_usd_per_mtok(),
            storage_usd_per_mtok_hour: self.stored()
                * self.keeping(tier).hold_usd_per_byte_hour
                * MILLION,
            is_cheapest: self
                .cheapest(*ttl)
                .is_some_and(|cheapest| cheapest.id == tier.id),
        };
        let of_ttl = |ttl| offered_tiers().map(move |tier| offer(ttl, tier));
        self.offer.ttls_seconds.iter().flat_map(of_ttl).collect()
    }
}

fn sheet(
    question: &Question,
    offer: &Offer,
    tiers: &Tiers<'_>,
    rates: Vec<RateCell>,
) -> Option<PriceSheet> {
    let model = question.model.name.clone();
    let mut service_tiers = std::collections::BTreeMap::new();
    if tiers.has_fast_mode() {
        let (_, first) = tiers.bounds.first()?;
        let speed = SpeedMultiplier {
            value: Some(decimal(tiers.speed(f64::from(*first)))?),
            metric: Some(SpeedMetric::OutputTokensPerSecond),
            ..SpeedMultiplier::default()
        };
        let fast = ServiceTier {
            speed_multiplier: Some(speed),
            ..ServiceTier::default()
        };
        service_tiers.insert(FAST.to_owned(), fast);
    }
    let has_writes = rates.iter().any(|rate| !rate.cache_write.is_empty());
    Some(PriceSheet {
        schema: SchemaName::V1,
        provider: "simulated".to_owned(),
        upstream_provider: None,
        model: model.unwrap_or_else(|| "stated architecture".to_owned()),
        canonical_model: None,
        aliases: Vec::new(),
        region: PriceSheet::DEFAULT_REGION.to_owned(),
        quantization: None,
        currency: "USD".to_owned(),
        unit: Unit::PerMillionTokens,
        valid_from: None,
        valid_to: None,
        limits: Limits {
            context: Some(offer.longest),
            ..Limits::default()
        },
        context_tier_semantics: crate::sheet::ContextTierSemantics::WholeRequest,
        context_tier_measure: crate::sheet::ContextTierMeasure::PromptTokens,
        cache_write_billing: if has_writes {
            CacheWriteBilling::Priced
        } else {
            CacheWriteBilling::NotPublished
        },
        schedules: std::collections::BTreeMap::new(),
        service_tiers,
        rates,
        modifiers: Vec::new(),
        other_meters: Vec::new(),
        sources: vec![Source {
            url: "https://example.org/simulated".to_owned(),
            format: SourceFormat::Manual,
            retrieved_at: None,
            published_at: None,
            sha256: None,
            locator: None,
        }],
        notes: vec!["implied by a simulated machine; nobody offers this".to_owned()],
        unmapped: serde_json::Map::new(),
    })
}

/// What a reader of the sheet who knows the machine would state.
fn assumptions(question: &Question, offer: &Offer, tiers: &Tiers<'_>) -> Value {
    let machine = &question.hardware.machine;
    let per_chip = |amount: f64| amount / machine.chips;
    let accelerator = match question.hardware.accelerator {
        Some(id) => json!(id),
        None => json!({
            "flops_per_second": per_chip(machine.unit.multiply_rate.0) * 2.0,
            "bandwidth_bytes_per_second": per_chip(machine.unit.bandwidth.0),
            "capacity_bytes": per_chip(machine.unit.capacity.0),
            "domain_size": machine.domain_chips,
        }),
    };
    let efficiencies = &question.reached.efficiencies;
    let mut stated = json!({
        "accelerator": accelerator,
        "chips": machine.chips,
        "rental_usd_per_hour": question.hardware.rental_usd_per_hour,
        "weight_bytes_per_parameter": question.precision.weights,
        "active_parameters": question.model.architecture.active_parameters,
        "total_parameters": question.model.architecture.total_parameters,
        "batch_over_optimal_batch": question.load.batch / question.optimal_batch(),
        "prefill_efficiency": efficiencies.prefill,
        "decode_bandwidth_efficiency": efficiencies.decode_bandwidth,
        "decode_compute_efficiency": efficiencies.decode_compute,
        "input_margin": offer.input_margin,
        "output_margin": offer.output_margin,
    });
    if let Some((_, first)) = tiers.bounds.first() {
        stated["mean_decode_context_tokens"] = json!(first);
    }
    if let Some(path) = offer.load_path_bytes_per_second {
        stated["load_path_bytes_per_second"] = json!(path);
    }
    stated
}

/// What the readings of the sheet give, wherever the equations that they invert are those that set the prices.
fn reads_back(tiers: &Tiers<'_>, caches: &Caches<'_>) -> Vec<ReadBack> {
    let mut list = Vec::new();
    if let Some((low, high)) = tiers.bounds.first() {
        list.extend(ratio(tiers, *low, *high));
    }
    for pair in tiers.bounds.windows(2) {
        let ((_, below), (threshold, above)) = (pair[0], pair[1]);
        list.extend(cover(tiers, threshold, (below, above)));
        list.extend(attention(tiers, threshold, (below, above)));
    }
    if let Some((low, high)) = tiers.bounds.first()
        && tiers.has_fast_mode()
    {
        list.extend(fast_mode(tiers, *low, f64::from(*high)));
    }
    let (low, _) = tiers.bounds[0];
    if let Some(tier) = caches.chosen()
        && caches.stored() > 0.0
    {
        list.extend(caches.read_usd_per_mtok().map(|_| load_path(tiers, caches)));
        if tiers.offer.ttls_seconds.len() > 1 {
            list.push(hold_price(caches, tier, low));
        }
    }
    list
}

fn hold_price(caches: &Caches<'_>, tier: &StorageTier, low: u32) -> ReadBack {
    ReadBack {
        reading: "cache_write_hold_price",
        detail: Some(tier.id.clone()),
        min_prompt_tokens: low,
        quantity: "k_st",
        value: caches.stored(),
    }
}

/// `k_st` as a hit price shows it against an input price that carries attention's arithmetic too.
fn load_path(tiers: &Tiers<'_>, caches: &Caches<'_>) -> ReadBack {
    let (low, high) = tiers.bounds[0];
    let active = tiers.costs.question.model.architecture.active_parameters;
    ReadBack {
        reading: "cache_read_load_path",
        detail: None,
        min_prompt_tokens: low,
        quantity: "k_st·N_a/(N_a + a_pre·S/2)",
        value: caches.stored() * active / tiers.costs.prompt_macs(f64::from(high)),
    }
}
/// r: what a generated token waits for memory over what a prompt token of that tier computes.
fn ratio(tiers: &Tiers<'_>, low: u32, high: u32) -> Option<ReadBack> {
    let (costs, batch, context) = (tiers.costs, tiers.batch(), f64::from(high));
    let question = costs.question;
    let compute_s = costs.prompt_macs(context) / question.unit().multiply_rate.0;
    let memory_s = costs.memory_s(batch, context) * question.reached.efficiencies.decode_bandwidth
        / batch
        / question.load.speculation.accepted;
    let value = memory_s / compute_s;
    // A price ratio of 1 or less is no sign of waiting for memory, whatever the margins.
    let is_read = value > 1.0 && tiers.output(batch, high) > tiers.input(high);
    (costs.is_memory_bound(batch, context) && is_read).then_some(ReadBack {
        reading: "output_ratio_memory_boundness",
        detail: None,
        min_prompt_tokens: low,
        quantity: "r = memory time of a generated token over compute time of a prompt token",
        value,
    })
}

/// x, and the KV bytes and the crossover that follow: the secant of the cost of a token between two contexts.
fn cover(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> Vec<ReadBack> {
    let (costs, batch) = (tiers.costs, tiers.batch());
    let (near, far) = (f64::from(below), f64::from(above));
    let question = costs.question;
    let bound = costs.is_memory_bound(batch, near) && costs.is_memory_bound(batch, far);
    let of_cache = |context| question.kv_bytes_per_sequence(context);
    let kv_bytes = (of_cache(far) - of_cache(near)) / (far - near);
    if !bound || kv_bytes <= 0.0 {
        return Vec::new();
    }
    let fixed = question.precision.weights * question.model.architecture.total_parameters / batch
        + (of_cache(near) - kv_bytes * near);
    let optimal = question.optimal_batch();
    let cover = fixed / kv_bytes;
    // What is fixed beside the weights (state, windows) counts as weights for whoever reads the sheet.
    let read_kv =
        question.precision.weights * question.model.architecture.active_parameters * optimal
            / (batch * question.compute_to_bandwidth() * cover);
    let entry = |detail: Option<&str>, quantity, value| ReadBack {
        reading: "output_multiplier_cover",
        detail: detail.map(str::to_owned),
        min_prompt_tokens: threshold,
        quantity,
        value,
    };
    vec![
        entry(None, "x = L0·B*/B", cover),
        entry(Some("kv_bytes_per_token_read"), "k_bw", read_kv),
        entry(
            Some("kv_bytes_per_token_read"),
            "L0 = w·N_a/(ρ·k_bw)",
            crossover_context(
                question.precision.weights,
                question.model.architecture.active_parameters,
                question.compute_to_bandwidth(),
                BytesPerToken(read_kv),
            ),
        ),
    ]
}

/// `a_pre`/`N_a`: the secant of a prompt's arithmetic between two lengths.
fn attention(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> Option<ReadBack> {
    let (near, far) = (f64::from(below), f64::from(above));
    let (near_macs, far_macs) = (tiers.costs.prompt_macs(near), tiers.costs.prompt_macs(far));
    let value = 2.0 * (far_macs - near_macs) / (far * near_macs - near * far_macs);
    (value.is_finite() && value > 0.0).then_some(ReadBack {
        reading: "input_multiplier_attention",
        detail: None,
        min_prompt_tokens: threshold,
        quantity: "a_pre/N_a",
        value,
    })
}

/// y: what grows with the batch over what does not.
fn fast_mode(tiers: &Tiers<'_>, low: u32, context: f64) -> Vec<ReadBack> {
    let (costs, batch) = (tiers.costs, tiers.batch());
    let question = costs.question;
    if !costs.is_memory_bound(batch, context) {
        return Vec::new();
    }
    let fixed = question.precision.weights * question.model.architecture.total_parameters;
    let growing = batch * question.kv_bytes_per_sequence(context);
    let entry = |reading, quantity, value| ReadBack {
        reading,
        detail: None,
        min_prompt_tokens: low,
        quantity,
        value,
    };
    vec![
        entry(
            "fast_mode_batch_ratio",
            "B_std/B_fast",
            tiers.offer.fast_batch_ratio,
        ),
        entry("fast_mode_kv_over_weights", "y", growing / fixed),
        entry("fast_mode_max_speedup", "1 + y", 1.0 + growing / fixed),
    ]
}

/// A price as a sheet writes it: at most 12 digits before the point and 18 after it.
fn decimal(amount: f64) -> Option<Decimal> {
    format!("{amount:.18}")
        .parse::<Decimal>()
        .ok()
        .map(|price| price.normalized())
}

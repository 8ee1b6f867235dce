//! The price sheet that a machine implies at a margin, and the values that its readings recover.
//!
//! Prices follow the rooflines that the readings take: E1 with every weight read, E16, and the cost of keeping a byte.
//! Costs that those equations leave out, such as exchanges between chips, lower the efficiencies instead, until no
//! length of a tier is sold below its simulated cost; reading the sheet with these efficiencies gives the machine back.

mod reads_back;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::offer::Offer;
use super::{Question, is_rented};
use crate::forward::{
    Efficiencies, HoldCost, Model, OperatingPoint, Overlap, PromptTokens, StepTime, WeightReads,
    cost_per_generated_token, cost_per_prompt_token, step_time,
};
use crate::reference::StorageTier;
use crate::reference::names::offered_tiers;
use unroof_base::units::{Bytes, BytesPerToken, Decimal, Seconds};
use unroof_price_sheet::sheet::{
    CacheWrite, CacheWriteBilling, ContextTier, ContextTierMeasure, ContextTierSemantics, Limits,
    PriceSheet, RateCell, ServiceTier, Source, SourceFormat, SpeedBound, SpeedMetric,
    SpeedMultiplier,
};

const FAST: &str = "fast";
const MILLION: f64 = 1e6;

/// An implied price sheet, and the values of the machine that its readings recover.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ImpliedSheet {
    /// Body for `POST /infer`: the sheet, and the assumptions that its readings need.
    pub infer_request: ReadingRequest,
    /// Values that the readings of that request give, in addition to the machine's own.
    pub reads_back: Vec<ReadBack>,
    /// Cache offers on every storage tier whose costs are known; the sheet has those of one tier.
    pub cache_offers: Vec<CacheOffer>,
    /// Speed of the fast mode over the standard one as simulated, at the end of the first tier; the sheet's claim, which its
    /// price follows, is that of the rooflines. Null without a fast mode.
    pub fast_mode_simulated_speed_multiplier: Option<f64>,
    /// Storage tier of the sheet's cache offers.
    pub cache_storage_tier: Option<&'static str>,
    /// The efficiencies that the prices rest on and that `assumptions` states.
    pub all_in_efficiencies: AllInEfficiencies,
}

/// A body for `POST /infer`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadingRequest {
    /// Price sheet that the machine implies.
    pub price_sheet: PriceSheet,
    /// Assumptions stated with the sheet.
    #[schema(value_type = Object)]
    pub assumptions: Value,
}

/// A reading of the implied sheet.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadBack {
    /// Id of the reading, as `/reference/readings` lists it.
    #[schema(example = "output_multiplier_cover")]
    pub reading: &'static str,
    /// Name of the detail, where it is not the reading's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
    /// Prompt tokens above which the cell applies.
    pub min_prompt_tokens: u32,
    /// Symbol of the quantity.
    #[schema(example = "x = L0·B*/B")]
    pub quantity: &'static str,
    /// Value of the simulated machine, which the reading recovers; null where it does not.
    pub value: Option<f64>,
    /// Reason that the reading does not recover the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_read: Option<&'static str>,
}

/// A cache offer on one storage tier.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CacheOffer {
    /// Id of the storage tier.
    pub storage_tier: &'static str,
    /// Time to live of an entry, in seconds.
    pub ttl_seconds: u32,
    /// Writing a token: computing it, holding it for that long, reading it once.
    pub cache_write_usd_per_mtok: f64,
    /// Loading a token into HBM over the load path.
    pub cached_input_usd_per_mtok: Option<f64>,
    /// Holding a token for an hour.
    pub cache_storage_usd_per_mtok_hour: f64,
    /// Whether this is the cheapest tier for holding and reading it.
    pub is_cheapest: bool,
}

/// Efficiencies that include all simulated costs, for use with the rooflines alone.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AllInEfficiencies {
    /// `η_pre`, over `input_cost_factor` and `input_attention_factor`: the share of peak that multiplies with weights.
    pub prefill: f64,
    /// `η_m`: share of HBM bandwidth in decoding, over `output_cost_factor`.
    pub decode_bandwidth: f64,
    /// `η_c`: share of peak arithmetic in decoding, over `output_cost_factor`.
    pub decode_compute: f64,
    /// Cost of a prompt token over that of E16, at the end of the tier where the ratio is largest; 1 or more.
    pub input_cost_factor: f64,
    /// Arithmetic of a prompt token in the first tier over that without attention, 1 + `a_pre`·`L_1`/(2·`N_a`).
    /// Readings that divide by the input price take that price for the price of the weights alone.
    pub input_attention_factor: f64,
    /// Cost of a generated token over that of E1 with every weight read, where the ratio is largest; 1 or more.
    pub output_cost_factor: f64,
    /// Contents of the factors.
    pub note: &'static str,
}

/// Reason that there is no sheet.
pub(super) const NO_RENTAL: &str =
    "the accelerator has no published rent: state `machine.rental_usd_per_hour`";
const NO_DECIMAL: &str = "a price is too large for a sheet: 1,000,000,000,000 or more";
/// Prompts from this length on are covered: the state of linear layers, written once per prompt, makes every token of a
/// prompt of a few tokens expensive; a price that covers those would be too high for all others.
const SHORTEST_PROMPT: f64 = 128.0;
const ALL_IN: &str = "the factors hold what the readings leave out (exchanges, other traffic, waiting between kernels, the \
                      form of overlap, attention in the input price), so that nothing from 128 tokens of prompt on is \
                      sold below its simulated cost";

/// Costs as the readings take them: E1 with every weight read, and E16.
struct Costs<'a> {
    question: &'a Question,
    efficiencies: Efficiencies,
}

impl Costs<'_> {
    /// The model as the readings see it at a context: every weight read, the cache in proportion to the context.
    fn model_at(&self, context: f64) -> Model {
        let question = self.question;
        let architecture = &question.setup.model.architecture;
        let computed = question.load.speculation.computed();
        Model {
            active_parameters: architecture.active_parameters * computed,
            total_parameters: architecture.total_parameters,
            weight_bytes_per_parameter: question.setup.precision.weights,
            weight_reads: WeightReads::All,
            kv_bytes_per_token: BytesPerToken(
                question.setup.kv_bytes_per_sequence(context) / context,
            ),
            attention_macs_per_token: question.setup.cache.decode_macs(context) / context
                * computed,
            state_per_sequence: Bytes(0.0),
        }
    }

    fn point(&self, batch: f64, context: f64) -> OperatingPoint {
        OperatingPoint {
            batch,
            context_tokens: context,
            efficiencies: self.efficiencies,
            overlap: Overlap::Full,
        }
    }

    fn step(&self, batch: f64, context: f64) -> StepTime {
        let point = self.point(batch, context);
        step_time(&self.model_at(context), self.question.setup.unit(), &point)
    }

    fn is_memory_bound(&self, batch: f64, context: f64) -> bool {
        let step = self.step(batch, context);
        step.memory().0 >= step.compute().0
    }

    /// E5 with E1, per accepted token.
    fn output_usd(&self, batch: f64, context: f64) -> f64 {
        let point = self.point(batch, context);
        let unit = self.question.setup.unit();
        cost_per_generated_token(&self.model_at(context), unit, &point)
            / self.question.load.speculation.accepted
    }

    /// Multiply-adds of a prompt token in the mean over a prompt, `N_a` + a·S/2.
    fn prompt_macs(&self, prompt: f64) -> f64 {
        let weights = self.question.setup.model.architecture.active_parameters;
        weights + self.attention_macs(prompt) * prompt / 2.0
    }

    /// `a_pre` in the mean over a prompt.
    fn attention_macs(&self, prompt: f64) -> f64 {
        let all = (self.question.setup.cache).prefill_macs(PromptTokens::fresh(prompt));
        2.0 * all / prompt / prompt
    }

    /// E16: cost of a prompt token, in USD.
    fn input_usd(&self, prompt: f64) -> f64 {
        let tokens = PromptTokens::fresh(prompt);
        let model = Model {
            active_parameters: self.question.setup.model.architecture.active_parameters,
            ..self.model_at(prompt)
        };
        let attention = self.attention_macs(prompt);
        let efficiency = self.efficiencies.prefill;
        cost_per_prompt_token(
            &model,
            self.question.setup.unit(),
            efficiency,
            attention,
            tokens,
        )
    }
}

/// The sheet, or why there is none.
pub(super) fn implied_sheet(question: &Question, offer: &Offer) -> Result<ImpliedSheet, String> {
    let has_rental = is_rented(&question.setup.hardware.prefill_machine);
    let rental = question.setup.hardware.rental_usd_per_hour;
    let Some(rental) = rental.filter(|_| has_rental) else {
        return Err(NO_RENTAL.to_owned());
    };
    let efficiencies = all_in(question, offer);
    let costs = Costs {
        question,
        efficiencies: Efficiencies {
            prefill: efficiencies.prefill * efficiencies.input_attention_factor,
            decode_bandwidth: efficiencies.decode_bandwidth,
            decode_compute: efficiencies.decode_compute,
        },
    };
    let machine = &question.setup.hardware.machine;
    let tiers = Tiers {
        costs: &costs,
        offer,
        bounds: tier_bounds(offer),
        hold_in_hbm: rental * machine.chips / machine.unit.capacity.0,
    };
    let rates = tiers.rates().ok_or(NO_DECIMAL)?;
    let price_sheet = tiers.sheet(rates).ok_or(NO_DECIMAL)?;
    Ok(ImpliedSheet {
        infer_request: ReadingRequest {
            price_sheet,
            assumptions: assumptions(&tiers, &efficiencies),
        },
        reads_back: reads_back::reads_back(&tiers),
        cache_offers: tiers.cache_offers(),
        fast_mode_simulated_speed_multiplier: tiers.simulated_speed(),
        cache_storage_tier: tiers.cache_tier().map(|tier| tier.id.as_str()),
        all_in_efficiencies: efficiencies,
    })
}

/// The largest ratio of simulated cost to roofline cost: at the ends of the tiers, and in the fast mode.
fn all_in(question: &Question, offer: &Offer) -> AllInEfficiencies {
    let (load, reached) = (&question.load, question.setup.efficiency.efficiencies);
    let rooflines = Costs {
        question,
        efficiencies: reached,
    };
    let (serving, prefill) = (question.serving(), question.prefill_serving());
    let rent = question.setup.unit().rental_usd_per_second;
    let output = |batch: f64, context: f64| {
        let step_s = serving.decode(batch, context).total.0;
        rent * step_s / batch / load.speculation.accepted / rooflines.output_usd(batch, context)
    };
    let input = |tokens: f64| {
        let prompt = PromptTokens::fresh(tokens);
        let prompts = question.prompts_of(tokens);
        let pass_s = prefill.prefill(prompts, prompt).total.0;
        let rent = prefill.machine.unit.rental_usd_per_second;
        rent * pass_s / (prompts * tokens) / rooflines.input_usd(tokens)
    };
    let ends: Vec<f64> = tier_bounds(offer)
        .iter()
        .map(|(_, longest)| f64::from(*longest))
        .collect();
    let standard = ends.iter().map(|context| output(load.batch, *context));
    let first = ends[0];
    let fast = std::iter::once(output(load.batch / offer.fast_batch_ratio, first));
    let output_cost_factor = standard.chain(fast).fold(1.0, f64::max);
    let shortest = std::iter::once(SHORTEST_PROMPT.min(first));
    let input_cost_factor = shortest.chain(ends).map(input).fold(1.0, f64::max);
    let active = question.setup.model.architecture.active_parameters;
    let input_attention_factor = rooflines.prompt_macs(first) / active;
    AllInEfficiencies {
        prefill: reached.prefill / input_cost_factor / input_attention_factor,
        decode_bandwidth: reached.decode_bandwidth / output_cost_factor,
        decode_compute: reached.decode_compute / output_cost_factor,
        input_cost_factor,
        input_attention_factor,
        output_cost_factor,
        note: ALL_IN,
    }
}

/// Threshold below, and longest prompt, of each tier.
fn tier_bounds(offer: &Offer) -> Vec<(u32, u32)> {
    let lows = std::iter::once(0).chain(offer.thresholds.iter().copied());
    let highs = offer.thresholds.iter().copied().chain([offer.longest]);
    lows.zip(highs).collect()
}

/// Context tiers: up to each bound, prices cover the longest prompt there.
struct Tiers<'a> {
    costs: &'a Costs<'a>,
    offer: &'a Offer,
    /// Threshold below, and longest prompt, of each tier.
    bounds: Vec<(u32, u32)>,
    /// Holding a byte in HBM, in USD per hour.
    hold_in_hbm: f64,
}

impl Tiers<'_> {
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
        let step_s = |batch| self.costs.step(batch, context).total.0;
        step_s(self.batch()) / step_s(self.fast_batch())
    }

    fn simulated_speed(&self) -> Option<f64> {
        let (_, longest) = self.bounds[0];
        let serving = self.costs.question.serving();
        let step_s = |batch| serving.decode(batch, f64::from(longest)).total.0;
        self.has_fast_mode()
            .then(|| step_s(self.batch()) / step_s(self.fast_batch()))
    }

    fn has_fast_mode(&self) -> bool {
        self.offer.fast_batch_ratio > 1.0
    }

    fn rates(&self) -> Option<Vec<RateCell>> {
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
            if let Some(tier) = self.cache_tier() {
                cell.cache_read = self.read_usd_per_mtok().and_then(decimal);
                for ttl in &self.offer.ttls_seconds {
                    // Added as decimals: what holding costs may be lost in a float next to the input price.
                    let keeping = decimal(self.keeping_usd_per_mtok(tier, *ttl))?;
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

/// Cache offers of the implied sheet.
impl Tiers<'_> {
    /// `k_st` as served: bytes stored per token.
    fn stored(&self) -> f64 {
        let setup = &self.costs.question.setup;
        setup.cache.stored_per_token(setup.precision.cache).0
    }

    fn keeping(&self, tier: &StorageTier) -> HoldCost {
        let is_hbm = tier.id == StorageTier::HBM;
        HoldCost {
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

    /// Storage tier of the sheet's cache offers.
    fn cache_tier(&self) -> Option<&'static StorageTier> {
        let longest = *self.offer.ttls_seconds.last()?;
        self.offer.cache_tier.or_else(|| self.cheapest(longest))
    }

    /// Holding a token for this time and reading it once, sold at cost as the readings assume; computing the token is sold
    /// at the input price.
    fn keeping_usd_per_mtok(&self, tier: &StorageTier, ttl: u32) -> f64 {
        let keeping = self.keeping(tier).for_duration(Seconds(f64::from(ttl)));
        self.stored() * keeping * MILLION
    }

    /// The time that a token's bytes take on the load path, at the chip's rent.
    fn read_usd_per_mtok(&self) -> Option<f64> {
        let machine = &self.costs.question.setup.hardware.machine;
        let rent_per_chip = machine.unit.rental_usd_per_second / machine.chips;
        let path = self.offer.load_path_bytes_per_second?;
        let cost = self.stored() * rent_per_chip / path * MILLION;
        Some(cost / (1.0 - self.offer.input_margin))
    }

    fn cache_offers(&self) -> Vec<CacheOffer> {
        let base_input = self.input(self.bounds[0].1);
        let offer = |ttl: &u32, tier: &'static StorageTier| CacheOffer {
            storage_tier: &tier.id,
            ttl_seconds: *ttl,
            cache_write_usd_per_mtok: base_input + self.keeping_usd_per_mtok(tier, *ttl),
            cached_input_usd_per_mtok: self.read_usd_per_mtok(),
            cache_storage_usd_per_mtok_hour: self.stored()
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

/// The sheet around the rates.
impl Tiers<'_> {
    fn sheet(&self, rates: Vec<RateCell>) -> Option<PriceSheet> {
        let model = self.costs.question.setup.model.name.as_deref();
        let mut service_tiers = BTreeMap::new();
        if self.has_fast_mode() {
            service_tiers.insert(FAST.to_owned(), self.fast_mode()?);
        }
        let has_writes = rates.iter().any(|rate| !rate.cache_write.is_empty());
        Some(PriceSheet {
            limits: Limits {
                context: Some(self.offer.longest),
                ..Limits::default()
            },
            context_tier_semantics: ContextTierSemantics::WholeRequest,
            context_tier_measure: ContextTierMeasure::PromptTokens,
            cache_write_billing: if has_writes {
                CacheWriteBilling::Priced
            } else {
                CacheWriteBilling::NotPublished
            },
            service_tiers,
            sources: vec![Source {
                url: "https://example.org/simulated".to_owned(),
                format: SourceFormat::Manual,
                retrieved_at: None,
                published_at: None,
                sha256: None,
                locator: None,
            }],
            notes: vec!["implied by a simulated machine; no provider offers it".to_owned()],
            ..PriceSheet::new("simulated", model.unwrap_or("stated architecture"), rates)
        })
    }

    /// The service tier of the fast mode.
    fn fast_mode(&self) -> Option<ServiceTier> {
        let (_, first) = self.bounds[0];
        let speed = SpeedMultiplier {
            value: Some(decimal(self.speed(f64::from(first)))?),
            // Of the rooflines, as the price is; other waits, such as for the network, lower it.
            bound: Some(SpeedBound::UpTo),
            metric: Some(SpeedMetric::OutputTokensPerSecond),
        };
        Some(ServiceTier {
            speed_multiplier: Some(speed),
            ..ServiceTier::default()
        })
    }
}

/// Assumptions that describe the simulated machine to `/infer`.
fn assumptions(tiers: &Tiers<'_>, efficiencies: &AllInEfficiencies) -> Value {
    let (question, offer) = (tiers.costs.question, tiers.offer);
    let machine = &question.setup.hardware.machine;
    let per_chip = |amount: f64| amount / machine.chips;
    let accelerator = match question.setup.hardware.accelerator {
        Some(id) => json!(id),
        None => json!({
            "flops_per_second": per_chip(machine.unit.multiply_rate.0) * 2.0,
            "bandwidth_bytes_per_second": per_chip(machine.unit.bandwidth.0),
            "capacity_bytes": per_chip(machine.unit.capacity.0),
            "domain_size": machine.domain_chips,
        }),
    };
    let mut stated = json!({
        "accelerator": accelerator,
        "chips": machine.chips,
        "rental_usd_per_hour": question.setup.hardware.rental_usd_per_hour,
        "weight_bytes_per_parameter": question.setup.precision.weights,
        "active_parameters": question.setup.model.architecture.active_parameters,
        "total_parameters": question.setup.model.architecture.total_parameters,
        "batch_over_optimal_batch": question.load.batch / question.setup.optimal_batch(),
        "prefill_efficiency": efficiencies.prefill,
        "decode_bandwidth_efficiency": efficiencies.decode_bandwidth,
        "decode_compute_efficiency": efficiencies.decode_compute,
        "input_margin": offer.input_margin,
        "output_margin": offer.output_margin,
        "mean_decode_context_tokens": tiers.bounds[0].1,
    });
    if let Some(path) = offer.load_path_bytes_per_second {
        stated["load_path_bytes_per_second"] = json!(path);
    }
    stated
}

/// A price as a sheet writes it: at most 12 digits before the point and 18 after it.
fn decimal(amount: f64) -> Option<Decimal> {
    format!("{amount:.18}")
        .parse::<Decimal>()
        .ok()
        .map(|price| price.normalized())
}

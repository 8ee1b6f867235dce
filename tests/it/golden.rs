//! The model against known answers: the golden numbers of `docs/MODEL.md`, readings that give back what the forward
//! model was asked with, and the rules that every reading keeps.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use unroof::clue::reading::{Detail, NotDefined, Reading, Reason, Value};
use unroof::clue::specifications;
use unroof::estimate::{Answer, Format, infer, read_request};
use unroof::reference::{StorageTier, storage_tiers};
use unroof::roofline::{
    AttentionLayers, Efficiencies, KeepingCost, LatentAttention, Model, OperatingPoint, Overlap,
    PromptTokens, ServingUnit, WeightReads, compute_to_bandwidth, cost_per_generated_token,
    cost_per_prompt_token, crossover_context, latency_floor, memory_time_over_compute_time,
    optimal_batch, optimal_batch_at_context, step_time, throughput, worst_case_latency,
};
use unroof::units::{Bytes, BytesPerSecond, BytesPerToken, MacPerSecond, Seconds};

/// What may be lost to rounding where a number is exact.
const EXACT: f64 = 1e-12;
/// What may be lost where prices and a forward model stand between two numbers.
const ROUND_TRIP: f64 = 1e-9;

// Golden numbers

#[test]
fn every_golden_number_comes_out() {
    let rows: Vec<Golden> = [
        batches_and_contexts(),
        costs_of_a_small_batch(),
        published_steps(),
        cache_sizes(),
        kinks(),
        multipliers(),
        output_ratio_and_modes(),
        cache_prices(),
        storage_tiers_by_time(),
        bounds(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let wrong: Vec<String> = rows.iter().filter_map(Golden::mismatch).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} golden numbers are wrong:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    let listed: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    assert_eq!(listed, BTreeSet::from(GOLDEN_IDS));
}

/// The rows of the table in `docs/MODEL.md`.
const GOLDEN_IDS: [&str; 34] = [
    "G1", "G1b", "G2", "G2b", "G2c", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G18", "G18b",
    "G19", "G19b", "G20", "G21", "G22", "G23", "G24", "G25", "G26", "G27", "G28", "G29", "G30",
    "G31", "G32", "H3", "H4", "H5", "H14", "H24",
];

/// A known answer.
struct Golden {
    id: &'static str,
    what: &'static str,
    computed: Value,
    expected: Value,
}

impl Golden {
    fn mismatch(&self) -> Option<String> {
        let agrees = match (&self.computed, &self.expected) {
            (Value::Number(computed), Value::Number(expected)) => {
                (computed - expected).abs() <= EXACT * expected.abs()
            }
            (computed, expected) => computed == expected,
        };
        let Self {
            id,
            what,
            computed,
            expected,
        } = self;
        (!agrees).then(|| format!("{id}, {what}: computed {computed:?}, expected {expected:?}"))
    }
}

/// What a known answer is: a number, or the id of a storage tier.
trait Figure {
    fn figure(self) -> Value;
}

impl Figure for f64 {
    fn figure(self) -> Value {
        Value::Number(self)
    }
}

impl Figure for &str {
    fn figure(self) -> Value {
        Value::Name(self.to_owned())
    }
}

/// Rows of `id, what: computed => expected;`, the expected number exact and the document's beside it.
macro_rules! golden {
    ($($id:literal, $what:literal: $computed:expr => $expected:expr;)*) => {
        vec![$(Golden {
            id: $id,
            what: $what,
            computed: Figure::figure($computed),
            expected: Figure::figure($expected),
        }),*]
    };
}

/// A unit of the textbook: ρ = 300 at one byte per parameter, 1 USD/s.
const TEXTBOOK_UNIT: ServingUnit = ServingUnit {
    multiply_rate: MacPerSecond(300e12),
    attention_multiply_rate: MacPerSecond(300e12),
    bandwidth: BytesPerSecond(1e12),
    capacity: Bytes(1e11),
    rental_usd_per_second: 1.0,
};

/// A model of the textbook: 100 of 800 billion parameters active, at one byte each; no KV cache.
const TEXTBOOK_MODEL: Model = Model {
    active_parameters: 1e11,
    total_parameters: 8e11,
    weight_bytes_per_parameter: 1.0,
    weight_reads: WeightReads::All,
    kv_bytes_per_token: BytesPerToken(0.0),
    attention_macs_per_token: 0.0,
    state_per_sequence: Bytes(0.0),
};

fn at(batch: f64, context_tokens: f64) -> OperatingPoint {
    let (efficiencies, overlap) = (Efficiencies::PEAK, Overlap::Full);
    OperatingPoint {
        batch,
        context_tokens,
        efficiencies,
        overlap,
    }
}

fn batches_and_contexts() -> Vec<Golden> {
    let kv_bytes_per_token = BytesPerToken(1_000.0);
    let crossover = crossover_context(1.0, 1e11, 300.0, kv_bytes_per_token);
    let model = Model {
        kv_bytes_per_token,
        ..TEXTBOOK_MODEL
    };
    let step = step_time(&model, &TEXTBOOK_UNIT, &at(1e18, 2.0 * crossover));
    let (capacity, bandwidth) = (Bytes(288e9), BytesPerSecond(20e12));
    let unit = ServingUnit {
        capacity,
        bandwidth,
        ..TEXTBOOK_UNIT
    };
    golden! {
        "G1", "B*": optimal_batch(300.0, 8.0) => 2_400.0;
        "G1b", "B* of DeepSeek V3": optimal_batch(300.0, 671.0 / 37.0) => 201_300.0 / 37.0; // 5,440.5
        "G4", "decode MFU at 2·L0, B → ∞": step.compute().0 / step.total.0 => 0.5;
        "G6", "τ in s": unit.sweep_time().0 => 0.0144;
        "G7", "worst case in s": worst_case_latency(Seconds(0.020)).0 => 0.040;
        "G8", "tokens/s": throughput(2_000.0, Seconds(1.0 / 64.0)) => 128_000.0;
    }
}

fn costs_of_a_small_batch() -> Vec<Golden> {
    let one_over_many = |weight_reads| {
        let model = Model {
            weight_reads,
            ..TEXTBOOK_MODEL
        };
        let cost = |batch| cost_per_generated_token(&model, &TEXTBOOK_UNIT, &at(batch, 0.0));
        cost(1.0) / cost(1e12)
    };
    // One token touches an eighth of the experts.
    let experts = WeightReads::Experts {
        always_read_parameters: 0.0,
        expert_parameters: 8e11,
        experts_over_active: 8.0,
    };
    golden! {
        "G9", "cost at B = 1 over B → ∞": one_over_many(WeightReads::All) => 2_400.0;
        "G9", "the same with N_read(1) = N_a": one_over_many(experts) => 300.0;
    }
}

fn published_steps() -> Vec<Golden> {
    // Sixteen TPU v5e as the scaling book rounds them: int8 weights, bf16 multiplies.
    let tpus = ServingUnit {
        multiply_rate: MacPerSecond(16.0 * 1.97e14 / 2.0),
        attention_multiply_rate: MacPerSecond(16.0 * 1.97e14 / 2.0),
        bandwidth: BytesPerSecond(16.0 * 8.1e11),
        ..TEXTBOOK_UNIT
    };
    let dense = Model {
        active_parameters: 30e9,
        total_parameters: 30e9,
        kv_bytes_per_token: BytesPerToken(1e5),
        ..TEXTBOOK_MODEL
    };
    let small = step_time(&dense, &tpus, &at(4.0, 8_192.0));
    let apart = OperatingPoint {
        overlap: Overlap::AttentionApart,
        ..at(256.0, 8_192.0)
    };
    let large = step_time(&dense, &tpus, &apart);
    let (attention_s, weights_s) = (209_715.2 / 12_960_000.0, 7.68 / 1_576.0);
    let cache_alone = Model {
        active_parameters: 0.0,
        total_parameters: 0.0,
        kv_bytes_per_token: BytesPerToken(360e3),
        ..TEXTBOOK_MODEL
    };
    let (bandwidth, rental_usd_per_second) = (BytesPerSecond(3.3e12), 2.0 / 3_600.0);
    let gpu = ServingUnit {
        bandwidth,
        rental_usd_per_second,
        ..TEXTBOOK_UNIT
    };
    let usd_per_token = cost_per_generated_token(&cache_alone, &gpu, &at(1.0, 100e3));
    golden! {
        "H3", "T in s": small.total.0 => 33.2768 / 12_960.0; // 2.568 ms
        "H3", "memory time in s": small.memory().0 => 33.2768 / 12_960.0;
        "H4", "attention in s": large.kv_memory.0 => attention_s; // 16.18 ms
        "H4", "weights in s": large.weight_compute.0 => weights_s; // 4.87 ms
        "H4", "T in s": large.total.0 => attention_s + weights_s; // 21.05 ms
        "H14", "USD/Mtok": usd_per_token * 1e6 => 200.0 / 33.0; // 6.0606
    }
}

fn cache_sizes() -> Vec<Golden> {
    let grouped = |layers, bytes_per_element| {
        let (key_dimension, value_dimension) = (128, 128);
        let attention = AttentionLayers {
            layers,
            kv_heads: 8,
            key_dimension,
            value_dimension,
        };
        attention.kv_bytes_per_token(bytes_per_element).0
    };
    let latent = LatentAttention {
        layers: 61,
        kv_lora_rank: 512,
        rope_dimension: 64,
    };
    golden! {
        "G3", "k of one layer": grouped(1, 1.0) => 2_048.0;
        "H5", "k of Llama-3-70B, int8": grouped(80, 1.0) => 163_840.0;
        "H5", "k of Llama-3-70B, bf16": grouped(80, 2.0) => 327_680.0;
        "H24", "k of DeepSeek V3, bf16": latent.kv_bytes_per_token(2.0).0 => 70_272.0;
        "H24", "k of DeepSeek V3, fp8": latent.kv_bytes_per_token(1.0).0 => 35_136.0;
    }
}

fn kinks() -> Vec<Golden> {
    let sheet = tiered((200_000, 1_048_576), (["1.25", "10"], ["2.5", "15"]));
    let kv = |id: &str, name: &str, stated: f64| {
        let mut assumptions = json!({"accelerator": {"compute_to_bandwidth": 300},
            "active_parameters": 1e11, "weight_bytes_per_parameter": 1});
        assumptions[name] = json!(stated);
        value(&answer(&sheet, &assumptions), id)
    };
    let of_weights = |bytes| kv("context_tier_kv_bytes", "weight_bytes_per_parameter", bytes);
    let finite = |batch| {
        kv(
            "context_tier_kv_bytes_finite_batch",
            "batch_over_optimal_batch",
            batch,
        )
    };
    let rack = |accelerator: Json, active: f64| {
        let assumptions = json!({"accelerator": accelerator, "chips": 72, "total_parameters": 1e12,
            "active_parameters": active, "weight_bytes_per_parameter": 1});
        value(
            &answer(&sheet, &assumptions),
            "context_tier_kv_bytes_full_hbm",
        )
    };
    let custom = || json!({"compute_to_bandwidth": 300, "capacity_bytes": 186e9});
    // N_a = ρ·L_1/w makes the factor before it 1.
    let factor = rack(custom(), 6e7);
    let free = 12_392.0 / 13_392.0;
    golden! {
        "G2", "k_bw in B, w 1": of_weights(1.0) => 5_000.0 / 3.0; // 1,666.7
        "G2b", "k_bw in B, w 2": of_weights(2.0) => 10_000.0 / 3.0; // 3,333.3
        "G2b", "k_bw in B, w 0.5": of_weights(0.5) => 2_500.0 / 3.0; // 833.3
        "G2c", "k_bw in B, β 2": finite(2.0) => 2_500.0 / 3.0; // 833.3
        "G2c", "k_bw in B, β 3": finite(3.0) => 10_000.0 / 9.0; // 1,111.1
        "G20", "1 − w·N_t/C": factor => free; // 0.9253
        "G20", "k_bw in B, ρ 300": rack(custom(), 1e11) => 5_000.0 / 3.0 * free; // 1,542.2
        "G20", "k_bw in B, ρ 312.5": rack(json!("gb200-nvl72"), 1e11) => 1_600.0 * free; // 1,480.5
    }
}

fn multipliers() -> Vec<Golden> {
    let increments = tiered((200_000, 1_000_000), (["2", "6"], ["4", "12"]));
    let assumptions = json!({"accelerator": {"compute_to_bandwidth": 300},
        "weight_bytes_per_parameter": 1, "prefill_efficiency": 0.7, "kv_bytes_per_element": 1});
    let increments = answer(&increments, &assumptions);
    let increments = reading(&increments, "increments_gqa_group");
    let cover = |lengths, output: [&str; 2]| {
        let sheet = tiered(lengths, (["1", output[0]], ["2", output[1]]));
        value(&answer(&sheet, &json!({})), "output_multiplier_cover")
    };
    let google = cover((200_000, 1_048_576), ["10", "15"]);
    let openai = cover((272_000, 922_000), ["10", "15"]);
    let steep = cover((100_000, 1_000_000), ["2", "10"]);
    let twice = tiered((200_000, 1_048_576), (["1.25", "10"], ["2.5", "15"]));
    let twice = answer(&twice, &json!({}));
    let attention = reading(&twice, "input_multiplier_attention");
    let balance = detail(attention, "prompt_tokens_at_which_attention_equals_weights");
    golden! {
        "G21", "a/k in MAC/B": numeric(increments) => 140.0;
        "G21", "g": detail(increments, "query_heads_per_kv_head") => 140.0;
        "G22", "x, 200k to 1,048,576": google => 1_497_152.0;
        "G22", "x, 272k to 922k": openai => 1_028_000.0;
        "G22", "x, 100k to 1M": steep => 125_000.0;
        "G23", "a/N_a": numeric(attention) => 2.0 / 648_576.0; // 3.0837e-6
        "G23", "2·N_a/a": balance => 648_576.0;
    }
}

fn output_ratio_and_modes() -> Vec<Golden> {
    let ratio = answer(&plain("1", "5"), &json!({}));
    let ratio = reading(&ratio, "output_ratio_memory_boundness");
    let six = answer(&opus_4_6(), &json!({}));
    let two = answer(&opus_5_5(), &json!({"speed_multiplier": {"fast": 2.5}}));
    let batch = sheet(json!({"rates": [
        {"input": "1", "output": "5"},
        {"service_tier": "batch", "input": "0.5", "output": "2.5"},
    ]}));
    let batch = answer(&batch, &json!({}));
    let batch = reading(&batch, "batch_discount_utilisation");
    golden! {
        "G5", "r": numeric(ratio) => 5.0;
        "G5", "MFU ratio": detail(ratio, "relative_decode_utilisation") => 0.2;
        "G18", "B_std/B_fast": value(&six, "fast_mode_batch_ratio") => 15.0;
        "G18", "y": value(&six, "fast_mode_kv_over_weights") => 1.8;
        "G18", "1 + y": value(&six, "fast_mode_max_speedup") => 2.8;
        "G18b", "B_std/B_fast": value(&two, "fast_mode_batch_ratio") => 5.0;
        "G18b", "y": value(&two, "fast_mode_kv_over_weights") => 3.0;
        "G18b", "1 + y": value(&two, "fast_mode_max_speedup") => 4.0;
        "G30", "U_std/U_batch": numeric(batch) => 0.5;
        "G30", "A": detail(batch, "amortisation") => 1.0;
    }
}

fn cache_prices() -> Vec<Golden> {
    // N_a·BW_path/M = 1, so that the load path shows the discount itself.
    let stated = json!({"accelerator": {"flops_per_second": 2e15}, "active_parameters": 1e12,
        "total_parameters": 1e12, "load_path_bytes_per_second": 1e3});
    let discount = value(&answer(&opus_4_6(), &stated), "cache_read_load_path");
    let path = sheet(json!({"rates": [{"input": "5", "cache_read": "0.5"}]}));
    let stated = json!({"accelerator": {"flops_per_second": 5e15}, "active_parameters": 1e11,
        "load_path_bytes_per_second": 50e9});
    let path = value(&answer(&path, &stated), "cache_read_load_path");
    let hold = answer(&opus_4_6(), &json!({}));
    let hold = reading(&hold, "cache_write_hold_price");
    let written = |price| hold.input(price).unwrap_or(f64::NAN);
    let storage = |input: &str, hit: &str| {
        let sheet = sheet(
            json!({"rates": [{"input": input, "output": "10", "cache_read": hit,
            "cache_storage_per_hour": "4.5"}]}),
        );
        answer(&sheet, &json!({"accelerator": "gb200-nvl72"}))
    };
    let (older, newer) = (storage("1.25", "0.125"), storage("2", "0.2"));
    let hours = |answer| detail(reading(answer, "cache_storage_kv_bytes"), "break_even_hold");
    golden! {
        "G19", "p_hit/p_in": discount => 0.1;
        "G19", "write price for 5 min, 1.25 × 5": written("write_price_short") => 6.25;
        "G19", "write price for 1 h, 2 × 5": written("write_price_long") => 10.0;
        "G19", "s_1 in USD/Mtok-hour": numeric(hold) => 45.0 / 11.0; // 4.0909
        "G19b", "k_st in B": detail(hold, StorageTier::HBM) => 1_860_000.0 / 11.0; // 169,091
        "G24", "k_st in B": value(&older, "cache_storage_kv_bytes") => 186_000.0;
        "G24", "break-even of Gemini 2.5 Pro in h": hours(&older) => 0.25;
        "G24", "break-even of Gemini 3.1 Pro in h": hours(&newer) => 0.4;
        "G29", "k_st in B": path => 200_000.0;
    }
}

fn storage_tiers_by_time() -> Vec<Golden> {
    let stated = json!({"accelerator": "gb200-nvl72", "active_parameters": 1e11,
        "prefill_efficiency": 0.5, "kv_bytes_per_token_stored": 5e4});
    let answer = answer(&opus_4_6(), &stated);
    let kept_for = |id: &str, ttl_s: f64| {
        let is_it =
            |reading: &&Reading| reading.id == id && reading.input("ttl_seconds") == Some(ttl_s);
        answer
            .readings
            .iter()
            .find(is_it)
            .expect("a reading per time to live")
    };
    let five_minutes = kept_for("cache_ttl_drain_time", 300.0);
    let hour = kept_for("cache_ttl_drain_time", 3_600.0);
    let rule = kept_for("cache_ttl_five_minute_rule", 3_600.0);
    let keeping = |id: &str, read: fn(&StorageTier) -> Option<f64>| {
        let tier = storage_tiers()
            .iter()
            .find(|tier| tier.id == id)
            .expect("a known tier");
        KeepingCost {
            read_usd_per_byte: read(tier).expect("a cost of reading"),
            hold_usd_per_byte_hour: tier.hold_usd_per_byte_hour.expect("a cost of holding"),
        }
    };
    let hbm = KeepingCost {
        read_usd_per_byte: 0.0,
        hold_usd_per_byte_hour: rule.input("hbm_hold_usd_per_byte_hour").unwrap_or(f64::NAN),
    };
    let memory = keeping("host-dram", |tier| tier.read_usd_per_byte);
    let flash = keeping("flash-tlc", |tier| tier.read_high_usd_per_byte);
    let disk = keeping("disk", |tier| tier.read_usd_per_byte);
    golden! {
        "G26", "HBM to DDR in s": hbm.boundary(&memory).0 => 9e-13 / (4.5 / 186e9 - 2.5e-13); // 0.038
        "G26", "DDR to 30.72 TB of TLC in s": memory.boundary(&flash).0 => 17_100.0 / 241.9; // 70.7
        "G26", "30.72 TB of TLC to disk in s": flash.boundary(&disk).0 => 36_000.0 / 7.6; // 78.9 min
        "G27", "300 s today": named(five_minutes) => "flash-tlc";
        "G27", "3,600 s today": named(hour) => "flash-qlc";
        "G27", "300 s by the talk": detail_name(five_minutes, "tier_by_the_talk") => "flash";
        "G27", "3,600 s by the talk": detail_name(hour, "tier_by_the_talk") => "disk";
        "G31", "hold in HBM or recompute, in s": value(&answer, "recompute_or_hold") => 297.6;
        "G32", "cheapest for 3,600 s": named(rule) => "flash-tlc";
        // After networked flash, (1.2e-15 − 5e-16)/(9.6e-14 − 8.1e-15) h: 28.7 s.
        "G32", "cheapest from, in s": detail(rule, "cheapest_from") => 25_200.0 / 879.0;
        // Before disk, (1.5e-14 − 1.2e-15)/(8.1e-15 − 5e-16) h: 109 min.
        "G32", "cheapest to, in s": detail(rule, "cheapest_to") => 49_680.0 / 7.6;
    }
}

fn bounds() -> Vec<Golden> {
    let longest = sheet(json!({"limits": {"context": 1_000_000}, "rates": [{"input": "1.25"}]}));
    let stated = json!({"accelerator": "gb200-nvl72", "weight_bytes_per_parameter": 1,
        "total_parameters": 1e12, "minimum_batch": 32});
    let answer = answer(&longest, &stated);
    golden! {
        "G25", "k_st in B": value(&answer, "context_maximum_kv_bytes") => 387_250.0;
        "G28", "N_a": value(&answer, "price_level_active_parameters") => 2.5e12;
    }
}

// What the forward model prices, the readings read back

/// A machine and a model drawn at random, without its KV cache.
#[derive(Debug, Clone, Copy)]
struct Architecture {
    unit: ServingUnit,
    model: Model,
    efficiencies: Efficiencies,
}

fn architectures() -> impl Strategy<Value = Architecture> {
    let sizes = (
        9.0..12.0_f64,
        0.0..1.5_f64,
        prop_oneof![Just(0.5), Just(1.0), Just(2.0)],
    );
    let machine = (12.0..15.0_f64, 1.5..3.0_f64, 0.0..2.0_f64);
    let share = || 0.2..1.0_f64;
    (sizes, machine, (share(), share(), share())).prop_map(|(sizes, machine, shares)| {
        let (active, sparsity, weight_bytes_per_parameter) = sizes;
        let (bandwidth, macs_per_byte, usd_per_mtok) = machine;
        let (prefill, decode_bandwidth, decode_compute) = shares;
        let ten_to = |exponent: f64| 10.0_f64.powf(exponent);
        let multiply_rate = MacPerSecond(ten_to(bandwidth + macs_per_byte));
        let model = Model {
            active_parameters: ten_to(active),
            total_parameters: ten_to(active + sparsity),
            weight_bytes_per_parameter,
            ..TEXTBOOK_MODEL
        };
        // The rent makes multiplying with the weights cost 1 to 100 USD/Mtok at peak.
        let macs_per_mtok = model.active_parameters * 1e6;
        let unit = ServingUnit {
            multiply_rate,
            attention_multiply_rate: multiply_rate,
            bandwidth: BytesPerSecond(ten_to(bandwidth)),
            capacity: Bytes(0.0),
            rental_usd_per_second: ten_to(usd_per_mtok) * multiply_rate.0 / macs_per_mtok,
        };
        let efficiencies = Efficiencies {
            prefill,
            decode_bandwidth,
            decode_compute,
        };
        Architecture {
            unit,
            model,
            efficiencies,
        }
    })
}

impl Architecture {
    fn compute_to_bandwidth(&self) -> f64 {
        let bytes = self.model.weight_bytes_per_parameter;
        compute_to_bandwidth(bytes, self.unit.multiply_rate, self.unit.bandwidth)
    }

    fn optimal_batch(&self) -> f64 {
        let sparsity = self.model.total_parameters / self.model.active_parameters;
        optimal_batch(self.compute_to_bandwidth(), sparsity)
    }

    /// `η_m`/`η_c`
    fn balance(&self) -> f64 {
        self.efficiencies.decode_bandwidth / self.efficiencies.decode_compute
    }

    /// The same with the KV cache that makes L0 this long: E7 gives L0 from k and k from L0.
    fn with_crossover(mut self, tokens: f64) -> Self {
        let Model {
            weight_bytes_per_parameter,
            active_parameters,
            ..
        } = self.model;
        let ratio = self.compute_to_bandwidth();
        let tokens = BytesPerToken(tokens);
        self.model.kv_bytes_per_token = BytesPerToken(crossover_context(
            weight_bytes_per_parameter,
            active_parameters,
            ratio,
            tokens,
        ));
        self
    }

    fn crossover(&self) -> f64 {
        let Model {
            weight_bytes_per_parameter,
            active_parameters,
            kv_bytes_per_token,
            ..
        } = self.model;
        let ratio = self.compute_to_bandwidth();
        crossover_context(
            weight_bytes_per_parameter,
            active_parameters,
            ratio,
            kv_bytes_per_token,
        )
    }

    fn point(&self, batch: f64, context_tokens: f64) -> OperatingPoint {
        OperatingPoint {
            efficiencies: self.efficiencies,
            ..at(batch, context_tokens)
        }
    }

    /// Output price as a sheet writes it.
    fn output(&self, batch: f64, context_tokens: f64) -> String {
        let point = self.point(batch, context_tokens);
        per_mtok(cost_per_generated_token(&self.model, &self.unit, &point))
    }

    /// Input price of a prompt whose attention takes so many multiply-adds.
    fn input(&self, attention_macs: f64, fresh: f64) -> String {
        let (prefill, prompt) = (
            self.efficiencies.prefill,
            PromptTokens { fresh, cached: 0.0 },
        );
        per_mtok(cost_per_prompt_token(
            &self.model,
            &self.unit,
            prefill,
            attention_macs,
            prompt,
        ))
    }

    /// What a caller who knows the machine states.
    fn stated(&self) -> Json {
        json!({
            "accelerator": {
                "compute_to_bandwidth": self.compute_to_bandwidth(),
                "flops_per_second": self.unit.multiply_rate.0 * 2.0,
            },
            "rental_usd_per_hour": self.unit.rental_usd_per_second * 3_600.0,
            "active_parameters": self.model.active_parameters,
            "total_parameters": self.model.total_parameters,
            "weight_bytes_per_parameter": self.model.weight_bytes_per_parameter,
            "prefill_efficiency": self.efficiencies.prefill,
            "decode_bandwidth_efficiency": self.efficiencies.decode_bandwidth,
            "decode_compute_efficiency": self.efficiencies.decode_compute,
        })
    }
}

fn per_mtok(usd_per_token: f64) -> String {
    format!("{:.15}", usd_per_token * 1e6)
}

/// Equal but for what prices and the forward model lose to rounding.
fn close(computed: f64, expected: f64) -> Result<(), TestCaseError> {
    let agrees = (computed - expected).abs() <= ROUND_TRIP * expected.abs();
    prop_assert!(agrees, "computed {computed:e}, expected {expected:e}");
    Ok(())
}

proptest! {
    #[test]
    fn a_price_that_rises_where_memory_overtakes_compute_tells_the_kv_bytes(
        architecture in architectures(),
        threshold in 1_000..2_000_000_u32,
    ) {
        let tokens = f64::from(threshold);
        let architecture = architecture.with_crossover(tokens / architecture.balance());
        let without_weights = 1e24;
        let kink = architecture.point(without_weights, tokens);
        let step = step_time(&architecture.model, &architecture.unit, &kink);
        close(step.memory().0, step.compute().0)?;
        let output = |tokens| architecture.output(without_weights, tokens);
        let sheet = tiered(
            (threshold, threshold * 10),
            (["1", &output(tokens * 0.5)], ["1", &output(tokens * 2.0)]),
        );
        let answer = answer(&sheet, &architecture.stated());
        close(value(&answer, "context_tier_kv_bytes"), architecture.model.kv_bytes_per_token.0)?;
    }

    #[test]
    fn a_finite_batch_and_a_full_hbm_shift_the_kink_and_tell_the_same_kv_bytes(
        architecture in architectures(),
        threshold in 1_000..2_000_000_u32,
        share_of_crossover in 0.05..0.95_f64,
    ) {
        let tokens = f64::from(threshold);
        let balance = architecture.balance();
        let architecture = architecture.with_crossover(tokens / share_of_crossover / balance);
        let batch = optimal_batch_at_context(
            architecture.optimal_batch() / balance,
            tokens,
            architecture.crossover() * balance,
        ).expect("the threshold is below the crossover");
        let kink = architecture.point(batch, tokens);
        let step = step_time(&architecture.model, &architecture.unit, &kink);
        close(step.memory().0, step.compute().0)?;
        let mut stated = architecture.stated();
        stated["chips"] = json!(1);
        stated["batch_over_optimal_batch"] = json!(batch / architecture.optimal_batch());
        let read_per_step =
            step.memory().0 * architecture.efficiencies.decode_bandwidth * architecture.unit.bandwidth.0;
        stated["accelerator"]["capacity_bytes"] = json!(read_per_step);
        let output = |tokens| architecture.output(batch, tokens);
        let sheet = tiered(
            (threshold, threshold * 10),
            (["1", &output(tokens * 0.5)], ["1", &output(tokens * 2.0)]),
        );
        let answer = answer(&sheet, &stated);
        let kv_bytes = architecture.model.kv_bytes_per_token.0;
        close(value(&answer, "context_tier_kv_bytes_finite_batch"), kv_bytes)?;
        close(value(&answer, "context_tier_kv_bytes_full_hbm"), kv_bytes)?;
    }

    #[test]
    fn the_output_ratio_tells_how_memory_bound_decoding_is_and_the_kv_bytes(
        architecture in architectures(),
        context in 100.0..1e6_f64,
        batch_over_optimal in 0.3..10.0_f64,
        boundness_over_least in 1.05..8.0_f64,
        margins in (0.0..0.5_f64, 0.0..0.5_f64),
    ) {
        let weight_share = 1.0 / batch_over_optimal;
        let boundness = boundness_over_least * architecture.balance().max(weight_share).max(1.0);
        let architecture = architecture.with_crossover(context / (boundness - weight_share));
        let (input_margin, output_margin) = margins;
        let margin = |margin: f64| move |price: String| {
            format!("{:.15}", price.parse::<f64>().expect("a price") / (1.0 - margin))
        };
        let batch = batch_over_optimal * architecture.optimal_batch();
        let output = margin(output_margin)(architecture.output(batch, context));
        let input = margin(input_margin)(architecture.input(0.0, context));
        let mut stated = architecture.stated();
        stated["batch_over_optimal_batch"] = json!(batch_over_optimal);
        stated["mean_decode_context_tokens"] = json!(context);
        stated["input_margin"] = json!(input_margin);
        stated["output_margin"] = json!(output_margin);
        let answer = answer(&plain(&input, &output), &stated);
        close(value(&answer, "price_level_active_parameters"), architecture.model.active_parameters)?;
        prop_assume!(output.parse::<f64>().expect("a price") > input.parse::<f64>().expect("a price"));
        let ideal = memory_time_over_compute_time(batch_over_optimal, context / architecture.crossover());
        close(value(&answer, "output_ratio_memory_boundness"), ideal)?;
        close(value(&answer, "output_ratio_kv_bytes"), architecture.model.kv_bytes_per_token.0)?;
    }

    #[test]
    fn two_long_context_tiers_tell_the_cover_the_kv_bytes_and_the_arithmetic_of_attention(
        architecture in architectures(),
        threshold in 10_000..300_000_u32,
        longest_over_threshold in 2..10_u32,
        cover_over_threshold in 0.05..10.0_f64,
        share_of_largest_batch in 0.1..1.0_f64,
        attention_over_weights in 0.05..5.0_f64,
    ) {
        let (below, above) = (f64::from(threshold), f64::from(threshold * longest_over_threshold));
        // Small enough a batch that decoding waits for memory at the threshold already.
        let largest_batch = (1.0 + 1.0 / cover_over_threshold) / architecture.balance();
        let batch_over_optimal = share_of_largest_batch * largest_batch;
        let architecture = architecture.with_crossover(cover_over_threshold * below * batch_over_optimal);
        let batch = batch_over_optimal * architecture.optimal_batch();
        let attention_macs = attention_over_weights * architecture.model.active_parameters / below;
        let cell = |tokens| [architecture.input(attention_macs, tokens), architecture.output(batch, tokens)];
        let ([input_below, output_below], [input_above, output_above]) = (cell(below), cell(above));
        let sheet = tiered(
            (threshold, threshold * longest_over_threshold),
            ([&input_below, &output_below], [&input_above, &output_above]),
        );
        let mut stated = architecture.stated();
        stated["batch_over_optimal_batch"] = json!(batch_over_optimal);
        let answer = answer(&sheet, &stated);
        let kv_bytes = architecture.model.kv_bytes_per_token.0;
        let cover = reading(&answer, "output_multiplier_cover");
        close(numeric(cover), architecture.crossover() / batch_over_optimal)?;
        close(detail(cover, "kv_bytes_per_token_read"), kv_bytes)?;
        let attention = reading(&answer, "input_multiplier_attention");
        close(numeric(attention), attention_over_weights / below)?;
        close(detail(attention, "attention_macs_per_token"), attention_macs)?;
        close(value(&answer, "increments_gqa_group"), attention_macs / kv_bytes)?;
    }

    #[test]
    fn the_cover_is_at_least_the_crossover_where_attention_stays_apart(
        architecture in architectures(),
        threshold in 10_000..300_000_u32,
        crossover_over_threshold in 0.05..10.0_f64,
        batch_over_optimal in 0.3..10.0_f64,
    ) {
        let (below, above) = (f64::from(threshold), f64::from(threshold * 4));
        let mut architecture = architecture.with_crossover(crossover_over_threshold * below);
        architecture.efficiencies = Efficiencies::PEAK;
        let batch = batch_over_optimal * architecture.optimal_batch();
        let output = |context_tokens| {
            let overlap = Overlap::AttentionApart;
            let point = OperatingPoint { overlap, ..at(batch, context_tokens) };
            per_mtok(cost_per_generated_token(&architecture.model, &architecture.unit, &point))
        };
        let sheet = tiered((threshold, threshold * 4), (["1", &output(below)], ["1", &output(above)]));
        let cover = value(&answer(&sheet, &json!({})), "output_multiplier_cover");
        close(cover, architecture.crossover() * (1.0 / batch_over_optimal).max(1.0))?;
    }

    #[test]
    fn attention_apart_takes_up_to_twice_as_long(
        architecture in architectures(),
        crossover in 1e3..1e6_f64,
        batch in 1.0..1e5_f64,
        context in 1.0..1e7_f64,
    ) {
        let architecture = architecture.with_crossover(crossover);
        let overlapping = architecture.point(batch, context);
        let apart = OperatingPoint { overlap: Overlap::AttentionApart, ..overlapping };
        let time = |point| step_time(&architecture.model, &architecture.unit, point).total.0;
        let (overlapping, apart) = (time(&overlapping), time(&apart));
        prop_assert!(overlapping <= apart * (1.0 + EXACT) && apart <= 2.0 * overlapping * (1.0 + EXACT));
    }

    #[test]
    fn a_fast_mode_tells_the_batches_and_what_weights_leave_of_a_step(
        architecture in architectures(),
        batch in 2.0..1e5_f64,
        batch_ratio in 1.5..30.0_f64,
        kv_over_weights in 0.1..10.0_f64,
    ) {
        let mut architecture = architecture;
        architecture.efficiencies = Efficiencies::PEAK;
        architecture.unit.multiply_rate = MacPerSecond(1e30);
        let weight_bytes = architecture.model.weight_bytes_per_parameter * architecture.model.total_parameters;
        let context = 10_000.0;
        architecture.model.kv_bytes_per_token = BytesPerToken(kv_over_weights * weight_bytes / (batch * context));
        let (standard, fast) = (architecture.point(batch, context), architecture.point(batch / batch_ratio, context));
        // One step for 1 to 100 USD whatever the model.
        architecture.unit.rental_usd_per_second =
            batch * 1e-6 / latency_floor(&architecture.model, &architecture.unit).0;
        let time = |point| step_time(&architecture.model, &architecture.unit, point);
        let price = |point| per_mtok(cost_per_generated_token(&architecture.model, &architecture.unit, point));
        let sheet = sheet(json!({"rates": [
            {"input": "1", "output": price(&standard)},
            {"service_tier": "fast", "input": "2", "output": price(&fast)},
        ]}));
        let (slow_step, fast_step) = (time(&standard), time(&fast));
        let speed = slow_step.total.0 / fast_step.total.0;
        let answer = answer(&sheet, &json!({"speed_multiplier": {"fast": speed}}));
        close(value(&answer, "fast_mode_batch_ratio"), batch_ratio)?;
        close(value(&answer, "fast_mode_kv_over_weights"), slow_step.kv_memory.0 / slow_step.weight_memory.0)?;
        let fastest = slow_step.total.0 / latency_floor(&architecture.model, &architecture.unit).0;
        close(value(&answer, "fast_mode_max_speedup"), fastest)?;
    }

    #[test]
    fn a_batch_discount_tells_utilisation_and_amortisation(
        architecture in architectures(),
        context_over_crossover in 0.1..5.0_f64,
        batch_over_optimal in 0.2..5.0_f64,
        utilisation in 0.1..0.9_f64,
    ) {
        let mut architecture = architecture.with_crossover(10_000.0);
        architecture.efficiencies = Efficiencies::PEAK;
        let context = 10_000.0 * context_over_crossover;
        let (input, scale) = (architecture.input(0.0, context), 1.0 / utilisation);
        let scaled = |price: String| format!("{:.15}", price.parse::<f64>().expect("a price") * scale);
        let batch = batch_over_optimal * architecture.optimal_batch();
        let sheet = sheet(json!({"rates": [
            {"input": scaled(input.clone()), "output": scaled(architecture.output(batch, context))},
            {"service_tier": "batch", "input": input, "output": architecture.output(1e24, context)},
        ]}));
        let answer = answer(&sheet, &json!({}));
        let discount = reading(&answer, "batch_discount_utilisation");
        let standard = memory_time_over_compute_time(batch_over_optimal, context_over_crossover).max(1.0);
        close(detail(discount, "amortisation"), standard / context_over_crossover.max(1.0))?;
        close(numeric(discount), utilisation)?;
    }
}

// Rules

fn assert_exact(what: &str, computed: f64, expected: f64) {
    let agrees = (computed - expected).abs() <= EXACT * expected.abs();
    assert!(agrees, "{what}: computed {computed}, expected {expected}");
}

const READING_IDS: [&str; 21] = [
    "context_tier_kv_bytes",
    "context_tier_kv_bytes_finite_batch",
    "context_tier_kv_bytes_full_hbm",
    "output_multiplier_cover",
    "input_multiplier_attention",
    "increments_gqa_group",
    "output_ratio_memory_boundness",
    "output_ratio_kv_bytes",
    "cache_read_load_path",
    "cache_write_hold_price",
    "cache_storage_kv_bytes",
    "cache_ttl_drain_time",
    "cache_ttl_five_minute_rule",
    "recompute_or_hold",
    "fast_mode_batch_ratio",
    "fast_mode_kv_over_weights",
    "fast_mode_max_speedup",
    "batch_discount_utilisation",
    "output_speed_weight_bytes",
    "context_maximum_kv_bytes",
    "price_level_active_parameters",
];

#[test]
fn there_are_the_readings_of_the_model_and_no_others() {
    let ids: Vec<&str> = specifications()
        .map(|specification| specification.id)
        .collect();
    assert_eq!(ids, READING_IDS);
}

#[test]
fn every_answer_lists_every_reading_whatever_the_sheet_says() {
    for sheet in [
        plain("1", "5"),
        rich(),
        sheet(json!({"rates": [{"cache_write": []}]})),
    ] {
        let answer = answer(&sheet, &json!({}));
        let listed: BTreeSet<&str> = answer.readings.iter().map(|reading| reading.id).collect();
        assert_eq!(listed, BTreeSet::from(READING_IDS));
        for reading in &answer.readings {
            assert!(
                reading.value.is_some() != reading.not_defined.is_some(),
                "{reading:?}"
            );
        }
    }
}

#[test]
fn the_document_of_the_model_has_every_reading_with_its_equation_and_every_golden_number() {
    let document = include_str!("../../docs/MODEL.md");
    for specification in specifications() {
        let equation = specification.equation.replace('|', "\\|");
        let row = format!("| `{}` | `{equation}` |", specification.id);
        assert!(
            document.contains(&row),
            "docs/MODEL.md has no row that begins with\n{row}"
        );
    }
    for id in GOLDEN_IDS {
        assert!(
            document.contains(&format!("| {id} |")),
            "docs/MODEL.md has no row for {id}"
        );
    }
}

/// Ranges for much of what may be stated.
fn ranges() -> Json {
    let range = |low: f64, high: f64| json!({"low": low, "high": high});
    json!({
        "accelerator": {
            "flops_per_second": range(4e15, 6e15),
            "bandwidth_bytes_per_second": 8e12,
            "capacity_bytes": range(1.5e11, 3e11),
        },
        "chips": 72,
        "rental_usd_per_hour": range(3.0, 10.0),
        "active_parameters": range(5e10, 2e11),
        "total_parameters": range(4e11, 1.6e12),
        "batch_over_optimal_batch": range(2.0, 3.0),
        "mean_decode_context_tokens": range(4_000.0, 16_000.0),
        "prefill_efficiency": range(0.4, 0.8),
        "decode_bandwidth_efficiency": range(0.5, 0.9),
        "output_margin": range(-0.1, 0.5),
        "kv_bytes_per_token_stored": range(1e4, 1e5),
        "load_path_bytes_per_second": range(1e10, 1e11),
        "minimum_batch": range(8.0, 64.0),
        "speed_multiplier": {"fast": range(1.5, 3.0)},
    })
}

#[test]
fn a_value_lies_within_its_range() {
    let answer = answer(&rich(), &ranges());
    let figure = |name: &str, value: &Value, low: Option<f64>, high: Option<f64>| {
        let (Some(value), Some(low), Some(high)) = (value.number(), low, high) else {
            return false;
        };
        assert!(
            low <= value && value <= high,
            "{name}: {low} <= {value} <= {high}"
        );
        true
    };
    let mut ranged = BTreeSet::new();
    for reading in &answer.readings {
        for Detail {
            name,
            value,
            low,
            high,
            ..
        } in &reading.details
        {
            figure(name, value, *low, *high);
        }
        let value = reading.value.as_ref();
        if value.is_some_and(|value| figure(reading.id, value, reading.low, reading.high)) {
            ranged.insert(reading.id);
        }
    }
    let without: Vec<&str> = READING_IDS
        .into_iter()
        .filter(|id| !ranged.contains(id))
        .collect();
    let rest_on_prices_or_names_alone = [
        "output_multiplier_cover",
        "input_multiplier_attention",
        "cache_write_hold_price",
        "cache_ttl_drain_time",
        "cache_ttl_five_minute_rule",
        "batch_discount_utilisation",
    ];
    assert_eq!(without, rest_on_prices_or_names_alone);
}

#[test]
fn the_ends_of_a_range_are_the_readings_at_its_ends_and_its_middle_is_the_geometric_one() {
    let (low, middle, high) = (5e10, 1e11, 2e11);
    let state = |active: Json| {
        answer(
            &gemini(),
            &json!({"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": active}),
        )
    };
    let ranged = state(json!({"low": low, "high": high}));
    let ranged = reading(&ranged, "context_tier_kv_bytes");
    let at = |active: f64| value(&state(json!(active)), "context_tier_kv_bytes");
    let pairs = [
        (numeric(ranged), at(middle)),
        (ranged.low.unwrap_or(f64::NAN), at(low)),
        (ranged.high.unwrap_or(f64::NAN), at(high)),
        (
            ranged.input("active_parameters").unwrap_or(f64::NAN),
            middle,
        ),
    ];
    for (computed, expected) in pairs {
        assert_exact("context_tier_kv_bytes", computed, expected);
    }
}

#[test]
fn a_range_that_no_reading_uses_changes_nothing() {
    // No prompt tiers, no cache, no limits and no promise stand on this sheet.
    let sheet = plain("1", "5");
    let without = readings_json(&answer(&sheet, &json!({})));
    let unused = [
        "mean_prompt_tokens_below",
        "mean_prompt_tokens_above",
        "load_path_bytes_per_second",
        "accepted_tokens_per_pass",
        "minimum_batch",
    ];
    for name in unused {
        let mut stated = json!({});
        stated[name] = json!({"low": 2.0, "high": 4.0});
        let with = answer(&sheet, &stated);
        assert!(
            readings_json(&with) == without && with.conflicts.is_empty(),
            "{name}"
        );
        assert!(with.values.iter().all(|input| input.name != name), "{name}");
    }
}

#[test]
fn gemini_says_two_kilobytes_and_eight_times_and_names_their_conflict() {
    let stated = json!({"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": 1e11,
        "weight_bytes_per_parameter": 1});
    let answer = answer(&gemini(), &stated);
    let kv_bytes = value(&answer, "context_tier_kv_bytes");
    assert_exact("context_tier_kv_bytes", kv_bytes, 5_000.0 / 3.0);
    let ratios: Vec<(Option<f64>, Option<f64>)> = answer
        .readings
        .iter()
        .filter(|reading| reading.id == "output_ratio_memory_boundness")
        .map(|reading| (reading.input("min_prompt_tokens"), reading.number()))
        .collect();
    let (base, above) = ((Some(0.0), Some(8.0)), (Some(200_000.0), Some(6.0)));
    assert_eq!(ratios, [base, above, base, above]);
    let famous = ["context_tier_kv_bytes", "output_ratio_memory_boundness"];
    let conflict = answer
        .conflicts
        .iter()
        .find(|conflict| conflict.between == famous)
        .expect("a conflict");
    assert_eq!(conflict.quantity, "memory_time_over_compute_time");
    assert_exact("what the threshold says", conflict.values[0], 1.0);
    assert_exact("what the ratio says", conflict.values[1], 8.0);
    for said in ["the step at 200,000 tokens", "at most 1 times", "8 times"] {
        assert!(conflict.why.contains(said), "{}", conflict.why);
    }
}

#[test]
fn the_famous_readings_agree_where_what_is_stated_explains_the_ratio() {
    let conflicts = |stated: Json| {
        let answer = answer(&gemini(), &stated);
        answer
            .conflicts
            .iter()
            .filter(|conflict| conflict.quantity == "memory_time_over_compute_time")
            .count()
    };
    assert_eq!(conflicts(json!({})), 1);
    assert_eq!(conflicts(json!({"batch_over_optimal_batch": 0.15})), 0);
    assert_eq!(conflicts(json!({"mean_decode_context_tokens": 20_000})), 1);
    assert_eq!(
        conflicts(json!({"mean_decode_context_tokens": 1_200_000})),
        0
    );
    // Memory and compute at their efficiencies are in balance at r = η_m/η_c = 6.
    assert_eq!(conflicts(json!({"decode_compute_efficiency": 0.16})), 0);
}

#[test]
fn opus_5_5_needs_its_speed_stated() {
    let ids = [
        "fast_mode_batch_ratio",
        "fast_mode_kv_over_weights",
        "fast_mode_max_speedup",
    ];
    let stated = answer(&opus_5_5(), &json!({"speed_multiplier": {"fast": 2.5}}));
    let silent = answer(&opus_5_5(), &json!({}));
    for (id, expected) in ids.into_iter().zip([5.0, 3.0, 4.0]) {
        assert_exact(id, value(&stated, id), expected);
        let NotDefined { reason, detail, .. } = not_defined(&silent, id);
        assert_eq!(*reason, Reason::SheetLacks);
        let said = "not defined: the sheet states no speed";
        assert!(detail.starts_with(said), "{detail}");
    }
}

#[test]
fn opus_4_6_states_a_speed_that_is_a_bound_and_two_times_to_live() {
    let answer = answer(&opus_4_6(), &json!({}));
    let expected = [
        ("fast_mode_batch_ratio", 15.0),
        ("fast_mode_kv_over_weights", 1.8),
        ("fast_mode_max_speedup", 2.8),
        ("cache_write_hold_price", 45.0 / 11.0),
    ];
    for (id, expected) in expected {
        assert_exact(id, value(&answer, id), expected);
    }
    let caveats = &reading(&answer, "fast_mode_batch_ratio").caveats;
    assert_eq!(caveats, &["\"up to 2.5×\" is a bound, not a measurement"]);
    let hold = reading(&answer, "cache_write_hold_price");
    assert_eq!(hold.unit, "USD/Mtok-hour");
}

#[test]
fn a_sheet_in_another_currency_has_ratios_and_needs_its_rate_for_dollars() {
    let sheet = sheet(json!({"currency": "CNY", "rates": [{
        "input": "4", "output": "16", "cache_read": "0.4", "cache_storage_per_hour": "2",
        "cache_write": [{"ttl_seconds": 300, "price": "5"}, {"ttl_seconds": 3600, "price": "8"}],
    }]}));
    let state = |rate: Option<f64>| {
        let mut stated = json!({"accelerator": "gb200-nvl72", "load_path_bytes_per_second": 5e10});
        if let Some(rate) = rate {
            stated["usd_per_currency_unit"] = json!(rate);
        }
        answer(&sheet, &stated)
    };
    let (unstated, one, eighth) = (state(None), state(Some(1.0)), state(Some(0.125)));
    for id in [
        "output_ratio_memory_boundness",
        "cache_read_load_path",
        "cache_ttl_drain_time",
    ] {
        let value = &reading(&unstated, id).value;
        assert!(value.is_some(), "{id}");
        assert_eq!(value, &reading(&eighth, id).value, "{id}");
    }
    let in_dollars = [
        "cache_write_hold_price",
        "cache_storage_kv_bytes",
        "price_level_active_parameters",
    ];
    for id in in_dollars {
        let NotDefined { reason, detail, .. } = not_defined(&unstated, id);
        assert_eq!(*reason, Reason::AssumptionMissing, "{id}");
        assert_eq!(detail, "not defined: state `usd_per_currency_unit`", "{id}");
        assert_exact(id, value(&eighth, id), 0.125 * value(&one, id));
    }
}

#[test]
fn a_price_of_zero_forms_no_ratio() {
    let zero = sheet(json!({
        "limits": {"max_input": 1_000_000},
        "service_tiers": {"fast": {"speed_multiplier": {"value": "2.5"}}},
        "rates": [
            free_cell("standard", 0), free_cell("standard", 200_000), free_cell("batch", 0), free_cell("fast", 0),
        ],
    }));
    let stated = json!({"accelerator": "gb200-nvl72", "load_path_bytes_per_second": 5e10,
        "mean_decode_context_tokens": 8_000});
    let answer = answer(&zero, &stated);
    let defined: BTreeSet<&str> = answer
        .readings
        .iter()
        .filter(|reading| reading.value.is_some())
        .map(|reading| reading.id)
        .collect();
    assert_eq!(
        defined,
        BTreeSet::from(["cache_ttl_drain_time", "cache_ttl_five_minute_rule"])
    );
    let reason = not_defined(&answer, "output_ratio_memory_boundness");
    assert_eq!(reason.reason, Reason::NoSolution);
    assert!(reason.detail.contains("price is 0"), "{}", reason.detail);
}

fn free_cell(service_tier: &str, min_prompt_tokens: u32) -> Json {
    json!({
        "service_tier": service_tier, "context_tier": {"min_prompt_tokens": min_prompt_tokens},
        "input": "0", "output": "0.00", "cache_read": "0", "cache_storage_per_hour": "0",
        "cache_write": [{"ttl_seconds": 300, "price": "0"}, {"ttl_seconds": 3600, "price": "8"}],
    })
}

#[test]
fn what_is_held_for_a_fee_is_read_at_the_price_of_explicit_caches() {
    let sheet = sheet(
        json!({"rates": [{"input": "1.25", "cache_read": "0.25", "cache_read_explicit": "0.125",
        "cache_storage_per_hour": "4.5"}]}),
    );
    let answer = answer(&sheet, &json!({}));
    let storage = reading(&answer, "cache_storage_kv_bytes");
    assert_exact("break-even", detail(storage, "break_even_hold"), 0.25);
}

#[test]
fn computed_prices_are_no_evidence() {
    let mut with = rich();
    let rates = with["rates"].as_array_mut().expect("rates");
    for rate in rates.iter_mut().skip(1) {
        rate["basis"] = json!("computed");
    }
    let mut without = with.clone();
    without["rates"].as_array_mut().expect("rates").truncate(1);
    let (with, without) = (answer(&with, &ranges()), answer(&without, &ranges()));
    assert_eq!(readings_json(&with), readings_json(&without));
    for id in ["context_tier_kv_bytes", "batch_discount_utilisation"] {
        assert_eq!(not_defined(&with, id).reason, Reason::SheetLacks, "{id}");
    }
}

#[test]
fn context_tiers_that_reprice_only_the_tokens_above_them_are_no_evidence() {
    for semantics in ["marginal", "unknown"] {
        let mut sheet = gemini();
        sheet["context_tier_semantics"] = json!(semantics);
        let answer = answer(&sheet, &json!({}));
        for id in &READING_IDS[..6] {
            let reason = not_defined(&answer, id);
            assert_eq!(reason.reason, Reason::SheetLacks, "{id}");
            assert!(reason.detail.contains("reprices"), "{}", reason.detail);
        }
        let famous = answer
            .conflicts
            .iter()
            .filter(|conflict| conflict.between[0] == READING_IDS[0]);
        assert_eq!(famous.count(), 0);
    }
}

// Sheets and answers

/// A sheet in US dollars with these fields.
fn sheet(fields: Json) -> Json {
    let mut sheet = json!({
        "schema": "pricesheet/v1", "provider": "someone", "model": "some-model", "currency": "USD",
        "unit": "per_1m_tokens", "sources": [{"url": "https://example.org", "format": "official"}],
    });
    let Json::Object(fields) = fields else {
        panic!("fields are an object")
    };
    sheet.as_object_mut().expect("an object").extend(fields);
    sheet
}

fn plain(input: &str, output: &str) -> Json {
    sheet(json!({"rates": [{"input": input, "output": output}]}))
}

/// Input and output prices below and above a threshold, and the longest prompt.
fn tiered((threshold, longest): (u32, u32), (below, above): ([&str; 2], [&str; 2])) -> Json {
    sheet(json!({"limits": {"max_input": longest}, "rates": [
        {"input": below[0], "output": below[1]},
        {"context_tier": {"min_prompt_tokens": threshold}, "input": above[0], "output": above[1]},
    ]}))
}

/// Gemini 2.5 Pro: standard and batch, with their context tiers.
fn gemini() -> Json {
    let cell = |service_tier: &str, min_prompt_tokens: u32, prices: [&str; 3]| {
        json!({"service_tier": service_tier, "context_tier": {"min_prompt_tokens": min_prompt_tokens},
            "input": prices[0], "output": prices[1], "cache_read": prices[2]})
    };
    sheet(
        json!({"limits": {"context": 1_048_576, "max_output": 65_536}, "rates": [
            cell("standard", 0, ["1.25", "10.00", "0.125"]),
            cell("standard", 200_000, ["2.50", "15.00", "0.25"]),
            cell("batch", 0, ["0.625", "5.00", "0.125"]),
            cell("batch", 200_000, ["1.25", "7.50", "0.25"]),
        ]}),
    )
}

/// Claude Opus 4.6: a fast mode at six times the price, up to 2.5 times as fast.
fn opus_4_6() -> Json {
    sheet(json!({
        "service_tiers": {"fast": {"speed_multiplier":
            {"value": "2.5", "bound": "up_to", "metric": "output_tokens_per_second"}}},
        "rates": [
            {"input": "5.00", "output": "25.00", "cache_read": "0.50", "cache_write":
                [{"ttl_seconds": 300, "price": "6.25"}, {"ttl_seconds": 3600, "price": "10.00"}]},
            {"service_tier": "fast", "input": "30.00", "output": "150.00", "cache_read": "3.00"},
        ],
    }))
}

/// Claude Opus 5.5: a fast mode at twice the price, its speed not published.
fn opus_5_5() -> Json {
    sheet(json!({"rates": [
        {"input": "4.00", "output": "20.00", "cache_read": "0.20"},
        {"service_tier": "fast", "input": "8.00", "output": "40.00", "cache_read": "0.40"},
    ]}))
}

/// A sheet that every reading can be drawn from.
fn rich() -> Json {
    sheet(json!({
        "limits": {"context": 1_000_000},
        "service_tiers": {"fast": {}, "priority": {"slo": {"output_tokens_per_second_min": 50.0}}},
        "rates": [
            {"input": "2", "output": "10", "cache_read": "0.2", "cache_storage_per_hour": "4.5", "cache_write":
                [{"ttl_seconds": 300, "price": "2.5"}, {"ttl_seconds": 3600, "price": "4"}]},
            {"context_tier": {"min_prompt_tokens": 200_000}, "input": "4", "output": "15"},
            {"service_tier": "batch", "input": "1", "output": "4"},
            {"service_tier": "fast", "input": "8", "output": "40"},
        ],
    }))
}

fn answer(sheet: &Json, assumptions: &Json) -> Answer {
    let body = json!({"price_sheet": sheet, "assumptions": assumptions}).to_string();
    let request = read_request(body.as_bytes(), &Format::Canonical);
    infer(&request.unwrap_or_else(|error| panic!("{error:?}\n{body}")))
}

/// The first reading of this id.
fn reading<'a>(answer: &'a Answer, id: &str) -> &'a Reading {
    answer
        .readings
        .iter()
        .find(|reading| reading.id == id)
        .unwrap_or_else(|| panic!("no reading `{id}`"))
}

/// Its number; not a number where it is not defined, so that it equals nothing.
fn numeric(reading: &Reading) -> f64 {
    reading.number().unwrap_or(f64::NAN)
}

fn value(answer: &Answer, id: &str) -> f64 {
    numeric(reading(answer, id))
}

fn named(reading: &Reading) -> &str {
    match &reading.value {
        Some(Value::Name(name)) => name,
        _ => "",
    }
}

fn detail_value<'a>(reading: &'a Reading, name: &str) -> Option<&'a Value> {
    reading
        .details
        .iter()
        .find(|detail| detail.name == name)
        .map(|detail| &detail.value)
}

fn detail(reading: &Reading, name: &str) -> f64 {
    detail_value(reading, name)
        .and_then(Value::number)
        .unwrap_or(f64::NAN)
}

fn detail_name<'a>(reading: &'a Reading, name: &str) -> &'a str {
    match detail_value(reading, name) {
        Some(Value::Name(name)) => name,
        _ => "",
    }
}

fn not_defined<'a>(answer: &'a Answer, id: &str) -> &'a NotDefined {
    let reading = reading(answer, id);
    reading
        .not_defined
        .as_ref()
        .unwrap_or_else(|| panic!("`{id}` is {:?}", reading.value))
}

fn readings_json(answer: &Answer) -> Json {
    serde_json::to_value(&answer.readings).expect("readings serialise")
}

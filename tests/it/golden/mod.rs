//! The model against known answers: the golden numbers of `docs/MODEL.md`, readings that give back what the forward
//! model was asked with, and the rules that every reading keeps.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use unroof_base::units::{Bytes, BytesPerSecond, BytesPerToken, MacPerSecond, Seconds};
use unroof_infer::evidence::reading::{Reading, Value};
use unroof_roofline::forward::{
    Efficiencies, HoldCost, KvCache, Model, OperatingPoint, Overlap, ServingUnit, WeightReads,
    cost_per_generated_token, crossover_context, optimal_batch, step_time, throughput,
    worst_case_latency,
};
use unroof_roofline::reference::architecture::{Architecture, AttentionGroup, GroupedQuery};
use unroof_roofline::reference::open_model;
use unroof_roofline::reference::{StorageTier, storage_tiers};

/// Tolerance for exact numbers.
const EXACT: f64 = 1e-12;
/// Tolerance for numbers derived through prices and a forward model.
const ROUND_TRIP: f64 = 1e-9;

mod forward_and_back;
mod forward_model;
mod layout_and_training;
mod price_lines;
mod rules;
mod sheets;
mod speeds;

use sheets::*;

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

/// An answer that is known, with its request.
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

/// A known answer: a number, or the id of a storage tier.
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

/// Rows of `id, what: computed => expected;`, the expected number exact and the document's next to it.
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
    let one_layer = Architecture {
        total_parameters: 1e9,
        active_parameters: 1e9,
        layers: 1,
        hidden_dimension: 1_024,
        input_embedding_parameters: 0.0,
        always_read_parameters: None,
        experts: None,
        attention: vec![AttentionGroup::GroupedQuery(GroupedQuery {
            chunked: None,
            layers: 1,
            query_heads: 8,
            kv_heads: 8,
            key_dimension: 128,
            value_dimension: 128,
            window: None,
            sparse: None,
        })],
    };
    let stored = |architecture: &Architecture, bytes_per_element| {
        KvCache::new(architecture)
            .stored_per_token(bytes_per_element)
            .0
    };
    let open = |name| &open_model(name).expect("an open-weight model").architecture;
    let (llama, deepseek) = (open("Llama-3-70B"), open("DeepSeek-V3"));
    golden! {
        "G3", "k of one layer": stored(&one_layer, 1.0) => 2_048.0;
        "H5", "k of Llama-3-70B, int8": stored(llama, 1.0) => 163_840.0;
        "H5", "k of Llama-3-70B, bf16": stored(llama, 2.0) => 327_680.0;
        "H24", "k of DeepSeek V3, bf16": stored(deepseek, 2.0) => 70_272.0;
        "H24", "k of DeepSeek V3, fp8": stored(deepseek, 1.0) => 35_136.0;
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
        let is_it = |reading: &&Reading| {
            reading.id.name() == id && reading.input("ttl_seconds") == Some(ttl_s)
        };
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
        HoldCost {
            read_usd_per_byte: read(tier).expect("a cost of reading"),
            hold_usd_per_byte_hour: tier.hold_usd_per_byte_hour.expect("a cost of holding"),
        }
    };
    let hbm = HoldCost {
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

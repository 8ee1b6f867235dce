//! Round trips: the readings recover the machine from the forward model's prices.

use super::sheets::*;
use super::{EXACT, ROUND_TRIP, TEXTBOOK_MODEL, at};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use unroof_base::units::{Bytes, BytesPerSecond, BytesPerToken, MacPerSecond};
use unroof_roofline::forward::{
    Efficiencies, Model, OperatingPoint, Overlap, PromptTokens, ServingUnit, compute_to_bandwidth,
    cost_per_generated_token, cost_per_prompt_token, crossover_context, latency_floor,
    memory_time_over_compute_time, optimal_batch, optimal_batch_at_context, step_time,
};

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
    fn weights(&self) -> Bytes {
        Bytes(self.model.weight_bytes_per_parameter * self.model.total_parameters)
    }

    fn compute_to_bandwidth(&self) -> f64 {
        let bytes = self.model.weight_bytes_per_parameter;
        compute_to_bandwidth(bytes, self.unit.multiply_rate, self.unit.bandwidth)
    }

    fn optimal_batch(&self) -> f64 {
        let sparsity = self.model.total_parameters / self.model.active_parameters;
        optimal_batch(self.compute_to_bandwidth(), sparsity)
    }

    /// Ratio of efficiencies, `η_m`/`η_c`.
    fn balance(&self) -> f64 {
        self.efficiencies.decode_bandwidth / self.efficiencies.decode_compute
    }

    /// Inputs with the KV cache that makes L0 this long: E7 gives L0 from k and k from L0.
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

    /// Assumptions of a caller who knows the machine.
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
    fn a_price_that_rises_where_memory_overtakes_compute_gives_the_kv_bytes(
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
    fn a_finite_batch_and_a_full_hbm_shift_the_kink_and_give_the_same_kv_bytes(
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
    fn the_output_ratio_gives_the_memory_boundness_and_the_kv_bytes(
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
    fn two_long_context_tiers_give_the_cover_the_kv_bytes_and_the_arithmetic_of_attention(
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
        close(detail(cover, "kv_bytes_per_token_read_slope"), kv_bytes)?;
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
    fn a_fast_mode_gives_the_batches_and_the_share_of_a_step_besides_weights(
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
        // One step for 1 to 100 USD, for every model.
        architecture.unit.rental_usd_per_second =
            batch * 1e-6 / latency_floor(architecture.weights(), &architecture.unit).0;
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
        let fastest = slow_step.total.0 / latency_floor(architecture.weights(), &architecture.unit).0;
        close(value(&answer, "fast_mode_max_speedup"), fastest)?;
    }

    #[test]
    fn a_batch_discount_gives_utilisation_and_amortisation(
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

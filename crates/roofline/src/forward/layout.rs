//! Distribution of a model over the GPUs of a serving unit, and the resulting traffic.

use unroof_base::units::{Bytes, BytesPerSecond, BytesPerToken, Seconds};

/// E10: experts of a layer that one GPU holds in the mean, `n_experts`/`G_used` \[T\].
#[must_use]
pub fn experts_per_gpu(experts: u32, gpus: u32) -> f64 {
    f64::from(experts) / f64::from(gpus)
}

/// Q: number of scale-up domains that this many GPUs occupy.
#[must_use]
pub fn domains_used(gpus: u32, scale_up_domain: u32) -> u32 {
    gpus.div_ceil(scale_up_domain)
}

/// E11: (Q − 1)/Q, the share of expert traffic that leaves its scale-up domain when experts are spread evenly over Q of
/// them \[T\].
#[must_use]
pub fn share_leaving_domain(domains: u32) -> f64 {
    (f64::from(domains) - 1.0) / f64::from(domains)
}

/// Bandwidths of a GPU's two networks, per direction.
#[derive(Debug, Clone, Copy)]
pub struct Links {
    /// SU: within the scale-up domain.
    pub scale_up: BytesPerSecond,
    /// SO: between scale-up domains.
    pub scale_out: BytesPerSecond,
}

impl Links {
    /// SU/SO: ratio of the bandwidths within and out of the domain.
    #[must_use]
    pub fn scale_up_over_scale_out(&self) -> f64 {
        self.scale_up.0 / self.scale_out.0
    }

    /// E20: (SO/SU) · `n_act` · layers per stage · 2, the time a stage's expert traffic takes over the time of handing its
    /// result to the next rack; at 1 and above, pipelining across racks costs no time \[T\].
    ///
    /// An expert layer sends every token to `n_act` experts and back, a stage sends it on once; the size of a token
    /// cancels.
    #[must_use]
    pub fn expert_time_over_hand_over_time(
        &self,
        active_experts: u32,
        layers_per_stage: f64,
    ) -> f64 {
        self.scale_out.0 / self.scale_up.0 * f64::from(active_experts) * layers_per_stage * 2.0
    }
}

/// Expert traffic of a GPU, in both directions.
#[derive(Debug, Clone, Copy)]
pub struct ExpertTraffic {
    /// `B_local`: sequences whose attention one GPU computes.
    pub sequences_per_gpu: f64,
    /// `n_act`: experts that a token goes to, per layer.
    pub active_experts: u32,
    /// `d_model`: elements of a token between layers.
    pub hidden_dimension: u32,
    /// Layers with routed experts.
    pub moe_layers: u32,
    /// Width of the elements.
    pub width: TrafficWidth,
}

/// Bytes per element on the way to the experts and back.
#[derive(Debug, Clone, Copy)]
pub struct TrafficWidth {
    /// Bytes per element on the way to the experts.
    pub dispatch_bytes: f64,
    /// Bytes per element on the way back.
    pub combine_bytes: f64,
}

impl ExpertTraffic {
    /// `B_local`·`n_act`·`d_model`·(`b_dispatch` + `b_combine`)·`n_moe_layers`, bytes per GPU and decode step \[DS6, D\].
    #[must_use]
    pub fn bytes_per_step(&self) -> Bytes {
        let elements = self.sequences_per_gpu
            * f64::from(self.active_experts)
            * f64::from(self.hidden_dimension)
            * f64::from(self.moe_layers);
        Bytes(elements * (self.width.dispatch_bytes + self.width.combine_bytes))
    }
}

/// A model of experts, by its totals.
#[derive(Debug, Clone, Copy)]
pub struct ExpertModel {
    /// `N_t`: total parameters.
    pub total_parameters: f64,
    /// `N_a`: active parameters per token.
    pub active_parameters: f64,
    /// Routed experts per layer.
    pub experts: u32,
    /// Experts per layer that a token goes to.
    pub active_experts: u32,
    /// Layers with routed experts.
    pub moe_layers: u32,
}

/// Division of a model's parameters into experts and the rest.
#[derive(Debug, Clone, Copy)]
pub struct ParameterSplit {
    /// Parameters of one expert of one layer.
    pub per_expert: f64,
    /// Parameters that every token reads: attention, shared experts, dense layers, embeddings.
    pub always_read: f64,
}

impl ExpertModel {
    /// The size of an expert: a token passes by all but `n_act` experts of each layer, so (`N_t` − `N_a`)/((`n_experts` −
    /// `n_act`)·`n_moe_layers`) \[D\]. None where every expert is active or the totals contradict the experts.
    #[must_use]
    pub fn parameter_split(&self) -> Option<ParameterSplit> {
        let idle = f64::from(self.experts.checked_sub(self.active_experts)?);
        let layers = f64::from(self.moe_layers);
        if idle == 0.0 || self.moe_layers == 0 {
            return None;
        }
        let per_expert = (self.total_parameters - self.active_parameters) / (idle * layers);
        let always_read =
            self.active_parameters - per_expert * f64::from(self.active_experts) * layers;
        // Where all that is active are experts, the rest is nothing but rounding.
        let is_rounding = always_read.abs() <= 1e-9 * self.active_parameters;
        let always_read = if is_rounding { 0.0 } else { always_read };
        (per_expert > 0.0 && always_read >= 0.0).then_some(ParameterSplit {
            per_expert,
            always_read,
        })
    }
}

/// The memory that the experts of some layers share.
#[derive(Debug, Clone, Copy)]
pub struct ExpertRoom {
    /// HBM of all GPUs.
    pub memory: Bytes,
    /// Memory used besides the experts.
    pub occupied: Bytes,
    /// Bytes of one expert of one layer.
    pub per_expert: Bytes,
    /// Layers that share the room.
    pub layers: f64,
}

impl ExpertRoom {
    /// Whole experts per layer that fit: (memory − occupied)/(bytes per expert · layers) \[D\].
    #[must_use]
    pub fn experts_per_layer(&self) -> f64 {
        let room = (self.memory.0 - self.occupied.0).max(0.0);
        (room / (self.per_expert.0 * self.layers)).floor()
    }
}

/// A model cut into pipeline stages of equal size.
#[derive(Debug, Clone, Copy)]
pub struct Pipeline {
    /// w·`N_t`: bytes of all weights.
    pub weights: Bytes,
    /// k: KV bytes stored per context token, all layers.
    pub kv_bytes_per_token: BytesPerToken,
    /// L: context length in tokens.
    pub context_tokens: f64,
    /// E: GPUs per stage.
    pub gpus_per_stage: u32,
    /// P: pipeline stages.
    pub stages: u32,
}

impl Pipeline {
    /// E21, first term: w·`N_t`/(E·P), bytes of weights per GPU \[T\].
    #[must_use]
    pub fn weights_per_gpu(&self) -> Bytes {
        self.weights / (f64::from(self.gpus_per_stage) * f64::from(self.stages))
    }

    /// k/P: KV bytes that one stage keeps of a context token, those of its layers.
    #[must_use]
    pub fn kv_bytes_per_token_and_stage(&self) -> BytesPerToken {
        self.kv_bytes_per_token / f64::from(self.stages)
    }

    /// E21, second term: KV bytes per GPU when every micro-batch has b sequences. P micro-batches are under way and a
    /// stage keeps k/P of each token, P·b·L·(k/P)/E = b·L·k/E: P cancels \[T\].
    #[must_use]
    pub fn kv_per_gpu(&self, sequences_per_micro_batch: f64) -> Bytes {
        let sequences = sequences_per_micro_batch * f64::from(self.stages);
        self.kv_per_gpu_of_batch(sequences)
    }

    /// E21, second term: KV bytes per GPU for B sequences in all, B·L·(k/P)/E: halves when P doubles \[T\].
    #[must_use]
    pub fn kv_per_gpu_of_batch(&self, sequences: f64) -> Bytes {
        let per_sequence = self.kv_bytes_per_token_and_stage().0 * self.context_tokens;
        Bytes(sequences * per_sequence / f64::from(self.gpus_per_stage))
    }

    /// Time in which a stage reads its weights and the KV cache of one micro-batch; each GPU reads its own.
    #[must_use]
    pub fn stage_time(&self, sequences_per_micro_batch: f64, bandwidth: BytesPerSecond) -> Seconds {
        let kv = self.kv_per_gpu_of_batch(sequences_per_micro_batch);
        Bytes(self.weights_per_gpu().0 + kv.0) / bandwidth
    }

    /// E22: the time of a token through all P stages, P times that of a stage: the same for every P \[T\].
    #[must_use]
    pub fn token_time(&self, sequences_per_micro_batch: f64, bandwidth: BytesPerSecond) -> Seconds {
        self.stage_time(sequences_per_micro_batch, bandwidth) * f64::from(self.stages)
    }

    /// Transfers of a token between stages, the one from the last stage to the first included: P, and none with one
    /// stage.
    #[must_use]
    pub fn hops(&self) -> f64 {
        if self.stages > 1 {
            f64::from(self.stages)
        } else {
            0.0
        }
    }
}

/// (P − 1)/(m + P − 1): share of a training step in which a stage waits, with m micro-batches \[T\].
#[must_use]
pub fn bubble_share(stages: u32, micro_batches: u32) -> f64 {
    let waiting = f64::from(stages) - 1.0;
    waiting / (f64::from(micro_batches) + waiting)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEARLY: f64 = 1e-12;

    fn agree(left: f64, right: f64) -> bool {
        (left - right).abs() <= NEARLY * right.abs()
    }

    #[test]
    fn deepseek_v3_sends_878_megabytes_a_step_and_its_experts_follow_from_its_totals() {
        let traffic = ExpertTraffic {
            sequences_per_gpu: 88.0,
            active_experts: 8,
            hidden_dimension: 7_168,
            moe_layers: 58,
            width: TrafficWidth {
                dispatch_bytes: 1.0,
                combine_bytes: 2.0,
            },
        };
        assert!(agree(traffic.bytes_per_step().0, 878_051_328.0));
        let time = traffic.bytes_per_step() / BytesPerSecond(5e10);
        assert!((time.0 - 0.0176).abs() < 5e-5, "{time}");
        let model = ExpertModel {
            total_parameters: 671e9,
            active_parameters: 37e9,
            experts: 256,
            active_experts: 8,
            moe_layers: 58,
        };
        // Three matrices of 7,168 × 2,048.
        let split = model.parameter_split().unwrap();
        assert!((split.per_expert / 44_040_192.0 - 1.0).abs() < 2e-3);
        assert!(split.always_read > 0.0);
    }

    #[test]
    fn totals_that_contradict_the_experts_have_no_split() {
        let model = ExpertModel {
            total_parameters: 671e9,
            active_parameters: 37e9,
            experts: 8,
            active_experts: 4,
            moe_layers: 58,
        };
        assert!(model.parameter_split().is_none());
        let dense = ExpertModel {
            active_experts: 8,
            ..model
        };
        assert!(dense.parameter_split().is_none());
    }

    #[test]
    fn one_rack_keeps_all_traffic_and_one_stage_never_waits() {
        assert!(agree(share_leaving_domain(4), 0.75));
        assert_eq!(share_leaving_domain(1).to_bits(), 0.0_f64.to_bits());
        assert_eq!(domains_used(73, 72), 2);
        assert_eq!(bubble_share(1, 8).to_bits(), 0.0_f64.to_bits());
        assert!(agree(bubble_share(4, 9), 0.25));
    }

    fn pipelines() -> impl Strategy<Value = Pipeline> {
        (1e9..1e13, 1e2..1e6, 1.0..1e6, 1u32..512, 1u32..128).prop_map(
            |(weights, kv, context_tokens, gpus_per_stage, stages)| Pipeline {
                weights: Bytes(weights),
                kv_bytes_per_token: BytesPerToken(kv),
                context_tokens,
                gpus_per_stage,
                stages,
            },
        )
    }

    proptest! {
        #[test]
        fn only_the_weights_shrink_with_more_stages(pipeline in pipelines(), sequences in 1.0..1e5_f64) {
            let doubled = Pipeline { stages: 2 * pipeline.stages, ..pipeline };
            prop_assert!(agree(doubled.weights_per_gpu().0, pipeline.weights_per_gpu().0 / 2.0));
            prop_assert!(agree(doubled.kv_per_gpu(sequences).0, pipeline.kv_per_gpu(sequences).0));
            let (of_batch, halved) = (pipeline.kv_per_gpu_of_batch(sequences), doubled.kv_per_gpu_of_batch(sequences));
            prop_assert!(agree(halved.0, of_batch.0 / 2.0));
        }

        #[test]
        fn a_token_takes_as_long_through_any_number_of_stages(pipeline in pipelines(), sequences in 1.0..1e5_f64) {
            let bandwidth = BytesPerSecond(8e12);
            let alone = Pipeline { stages: 1, ..pipeline };
            prop_assert!(agree(pipeline.token_time(sequences, bandwidth).0, alone.token_time(sequences, bandwidth).0));
        }
    }
}

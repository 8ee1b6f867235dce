//! The unknowns of the joint estimate: the model, how it is run, and the machine it runs on.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::posterior::{Prior, sample_prior};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
//! let draws = sample_prior(&prior, 16);
//! let dense = draws.iter().find(|unknowns| unknowns.is_dense).unwrap();
//! assert_eq!(dense.log_active_parameters, dense.log_total_parameters);
//! ```

use super::kv_reading::KvReading;
use super::machine::Machine;
use unroof_base::units::elementary::{exp, exp_each, ln};
use unroof_roofline::forward::USUAL_PROMPT_TOKENS;
use unroof_roofline::reference::AttentionKind;

/// One hypothesis about all unknowns of a price sheet; natural logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Unknowns<'a> {
    /// log `N_a`: active parameters.
    pub log_active_parameters: f64,
    /// log `N_t`: total parameters.
    pub log_total_parameters: f64,
    /// log of the bytes that a step reads per token of a context of 8,192, at one byte per element
    pub log_kv_bytes_read: f64,
    /// log `k_st` at one byte per element: bytes stored per further token of a long context
    pub log_kv_bytes_stored: f64,
    /// log β, the batch over the optimal batch
    pub log_batch_over_optimal: f64,
    /// log `L_mean`: mean context of generated tokens.
    pub log_mean_decode_context: f64,
    /// log U: tokens served over those that the units paid for would serve at the batch all day
    pub log_utilisation: f64,
    /// log R, USD per hour and chip
    pub log_rental: f64,
    /// Whether the model is dense, and therefore `N_t` = `N_a`.
    pub is_dense: bool,
    /// Kind of attention of the model.
    pub attention: AttentionKind,
    /// Machine that serves the model.
    pub machine: &'a Machine,
    /// The unit and its load.
    pub running: Running,
}

/// Unit and load of a machine, on which only times and costs depend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// Chips that share one copy: kept beside their logarithm, since whole numbers do not come back from it.
    pub chips: f64,
    /// log of these
    pub log_chips: f64,
    /// log of the time of a decode step by the engine, where it is computed already
    pub log_step_seconds: Option<f64>,
    /// log of USD per Mtok of input by the engine at one USD per hour and chip, where it is computed already
    pub log_prefill_cost: Option<f64>,
    /// log of measured over predicted time of a decode step
    pub log_decode_error: f64,
    /// log of measured over predicted time of a prefill pass
    pub log_prefill_error: f64,
    /// Share of the prompt tokens that are found in a cache.
    pub cached_share: f64,
    /// S: tokens of a prompt.
    pub prompt_tokens: f64,
}

impl Running {
    /// Chips as stated or of the serving unit, no error, prompts of the usual length, half of them cached.
    #[must_use]
    pub fn typical(machine: &Machine) -> Self {
        Self {
            chips: machine.chips,
            log_chips: machine.log_chips,
            log_step_seconds: None,
            log_prefill_cost: None,
            log_decode_error: 0.0,
            log_prefill_error: 0.0,
            cached_share: 0.5,
            prompt_tokens: USUAL_PROMPT_TOKENS,
        }
    }
}

impl Unknowns<'_> {
    /// Bytes of cache that a step reads, at one byte per element.
    #[must_use]
    pub fn kv_reading(&self) -> KvReading {
        KvReading::new(
            self.attention,
            self.log_kv_bytes_read,
            self.log_kv_bytes_stored,
        )
    }

    /// log of the elements of cache that memory delivers while one token is multiplied with the weights at peak.
    fn log_balanced_elements(&self) -> f64 {
        let machine = self.machine;
        machine.log_weight_bytes + self.log_active_parameters
            - machine.log_compute_to_bandwidth
            - machine.log_kv_element_bytes
    }

    fn log_crossover_of(&self, log_elements: f64) -> f64 {
        ln(self.kv_reading().context_of(exp(log_elements)))
    }

    /// log of L0 with ρ·`η_c`/`η_m` for ρ.
    #[must_use]
    pub fn log_crossover(&self) -> f64 {
        self.log_crossover_of(self.log_balanced_elements() - self.machine.log_balance)
    }

    /// log r, r = 1/β + ρ·(bytes read at `L_mean`)/(w·`N_a`) at peak: 1/β + `L_mean`/L0 where `k_bw` is the same at all contexts
    /// \[T\].
    #[must_use]
    pub fn log_memory_over_compute(&self) -> f64 {
        let [weights, read, stored, context_tokens] = exp_each(&[
            -self.log_batch_over_optimal,
            self.log_kv_bytes_read,
            self.log_kv_bytes_stored,
            self.log_mean_decode_context,
        ]);
        let reading = KvReading::of_bytes(self.attention, read, stored);
        let cache = reading.bytes_at(context_tokens) / exp(self.log_balanced_elements());
        ln(weights + cache)
    }

    /// log of r·`η_c`/`η_m`: memory time over compute time of decoding at the reached efficiencies.
    #[must_use]
    pub fn log_actual_memory_over_compute(&self) -> f64 {
        let at_peak = self.log_memory_over_compute();
        self.machine.log_actual_ratio(at_peak)
    }
}

//! The quantities of the joint estimate: one table, from which the answer, the rows of lists and the reporting views
//! follow.
//!
//! ```
//! use unroof_infer::estimate::quantities::JointQuantity;
//!
//! let quantity = JointQuantity::KvBytesStored;
//! assert_eq!(quantity.name(), "kv_bytes_per_token_stored");
//! assert_eq!(quantity.definition().unit, "bytes/token");
//! assert_eq!(JointQuantity::ALL.len(), JointQuantity::COUNT);
//! ```

use serde::Serialize;
use utoipa::ToSchema;

use super::quantity_estimate::{QuantityEstimate, RatioEstimate, Regime, Shown};
use crate::evidence::unknowns::Unknowns;

/// A quantity of the joint estimate as the table defines it.
#[derive(Debug)]
pub struct Definition {
    /// Name of the quantity in answers and lists.
    pub name: &'static str,
    /// Columns of the quantity in the rows of lists.
    pub columns: QuantityColumns,
    /// Name of the quantity in reports.
    pub label: &'static str,
    /// Name of the quantity in the differences of a price history; none where these leave it out.
    pub history_label: Option<&'static str>,
    /// The quantity in words, without its unit.
    pub description: &'static str,
    /// Unit of the quantity; empty for a plain ratio.
    pub unit: &'static str,
    /// Equation from the model's unknowns.
    pub equation: &'static str,
    /// Logarithm of the quantity in one draw.
    pub log_value: fn(&Unknowns<'_>) -> f64,
}

/// Columns of one quantity in the rows of lists.
#[derive(Debug)]
pub struct QuantityColumns {
    /// Column of the median.
    pub median: &'static str,
    /// Lower end of the 90 % interval.
    pub low_90: &'static str,
    /// Upper end of the 90 % interval.
    pub high_90: &'static str,
    /// Whether it is identified.
    pub identified: &'static str,
    /// Lower end of the 50 % interval; rows keep it, lists leave it out.
    pub low_50: &'static str,
    /// Upper end of the 50 % interval; rows keep it, lists leave it out.
    pub high_50: &'static str,
}

/// Declares [`JointQuantity`], its definitions and [`Quantities`] from the rows of one table. A quantity with a name
/// `as_served` is shown a second time under that name, where the bytes per element of the cache are stated.
macro_rules! joint_quantities {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident => $name:ident: $shown:ty {
            $( $(#[doc = $served_doc:literal])+ as_served: $served:ident, )?
            $( $field:ident: $value:expr, )+
        }
    )+) => {
        /// A quantity of the joint estimate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum JointQuantity {
            $( $(#[doc = $doc])+ $variant, )+
        }

        static DEFINITIONS: [Definition; JointQuantity::COUNT] = [$(
            Definition {
                name: stringify!($name),
                columns: QuantityColumns {
                    median: concat!(stringify!($name), "_median"),
                    low_90: concat!(stringify!($name), "_low_90"),
                    high_90: concat!(stringify!($name), "_high_90"),
                    low_50: concat!(stringify!($name), "_low_50"),
                    high_50: concat!(stringify!($name), "_high_50"),
                    identified: concat!(stringify!($name), "_identified"),
                },
                $( $field: $value, )+
            },
        )+];

        impl JointQuantity {
            /// Number of quantities.
            pub const COUNT: usize = Self::ALL.len();

            /// Every quantity, in the order of answers and lists.
            pub const ALL: [Self; [$( stringify!($name) ),+].len()] = [$( Self::$variant ),+];
        }

        /// The quantities of the joint estimate.
        #[derive(Debug, Clone, Serialize, ToSchema)]
        pub struct Quantities {
            $(
                $(#[doc = $doc])+
                pub $name: $shown,
                $(
                    $(#[doc = $served_doc])+
                    #[serde(skip_serializing_if = "Option::is_none")]
                    #[schema(nullable = false)]
                    pub $served: Option<QuantityEstimate>,
                )?
            )+
        }

        impl Quantities {
            /// Every quantity as estimated, with the regime and the stated bytes per element of the cache.
            pub fn of_each<E>(
                regime: (Regime, f64),
                element_bytes: Option<f64>,
                mut estimate: impl FnMut(JointQuantity) -> Result<QuantityEstimate, E>,
            ) -> Result<Self, E> {
                $( let $name = estimate(JointQuantity::$variant)?; )+
                Ok(Self {
                    $(
                        $( $served: element_bytes.map(|bytes| $name.as_served(bytes)), )?
                        $name: <$shown as Shown>::new($name, regime),
                    )+
                })
            }

            /// Takes back that a quantity is identified, also as served: its public value lies outside of the interval.
            pub(crate) fn contradict(&mut self, quantity: JointQuantity, value: f64) {
                match quantity {
                    $( JointQuantity::$variant => {
                        $( if let Some(served) = &mut self.$served {
                            served.contradict(value * served.median / self.$name.median);
                        } )?
                        Shown::estimate_mut(&mut self.$name).contradict(value);
                    } )+
                }
            }

            /// The estimate of a quantity.
            #[must_use]
            pub fn get(&self, quantity: JointQuantity) -> &QuantityEstimate {
                match quantity {
                    $( JointQuantity::$variant => Shown::estimate(&self.$name), )+
                }
            }
        }
    };
}

joint_quantities! {
    /// `N_a`: active parameters.
    ActiveParameters => active_parameters: QuantityEstimate {
        label: "active parameters",
        history_label: Some("active parameters"),
        description: "Parameters used per token",
        unit: "parameters",
        equation: "N_a",
        log_value: |unknowns| unknowns.log_active_parameters,
    }
    /// `N_t`: total parameters.
    TotalParameters => total_parameters: QuantityEstimate {
        label: "total parameters",
        history_label: Some("total parameters"),
        description: "Parameters",
        unit: "parameters",
        equation: "N_t",
        log_value: |unknowns| unknowns.log_total_parameters,
    }
    /// `k_bw` at one byte per element: bytes that a step reads of a context of 8,192 tokens, over 8,192.
    KvBytesRead => kv_bytes_per_token_read: QuantityEstimate {
        /// `k_bw` as served, where `kv_bytes_per_element` is stated.
        as_served: kv_bytes_per_token_read_as_served,
        label: "KV bytes read",
        history_label: Some("KV bytes per token"),
        description: "KV cache that decoding reads per token of a context of 8,192, at one byte per element",
        unit: "bytes/token",
        equation: "k_bw at one byte per element, of a context of 8,192 tokens",
        log_value: |unknowns| unknowns.log_kv_bytes_read,
    }
    /// `k_∞` at one byte per element: bytes that a step reads per further token of a very long context.
    KvBytesReadSlope => kv_bytes_per_token_read_slope: QuantityEstimate {
        /// `k_∞` as served, where `kv_bytes_per_element` is stated.
        as_served: kv_bytes_per_token_read_slope_as_served,
        label: "KV read slope",
        history_label: None,
        description: "KV cache that decoding reads per further token of a very long context, at one byte per element",
        unit: "bytes/token",
        equation: "k_∞ at one byte per element: windows and selected entries do not count",
        log_value: |unknowns| unknowns.kv_reading().log_slope(),
    }
    /// `k_st` at one byte per element.
    KvBytesStored => kv_bytes_per_token_stored: QuantityEstimate {
        /// `k_st` as served, where `kv_bytes_per_element` is stated.
        as_served: kv_bytes_per_token_stored_as_served,
        label: "KV bytes stored",
        history_label: None,
        description: "KV cache stored per token of context, at one byte per element",
        unit: "bytes/token",
        equation: "k_st at one byte per element",
        log_value: |unknowns| unknowns.log_kv_bytes_stored,
    }
    /// r at peak, with the regime.
    MemoryOverCompute => memory_time_over_compute_time: RatioEstimate {
        label: "memory/compute time",
        history_label: None,
        description: "Time for memory over time for arithmetic; above 1 decoding is memory-bound",
        unit: "",
        equation: "r = 1/β + L_mean/L0, L0 = w·N_a/(ρ·k_bw)",
        log_value: |unknowns| unknowns.log_memory_over_compute(),
    }
    /// β: batch over the optimal batch.
    BatchOverOptimal => batch_over_optimal_batch: QuantityEstimate {
        label: "batch/optimal batch",
        history_label: None,
        description: "Decode batch over the batch at which reading the weights takes as long as multiplying with them",
        unit: "",
        equation: "β = B/B*",
        log_value: |unknowns| unknowns.log_batch_over_optimal,
    }
    /// L0: context at which reading the cache takes as long as multiplying.
    CrossoverContext => crossover_context_tokens: QuantityEstimate {
        label: "crossover, tokens",
        history_label: None,
        description: "Context at which reading the KV cache takes as long as computing",
        unit: "tokens",
        equation: "L0 = (η_m/η_c)·w·N_a/(ρ·k_bw)",
        log_value: |unknowns| unknowns.log_crossover(),
    }
    /// `T_min`: shortest time between tokens, seconds.
    LatencyFloor => latency_floor_seconds: QuantityEstimate {
        label: "latency floor, s",
        history_label: None,
        description: "Shortest time of a step: all weights read once",
        unit: "s",
        equation: "T_min = w·N_t/W, W of as many serving units as hold the weights",
        log_value: log_latency_floor,
    }
    /// `c_in`: cost of prompt tokens, USD per million.
    CostInput => cost_input_usd_per_mtok: QuantityEstimate {
        label: "input cost, $/Mtok",
        history_label: None,
        description: "Cost of input tokens",
        unit: "USD/Mtok",
        equation: "c_in = R·G·T_pre/(U·tokens of a pass), T_pre of the engine",
        log_value: |unknowns| unknowns.log_input_cost(),
    }
    /// `c_out`: cost of generated tokens, USD per million.
    CostOutput => cost_output_usd_per_mtok: QuantityEstimate {
        label: "output cost, $/Mtok",
        history_label: None,
        description: "Cost of output tokens",
        unit: "USD/Mtok",
        equation: "c_out = R·G·T/(U·V·B), B = β·B*, T of the engine",
        log_value: |unknowns| unknowns.log_output_cost(),
    }
}

impl JointQuantity {
    /// Row of the table of quantities.
    #[must_use]
    pub fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }

    /// Name of the quantity in answers and lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Logarithm of the quantity in one draw.
    #[must_use]
    pub fn log_value(self, unknowns: &Unknowns<'_>) -> f64 {
        (self.definition().log_value)(unknowns)
    }
}

impl Quantities {
    /// Estimates with their quantities, in the order of [`JointQuantity::ALL`].
    #[must_use]
    pub fn in_order(&self) -> [(JointQuantity, &QuantityEstimate); JointQuantity::COUNT] {
        JointQuantity::ALL.map(|quantity| (quantity, self.get(quantity)))
    }

    /// Number of identified quantities.
    #[must_use]
    pub fn identified(&self) -> usize {
        let estimates = self.in_order();
        estimates
            .iter()
            .filter(|(_, estimate)| estimate.identified)
            .count()
    }

    /// Reason of the first quantity that is not identified.
    #[must_use]
    pub fn first_reason(&self) -> Option<String> {
        let estimates = self.in_order();
        estimates
            .iter()
            .find_map(|(_, estimate)| estimate.not_identified_because.as_ref())
            .map(ToString::to_string)
    }
}

/// E4; weights that exceed one serving unit are spread over several.
fn log_latency_floor(unknowns: &Unknowns<'_>) -> f64 {
    let machine = unknowns.machine;
    let log_weights = machine.log_weight_bytes + unknowns.log_total_parameters;
    let log_chips = unknowns.running.log_chips;
    let units = (log_weights - machine.log_capacity - log_chips)
        .exp()
        .ceil()
        .max(1.0);
    log_weights - machine.log_bandwidth - log_chips - units.ln()
}

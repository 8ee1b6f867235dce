//! The quantities of the joint estimate: what each is, and how it follows from a draw.

use crate::model::unknowns::Unknowns;

/// A quantity of the joint estimate.
#[derive(Debug)]
pub struct JointQuantity {
    /// Its name in answers and lists.
    pub name: &'static str,
    /// Its name in tables.
    pub label: &'static str,
    /// Its unit, empty for a plain ratio.
    pub unit: &'static str,
    /// How it follows from what is unknown.
    pub equation: &'static str,
    /// Its logarithm in one draw.
    pub log_value: fn(&Unknowns<'_>) -> f64,
}

/// How many there are.
pub const QUANTITIES: usize = 10;

/// log of tokens per Mtok over seconds per hour
const LOG_MTOK_PER_HOUR: f64 = 5.626_821_433_520_073;

/// The quantities, in the order of answers and lists.
pub static JOINT_QUANTITIES: [&JointQuantity; QUANTITIES] = [
    &ACTIVE_PARAMETERS,
    &TOTAL_PARAMETERS,
    &KV_BYTES_READ,
    &KV_BYTES_STORED,
    &MEMORY_OVER_COMPUTE,
    &BATCH_OVER_OPTIMAL,
    &CROSSOVER_CONTEXT,
    &LATENCY_FLOOR,
    &COST_INPUT,
    &COST_OUTPUT,
];

/// `active_parameters`
pub static ACTIVE_PARAMETERS: JointQuantity = JointQuantity {
    name: "active_parameters",
    label: "active parameters",
    unit: "parameters",
    equation: "N_a",
    log_value: |unknowns| unknowns.log_active_parameters,
};

/// `total_parameters`
pub static TOTAL_PARAMETERS: JointQuantity = JointQuantity {
    name: "total_parameters",
    label: "total parameters",
    unit: "parameters",
    equation: "N_t",
    log_value: |unknowns| unknowns.log_total_parameters,
};

/// `kv_bytes_per_token_read`
pub static KV_BYTES_READ: JointQuantity = JointQuantity {
    name: "kv_bytes_per_token_read",
    label: "KV bytes read",
    unit: "bytes/token",
    equation: "k_bw at one byte per element",
    log_value: |unknowns| unknowns.log_kv_bytes_read,
};

/// `kv_bytes_per_token_stored`
pub static KV_BYTES_STORED: JointQuantity = JointQuantity {
    name: "kv_bytes_per_token_stored",
    label: "KV bytes stored",
    unit: "bytes/token",
    equation: "k_st at one byte per element",
    log_value: |unknowns| unknowns.log_kv_bytes_stored,
};

/// `memory_time_over_compute_time`
pub static MEMORY_OVER_COMPUTE: JointQuantity = JointQuantity {
    name: "memory_time_over_compute_time",
    label: "memory/compute time",
    unit: "",
    equation: "r = 1/β + L_mean/L0, L0 = w·N_a/(ρ·k_bw)",
    log_value: |unknowns| unknowns.log_memory_over_compute(),
};

/// `batch_over_optimal_batch`
pub static BATCH_OVER_OPTIMAL: JointQuantity = JointQuantity {
    name: "batch_over_optimal_batch",
    label: "batch/optimal batch",
    unit: "",
    equation: "β = B/B*",
    log_value: |unknowns| unknowns.log_batch_over_optimal,
};

/// `crossover_context_tokens`
pub static CROSSOVER_CONTEXT: JointQuantity = JointQuantity {
    name: "crossover_context_tokens",
    label: "crossover, tokens",
    unit: "tokens",
    equation: "L0 = (η_m/η_c)·w·N_a/(ρ·k_bw)",
    log_value: |unknowns| unknowns.log_crossover(),
};

/// `latency_floor_seconds`
pub static LATENCY_FLOOR: JointQuantity = JointQuantity {
    name: "latency_floor_seconds",
    label: "latency floor, s",
    unit: "s",
    equation: "T_min = w·N_t/W, W of as many serving units as hold the weights",
    log_value: |unknowns| log_latency_floor(unknowns),
};

/// `cost_input_usd_per_mtok`
pub static COST_INPUT: JointQuantity = JointQuantity {
    name: "cost_input_usd_per_mtok",
    label: "input cost, $/Mtok",
    unit: "USD/Mtok",
    equation: "c_in = R·N_a/(U·η_pre·M)",
    log_value: |unknowns| log_cost(unknowns) - unknowns.machine.log_prefill_efficiency,
};

/// `cost_output_usd_per_mtok`
pub static COST_OUTPUT: JointQuantity = JointQuantity {
    name: "cost_output_usd_per_mtok",
    label: "output cost, $/Mtok",
    unit: "USD/Mtok",
    equation: "c_out = R·N_a/(U·η_c·M)·max(1, r·η_c/η_m)",
    log_value: |unknowns| {
        let machine = unknowns.machine;
        // What is drafted and accepted shares one reading of memory [U10].
        let memory = unknowns.log_actual_memory_over_compute() - machine.log_accepted_tokens;
        log_cost(unknowns) - machine.log_decode_efficiency + memory.max(0.0)
    },
};

/// log of USD per Mtok for one multiply-add per active parameter at peak.
fn log_cost(unknowns: &Unknowns<'_>) -> f64 {
    LOG_MTOK_PER_HOUR + unknowns.log_rental + unknowns.log_active_parameters
        - unknowns.log_utilisation
        - unknowns.machine.log_multiply_rate
}

/// E4; weights that one serving unit cannot hold lie on several.
fn log_latency_floor(unknowns: &Unknowns<'_>) -> f64 {
    let machine = unknowns.machine;
    let log_weights = machine.log_weight_bytes + unknowns.log_total_parameters;
    let units = (log_weights - machine.log_capacity - machine.log_chips)
        .exp()
        .ceil()
        .max(1.0);
    log_weights - machine.log_bandwidth - machine.log_chips - units.ln()
}

/// The quantity of this name.
#[must_use]
pub fn joint_quantity(name: &str) -> Option<&'static JointQuantity> {
    JOINT_QUANTITIES
        .into_iter()
        .find(|quantity| quantity.name == name)
}

//! The numbers that are fitted, with what is known of each before any row is seen.

use unroof_base::units::Seconds;
use unroof_roofline::reference::{Attainment, OfGeneration};

/// One of the numbers that are fitted.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// Factor to the unit that is shown, and that unit.
    pub(super) shown: (f64, &'static str),
    /// Whether it lies between 0 and 1: its log odds are fitted then, else its log.
    is_share: bool,
    /// Middle of what kernels are known to reach one by one, where the search starts.
    centre: f64,
    /// Standard deviation around it, of log odds or log.
    pub(super) spread: f64,
    value: fn(&Attainment) -> f64,
    set: fn(&mut Attainment, f64),
}

macro_rules! part {
    ($name:literal, $shown:expr, $is_share:literal, $centre:literal, $spread:literal, $($field:tt)+) => {
        Part {
            name: $name,
            shown: $shown,
            is_share: $is_share,
            centre: $centre,
            spread: $spread,
            value: |attainment| attainment.$($field)+,
            set: |attainment, value| attainment.$($field)+ = value,
        }
    };
}

pub(super) const COUNT: usize = 12;
const PLAIN: (f64, &str) = (1.0, "");
const MICROSECONDS: (f64, &str) = (1e6, " µs");

/// The share of bandwidth is known best: large copies reach 80 to 90 %. NCCL's cost model has 11.8 µs for an all-reduce.
pub(super) const PARTS: [Part; COUNT] = [
    part!(
        "share of peak arithmetic with dense matrices, η_pre = η_c",
        PLAIN,
        true,
        0.7,
        0.5,
        compute
    ),
    part!(
        "share of HBM bandwidth, η_m",
        PLAIN,
        true,
        0.82,
        0.3,
        bandwidth
    ),
    part!(
        "waiting per kernel in a row (ten in a layer with experts, five in 4 bits)",
        MICROSECONDS,
        false,
        1.2e-5,
        0.5,
        seconds_per_stage.0
    ),
    part!(
        "the share of arithmetic with experts over that with dense matrices",
        PLAIN,
        true,
        0.7,
        0.5,
        expert_compute_ratio
    ),
    part!(
        "the share of arithmetic in attention over that with dense matrices",
        PLAIN,
        true,
        0.85,
        0.5,
        attention_compute_ratio
    ),
    part!(
        "share of the shorter of reading experts and multiplying with them that the longer does not hide",
        PLAIN,
        true,
        0.7,
        1.0,
        exposed_weights
    ),
    part!(
        "share of link bandwidth, η_net",
        PLAIN,
        true,
        0.9,
        0.5,
        network
    ),
    part!(
        "share of the shorter of work and exchanges that decoding with distributed experts does not hide",
        PLAIN,
        true,
        0.7,
        1.0,
        exposed_exchange
    ),
    part!(
        "hidden vectors per token and layer that pass through HBM",
        PLAIN,
        false,
        30.0,
        0.5,
        vectors_per_token_and_layer
    ),
    part!(
        "kernels in a row in a dense layer",
        PLAIN,
        false,
        4.0,
        0.5,
        stages_per_dense_layer
    ),
    part!(
        "latency of an all-reduce",
        MICROSECONDS,
        false,
        1.18e-5,
        0.5,
        seconds_per_exchange.0
    ),
    part!(
        "latency of an all-to-all and back, per doubling of the chips",
        MICROSECONDS,
        false,
        1.2e-5,
        0.5,
        seconds_per_dispatch.0
    ),
];

/// The first parts are those that generations have of their own.
pub(super) const OWN: usize = 3;
/// Standard deviations of the parts of a generation around those of all, of log odds or logs.
pub(super) const OWN_SPREAD: [f64; OWN] = [0.3, 0.3, 0.4];

impl Part {
    /// Log odds or log: any number is allowed there.
    fn free(&self, value: f64) -> f64 {
        if self.is_share {
            (value / (1.0 - value)).ln()
        } else {
            value.ln()
        }
    }

    fn bound(&self, free: f64) -> f64 {
        if self.is_share {
            1.0 / (1.0 + (-free).exp())
        } else {
            free.exp()
        }
    }

    /// The value in the unit that is shown.
    pub(super) fn of(&self, attainment: &Attainment) -> f64 {
        (self.value)(attainment) * self.shown.0
    }
}

/// Free numbers that the search starts from.
pub(super) fn centre() -> [f64; COUNT] {
    std::array::from_fn(|part| PARTS[part].free(PARTS[part].centre))
}

/// The free numbers of efficiencies.
pub(super) fn to_free(attainment: &Attainment) -> [f64; COUNT] {
    std::array::from_fn(|part| PARTS[part].free((PARTS[part].value)(attainment)))
}

/// The efficiencies of free numbers.
pub(super) fn from_free(free: &[f64]) -> Attainment {
    built(|part, value| PARTS[part].bound(value), free)
}

/// Efficiencies with as many significant digits as are kept: more would be noise.
pub(super) fn rounded(attainment: &Attainment) -> Attainment {
    const DIGITS: usize = 4;
    let values = PARTS.map(|part| (part.value)(attainment));
    let round = |_, value: f64| {
        let text = format!("{value:.*e}", DIGITS - 1);
        text.parse().unwrap_or(value)
    };
    built(round, &values)
}

fn built(value: impl Fn(usize, f64) -> f64, numbers: &[f64]) -> Attainment {
    let mut attainment = Attainment {
        compute: 0.0,
        expert_compute_ratio: 0.0,
        attention_compute_ratio: 0.0,
        bandwidth: 0.0,
        exposed_weights: 0.0,
        network: 0.0,
        exposed_exchange: 0.0,
        vectors_per_token_and_layer: 0.0,
        seconds_per_stage: Seconds(0.0),
        stages_per_dense_layer: 0.0,
        seconds_per_exchange: Seconds(0.0),
        seconds_per_dispatch: Seconds(0.0),
    };
    for (part, number) in numbers.iter().enumerate() {
        (PARTS[part].set)(&mut attainment, value(part, *number));
    }
    attainment
}

/// Numbers that a generation has of its own.
pub(super) fn of_generation(generation: &str, attainment: &Attainment) -> OfGeneration {
    OfGeneration {
        generation: generation.to_owned(),
        compute: attainment.compute,
        bandwidth: attainment.bandwidth,
        seconds_per_stage: attainment.seconds_per_stage,
    }
}

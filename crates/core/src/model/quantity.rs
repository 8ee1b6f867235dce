//! The quantities that readings use beyond the sheet: what may be stated, and what follows from it.

use crate::input::cursor::Cursor;
use crate::units::readable;

/// How a quantity may be stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statable {
    /// By its own name among the assumptions.
    TopLevel,
    /// By its name inside the assumption `accelerator`.
    InAccelerator,
    /// Not at all: it follows from others.
    Derived,
}

/// A quantity of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    missing_docs,
    reason = "each variant is documented by its row in SPECIFICATIONS"
)]
pub enum Quantity {
    ActiveParameters,
    TotalParameters,
    WeightBytes,
    Chips,
    KvBytesPerElement,
    KvBytesRead,
    KvBytesStored,
    BatchOverOptimal,
    MeanDecodeContext,
    MeanPromptBelow,
    MeanPromptAbove,
    PrefillEfficiency,
    DecodeBandwidthEfficiency,
    DecodeComputeEfficiency,
    Utilisation,
    AcceptedTokens,
    MinimumBatch,
    InputMargin,
    OutputMargin,
    LoadPathBandwidth,
    RentalPerHour,
    UsdPerCurrencyUnit,
    ComputeToBandwidth,
    FlopsPerSecond,
    Bandwidth,
    Capacity,
    DomainSize,
    MultiplyRate,
    UnitBandwidth,
    UnitCapacity,
    SpeedMultiplier,
}

/// What is fixed about a quantity.
#[derive(Debug)]
struct Specification {
    quantity: Quantity,
    name: &'static str,
    symbol: &'static str,
    unit: &'static str,
    statable: Statable,
    textbook: Option<f64>,
    bounds: Bounds,
}

/// The values that may be stated for a quantity: all that `/simulate` can put into a question, far beyond all there is,
/// and still such that what follows is finite.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Bounds {
    /// Those of an output speed against the standard tier.
    pub const SPEED: Self = Self {
        least: 1e-6,
        most: 1e6,
    };

    /// Whether a value may be stated.
    pub(crate) fn allow(self, value: &Cursor<'_>) -> bool {
        value.is_within(&(self.least..=self.most))
    }

    /// The values that may be stated.
    pub(crate) fn in_words(self) -> String {
        format!(
            "a number from {} to {}",
            readable(self.least),
            readable(self.most)
        )
    }
}

const fn row(
    quantity: Quantity,
    names: (&'static str, &'static str, &'static str),
    statable: Statable,
    textbook: Option<f64>,
) -> Specification {
    let (name, symbol, unit) = names;
    let bounds = Bounds {
        least: 0.0,
        most: f64::MAX,
    };
    Specification {
        quantity,
        name,
        symbol,
        unit,
        statable,
        textbook,
        bounds,
    }
}

impl Specification {
    const fn within(self, least: f64, most: f64) -> Self {
        Self {
            bounds: Bounds { least, most },
            ..self
        }
    }
}

use Quantity as Q;
use Statable::{Derived, InAccelerator, TopLevel};

/// One row per variant, in the order of the variants.
const SPECIFICATIONS: [Specification; 31] = [
    row(
        Q::ActiveParameters,
        ("active_parameters", "N_a", "parameters"),
        TopLevel,
        Some(1e11),
    )
    .within(1e3, 1e16),
    row(
        Q::TotalParameters,
        ("total_parameters", "N_t", "parameters"),
        TopLevel,
        Some(8e11),
    )
    .within(1e3, 1e16),
    row(
        Q::WeightBytes,
        ("weight_bytes_per_parameter", "w", "B"),
        TopLevel,
        Some(1.0),
    )
    .within(0.0625, 4.0),
    row(Q::Chips, ("chips", "G", "chips"), TopLevel, None).within(1.0, 1e6),
    row(
        Q::KvBytesPerElement,
        ("kv_bytes_per_element", "b_kv", "B"),
        TopLevel,
        None,
    )
    .within(0.0625, 4.0),
    row(
        Q::KvBytesRead,
        ("kv_bytes_per_token_read", "k_bw", "bytes/token"),
        TopLevel,
        None,
    )
    .within(1e-6, 1e12),
    row(
        Q::KvBytesStored,
        ("kv_bytes_per_token_stored", "k_st", "bytes/token"),
        TopLevel,
        None,
    )
    .within(1e-6, 1e12),
    row(
        Q::BatchOverOptimal,
        ("batch_over_optimal_batch", "β", ""),
        TopLevel,
        Some(2.5),
    )
    .within(1e-12, 1e12),
    row(
        Q::MeanDecodeContext,
        ("mean_decode_context_tokens", "L_mean", "tokens"),
        TopLevel,
        None,
    )
    .within(1e-3, 1e9),
    row(
        Q::MeanPromptBelow,
        ("mean_prompt_tokens_below", "S_1", "tokens"),
        TopLevel,
        None,
    )
    .within(1.0, 1e9),
    row(
        Q::MeanPromptAbove,
        ("mean_prompt_tokens_above", "S_2", "tokens"),
        TopLevel,
        None,
    )
    .within(1.0, 1e9),
    row(
        Q::PrefillEfficiency,
        ("prefill_efficiency", "η_pre", ""),
        TopLevel,
        Some(1.0),
    )
    .within(1e-12, 1.0),
    row(
        Q::DecodeBandwidthEfficiency,
        ("decode_bandwidth_efficiency", "η_m", ""),
        TopLevel,
        Some(1.0),
    )
    .within(1e-12, 1.0),
    row(
        Q::DecodeComputeEfficiency,
        ("decode_compute_efficiency", "η_c", ""),
        TopLevel,
        Some(1.0),
    )
    .within(1e-12, 1.0),
    row(
        Q::Utilisation,
        ("utilisation", "U", ""),
        TopLevel,
        Some(1.0),
    )
    .within(1e-6, 1.0),
    row(
        Q::AcceptedTokens,
        ("accepted_tokens_per_pass", "V", "tokens"),
        TopLevel,
        Some(1.0),
    )
    .within(1.0, 1e3),
    row(
        Q::MinimumBatch,
        ("minimum_batch", "B_min", "sequences"),
        TopLevel,
        None,
    )
    .within(1.0, 1e12),
    row(
        Q::InputMargin,
        ("input_margin", "μ_in", ""),
        TopLevel,
        Some(0.0),
    )
    .within(-10.0, 0.999),
    row(
        Q::OutputMargin,
        ("output_margin", "μ_out", ""),
        TopLevel,
        Some(0.0),
    )
    .within(-10.0, 0.999),
    row(
        Q::LoadPathBandwidth,
        ("load_path_bytes_per_second", "BW_path", "B/s"),
        TopLevel,
        None,
    )
    .within(1e-6, 1e24),
    row(
        Q::RentalPerHour,
        ("rental_usd_per_hour", "R", "USD/h"),
        TopLevel,
        None,
    )
    .within(1e-6, 1e24),
    row(
        Q::UsdPerCurrencyUnit,
        ("usd_per_currency_unit", "fx", "USD"),
        TopLevel,
        None,
    )
    .within(1e-12, 1e6),
    row(
        Q::ComputeToBandwidth,
        ("compute_to_bandwidth", "ρ", ""),
        InAccelerator,
        Some(300.0),
    )
    .within(1e-12, 1e12),
    row(
        Q::FlopsPerSecond,
        ("flops_per_second", "F", "FLOP/s"),
        InAccelerator,
        None,
    )
    .within(1e-6, 1e24),
    row(
        Q::Bandwidth,
        ("bandwidth_bytes_per_second", "BW", "B/s"),
        InAccelerator,
        None,
    )
    .within(1e-6, 1e24),
    row(
        Q::Capacity,
        ("capacity_bytes", "Cap", "B"),
        InAccelerator,
        None,
    )
    .within(1e-6, 1e24),
    row(
        Q::DomainSize,
        ("domain_size", "D", "chips"),
        InAccelerator,
        None,
    )
    .within(1.0, 1e6),
    row(
        Q::MultiplyRate,
        ("multiply_adds_per_second", "M", "MAC/s"),
        Derived,
        None,
    ),
    row(
        Q::UnitBandwidth,
        ("serving_unit_bandwidth_bytes_per_second", "W", "B/s"),
        Derived,
        None,
    ),
    row(
        Q::UnitCapacity,
        ("serving_unit_capacity_bytes", "C", "B"),
        Derived,
        None,
    ),
    // Stated per service tier, so it is no name of its own among the assumptions.
    row(
        Q::SpeedMultiplier,
        ("speed_multiplier", "m_s", ""),
        Derived,
        None,
    ),
];

impl Quantity {
    /// How many there are.
    pub(crate) const COUNT: usize = SPECIFICATIONS.len();

    fn specification(self) -> &'static Specification {
        &SPECIFICATIONS[self as usize]
    }

    /// The name in assumptions and answers; it ends in the unit where there is one.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.specification().name
    }

    /// The symbol in equations.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        self.specification().symbol
    }

    /// The unit, empty for a plain ratio.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.specification().unit
    }

    /// The value a textbook reading takes where nothing is stated.
    #[must_use]
    pub fn textbook(self) -> Option<f64> {
        self.specification().textbook
    }

    /// What may be stated for it, in words.
    #[must_use]
    pub fn description(self) -> String {
        let unit = if self.unit().is_empty() {
            String::new()
        } else {
            format!(" in {}", self.unit())
        };
        let textbook = self.textbook().map_or(String::new(), |value| {
            format!("; {} where nothing is stated", readable(value))
        });
        format!(
            "{}{unit}: {}{textbook}",
            self.symbol(),
            self.bounds().in_words()
        )
    }

    /// The values that may be stated.
    #[must_use]
    pub fn bounds(self) -> Bounds {
        self.specification().bounds
    }

    /// What may be stated at the top level of the assumptions.
    pub fn top_level() -> impl Iterator<Item = Self> {
        Self::with(TopLevel)
    }

    /// What may be stated inside `accelerator`.
    pub fn in_accelerator() -> impl Iterator<Item = Self> {
        Self::with(InAccelerator)
    }

    fn with(statable: Statable) -> impl Iterator<Item = Self> {
        SPECIFICATIONS
            .iter()
            .filter(move |row| row.statable == statable)
            .map(|row| row.quantity)
    }

    /// Whether it is part of the assumption `accelerator`.
    pub(crate) fn is_of_accelerator(self) -> bool {
        self.specification().statable == InAccelerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_stand_in_the_order_of_the_variants_with_unique_names_and_symbols() {
        for (index, row) in SPECIFICATIONS.iter().enumerate() {
            assert_eq!(row.quantity as usize, index, "{}", row.name);
            assert_eq!(
                SPECIFICATIONS
                    .iter()
                    .filter(|other| other.name == row.name)
                    .count(),
                1
            );
            assert_eq!(
                SPECIFICATIONS
                    .iter()
                    .filter(|other| other.symbol == row.symbol)
                    .count(),
                1
            );
        }
    }
}

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

/// Declares the quantities, in the order of the enum: name, symbol, unit; how it is stated, its textbook value, and the range
/// that may be stated.
macro_rules! quantities {
    ($(
        $Variant:ident($name:literal, $symbol:literal, $unit:literal),
        $statable:ident, $textbook:expr, $least:literal..=$most:expr;
    )+) => {
        /// A quantity of the model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Quantity {
            $(
                #[doc = concat!("`", $name, "`, ", $symbol)]
                $Variant,
            )+
        }

        /// One row per variant, in the order of the variants.
        const SPECIFICATIONS: &[Specification] = &[$(
            Specification {
                quantity: Quantity::$Variant,
                name: $name,
                symbol: $symbol,
                unit: $unit,
                statable: Statable::$statable,
                textbook: $textbook,
                bounds: Bounds { least: $least, most: $most },
            },
        )+];
    };
}

quantities! {
    ActiveParameters("active_parameters", "N_a", "parameters"), TopLevel, Some(1e11), 1e3..=1e16;
    TotalParameters("total_parameters", "N_t", "parameters"), TopLevel, Some(8e11), 1e3..=1e16;
    WeightBytes("weight_bytes_per_parameter", "w", "B"), TopLevel, Some(1.0), 0.0625..=4.0;
    Chips("chips", "G", "chips"), TopLevel, None, 1.0..=1e6;
    KvBytesPerElement("kv_bytes_per_element", "b_kv", "B"), TopLevel, None, 0.0625..=4.0;
    KvBytesRead("kv_bytes_per_token_read", "k_bw", "bytes/token"), TopLevel, None, 1e-6..=1e12;
    KvBytesStored("kv_bytes_per_token_stored", "k_st", "bytes/token"), TopLevel, None, 1e-6..=1e12;
    BatchOverOptimal("batch_over_optimal_batch", "β", ""), TopLevel, Some(2.5), 1e-12..=1e12;
    MeanDecodeContext("mean_decode_context_tokens", "L_mean", "tokens"), TopLevel, None, 1e-3..=1e9;
    MeanPromptBelow("mean_prompt_tokens_below", "S_1", "tokens"), TopLevel, None, 1.0..=1e9;
    MeanPromptAbove("mean_prompt_tokens_above", "S_2", "tokens"), TopLevel, None, 1.0..=1e9;
    PrefillEfficiency("prefill_efficiency", "η_pre", ""), TopLevel, Some(1.0), 1e-12..=1.0;
    DecodeBandwidthEfficiency("decode_bandwidth_efficiency", "η_m", ""), TopLevel, Some(1.0), 1e-12..=1.0;
    DecodeComputeEfficiency("decode_compute_efficiency", "η_c", ""), TopLevel, Some(1.0), 1e-12..=1.0;
    Utilisation("utilisation", "U", ""), TopLevel, Some(1.0), 1e-6..=1.0;
    AcceptedTokens("accepted_tokens_per_pass", "V", "tokens"), TopLevel, Some(1.0), 1.0..=1e3;
    MinimumBatch("minimum_batch", "B_min", "sequences"), TopLevel, None, 1.0..=1e12;
    InputMargin("input_margin", "μ_in", ""), TopLevel, Some(0.0), -10.0..=0.999;
    OutputMargin("output_margin", "μ_out", ""), TopLevel, Some(0.0), -10.0..=0.999;
    LoadPathBandwidth("load_path_bytes_per_second", "BW_path", "B/s"), TopLevel, None, 1e-6..=1e24;
    RentalPerHour("rental_usd_per_hour", "R", "USD/h"), TopLevel, None, 1e-6..=1e24;
    UsdPerCurrencyUnit("usd_per_currency_unit", "fx", "USD"), TopLevel, None, 1e-12..=1e6;
    ComputeToBandwidth("compute_to_bandwidth", "ρ", ""), InAccelerator, Some(300.0), 1e-12..=1e12;
    FlopsPerSecond("flops_per_second", "F", "FLOP/s"), InAccelerator, None, 1e-6..=1e24;
    Bandwidth("bandwidth_bytes_per_second", "BW", "B/s"), InAccelerator, None, 1e-6..=1e24;
    Capacity("capacity_bytes", "Cap", "B"), InAccelerator, None, 1e-6..=1e24;
    DomainSize("domain_size", "D", "chips"), InAccelerator, None, 1.0..=1e6;
    MultiplyRate("multiply_adds_per_second", "M", "MAC/s"), Derived, None, 0.0..=f64::MAX;
    UnitBandwidth("serving_unit_bandwidth_bytes_per_second", "W", "B/s"), Derived, None, 0.0..=f64::MAX;
    UnitCapacity("serving_unit_capacity_bytes", "C", "B"), Derived, None, 0.0..=f64::MAX;
    // Stated per service tier, so it is no name of its own among the assumptions.
    SpeedMultiplier("speed_multiplier", "m_s", ""), Derived, None, 0.0..=f64::MAX;
}

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
        Self::with(Statable::TopLevel)
    }

    /// What may be stated inside `accelerator`.
    pub fn in_accelerator() -> impl Iterator<Item = Self> {
        Self::with(Statable::InAccelerator)
    }

    fn with(statable: Statable) -> impl Iterator<Item = Self> {
        SPECIFICATIONS
            .iter()
            .filter(move |row| row.statable == statable)
            .map(|row| row.quantity)
    }

    /// Whether it is part of the assumption `accelerator`.
    pub(crate) fn is_of_accelerator(self) -> bool {
        self.specification().statable == Statable::InAccelerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_symbols_are_unique() {
        for row in SPECIFICATIONS {
            let same =
                |other: &&Specification| other.name == row.name || other.symbol == row.symbol;
            assert_eq!(
                SPECIFICATIONS.iter().filter(same).count(),
                1,
                "{}",
                row.name
            );
        }
    }
}

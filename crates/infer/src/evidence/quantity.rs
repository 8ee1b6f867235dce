//! The quantities that readings use besides the sheet: stated and derived values.
//!
//! ```
//! use unroof_infer::evidence::quantity::Quantity;
//!
//! let quantity = Quantity::KvBytesStored;
//! assert_eq!((quantity.name(), quantity.row().symbol), ("kv_bytes_per_token_stored", "k_st"));
//! assert_eq!(Quantity::ActiveParameters.row().textbook, Some(1e11));
//! ```

use serde::Serialize;
use utoipa::ToSchema;

use unroof_base::input::cursor::Cursor;
use unroof_base::units::{BytesPerSecond, FlopPerSecond, readable};
use unroof_roofline::forward::compute_to_bandwidth;
use unroof_roofline::reference::Accelerator;

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The caller states it.
    Stated,
    /// The price sheet says it.
    Sheet,
    /// The textbook takes it where nothing is stated.
    Textbook,
    /// The reference data have it.
    Reference,
}

/// 90 % of a normal distribution lie within this many standard deviations.
pub const NINETY_PERCENT: f64 = 1.644_853_626_951_472_2;

/// A value and where it comes from.
pub type Known = (f64, Origin);

/// The value of a quantity on an accelerator of the reference table, given its parents.
type OfChip = fn(&Accelerator, &[Known]) -> Option<f64>;

/// A row of the table: a quantity and how it follows where it is not stated.
#[derive(Debug)]
pub struct Row {
    /// Name of the quantity among the assumptions, behind `accelerator.` inside that one.
    path: &'static str,
    /// The symbol in equations.
    pub symbol: &'static str,
    /// The unit, empty for a plain ratio.
    pub unit: &'static str,
    /// Whether it may be stated; otherwise it follows from others.
    is_statable: bool,
    /// The value a textbook reading takes where nothing is stated.
    pub textbook: Option<f64>,
    /// The values that may be stated.
    pub bounds: Bounds,
    /// The values between which it lies as a rule.
    pub usual: Bounds,
    /// The quantities that it follows from.
    pub(crate) parents: &'static [Quantity],
    /// Value of the quantity on an accelerator of the reference table, given the parents.
    pub(crate) of_chip: Option<OfChip>,
    /// Value of the quantity from the parents.
    pub(crate) from_parents: Option<fn(&[Known]) -> Known>,
}

/// The allowed range of a quantity: it covers all values of `/simulate`, and keeps derived values finite.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Least value that may be stated.
    pub least: f64,
    /// Greatest value that may be stated.
    pub most: f64,
}

impl Bounds {
    /// The allowed range of an output speed relative to the standard tier.
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

/// Prefix of the names inside the assumption `accelerator`.
const OF_ACCELERATOR: &str = "accelerator.";

const fn row(path: &'static str, symbol: &'static str, unit: &'static str) -> Row {
    Row {
        path,
        symbol,
        unit,
        is_statable: false,
        textbook: None,
        bounds: Bounds {
            least: 0.0,
            most: f64::MAX,
        },
        usual: Bounds {
            least: 0.0,
            most: f64::MAX,
        },
        parents: &[],
        of_chip: None,
        from_parents: None,
    }
}

impl Row {
    const fn stated(self, least: f64, most: f64) -> Self {
        Self {
            is_statable: true,
            bounds: Bounds { least, most },
            usual: Bounds { least, most },
            ..self
        }
    }

    const fn usual(self, least: f64, most: f64) -> Self {
        Self {
            usual: Bounds { least, most },
            ..self
        }
    }

    const fn textbook(self, value: f64) -> Self {
        Self {
            textbook: Some(value),
            ..self
        }
    }

    const fn with_parents(self, parents: &'static [Quantity]) -> Self {
        Self { parents, ..self }
    }

    const fn of_chip(self, value: OfChip) -> Self {
        Self {
            of_chip: Some(value),
            ..self
        }
    }

    const fn from(self, parents: &'static [Quantity], value: fn(&[Known]) -> Known) -> Self {
        Self {
            parents,
            from_parents: Some(value),
            ..self
        }
    }
}

/// Declares [`Quantity`] and its table.
macro_rules! quantities {
    ($( $variant:ident = $row:expr; )+) => {
        /// A quantity of the model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is documented by its row")]
        pub enum Quantity { $( $variant, )+ }

        impl Quantity {
            const ALL: [Self; [$( stringify!($variant) ),+].len()] = [$( Self::$variant ),+];
        }

        static ROWS: [Row; Quantity::COUNT] = [$( $row ),+];
    };
}

quantities! {
    ActiveParameters = row("active_parameters", "N_a", "parameters").stated(1e3, 1e16).usual(1e9, 1e12).textbook(1e11);
    TotalParameters = row("total_parameters", "N_t", "parameters").stated(1e3, 1e16).usual(1e9, 1e13).textbook(8e11);
    WeightBytes = row("weight_bytes_per_parameter", "w", "B").stated(0.0625, 4.0).textbook(1.0);
    Chips = row("chips", "G", "chips").stated(1.0, 1e6).usual(1.0, 576.0)
        .of_chip(|chip, _| Some(f64::from(chip.serving_unit_chips)))
        .from(&[Quantity::DomainSize], |parents| parents[0]);
    KvBytesPerElement = row("kv_bytes_per_element", "b_kv", "B").stated(0.0625, 4.0);
    KvBytesRead = row("kv_bytes_per_token_read", "k_bw", "bytes/token").stated(1e-6, 1e12).usual(1e3, 1e6);
    KvBytesReadSlope = row("kv_bytes_per_token_read_slope", "k_∞", "bytes/token").stated(1e-6, 1e12).usual(1e2, 1e6);
    KvBytesStored = row("kv_bytes_per_token_stored", "k_st", "bytes/token").stated(1e-6, 1e12).usual(1e3, 1e6);
    BatchOverOptimal = row("batch_over_optimal_batch", "β", "").stated(1e-12, 1e12).usual(0.01, 10.0).textbook(2.5);
    MeanDecodeContext = row("mean_decode_context_tokens", "L_mean", "tokens").stated(1e-3, 1e9).usual(100.0, 1e6);
    MeanPromptBelow = row("mean_prompt_tokens_below", "S_1", "tokens").stated(1.0, 1e9).usual(100.0, 1e6);
    MeanPromptAbove = row("mean_prompt_tokens_above", "S_2", "tokens").stated(1.0, 1e9).usual(1e3, 1e7);
    PromptTokens = row("input_tokens", "S", "tokens").stated(1.0, 1e9).usual(100.0, 1e6);
    CachedPromptShare = row("cache_hit_rate", "h", "").stated(0.0, 0.99);
    PrefillEfficiency = row("prefill_efficiency", "η_pre", "").stated(1e-12, 1.0).usual(0.05, 1.0).textbook(1.0);
    DecodeBandwidthEfficiency = row("decode_bandwidth_efficiency", "η_m", "").stated(1e-12, 1.0).usual(0.05, 1.0).textbook(1.0);
    DecodeComputeEfficiency = row("decode_compute_efficiency", "η_c", "").stated(1e-12, 1.0).usual(0.05, 1.0).textbook(1.0);
    Utilisation = row("utilisation", "U", "").stated(1e-6, 1.0).usual(0.01, 1.0).textbook(1.0);
    AcceptedTokens = row("accepted_tokens_per_step", "V", "tokens").stated(1.0, 1e3).usual(1.0, 5.0).textbook(1.0);
    MinimumBatch = row("minimum_batch", "B_min", "sequences").stated(1.0, 1e12).usual(1.0, 1e4);
    InputMargin = row("input_margin", "μ_in", "").stated(-10.0, 0.999).usual(-1.0, 0.99).textbook(0.0);
    OutputMargin = row("output_margin", "μ_out", "").stated(-10.0, 0.999).usual(-1.0, 0.99).textbook(0.0);
    ComputeMargin = row("compute_margin", "μ_c", "").stated(-10.0, 0.999).usual(-1.0, 0.99);
    LoadPathBandwidth = row("load_path_bytes_per_second", "BW_path", "B/s").stated(1e-6, 1e24).usual(1e8, 1e12);
    RentalPerHour = row("rental_usd_per_hour", "R", "USD/h").stated(1e-6, 1e24).usual(0.2, 50.0)
        .of_chip(|chip, _| Some(chip.rental_usd_per_hour.typical?.0));
    UsdPerCurrencyUnit = row("usd_per_currency_unit", "fx", "USD").stated(1e-12, 1e6).usual(1e-3, 10.0);
    ComputeToBandwidth = row("accelerator.compute_to_bandwidth", "ρ", "").stated(1e-12, 1e12).usual(30.0, 1e3).textbook(300.0)
        .from(&[Quantity::FlopsPerSecond, Quantity::Bandwidth, Quantity::WeightBytes], ratio_of_rates);
    FlopsPerSecond = row("accelerator.flops_per_second", "F", "FLOP/s").stated(1e-6, 1e24).usual(1e14, 1e17)
        .with_parents(&[Quantity::WeightBytes])
        .of_chip(|chip, parents| Some(chip.peak_for_weights(parents[0].0).1.0));
    Bandwidth = row("accelerator.bandwidth_bytes_per_second", "BW", "B/s").stated(1e-6, 1e24).usual(5e11, 5e13)
        .of_chip(|chip, _| Some(chip.hbm_bytes_per_second.0));
    Capacity = row("accelerator.capacity_bytes", "Cap", "B").stated(1e-6, 1e24).usual(1e10, 1e12)
        .of_chip(|chip, _| Some(chip.hbm_bytes.0));
    DomainSize = row("accelerator.domain_size", "D", "chips").stated(1.0, 1e6).usual(1.0, 576.0)
        .of_chip(|chip, _| Some(f64::from(chip.scale_up_domain)));
    MultiplyRate = row("multiply_adds_per_second", "M", "MAC/s")
        .from(&[Quantity::FlopsPerSecond], |parents| (FlopPerSecond(parents[0].0).multiply_adds().0, parents[0].1));
    UnitBandwidth = row("serving_unit_bandwidth_bytes_per_second", "W", "B/s")
        .from(&[Quantity::Bandwidth, Quantity::Chips], product);
    UnitCapacity = row("serving_unit_capacity_bytes", "C", "B")
        .from(&[Quantity::Capacity, Quantity::Chips], product);
    // Stated per service tier, so it has no name of its own among the assumptions.
    SpeedMultiplier = row("speed_multiplier", "m_s", "");
}

fn product(parents: &[Known]) -> Known {
    let [(left, left_origin), (right, right_origin)] = [parents[0], parents[1]];
    (left * right, left_origin.max(right_origin))
}

/// ρ of a peak rate in FLOP/s, a bandwidth and the bytes per weight.
fn ratio_of_rates(parents: &[Known]) -> Known {
    let [
        (flops, flops_origin),
        (bandwidth, bandwidth_origin),
        (weight_bytes, _),
    ] = [parents[0], parents[1], parents[2]];
    let multiply_rate = FlopPerSecond(flops).multiply_adds();
    let ratio = compute_to_bandwidth(weight_bytes, multiply_rate, BytesPerSecond(bandwidth));
    (ratio, flops_origin.max(bandwidth_origin))
}

impl Quantity {
    /// Number of quantities.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// Row of the table of quantities.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name in assumptions and answers; it ends in the unit where there is one.
    #[must_use]
    pub fn name(self) -> &'static str {
        let path = self.row().path;
        path.strip_prefix(OF_ACCELERATOR).unwrap_or(path)
    }

    /// Symbol, unit and permitted values of the quantity, in words.
    #[must_use]
    pub fn description(self) -> String {
        let row = self.row();
        let unit = if row.unit.is_empty() {
            String::new()
        } else {
            format!(" in {}", row.unit)
        };
        let textbook = row.textbook.map_or(String::new(), |value| {
            format!("; {} where nothing is stated", readable(value))
        });
        format!("{}{unit}: {}{textbook}", row.symbol, row.bounds.in_words())
    }

    /// The name by which it may be stated, behind `accelerator.` inside that one; none where it follows from others.
    pub(crate) fn path(self) -> Option<&'static str> {
        self.row().is_statable.then_some(self.row().path)
    }

    /// Quantities that may be stated at the top level of the assumptions.
    pub fn top_level() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|quantity| quantity.row().is_statable && !quantity.is_of_accelerator())
    }

    /// Quantities that may be stated inside `accelerator`.
    pub fn in_accelerator() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|quantity| quantity.is_of_accelerator())
    }

    /// Whether it is part of the assumption `accelerator`.
    pub(crate) fn is_of_accelerator(self) -> bool {
        self.row().path.starts_with(OF_ACCELERATOR)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_symbols_are_unique() {
        let names: BTreeSet<&str> = Quantity::ALL.iter().map(|of| of.name()).collect();
        let symbols: BTreeSet<&str> = Quantity::ALL.iter().map(|of| of.row().symbol).collect();
        assert_eq!([names.len(), symbols.len()], [Quantity::COUNT; 2]);
    }

    #[test]
    fn usual_values_may_be_stated_and_textbook_values_are_usual() {
        for row in ROWS.iter().filter(|row| row.is_statable) {
            let (usual, allowed) = (row.usual, row.bounds);
            let is_inside = allowed.least <= usual.least && usual.most <= allowed.most;
            assert!(is_inside && usual.least < usual.most, "{}", row.path);
            let within = |value| (usual.least..=usual.most).contains(&value);
            assert!(row.textbook.is_none_or(within), "{}", row.path);
        }
    }
}

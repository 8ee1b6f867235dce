//! Accelerators: memory, bandwidth, arithmetic and prices.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::reference::{embedded_rows, words};
use unroof_base::units::{Bytes, BytesPerSecond, FlopPerSecond, UsdPerHour};

/// The file is read twice: its columns of rentals are one object in answers.
static ACCELERATORS: LazyLock<Vec<Accelerator>> = LazyLock::new(|| {
    let (file, text) = (
        "accelerators.csv",
        include_str!("../../../data/accelerators.csv"),
    );
    let mut rows: Vec<Accelerator> = embedded_rows(file, text);
    for (row, rental) in rows.iter_mut().zip(embedded_rows(file, text)) {
        row.rental_usd_per_hour = rental;
    }
    rows
});

/// All accelerators, in the order of the data file.
#[must_use]
pub fn accelerators() -> &'static [Accelerator] {
    &ACCELERATORS
}

/// The accelerator with this id.
#[must_use]
pub fn accelerator(id: &str) -> Option<&'static Accelerator> {
    ACCELERATORS.iter().find(|accelerator| accelerator.id == id)
}

/// Number format of weights and multiplications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NumberFormat {
    /// 4-bit floating point, half a byte.
    Fp4,
    /// 8-bit floating point, one byte.
    Fp8,
    /// 8-bit integer, one byte.
    Int8,
    /// 16-bit floating point, two bytes.
    Bf16,
}

impl NumberFormat {
    /// Bytes per element of the format.
    #[must_use]
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp4 => 0.5,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Bf16 => 2.0,
        }
    }
}

/// Rental prices of one accelerator, in USD per hour.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct RentalUsdPerHour {
    /// Lowest price seen, USD per hour.
    #[serde(rename(deserialize = "rental_low_usd_per_hour"))]
    pub low: Option<UsdPerHour>,
    /// Price used if none is stated.
    #[serde(rename(deserialize = "rental_typical_usd_per_hour"))]
    pub typical: Option<UsdPerHour>,
    /// Highest price seen, USD per hour.
    #[serde(rename(deserialize = "rental_high_usd_per_hour"))]
    pub high: Option<UsdPerHour>,
}

/// Whether an accelerator can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcceleratorStatus {
    /// The accelerator can be rented or bought.
    Shipping,
    /// The maker has published figures of the accelerator.
    Announced,
}

fn yes_or_no<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(deserializer)? == "yes")
}

/// One accelerator, per chip or package as it is sold.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Accelerator {
    /// The id used in assumptions.
    pub id: String,
    /// Maker and product of the accelerator.
    pub name: String,
    /// Generation of chips, whose measurements are fitted together.
    pub generation: String,
    /// Peak dense bf16 arithmetic.
    pub bf16_flops_per_second: FlopPerSecond,
    /// Peak dense int8 arithmetic, operations counted as FLOP.
    pub int8_ops_per_second: Option<FlopPerSecond>,
    /// Peak dense fp8 arithmetic.
    pub fp8_flops_per_second: Option<FlopPerSecond>,
    /// Peak dense fp4 arithmetic.
    pub fp4_flops_per_second: Option<FlopPerSecond>,
    /// HBM bandwidth of one chip, bytes per second.
    pub hbm_bytes_per_second: BytesPerSecond,
    /// HBM capacity of one chip, bytes.
    pub hbm_bytes: Bytes,
    /// Chips on one scale-up interconnect.
    pub scale_up_domain: u32,
    /// Chips that hold one copy of the model when nothing else is stated.
    pub serving_unit_chips: u32,
    /// Scale-up bandwidth per chip, one direction.
    pub scale_up_bytes_per_second: Option<BytesPerSecond>,
    /// Scale-out bandwidth per chip, one direction.
    pub scale_out_bytes_per_second: Option<BytesPerSecond>,
    /// Thermal design power of one accelerator, in watts.
    pub tdp_watts: Option<f64>,
    /// Source of the thermal design power; empty where none is published.
    pub tdp_source: String,
    /// Rental of one accelerator.
    #[serde(default)]
    #[schema(required = true)]
    pub rental_usd_per_hour: RentalUsdPerHour,
    /// Whether the joint estimate weighs it: it is one of those that its calibration was fitted with.
    #[serde(deserialize_with = "yes_or_no")]
    pub weighed: bool,
    /// Whether it can be had.
    pub status: AcceleratorStatus,
    /// Month from which it could be rented, as in ISO 8601; empty where it cannot yet.
    pub sold_from: String,
    /// Source of that month; empty where there is none.
    pub sold_from_source: String,
    /// Columns that are estimates or unverified.
    #[serde(deserialize_with = "words")]
    pub estimates: Vec<String>,
    /// Source of the figures.
    pub source: String,
    /// Remarks on the row.
    pub note: String,
}

impl Accelerator {
    /// Whether it was sold by this day, written as in ISO 8601.
    #[must_use]
    pub fn is_sold_on(&self, day: &str) -> bool {
        let month = day.get(..7).unwrap_or(day);
        !self.sold_from.is_empty() && self.sold_from.as_str() <= month
    }

    /// The format that multiplies run in when weights take `weight_bytes` each, and its peak: the format of the
    /// weights, or the next wider one that the chip has.
    #[must_use]
    pub fn peak_for_weights(&self, weight_bytes: f64) -> (NumberFormat, FlopPerSecond) {
        let peaks = [
            (NumberFormat::Fp4, self.fp4_flops_per_second),
            (NumberFormat::Fp8, self.fp8_flops_per_second),
            (NumberFormat::Int8, self.int8_ops_per_second),
        ];
        peaks
            .into_iter()
            .filter(|(format, _)| format.bytes() >= weight_bytes)
            .find_map(|(format, peak)| Some((format, peak?)))
            .unwrap_or((NumberFormat::Bf16, self.bf16_flops_per_second))
    }

    /// Peak arithmetic of multiplies with weights of this width as engines run them: in the format of the weights, or
    /// the next wider one that the chip has; 4-bit weights are expanded to bf16 where the chip has no 4-bit format.
    #[must_use]
    pub fn peak_of_multiplies(&self, weight_bytes: f64) -> FlopPerSecond {
        let is_four_bits = weight_bytes < NumberFormat::Fp8.bytes();
        match self.fp4_flops_per_second.filter(|_| is_four_bits) {
            Some(peak) => peak,
            None if is_four_bits => self.bf16_flops_per_second,
            None => self.peak_for_weights(weight_bytes).1,
        }
    }

    /// Whether weights of this width are multiplied in 4 bits.
    #[must_use]
    pub fn multiplies_in_four_bits(&self, weight_bytes: f64) -> bool {
        self.fp4_flops_per_second.is_some() && weight_bytes < NumberFormat::Fp8.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_weights_multiply_in_bf16_where_there_is_no_four_bit_format() {
        let (h100, b200) = (
            accelerator("h100-sxm").unwrap(),
            accelerator("b200-sxm").unwrap(),
        );
        // Scales make a 4-bit weight wider than half a byte.
        for width in [0.5, 0.531_25, 0.562_5] {
            assert_eq!(h100.peak_of_multiplies(width), h100.bf16_flops_per_second);
            assert_eq!(
                Some(b200.peak_of_multiplies(width)),
                b200.fp4_flops_per_second
            );
        }
        assert_eq!(
            Some(h100.peak_of_multiplies(1.0)),
            h100.fp8_flops_per_second
        );
    }

    #[test]
    fn every_row_has_a_source_and_positive_figures() {
        assert_eq!(accelerators().len(), 32);
        for row in accelerators() {
            assert!(!row.source.is_empty(), "{}", row.id);
            assert_eq!(
                row.tdp_watts.is_some(),
                !row.tdp_source.is_empty(),
                "{}",
                row.id
            );
            assert!(row.tdp_watts.is_none_or(|watts| watts > 0.0));
            assert!(
                row.bf16_flops_per_second.0 > 0.0
                    && row.hbm_bytes_per_second.0 > 0.0
                    && row.hbm_bytes.0 > 0.0
            );
        }
    }

    #[test]
    fn a_chip_without_a_format_runs_the_next_wider_one() {
        let h100 = accelerator("h100-sxm").unwrap();
        assert_eq!(h100.peak_for_weights(0.5).0, NumberFormat::Fp8);
        assert_eq!(h100.peak_for_weights(1.0).0, NumberFormat::Fp8);
        assert_eq!(h100.peak_for_weights(2.0).0, NumberFormat::Bf16);
        assert_eq!(
            accelerator("tpu-v5e").unwrap().peak_for_weights(1.0).0,
            NumberFormat::Int8
        );
        assert_eq!(
            accelerator("gb200-nvl72").unwrap().peak_for_weights(0.5).0,
            NumberFormat::Fp4
        );
    }
}

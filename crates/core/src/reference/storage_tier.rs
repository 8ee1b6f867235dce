//! Storage devices that a KV cache can be kept on.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{embedded_rows, words};
use crate::units::{Bytes, BytesPerSecond, Seconds};

static STORAGE_TIERS: LazyLock<Vec<StorageTier>> = LazyLock::new(|| {
    embedded_rows(
        "storage_tiers.csv",
        include_str!("../../../../data/storage_tiers.csv"),
    )
});

/// All storage devices, fastest first.
#[must_use]
pub fn storage_tiers() -> &'static [StorageTier] {
    &STORAGE_TIERS
}

/// One device that a KV cache can live on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StorageTier {
    /// The id that readings name.
    pub id: String,
    /// The kind of storage: `hbm`, `dram`, `cxl`, `flash`, `networked-flash`, `disk`, `object-storage`.
    pub tier: String,
    /// Kind of device.
    pub name: String,
    /// The device the figures are for.
    pub device: String,
    /// Capacity of the device.
    #[serde(deserialize_with = "bytes")]
    pub capacity_bytes: Option<Bytes>,
    /// Smallest such device sold.
    #[serde(deserialize_with = "bytes")]
    pub capacity_low_bytes: Option<Bytes>,
    /// Largest such device sold.
    #[serde(deserialize_with = "bytes")]
    pub capacity_high_bytes: Option<Bytes>,
    /// Bandwidth of the device.
    #[serde(deserialize_with = "bytes_per_second")]
    pub bandwidth_bytes_per_second: Option<BytesPerSecond>,
    /// Cost of holding one byte for an hour.
    pub hold_usd_per_byte_hour: Option<f64>,
    /// Cost of reading one byte; a tier without it stays out of the five-minute rule.
    pub read_usd_per_byte: Option<f64>,
    /// Reading cost of the smallest such device.
    pub read_low_usd_per_byte: Option<f64>,
    /// Reading cost of the largest such device.
    pub read_high_usd_per_byte: Option<f64>,
    /// Basis of the costs: `rental`, `capital over 5 years` or `estimate`.
    pub basis: String,
    /// Columns that are estimates or unverified.
    #[serde(deserialize_with = "words")]
    pub estimates: Vec<String>,
    /// Source of the figures.
    pub source: String,
    /// Remarks.
    pub note: String,
}

impl StorageTier {
    /// HBM, rented with its accelerator: its holding cost is that of the accelerator.
    pub const HBM: &'static str = "hbm-rented";
    /// The accelerator around it where none is chosen.
    pub const HBM_ACCELERATOR: &'static str = "gb200-nvl72";
    /// HBM as a component: never the price of holding a cache, since HBM is not rented without its accelerator.
    pub const HBM_COMPONENT: &'static str = "hbm-component";

    /// Time to read the whole device once, C/W.
    #[must_use]
    pub fn drain_time(&self) -> Option<Seconds> {
        Some(self.capacity_bytes? / self.bandwidth_bytes_per_second?)
    }
}

/// A storage tier with the drain time that the talk gives it.
#[derive(Debug, Clone, Copy)]
pub struct TalkTier {
    /// The talk's name for it.
    pub name: &'static str,
    /// Drain time in the talk; the geometric middle of a range.
    pub drain_time: Seconds,
}

/// \[T\]: HBM 20 ms, DDR 1 to 10 s, flash about a minute, spinning disk about an hour.
pub const TALK_DRAIN_TIMES: [TalkTier; 4] = [
    TalkTier {
        name: "hbm",
        drain_time: Seconds(0.020),
    },
    TalkTier {
        name: "ddr",
        drain_time: Seconds(3.162_277_660_168_379_5),
    },
    TalkTier {
        name: "flash",
        drain_time: Seconds(60.0),
    },
    TalkTier {
        name: "disk",
        drain_time: Seconds(3600.0),
    },
];

fn bytes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(Bytes))
}

fn bytes_per_second<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BytesPerSecond>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(BytesPerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_has_a_source_and_drains_in_the_order_of_its_kind() {
        assert_eq!(storage_tiers().len(), 10);
        assert!(storage_tiers().iter().all(|tier| !tier.source.is_empty()));
        let drain = |id: &str| {
            storage_tiers()
                .iter()
                .find(|tier| tier.id == id)
                .and_then(StorageTier::drain_time)
                .unwrap()
                .0
        };
        assert!(drain("hbm-rented") < drain("host-dram"));
        assert!(drain("host-dram") < drain("flash-tlc"));
        assert!(drain("flash-tlc") < drain("flash-qlc"));
        assert!(drain("flash-qlc") < drain("disk"));
    }
}

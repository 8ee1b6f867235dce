//! Storage devices that a KV cache can be kept on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words;
use crate::units::{Bytes, BytesPerSecond, Seconds};

embedded_tables! {
    /// All storage devices, fastest first.
    storage_tiers: StorageTier = "storage_tiers.csv";
}

/// A kind of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StorageKind {
    /// High-bandwidth memory, with its accelerator.
    Hbm,
    /// High-bandwidth memory by itself.
    HbmComponent,
    /// Memory of a host.
    Dram,
    /// Memory behind Compute Express Link.
    Cxl,
    /// Flash of a host.
    Flash,
    /// Flash across the network.
    NetworkedFlash,
    /// Spinning disk.
    Disk,
    /// Object storage of a cloud.
    ObjectStorage,
}

/// Basis of the cost of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum CostBasis {
    /// Price of renting it.
    #[serde(rename = "rental")]
    Rental,
    /// Price of buying it, spread over five years.
    #[serde(rename = "capital over 5 years")]
    Capital,
    /// An estimate.
    #[serde(rename = "estimate")]
    Estimate,
}

/// One device that a KV cache can live on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StorageTier {
    /// The id that readings name.
    pub id: String,
    /// The kind of storage.
    pub tier: StorageKind,
    /// Kind of device.
    pub name: String,
    /// The device the figures are for.
    pub device: String,
    /// Capacity of the device.
    pub capacity_bytes: Option<Bytes>,
    /// Smallest such device sold.
    pub capacity_low_bytes: Option<Bytes>,
    /// Largest such device sold.
    pub capacity_high_bytes: Option<Bytes>,
    /// Bandwidth of the device.
    pub bandwidth_bytes_per_second: Option<BytesPerSecond>,
    /// Cost of holding one byte for an hour.
    pub hold_usd_per_byte_hour: Option<f64>,
    /// Cost of reading one byte; a tier without it stays out of the five-minute rule.
    pub read_usd_per_byte: Option<f64>,
    /// Reading cost of the smallest such device.
    pub read_low_usd_per_byte: Option<f64>,
    /// Reading cost of the largest such device.
    pub read_high_usd_per_byte: Option<f64>,
    /// Basis of the costs.
    pub basis: CostBasis,
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

/// The talk's names for storage tiers with the drain time it gives each; the geometric middle where a range was said
/// \[T\]: HBM 20 ms, DDR 1 to 10 s, flash about a minute, spinning disk about an hour.
pub const TALK_DRAIN_TIMES: [(&str, Seconds); 4] = [
    ("hbm", Seconds(0.020)),
    ("ddr", Seconds(3.162_277_660_168_379_5)),
    ("flash", Seconds(60.0)),
    ("disk", Seconds(3600.0)),
];

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

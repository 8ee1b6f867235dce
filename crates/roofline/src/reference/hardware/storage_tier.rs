//! Storage devices that a KV cache can be kept on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::reference::words;
use unroof_base::units::{Bytes, BytesPerSecond, Seconds};

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
    /// A cost that is estimated.
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
    /// Kind of device, as people call it.
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
    /// Capacity beside each accelerator; none for a pool, which is as large as it is bought.
    pub accelerator_capacity_bytes: Option<Bytes>,
    /// Bandwidth at which each accelerator loads from it.
    pub accelerator_bandwidth_bytes_per_second: Option<BytesPerSecond>,
    /// Cost of holding one byte for an hour on one basis for all: the price of buying it, spread over five years.
    pub capital_usd_per_byte_hour: Option<f64>,
    /// Number of times that it can be written as a whole before it is worn out; none where writing wears nothing out.
    pub writes_over_life: Option<f64>,
    /// Copies that are kept of a byte.
    pub copies: Option<f64>,
    /// Accelerators that come with it, by id; empty where it does not depend on the accelerator.
    #[serde(deserialize_with = "words")]
    pub comes_with: Vec<String>,
    /// Columns that are estimates or unverified.
    #[serde(deserialize_with = "words")]
    pub estimates: Vec<String>,
    /// Source of the figures.
    pub source: String,
    /// Source of capacity and bandwidth per accelerator, capital, wear and copies.
    pub placement_source: String,
    /// Remarks on the row.
    pub note: String,
}

/// Medium of a cache, as vendors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StorageClass {
    /// Memory of the accelerator, of its host, or behind a link: lost when the power is off.
    Memory,
    /// Flash of the server.
    LocalFlash,
    /// Flash across the network.
    NetworkedFlash,
    /// Spinning disk and object storage.
    Disk,
}

impl StorageKind {
    /// The class that it belongs to.
    #[must_use]
    pub fn class(self) -> StorageClass {
        match self {
            Self::Hbm | Self::HbmComponent | Self::Dram | Self::Cxl => StorageClass::Memory,
            Self::Flash => StorageClass::LocalFlash,
            Self::NetworkedFlash => StorageClass::NetworkedFlash,
            Self::Disk | Self::ObjectStorage => StorageClass::Disk,
        }
    }
}

/// Hours in the five years over which devices are paid for.
const LIFE_H: f64 = 43_800.0;

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

    /// Cost of wear of a byte that is written once, in USD: the price of the device over all that can be written to it
    /// \[D\].
    #[must_use]
    pub fn wear_usd_per_byte(&self) -> Option<f64> {
        let price = self.capital_usd_per_byte_hour? * LIFE_H;
        Some(self.writes_over_life.map_or(0.0, |writes| price / writes))
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
    fn a_byte_that_is_written_once_wears_flash_more_than_an_hour_costs_and_memory_not_at_all() {
        let tier = |id: &str| storage_tiers().iter().find(|tier| tier.id == id).unwrap();
        let flash = tier("flash-tlc");
        // 0.355 USD/GB over one full write a day for five years.
        let wear = flash.wear_usd_per_byte().unwrap();
        assert!((wear / 1.944e-13 - 1.0).abs() < 1e-3, "{wear}");
        assert!(wear > 20.0 * flash.capital_usd_per_byte_hour.unwrap());
        assert_eq!(tier("host-dram").wear_usd_per_byte(), Some(0.0));
        assert_eq!(tier("object-storage").wear_usd_per_byte(), None);
        let costs = |tier: &&StorageTier| tier.capital_usd_per_byte_hour.is_some();
        for tier in storage_tiers().iter().filter(costs) {
            assert!(!tier.placement_source.is_empty(), "{}", tier.id);
        }
    }

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

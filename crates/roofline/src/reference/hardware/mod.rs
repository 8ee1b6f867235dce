//! Accelerators, what they are rented for, and devices that caches are kept on.

mod accelerator;
mod rent;
mod storage_tier;

pub use accelerator::{
    Accelerator, AcceleratorStatus, NumberFormat, RentalUsdPerHour, accelerator, accelerators,
};
pub use rent::{PublishedRent, Rent, RentContract, published_rent, rents};
pub use storage_tier::{
    CostBasis, StorageClass, StorageKind, StorageTier, TALK_DRAIN_TIMES, storage_tiers,
};

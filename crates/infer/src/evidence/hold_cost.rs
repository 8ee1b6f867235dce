//! Cost of holding a byte on each storage tier: the yardstick of every reading about caches.

use super::builder::{ReadingBuilder, Values};
use super::quantity::Quantity as Q;
use super::reading::{Input, Kind, NotDefined, Value};
use crate::evidence::assumptions::Origin;
use crate::evidence::sheet::Evidence;
use unroof_roofline::reference::{StorageTier, accelerator, storage_tiers};

/// Storage tiers a cache can be held on; HBM comes with its accelerator, never as a component.
pub(crate) fn tiers() -> impl Iterator<Item = &'static StorageTier> {
    storage_tiers()
        .iter()
        .filter(|tier| tier.id != StorageTier::HBM_COMPONENT)
}

/// Cost of holding a byte in HBM: rent over capacity of the chosen accelerator, else of the one in the table of tiers.
#[derive(Clone, Copy)]
pub(crate) struct HbmHolding {
    /// Known where no accelerator is chosen.
    from_table: Option<f64>,
}

impl HbmHolding {
    pub(crate) fn new(evidence: &Evidence<'_>) -> Self {
        let chosen = [Q::Capacity, Q::RentalPerHour]
            .iter()
            .any(|quantity| evidence.assumptions.known(*quantity).is_some());
        let default = accelerator(StorageTier::HBM_ACCELERATOR);
        let from_table = default
            .and_then(|chip| Some(chip.rental_usd_per_hour.typical?.0 / chip.hbm_bytes.0))
            .filter(|_| !chosen);
        Self { from_table }
    }

    /// The quantities it depends on.
    pub(crate) fn quantities(self) -> &'static [Q] {
        if self.from_table.is_some() {
            &[]
        } else {
            &[Q::RentalPerHour, Q::Capacity]
        }
    }

    /// USD per byte and hour.
    pub(crate) fn usd_per_byte_hour(self, values: &Values) -> f64 {
        self.from_table
            .unwrap_or_else(|| values[Q::RentalPerHour] / values[Q::Capacity])
    }

    /// The cost where it is known, in USD per byte and hour, and where it comes from.
    pub(crate) fn known(self, evidence: &Evidence<'_>) -> Option<(f64, Origin)> {
        if let Some(cost) = self.from_table {
            return Some((cost, Origin::Reference));
        }
        let known = |quantity| evidence.assumptions.known(quantity);
        let ((rent, rent_origin), (capacity, capacity_origin)) =
            (known(Q::RentalPerHour)?, known(Q::Capacity)?);
        Some((rent / capacity, rent_origin.max(capacity_origin)))
    }

    /// Shows the cost among the inputs of a reading.
    pub(crate) fn show<'a>(
        self,
        builder: ReadingBuilder<'a>,
        evidence: &Evidence<'_>,
    ) -> ReadingBuilder<'a> {
        match self.known(evidence) {
            None => builder,
            Some((cost, from)) => builder.input(Input::new(
                "hbm_hold_usd_per_byte_hour",
                "hold",
                Value::Number(cost),
                "USD/B/h",
                from,
            )),
        }
    }
}

/// Adds, per storage tier, the most bytes per token that a price per million tokens and hour pays for.
pub(crate) fn with_bounds_per_tier<'a>(
    mut builder: ReadingBuilder<'a>,
    hbm: HbmHolding,
    quantities: &[Q],
    usd_per_mtok_hour: impl Fn(&Values) -> Result<f64, NotDefined>,
) -> ReadingBuilder<'a> {
    for tier in tiers() {
        let is_hbm = tier.id == StorageTier::HBM;
        let Some(hold) = tier.hold_usd_per_byte_hour else {
            continue;
        };
        let quantities: Vec<Q> = quantities
            .iter()
            .chain(if is_hbm { hbm.quantities() } else { &[] })
            .copied()
            .collect();
        builder = builder.detail(
            (tier.id.as_str(), "bytes/token", Kind::Upper),
            &quantities,
            |values| {
                let hold = if is_hbm {
                    hbm.usd_per_byte_hour(values)
                } else {
                    hold
                };
                Ok(usd_per_mtok_hour(values)? / (1e6 * hold))
            },
        );
    }
    builder
}

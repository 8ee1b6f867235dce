//! The hypotheses about a vendor: its markups and the accelerators that it may use.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::evidence::machine::Machine;
use unroof_base::units::count_f64;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::calibration::{Calibration, HostMarkup, OverLines};

/// Points of the vendor's markup.
pub(super) const MARKUPS: usize = 64;

/// The accelerators of the prior.
pub(super) struct Accelerators {
    /// Prior share of each.
    pub(super) shares: Vec<f64>,
    /// Place by the figures that distinguish accelerators.
    places: BTreeMap<[u64; 3], usize>,
}

impl Accelerators {
    /// The accelerators of some machines.
    pub(super) fn of(machines: &[Machine]) -> Self {
        let mut found = Self {
            shares: Vec::new(),
            places: BTreeMap::new(),
        };
        for machine in machines {
            let next = found.shares.len();
            let place = *found.places.entry(Self::key(machine)).or_insert(next);
            if place == next {
                found.shares.push(0.0);
            }
            found.shares[place] += machine.share;
        }
        found
    }

    fn key(machine: &Machine) -> [u64; 3] {
        let parts = [
            machine.log_bandwidth,
            machine.log_capacity,
            machine.log_rental,
        ];
        parts.map(f64::to_bits)
    }

    /// The place of a machine's accelerator.
    pub(super) fn place(&self, machine: &Machine) -> usize {
        self.places.get(&Self::key(machine)).copied().unwrap_or(0)
    }
}

/// The mean and the covariance of a vendor's log markup over that of an average vendor, before its sheets are read.
fn markup_prior(seller: &str, calibration: &Calibration) -> HostMarkup {
    let known = calibration.authors.get(&vendor(seller));
    known.cloned().unwrap_or(HostMarkup {
        mean: [0.0; 2],
        covariance: calibration.price_law.author_spread,
    })
}

/// Points of a vendor's log markup, each as probable.
pub(super) fn markups(seller: &str, calibration: &Calibration) -> Vec<[f64; 2]> {
    let prior = markup_prior(seller, calibration);
    let [[input, both], [_, output]] = prior.covariance;
    let across = both / input.sqrt();
    let rest = (output - across * across).max(0.0).sqrt();
    let normal = Normal::standard();
    (0..MARKUPS)
        .map(|number| {
            let point = [2, 3].map(|prime| normal.inverse_cdf(spread(number, prime)));
            [
                prior.mean[0] + input.sqrt() * point[0],
                prior.mean[1] + across * point[0] + rest * point[1],
            ]
        })
        .collect()
}

/// Evenly spread points between 0 and 1: multiples of the square root of a prime, without their whole parts.
pub(super) fn spread(number: usize, prime: u32) -> f64 {
    let multiple = (count_f64(number) + 0.5) * f64::from(prime).sqrt();
    multiple.fract().clamp(1e-6, 1.0 - 1e-6)
}

/// A calibration that knows the vendor's markup.
pub(super) fn with_markup(
    calibration: &Calibration,
    seller: &str,
    markup: [f64; 2],
) -> Calibration {
    let mut known = calibration.clone();
    let certain = HostMarkup {
        mean: markup,
        covariance: OverLines::default(),
    };
    known.authors.insert(vendor(seller), certain);
    known
}

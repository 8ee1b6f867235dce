//! The chips of a scenario: an accelerator of the reference data, and the figures of it that a request replaces.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_roofline::calculator::inputs::Inputs;
//! use unroof_roofline::calculator::scenario::StatedMachine;
//!
//! let chip = unroof_base::input::read(br#"{"accelerator": "h100-sxm", "rental_usd_per_hour": 1.5}"#, |root| {
//!     StatedMachine::read(root)?.fill(&Inputs::new(root, &[]), None, None)
//! })?;
//! assert_eq!((chip.capacity.0, chip.usd_per_hour), (80e9, Some(1.5)));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::ops::RangeInclusive;

use super::model::Model;
use super::precision::Precision;
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{Machine, MultiplyRates, ServingUnit};
use crate::reference::names::AcceleratorId;
use crate::reference::{Accelerator, accelerator};
use unroof_base::input::body::{Stated, body, count, number, value};
use unroof_base::units::{Bytes, BytesPerSecond, FlopPerSecond};

/// Most chips of a machine or of a scale-up domain.
pub const MOST_CHIPS: u32 = 1_000_000;
/// Figures of a chip.
const FIGURES: RangeInclusive<f64> = 1e-6..=1e24;

/// Flags of the chips that compute prompts.
pub const PREFILL_FLAGS: &[(&str, &str)] = &[
    ("accelerator", "prefill-accelerator"),
    ("chips", "prefill-chips"),
    ("rental", "prefill-rental"),
];

body! {
    /// Chips of one kind. Figures other than the reference row's describe one chip.
    pub struct StatedMachine {
        /// Id of `/reference/accelerators`.
        accelerator: Stated<&'static str> = value(AcceleratorId).or("gb200-nvl72").flag("accelerator"),
        /// G: number of chips. Of a simulation and of training, the accelerator's serving unit if left out; the most
        /// that a plan takes, and as many as its load needs if left out; those of all stages of a layout.
        chips: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(144).flag("chips"),
        /// Rental of one chip; the typical one of the reference data if left out.
        rental_usd_per_hour: Stated<f64> = number(FIGURES).unit("USD/h").flag("rental"),
        /// F: peak dense arithmetic in the format of the weights.
        flops_per_second: Stated<f64> = number(FIGURES).unit("FLOP/s"),
        /// The peak in attention's format.
        attention_flops_per_second: Stated<f64> = number(FIGURES).unit("FLOP/s"),
        /// HBM bandwidth.
        bandwidth_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
        /// HBM capacity.
        capacity_bytes: Stated<f64> = number(FIGURES).unit("B"),
        /// Chips on one scale-up interconnect.
        domain_size: Stated<u32> = count(1..=MOST_CHIPS).unit("chips"),
        /// Scale-up bandwidth, one direction.
        scale_up_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
        /// Scale-out bandwidth, one direction.
        scale_out_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
    }
}

/// One chip.
#[derive(Debug, Clone)]
pub struct Chip {
    /// The row of the reference data.
    pub row: &'static Accelerator,
    /// Peak arithmetic in the format of the weights, in FLOP per second, if it is stated.
    pub flops: Option<f64>,
    /// Peak arithmetic in attention's format, in FLOP per second, if it is stated.
    pub attention_flops: Option<f64>,
    /// HBM bandwidth.
    pub bandwidth: BytesPerSecond,
    /// HBM capacity.
    pub capacity: Bytes,
    /// Chips on one scale-up interconnect.
    pub domain: u32,
    /// Scale-up bandwidth, one direction.
    pub scale_up: Option<BytesPerSecond>,
    /// Scale-out bandwidth, one direction.
    pub scale_out: Option<BytesPerSecond>,
    /// Rent of the chip; none if it is not known.
    pub usd_per_hour: Option<f64>,
    /// Factor of all arithmetic, 1 but for sensitivities.
    pub arithmetic: f64,
}

impl Chip {
    /// A chip as the reference data has it.
    fn of(row: &'static Accelerator) -> Self {
        Self {
            row,
            flops: None,
            attention_flops: None,
            bandwidth: row.hbm_bytes_per_second,
            capacity: row.hbm_bytes,
            domain: row.scale_up_domain,
            scale_up: row.scale_up_bytes_per_second,
            scale_out: row.scale_out_bytes_per_second,
            usd_per_hour: row.rental_usd_per_hour.typical.map(|usd| usd.0),
            arithmetic: 1.0,
        }
    }

    /// Whether two chips are the same but for their rent.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let figures = |chip: &Self| {
            let link = |link: Option<BytesPerSecond>| link.map(|link| link.0);
            let links = (link(chip.scale_up), link(chip.scale_out));
            let memory = (chip.bandwidth.0, chip.capacity.0, chip.domain);
            (
                chip.row.id.as_str(),
                chip.flops,
                chip.attention_flops,
                memory,
                links,
            )
        };
        figures(self) == figures(other)
    }

    /// Rates of multiplies in the formats of a precision, by the reference data.
    fn rates(&self, precision: &Precision) -> MultiplyRates {
        let with = |width: f64| {
            let peak = match precision.arithmetic {
                Some(arithmetic) => self.row.peak_for_weights(arithmetic).1,
                None => self.row.peak_of_multiplies(width),
            };
            peak.multiply_adds()
        };
        let attention = self.row.peak_for_weights(precision.attention).1;
        MultiplyRates {
            experts: with(precision.formats.experts),
            others: with(precision.formats.others),
            attention: attention.multiply_adds(),
        }
    }

    /// Peak arithmetic with the weights of a model, in FLOP per second.
    #[must_use]
    pub fn flops_of(&self, model: &Model, precision: &Precision) -> f64 {
        let of_row = || self.rates(precision).of_weights(&model.architecture).0 * 2.0;
        self.flops.unwrap_or_else(of_row) * self.arithmetic
    }

    /// Peak arithmetic in attention, in FLOP per second. A chip of one's own multiplies in other formats as its peers
    /// do, against that of the weights.
    fn attention_flops_of(&self, model: &Model, precision: &Precision) -> f64 {
        let rates = self.rates(precision);
        let of_weights = rates.of_weights(&model.architecture).0;
        let of_peers = || {
            let flops = self.flops.unwrap_or(of_weights * 2.0);
            flops * (rates.attention.0 * 2.0) / (of_weights * 2.0)
        };
        self.attention_flops.unwrap_or_else(of_peers) * self.arithmetic
    }

    /// As many of these chips, which multiply in the formats of a precision.
    #[must_use]
    pub fn machine(&self, model: &Model, precision: &Precision, chips: f64) -> Machine {
        let rates = self.rates(precision);
        let of_weights = rates.of_weights(&model.architecture).0;
        let rate = |flops: f64| FlopPerSecond(flops).multiply_adds();
        let one = Machine {
            unit: ServingUnit {
                multiply_rate: rate(self.flops_of(model, precision)),
                attention_multiply_rate: rate(self.attention_flops_of(model, precision)),
                bandwidth: self.bandwidth,
                capacity: self.capacity,
                rental_usd_per_second: 0.0,
            },
            chips: 1.0,
            domain_chips: f64::from(self.domain),
            scale_up: self.scale_up,
            scale_out: self.scale_out,
            expert_rate: rates.experts.0 / of_weights,
            other_rate: rates.others.0 / of_weights,
        };
        let mut machine = one.with_chips(chips);
        machine.unit.rental_usd_per_second = self.usd_per_hour.unwrap_or(0.0) * chips / 3_600.0;
        machine
    }
}

impl StatedMachine {
    /// The chip with its figures. Where the chips of the rest of the request are given, a chip of which nothing is stated
    /// is one of them.
    pub fn fill(
        &self,
        inputs: &Inputs<'_>,
        others: Option<&Chip>,
        served: Option<(&Model, &Precision)>,
    ) -> Option<Chip> {
        if let Some(others) = others.filter(|_| !self.has_own_row() && !self.has_other_figures()) {
            return if self.rental_usd_per_hour.is_stated() {
                self.with_rent(inputs, others)
            } else {
                Some(others.clone())
            };
        }
        let usual = match others.filter(|_| !self.has_own_row()) {
            Some(others) => others.clone(),
            None => Chip::of(inputs.or_default(&self.accelerator).and_then(accelerator)?),
        };
        let from = Origin::Reference;
        let figure = |field: &Stated<f64>, usual: f64| inputs.or(field, usual, from);
        let link = |field: &Stated<f64>, usual: Option<BytesPerSecond>| {
            let link = inputs.or_else(field, usual.map(|link| (link.0, from)));
            link.map(BytesPerSecond)
        };
        let own = |field: &Stated<f64>| field.value.ok().flatten();
        let mut chip = Chip {
            flops: own(&self.flops_per_second).or(usual.flops),
            attention_flops: own(&self.attention_flops_per_second).or(usual.attention_flops),
            ..usual
        };
        if let Some((model, precision)) = served {
            let flops = chip.flops_of(model, precision);
            figure(&self.flops_per_second, flops)?;
            let flops = chip.attention_flops_of(model, precision);
            figure(&self.attention_flops_per_second, flops)?;
        }
        let bandwidth = figure(&self.bandwidth_bytes_per_second, chip.bandwidth.0);
        let capacity = figure(&self.capacity_bytes, chip.capacity.0);
        chip.scale_up = link(&self.scale_up_bytes_per_second, chip.scale_up);
        chip.scale_out = link(&self.scale_out_bytes_per_second, chip.scale_out);
        chip.domain = inputs.or(&self.domain_size, chip.domain, from)?;
        (chip.bandwidth, chip.capacity) = (BytesPerSecond(bandwidth?), Bytes(capacity?));
        self.with_rent(inputs, &chip)
    }

    fn with_rent(&self, inputs: &Inputs<'_>, chip: &Chip) -> Option<Chip> {
        let usual = chip.usd_per_hour.map(|usd| (usd, Origin::Reference));
        Some(Chip {
            usd_per_hour: inputs.known(&self.rental_usd_per_hour, usual).ok()?,
            ..chip.clone()
        })
    }

    /// Number of chips; those of the accelerator's serving unit where none are stated.
    pub fn serving_chips(&self, inputs: &Inputs<'_>, chip: Option<&Chip>) -> Option<u32> {
        let unit = chip.map(|chip| (chip.row.serving_unit_chips, Origin::Reference));
        inputs.or_else(&self.chips, unit)
    }

    fn has_own_row(&self) -> bool {
        self.accelerator.is_stated()
    }

    /// Whether a figure of the reference row is replaced.
    pub fn has_other_figures(&self) -> bool {
        let figures = [
            &self.flops_per_second,
            &self.attention_flops_per_second,
            &self.bandwidth_bytes_per_second,
            &self.capacity_bytes,
            &self.scale_up_bytes_per_second,
            &self.scale_out_bytes_per_second,
        ];
        self.domain_size.is_stated() || figures.into_iter().any(Stated::is_stated)
    }
}

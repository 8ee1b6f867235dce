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
use super::rent::{CONTRACTS, StatedOwned};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{Machine, MultiplyRates, ServingUnit, stages_per_expert_layer};
use crate::reference::names::{ALL, AcceleratorIdOrAll};
use crate::reference::{Accelerator, PublishedRent, RentContract, accelerator, published_rent};
use jiff::civil::Date;

use unroof_base::input::body::{Day, OneOf, Stated, body, count, number, section, value};
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
        /// Id of `/reference/accelerators`; `all` in a plan, which then ranks them.
        accelerator: Stated<&'static str> = value(AcceleratorIdOrAll).or("gb200-nvl72").flag("accelerator"),
        /// G: number of chips. Of a simulation and of training, the accelerator's serving unit if left out; the most
        /// that a plan takes, and as many as its load needs if left out; those of all stages of a layout.
        chips: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(144).flag("chips"),
        /// Rental of one chip; the typical one of the reference data if left out, on demand where it has none.
        rental_usd_per_hour: Stated<f64> = number(FIGURES).unit("USD/h").flag("rental"),
        /// Contract whose published rents are taken, the median over providers: `spot`, `on-demand`, `capacity-block`, `one-year`
        /// or `three-years`.
        contract: Stated<RentContract> = value(OneOf(CONTRACTS)).flag("contract"),
        /// Day whose published rents are taken, of each provider the latest by then; all if left out.
        as_of: Stated<Date> = value(Day).flag("as-of"),
        /// Costs of an own chip, in place of a rent.
        owned: StatedOwned = section::<StatedOwned>(),
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
    /// The published prices that the rent is the middle of, where it is.
    pub published_rent: Option<PublishedRent>,
    /// Whether the request states the rent, or the costs of owning the chip.
    pub has_stated_rent: bool,
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
            published_rent: None,
            has_stated_rent: false,
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
        let multiplied = precision.arithmetic.unwrap_or(precision.formats.experts);
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
            stages_per_expert_layer: stages_per_expert_layer(self.row, multiplied),
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
            return if self.has_own_rent() {
                self.with_rent(inputs, others)
            } else {
                Some(others.clone())
            };
        }
        let usual = match others.filter(|_| !self.has_own_row()) {
            Some(others) => others.clone(),
            None => Chip::of(self.row(inputs)?),
        };
        self.with_figures(inputs, usual, served)
    }

    fn row(&self, inputs: &Inputs<'_>) -> Option<&'static Accelerator> {
        let id = inputs.or_default(&self.accelerator)?;
        if id == ALL {
            inputs.fault(
                &self.accelerator,
                "`all` is not one accelerator",
                "name one; a plan ranks `all` for decoding, with prompts on the same chips or on a named one",
            );
        }
        accelerator(id)
    }

    /// Whether a plan is asked for each accelerator.
    #[must_use]
    pub fn names_all(&self) -> bool {
        self.accelerator.value == Ok(Some(ALL))
    }

    /// The chip of one row, where the request asks for all.
    pub fn fill_as(
        &self,
        row: &'static Accelerator,
        inputs: &Inputs<'_>,
        served: Option<(&Model, &Precision)>,
    ) -> Option<Chip> {
        if self.has_other_figures()
            || self.rental_usd_per_hour.is_stated()
            || self.owned.is_stated()
        {
            inputs.fault(
                &self.accelerator,
                "figures of a chip are those of one accelerator",
                "name the accelerator, or leave its rent and its figures out",
            );
            return None;
        }
        inputs.name(&self.accelerator.name, &row.id, Origin::Stated);
        self.with_figures(inputs, Chip::of(row), served)
    }

    fn with_figures(
        &self,
        inputs: &Inputs<'_>,
        usual: Chip,
        served: Option<(&Model, &Precision)>,
    ) -> Option<Chip> {
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

    /// Number of chips; those of the accelerator's serving unit where none are stated.
    pub fn serving_chips(&self, inputs: &Inputs<'_>, chip: Option<&Chip>) -> Option<u32> {
        let unit = chip.map(|chip| (chip.row.serving_unit_chips, Origin::Reference));
        inputs.or_else(&self.chips, unit)
    }

    /// The chip with its rent: as stated, as owning it costs, as it is published under the stated contract, else the typical one.
    fn with_rent(&self, inputs: &Inputs<'_>, chip: &Chip) -> Option<Chip> {
        let stated = [
            self.rental_usd_per_hour.is_stated(),
            self.owned.is_stated(),
            self.contract.is_stated(),
        ];
        if stated.into_iter().filter(|is_stated| *is_stated).count() > 1 {
            inputs.fault(
                &self.rental_usd_per_hour,
                "the rent is stated in two ways",
                "state one of `rental_usd_per_hour`, `owned` and `contract`",
            );
        }
        let has_stated_rent = self.rental_usd_per_hour.is_stated() || self.owned.is_stated();
        let published = if has_stated_rent {
            None
        } else {
            self.published(inputs, chip)?
        };
        let known = if self.owned.is_stated() {
            Some((self.owned.usd_per_hour(inputs, chip.row)?, Origin::Derived))
        } else if self.asks_for_published(chip) {
            (published.as_ref()).map(|rent| (rent.usd_per_hour, Origin::Reference))
        } else {
            chip.usd_per_hour.map(|usd| (usd, Origin::Reference))
        };
        Some(Chip {
            usd_per_hour: inputs.known(&self.rental_usd_per_hour, known).ok()?,
            published_rent: published,
            has_stated_rent,
            ..chip.clone()
        })
    }

    /// Whether the rent is one that was published under a contract, rather than the typical one of the accelerator.
    fn asks_for_published(&self, chip: &Chip) -> bool {
        let is_stated = self.contract.is_stated() || self.as_of.is_stated();
        is_stated || chip.usd_per_hour.is_none()
    }

    /// The published rent, where one is asked for; the outer one is none where a field is wrong.
    #[expect(clippy::option_option, reason = "the outer one is a recorded fault")]
    fn published(&self, inputs: &Inputs<'_>, chip: &Chip) -> Option<Option<PublishedRent>> {
        let by = self.as_of.value.ok()?;
        if !self.asks_for_published(chip) {
            return Some(None);
        }
        if let Some(day) = by {
            inputs.name(&self.as_of.name, &day.to_string(), Origin::Stated);
        }
        let contract = inputs.choice(&self.contract, CONTRACTS, RentContract::OnDemand)?;
        Some(published_rent(&chip.row.id, contract, by))
    }

    fn has_own_rent(&self) -> bool {
        let is_stated = self.rental_usd_per_hour.is_stated() || self.owned.is_stated();
        is_stated || self.contract.is_stated() || self.as_of.is_stated()
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

//! Rent of a chip: contracts of published rents, and the costs of an own chip.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_roofline::calculator::inputs::Inputs;
//! use unroof_roofline::calculator::scenario::StatedMachine;
//!
//! let rent = |text: &str| unroof_base::input::read(text.as_bytes(), |root| {
//!     StatedMachine::read(root)?.fill(&Inputs::new(root, &[]), None, None)
//! }).unwrap().usd_per_hour.unwrap();
//! // 40,000 USD over four years, and 700 W at 1.2 times as much and 0.08 USD per kWh.
//! let owned = rent(r#"{"accelerator": "h100-sxm", "owned": {"capital_usd": 40000}}"#);
//! assert!((owned - (40_000.0 / (4.0 * 8_766.0) + 0.7 * 1.2 * 0.08)).abs() < 1e-9);
//! // A spot price is that until the provider needs the chips.
//! assert!(rent(r#"{"accelerator": "h100-sxm", "contract": "spot"}"#) < rent(r#"{"accelerator": "h100-sxm"}"#) * 1.2);
//! ```

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::reference::{Accelerator, RentContract};
use unroof_base::input::body::{Stated, body, number};

const HOURS_OF_A_YEAR: f64 = 8_766.0;

/// Contracts of published rents, by the names of requests.
pub const CONTRACTS: &[(&str, RentContract)] = &[
    ("spot", RentContract::Spot),
    ("on-demand", RentContract::OnDemand),
    ("capacity-block", RentContract::CapacityBlock),
    ("one-year", RentContract::OneYear),
    ("three-years", RentContract::ThreeYears),
];

body! {
    /// Costs of an own chip, from which its cost per hour follows.
    pub struct StatedOwned {
        /// Price of a chip with its share of server, network and building.
        capital_usd: Stated<f64> = number(1.0..=1e7).unit("USD").example(40_000).flag("capital"),
        /// Years over which the price is spread, all hours of them.
        years: Stated<f64> = number(0.1..=30.0).unit("years").or(4.0).flag("years"),
        /// Price of electricity.
        usd_per_kwh: Stated<f64> = number(0.0..=10.0).unit("USD/kWh").or(0.08).flag("power-price"),
        /// Power of the site over that of the chips.
        pue: Stated<f64> = number(1.0..=10.0).or(1.2).flag("pue"),
        /// Power of a chip with its share of the server; its thermal design power if left out.
        watts: Stated<f64> = number(0.0..=1e6).unit("W"),
    }
}

impl StatedOwned {
    pub(super) fn is_stated(&self) -> bool {
        let fields = [
            &self.capital_usd,
            &self.years,
            &self.usd_per_kwh,
            &self.pue,
            &self.watts,
        ];
        fields.into_iter().any(Stated::is_stated)
    }

    /// Cost of an hour: capital/(years·8,766 h) + W·PUE·price.
    pub(super) fn usd_per_hour(&self, inputs: &Inputs<'_>, row: &Accelerator) -> Option<f64> {
        let capital = inputs.stated(&self.capital_usd).ok()?;
        if capital.is_none() {
            inputs.fault(
                &self.capital_usd,
                "the cost of an own chip needs its price",
                "state `capital_usd`, the price of a chip with its share of server and network",
            );
        }
        let tdp = row.tdp_watts.map(|watts| (watts, Origin::Reference));
        let watts = inputs.known(&self.watts, tdp).ok()?;
        if watts.is_none() {
            inputs.fault(
                &self.watts,
                format!("the power of {} is not published", row.id),
                "state `watts`",
            );
        }
        let years = inputs.or_default(&self.years)?;
        let price = inputs.or_default(&self.usd_per_kwh)?;
        let kilowatts = watts? / 1e3 * inputs.or_default(&self.pue)?;
        Some(capital? / (years * HOURS_OF_A_YEAR) + kilowatts * price)
    }
}

//! Capacity that is sold by the hour instead of by the token.

use super::fields::positive;
use unroof_base::input::body::document::{decimal, document, maybe, name};
use unroof_base::input::body::{List, Object, object, plain, value};
use unroof_base::units::Decimal;

document! {
    /// A unit that is paid for by the hour, whether it serves or not: provisioned throughput, a dedicated machine.
    #[derive(PartialEq)]
    pub struct CapacityOffer {
        /// Name of the unit, such as `model unit`, with the commitment where the price depends on it.
        name: String = plain(value(name()).hint("name the unit that is sold, such as \"model unit\"")),
        /// Price of a unit for one hour, in the sheet's currency.
        price_per_hour: Decimal = plain(value(decimal()).hint("write the price of one unit for one hour")),
        /// Prompt tokens that a unit is promised to serve each second, beside the generated ones.
        input_tokens_per_second: Option<f64> = maybe(positive::<1_000_000_000>()),
        /// Generated tokens that a unit is promised to serve each second, beside the prompt tokens.
        output_tokens_per_second: Option<f64> = maybe(positive::<1_000_000_000>()),
    }
}

impl CapacityOffer {
    /// The offers of a sheet, each name once.
    pub(super) fn list() -> List<Object<Self>> {
        List::entries(object()).distinct(
            |one: &Self, other| one.name == other.name,
            [
                "a second offer of the same name",
                "merge the two offers, or distinguish them by `name`",
            ],
        )
    }
}

//! Exact amounts of money: products of quantities, prices and factors.

use std::fmt;
use std::num::NonZeroU64;

use bigdecimal::{BigDecimal, RoundingMode, Zero};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use unroof_base::units::Decimal;

/// An exact non-negative amount in a sheet's currency. Only the product of a price may be rounded, and its line shows that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(BigDecimal);

impl Amount {
    /// Digits after the point of a quotient whose digits do not end.
    const DIGITS_AFTER_POINT: i64 = 30;

    /// Amount of nothing.
    #[must_use]
    pub fn zero() -> Self {
        Self(BigDecimal::zero())
    }

    /// Exact sum of two amounts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self((&self.0 + &other.0).normalized())
    }

    /// `units × price × factors / 1,000,000 / divisor`, and whether its digits do not end.
    pub(super) fn of_million<'d>(
        units: u64,
        price: &'d Decimal,
        factors: impl IntoIterator<Item = &'d Decimal>,
        divisor: Option<NonZeroU64>,
    ) -> (Self, bool) {
        // A millionth is a shift of the point, so that the product is exact.
        let millionths = BigDecimal::new(units.into(), 6);
        let start = millionths * price.exact();
        let product = factors
            .into_iter()
            .fold(start, |product, factor| product * factor.exact());
        let Some(divisor) = divisor else {
            return (Self(product.normalized()), false);
        };
        let divisor = BigDecimal::from(divisor.get());
        let quotient = (&product / &divisor)
            .with_scale_round(Self::DIGITS_AFTER_POINT, RoundingMode::HalfEven);
        let is_rounded = &quotient * divisor != product;
        (Self(quotient.normalized()), is_rounded)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0.to_plain_string())
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_plain_string())
    }
}

impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^(0|[1-9][0-9]*)(\.[0-9]+)?$"))
            .description(Some("exact amount in `currency`, written as a string"))
            .examples(["0.0123456"])
            .into()
    }
}

impl ToSchema for Amount {
    fn name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(units: u64, price: &str, factors: &[&str], divisor: Option<u64>) -> (String, bool) {
        let read = |text: &&str| text.parse::<Decimal>().unwrap();
        let factors: Vec<_> = factors.iter().map(read).collect();
        let price = read(&price);
        let divisor = divisor.and_then(NonZeroU64::new);
        let (amount, is_rounded) = Amount::of_million(units, &price, &factors, divisor);
        (amount.to_string(), is_rounded)
    }

    #[test]
    fn a_product_keeps_every_digit() {
        let exactly = |text: &str| (text.to_owned(), false);
        assert_eq!(product(1, "1.25", &[], None), exactly("0.00000125"));
        assert_eq!(
            product(123_457, "0.123456789012", &[], None),
            exactly("0.015241604801054484")
        );
        assert_eq!(
            product(3, "0.000000000000000001", &["1.1", "0.5"], None),
            exactly("0.00000000000000000000000165")
        );
        assert_eq!(product(2_000_000, "10.00", &[], None), exactly("20"));
        assert_eq!(product(5, "0", &["2"], None), exactly("0"));
        assert_eq!(
            product(u64::MAX, "2", &[], None),
            exactly("36893488147419.10323")
        );
    }

    #[test]
    fn a_quotient_is_exact_where_its_digits_end_and_says_where_they_do_not() {
        let hour = Some(3_600);
        assert_eq!(
            product(1_800, "4.50", &[], hour),
            ("0.00000225".to_owned(), false)
        );
        let third = product(1_200, "1", &[], hour);
        assert_eq!(third, ("0.000000333333333333333333333333".to_owned(), true));
    }

    #[test]
    fn sums_are_exact_where_floating_point_is_not() {
        let cents = |units| {
            let price = "1".parse().unwrap();
            Amount::of_million(units, &price, [], None).0
        };
        let sum = cents(100_000).plus(&cents(200_000));
        assert_eq!(sum.to_string(), "0.3");
        assert_eq!(Amount::zero().plus(&sum), sum);
    }
}

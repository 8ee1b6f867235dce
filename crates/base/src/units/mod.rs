//! Newtypes for quantities that cross a module boundary, and the exact decimal for money.
//!
//! Inside a formula, a plain `f64` is fine if its name ends in its unit (`memory_s`); between modules, use these types, so
//! that dividing bytes by FLOP/s does not compile.
//!
//! ```
//! use unroof_base::units::{Bytes, BytesPerSecond, Decimal};
//!
//! // Reading 80 GB of memory once.
//! assert_eq!((Bytes(80e9) / BytesPerSecond(3.2e12)).to_string(), "0.025 s");
//! // Money is exact: 0.1 + 0.2 is 0.3.
//! let price: Decimal = "0.1".parse()?;
//! assert_eq!(price.plus(&"0.2".parse()?).to_string(), "0.3");
//! # Ok::<(), unroof_base::units::DecimalError>(())
//! ```

pub mod elementary;
pub mod number;

use std::borrow::Cow;
use std::fmt;
use std::ops::{Div, Mul};
use std::str::FromStr;

use bigdecimal::{BigDecimal, RoundingMode, Zero};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, Schema, SchemaFormat, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

use number::Number;

macro_rules! quantities {
    ($( $(#[doc = $doc:literal])+ $name:ident $symbol:literal; )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name<N = f64>(pub N);

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::Number)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
                    .description(Some(concat!($($doc),+).trim()))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{} {}", readable(self.0), $symbol)
            }
        }

        impl<N: Number> Mul<N> for $name<N> {
            type Output = Self;
            fn mul(self, factor: N) -> Self {
                Self(self.0 * factor)
            }
        }

        impl<N: Number> Div<N> for $name<N> {
            type Output = Self;
            fn div(self, divisor: N) -> Self {
                Self(self.0 / divisor)
            }
        }
    )+};
}

quantities! {
    /// An amount of memory or storage.
    Bytes "B";
    /// A duration, in seconds.
    Seconds "s";
    /// Memory, storage or link bandwidth.
    BytesPerSecond "B/s";
    /// Peak dense arithmetic as data sheets give it. One multiply-add is two FLOP.
    FlopPerSecond "FLOP/s";
    /// Multiply-adds per second: half the FLOP/s.
    MacPerSecond "MAC/s";
    /// Rental of one accelerator, or of a serving unit.
    UsdPerHour "USD/h";
    /// KV-cache bytes per context token.
    BytesPerToken "B/token";
}

impl<N: Number> Div<BytesPerSecond<N>> for Bytes<N> {
    type Output = Seconds<N>;
    fn div(self, bandwidth: BytesPerSecond<N>) -> Seconds<N> {
        Seconds(self.0 / bandwidth.0)
    }
}

impl<N: Number> Mul<Seconds<N>> for BytesPerSecond<N> {
    type Output = Bytes<N>;
    fn mul(self, duration: Seconds<N>) -> Bytes<N> {
        Bytes(self.0 * duration.0)
    }
}

impl FlopPerSecond {
    /// 1 MAC = 2 FLOP.
    #[must_use]
    pub fn multiply_adds(self) -> MacPerSecond {
        MacPerSecond(self.0 / 2.0)
    }
}

impl UsdPerHour {
    /// Rental in USD per second.
    #[must_use]
    pub fn usd_per_second(self) -> f64 {
        self.0 / 3600.0
    }
}

/// Error of parsing a [`Decimal`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not digits with at most one decimal point.
    #[error("`{0}` is not a decimal of up to 12 digits before the point and up to 18 after it")]
    NotADecimal(String),
    /// A zero before the first digit of a number above one, or a second one before the point.
    #[error("`{0}` begins with a superfluous 0")]
    LeadingZero(String),
    /// A number below zero.
    #[error("`{0}` is negative")]
    Negative(String),
}

/// An exact non-negative decimal: a price in the sheet's currency per million tokens, or a multiplier.
///
/// The digits are kept as written ("3.00"); equality is numeric ("3.00" = "3").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(BigDecimal);

impl Decimal {
    const DIGITS_BEFORE_POINT: u32 = 12;
    const DIGITS_AFTER_POINT: i64 = 18;
    /// Most significant digits of a price; further digits in a catalog are float noise.
    const SIGNIFICANT_DIGITS: u64 = 12;

    /// Reads the written form of a number in a catalog (`4e-07`, `0.135`), multiplied by `factor`; float noise beyond
    /// 12 significant digits is rounded away, and the second value says whether that happened.
    ///
    /// # Errors
    /// [`DecimalError`] if the text is not a number, or is negative or out of range.
    pub fn from_catalog(written: &str, factor: u32) -> Result<(Self, bool), DecimalError> {
        let not_a_decimal = || DecimalError::NotADecimal(written.to_owned());
        let exact =
            BigDecimal::from_str(written).map_err(|_| not_a_decimal())? * BigDecimal::from(factor);
        if exact < BigDecimal::zero() {
            return Err(DecimalError::Negative(written.to_owned()));
        }
        let rounded = exact
            .with_precision_round(
                std::num::NonZeroU64::new(Self::SIGNIFICANT_DIGITS).ok_or_else(not_a_decimal)?,
                RoundingMode::HalfEven,
            )
            .normalized();
        let was_rounded = rounded != exact;
        if rounded >= 10_u64.pow(Self::DIGITS_BEFORE_POINT)
            || rounded.fractional_digit_count() > Self::DIGITS_AFTER_POINT
        {
            return Err(not_a_decimal());
        }
        Ok((Self(rounded), was_rounded))
    }

    /// The nearest `f64`, for formulas, lists and filters; money itself stays exact.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        nearest(&self.0)
    }

    /// The quotient of two prices, rounded once: 1.68 over 0.56 is 3. The divisor is not 0.
    #[must_use]
    pub fn over(&self, divisor: &Self) -> f64 {
        nearest(&(&self.0 / &divisor.0))
    }

    /// The sum of two prices, exactly.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(&self.0 + &other.0)
    }

    /// The difference of two prices, rounded once.
    #[must_use]
    pub fn minus(&self, other: &Self) -> f64 {
        nearest(&(&self.0 - &other.0))
    }

    /// A price of "0" is free: no ratio is formed from it.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// All its digits, for exact products.
    #[must_use]
    pub fn exact(&self) -> &BigDecimal {
        &self.0
    }

    /// Number in its shortest spelling: "0.30" becomes "0.3".
    #[must_use]
    pub fn normalized(&self) -> Self {
        Self(self.0.normalized())
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (before, after) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(before, 12) || !digits(after, 18) {
            let number = BigDecimal::from_str(text);
            return Err(match number {
                Ok(number) if number < BigDecimal::zero() => {
                    DecimalError::Negative(text.to_owned())
                }
                _ => DecimalError::NotADecimal(text.to_owned()),
            });
        }
        // `00.1` may be a typo of `10.1` or `0.01`.
        if before.len() > 1 && before.starts_with('0') {
            return Err(DecimalError::LeadingZero(text.to_owned()));
        }
        BigDecimal::from_str(text)
            .map(Self)
            .map_err(|_| DecimalError::NotADecimal(text.to_owned()))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0.to_plain_string())
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_plain_string())
    }
}

impl PartialSchema for Decimal {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,18})?$"))
            .description(Some("exact decimal, written as a string"))
            .examples(["1.25"])
            .into()
    }
}

impl ToSchema for Decimal {
    fn name() -> Cow<'static, str> {
        "decimal".into()
    }
}

/// The nearest `f64`. Parsing the digits rounds correctly.
fn nearest(number: &BigDecimal) -> f64 {
    number.to_scientific_notation().parse().unwrap_or(f64::NAN)
}

/// The number rounded to nine significant digits, so that estimates are the same on every machine.
#[must_use]
pub fn significant(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

/// A count of draws, sheets or rows as a number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn count_f64(count: usize) -> f64 {
    count as f64
}

/// A number for display: five significant digits, thousands separators, powers of ten for very large and small ones.
#[must_use]
pub fn readable(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e10).contains(&magnitude) {
        return format_exponent(number);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the magnitude is between 1e-4 and 1e10"
    )]
    let digits_before_point = magnitude.log10().floor() as i32 + 1;
    let decimals = usize::try_from(5 - digits_before_point).unwrap_or(0).min(8);
    let text = format!("{number:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut grouped = String::new();
    let digits = whole.trim_start_matches('-');
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if whole.starts_with('-') { "-" } else { "" };
    if fraction.is_empty() {
        format!("{sign}{grouped}")
    } else {
        format!("{sign}{grouped}.{fraction}")
    }
}

/// A number in three digits, with k, M, B or T for thousands to trillions.
#[must_use]
pub fn compact(number: f64) -> String {
    const SUFFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    if number == 0.0 {
        return "0".to_owned();
    }
    let (unit, suffix) = SUFFIXES
        .into_iter()
        .find(|(unit, _)| number >= 0.9995 * unit)
        .unwrap_or((1.0, ""));
    let scaled = number / unit;
    if scaled >= 99.95 {
        format!("{scaled:.0}{suffix}")
    } else if scaled >= 9.995 {
        format!("{scaled:.1}{suffix}")
    } else if scaled >= 0.1 {
        format!("{scaled:.2}{suffix}")
    } else if scaled >= 0.001 {
        format!("{scaled:.4}")
    } else {
        format!("{scaled:.2e}")
    }
}

fn format_exponent(number: f64) -> String {
    let text = format!("{number:.4e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    format!("{mantissa}e{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_keeps_its_spelling_and_compares_as_a_number() {
        let price: Decimal = "3.00".parse().unwrap();
        assert_eq!(price.to_string(), "3.00");
        assert_eq!(price, "3".parse().unwrap());
        assert_eq!(price.normalized().to_string(), "3");
        assert_eq!(
            "0.000000000000000001"
                .parse::<Decimal>()
                .unwrap()
                .to_string(),
            "0.000000000000000001"
        );
        assert_eq!(
            "100".parse::<Decimal>().unwrap().normalized().to_string(),
            "100"
        );
    }

    #[test]
    fn a_sheet_takes_no_sign_exponent_or_empty_text() {
        for text in [
            "",
            "-1",
            "1e-6",
            "NaN",
            "+1",
            ".5",
            "1.",
            "1.0000000000000000001",
            "1234567890123",
            "1 ",
            "1,5",
            "00.1",
            "00",
            "01",
            "007.50",
        ] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
        assert_eq!(
            "-1".parse::<Decimal>(),
            Err(DecimalError::Negative("-1".to_owned()))
        );
    }

    #[test]
    fn a_catalog_number_is_read_as_the_decimal_that_was_written() {
        let read = |text| {
            Decimal::from_catalog(text, 1_000_000).map(|(price, noisy)| (price.to_string(), noisy))
        };
        assert_eq!(read("1.25e-06"), Ok(("1.25".to_owned(), false)));
        assert_eq!(read("0.0"), Ok(("0".to_owned(), false)));
        assert_eq!(read("4.9999999999999998e-07"), Ok(("0.5".to_owned(), true)));
        assert_eq!(
            read("-1e-6"),
            Err(DecimalError::Negative("-1e-6".to_owned()))
        );
        assert!(read("1e30").is_err());
    }

    #[test]
    fn ratios_and_differences_are_rounded_once() {
        let price = |text: &str| text.parse::<Decimal>().unwrap();
        let exactly =
            |computed: f64, expected: f64| assert_eq!(computed.to_bits(), expected.to_bits());
        exactly(price("1.68").over(&price("0.56")), 3.0);
        exactly(price("10").over(&price("3")), 10.0 / 3.0);
        exactly(price("0.3").minus(&price("0.1")), 0.2);
        exactly(price("0.000000000000000001").to_f64(), 1e-18);
    }

    #[test]
    fn numbers_are_readable() {
        let cases = [
            (1_666.666_666, "1,666.7"),
            (8.0, "8"),
            (1e11, "1e11"),
            (0.5, "0.5"),
            (169_090.9, "169,091"),
            (3.0837e-6, "3.0837e-6"),
            (4.090_909, "4.0909"),
            (-1234.0, "-1,234"),
            (2.5e12, "2.5e12"),
            (0.9253, "0.9253"),
            (1_048_576.0, "1,048,576"),
        ];
        for (number, text) in cases {
            assert_eq!(readable(number), text);
        }
    }
}

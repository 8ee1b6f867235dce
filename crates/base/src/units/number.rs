//! A number, or several that are computed at once.
//!
//! ```
//! use unroof_base::units::number::Number;
//! use wide::f64x4;
//!
//! fn cost_per_token<N: Number>(rent: N, step: N, batch: f64) -> N {
//!     rent * step / batch
//! }
//! let steps = f64x4::from([0.02, 0.04, 0.06, 0.08]);
//! let costs = cost_per_token(f64x4::from([2.0; 4]), steps, 8.0);
//! assert_eq!(costs.lane(2), cost_per_token(2.0, 0.06, 8.0));
//! ```

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use wide::f64x4;

use super::elementary::{self, ROUNDER};

/// A number, or several side by side, each in a lane of its own: a formula that is written for it has the same bits in
/// every lane as for the number alone, unless one of them is NaN.
pub trait Number:
    Copy
    + Debug
    + Neg<Output = Self>
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// Number of lanes.
    const LANES: usize;
    /// One of something for each lane.
    type Each<T>: AsRef<[T]> + IntoIterator<Item = T>;

    /// One for each lane.
    fn each<T>(of_lane: impl FnMut(usize) -> T) -> Self::Each<T>;

    /// A number for each lane.
    fn of_lanes(of_lane: impl FnMut(usize) -> f64) -> Self;

    /// The number of a lane.
    fn lane(self, lane: usize) -> f64;

    /// Copies one number into all lanes.
    fn splat(number: f64) -> Self;

    /// The lesser of two.
    #[must_use]
    fn min(self, other: Self) -> Self;

    /// The greater of two.
    #[must_use]
    fn max(self, other: Self) -> Self;

    /// One number where this is less than another, a second where it is not.
    #[must_use]
    fn if_less(self, other: Self, then: Self, otherwise: Self) -> Self;

    /// Square root of every lane.
    #[must_use]
    fn sqrt(self) -> Self;

    /// e to the power of every lane, as [`elementary::exp`].
    #[must_use]
    fn exp(self) -> Self;

    /// e to the power of several numbers, as [`elementary::exp_each`].
    #[must_use]
    fn exp_each<const COUNT: usize>(powers: &[Self; COUNT]) -> [Self; COUNT];

    /// Natural logarithm of every lane, as [`elementary::ln`].
    #[must_use]
    fn ln(self) -> Self;

    /// Raises a positive number to a power.
    #[inline]
    #[must_use]
    fn power(self, exponent: Self) -> Self {
        (exponent * self.ln()).exp()
    }

    /// The least whole number that is at least as large, of a number below 2^51: x86-64 has no instruction for it without
    /// SSE4.1, and a call of the library takes 125 instructions.
    #[inline]
    #[must_use]
    fn ceil(self) -> Self {
        let nearest = (self + ROUNDER) - ROUNDER;
        nearest.if_less(self, nearest + 1.0, nearest)
    }
}

impl Number for f64 {
    const LANES: usize = 1;
    type Each<T> = [T; 1];

    #[inline]
    fn each<T>(mut of_lane: impl FnMut(usize) -> T) -> [T; 1] {
        [of_lane(0)]
    }

    #[inline]
    fn of_lanes(mut of_lane: impl FnMut(usize) -> f64) -> Self {
        of_lane(0)
    }

    #[inline]
    fn lane(self, _: usize) -> f64 {
        self
    }

    #[inline]
    fn splat(number: f64) -> Self {
        number
    }

    #[inline]
    fn min(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline]
    fn max(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline]
    fn if_less(self, other: Self, then: Self, otherwise: Self) -> Self {
        if self < other { then } else { otherwise }
    }

    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }

    #[inline]
    fn exp(self) -> Self {
        elementary::exp(self)
    }

    #[inline]
    fn exp_each<const COUNT: usize>(powers: &[Self; COUNT]) -> [Self; COUNT] {
        elementary::exp_each(powers)
    }

    #[inline]
    fn ln(self) -> Self {
        elementary::ln(self)
    }
}

impl Number for f64x4 {
    const LANES: usize = 4;
    type Each<T> = [T; 4];

    #[inline]
    fn each<T>(of_lane: impl FnMut(usize) -> T) -> [T; 4] {
        std::array::from_fn(of_lane)
    }

    #[inline]
    fn of_lanes(of_lane: impl FnMut(usize) -> f64) -> Self {
        Self::new(std::array::from_fn(of_lane))
    }

    #[inline]
    fn lane(self, lane: usize) -> f64 {
        self.to_array()[lane]
    }

    #[inline]
    fn splat(number: f64) -> Self {
        Self::splat(number)
    }

    #[inline]
    fn min(self, other: Self) -> Self {
        self.fast_min(other)
    }

    #[inline]
    fn max(self, other: Self) -> Self {
        self.fast_max(other)
    }

    #[inline]
    fn if_less(self, other: Self, then: Self, otherwise: Self) -> Self {
        self.simd_lt(other).bitselect(then, otherwise)
    }

    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }

    #[inline]
    fn exp(self) -> Self {
        elementary::exp_of_four(self)
    }

    #[inline]
    fn exp_each<const COUNT: usize>(powers: &[Self; COUNT]) -> [Self; COUNT] {
        powers.map(elementary::exp_of_four)
    }

    #[inline]
    fn ln(self) -> Self {
        elementary::ln_of_four(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_above_are_those_of_the_library() {
        let numbers = (-40_000..40_000).map(|step| f64::from(step) * 0.125);
        for x in numbers.chain([1e15 + 0.125]) {
            assert!((Number::ceil(x) - x.ceil()).abs() < f64::EPSILON, "{x}");
            let in_lanes = Number::ceil(f64x4::from([x; 4])).to_array();
            assert!((in_lanes[3] - x.ceil()).abs() < f64::EPSILON, "{x}");
        }
    }
}

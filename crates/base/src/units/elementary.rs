//! Exponential and logarithm that give the same bits on every machine, and that a compiler computes for several numbers
//! at once.
//!
//! The polynomials are those of FDLIBM (`e_exp.c`, `e_log.c`, Sun Microsystems 1993), less than one unit in the last place
//! off, here without a branch. Every operation is one of IEEE 754; a multiply and an add are never fused, since not every
//! machine can.
//!
//! ```
//! use unroof_base::units::elementary::{exp, exp_each, ln};
//!
//! assert_eq!(exp(0.0), 1.0);
//! assert!((ln(exp(3.5)) - 3.5).abs() < 1e-15);
//! // Several at once have the bits of each alone.
//! assert_eq!(exp_each(&[0.1, 0.2, 0.3, 0.4]), [exp(0.1), exp(0.2), exp(0.3), exp(0.4)]);
//! ```

use wide::bytemuck::cast;
use wide::{f64x4, u64x4};

/// log 2 in two parts; the first has so many zeros at its end that a multiple of it is exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// Added to a number and subtracted again, it leaves the nearest whole number, which is then in the last bits of the sum.
pub const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Bits of a fraction, and the exponent of 1.
const FRACTION_BITS: u32 = 52;
const ONE: u64 = 1023 << FRACTION_BITS;
/// Beyond these, a power of e is 0 (where it would be less than a normal number) or infinite.
const LEAST: f64 = -708.0;
const MOST: f64 = 709.0;

/// Coefficients of the polynomial for e^r.
const P: [f64; 5] = [
    1.666_666_666_666_660_2e-1,
    -2.777_777_777_701_559_3e-3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];

/// e to this power.
#[inline]
#[must_use]
#[expect(
    clippy::many_single_char_names,
    reason = "the names of FDLIBM: x = k·log 2 + r, e^r by c"
)]
pub fn exp(x: f64) -> f64 {
    if x < LEAST {
        return 0.0;
    }
    if x > MOST {
        return f64::INFINITY;
    }
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let (high, low) = (x - k * LN_2[0], k * LN_2[1]);
    let r = high - low;
    let t = r * r;
    let c = r - t * (t * (t * (t * (t * P[4] + P[3]) + P[2]) + P[1]) + P[0]);
    let power = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    let scale = f64::from_bits((shifted.to_bits() << FRACTION_BITS).wrapping_add(ONE));
    power * scale
}

/// Four at once, by the same operations.
#[inline]
#[expect(clippy::many_single_char_names, reason = "as above")]
pub(super) fn exp_of_four(x: f64x4) -> f64x4 {
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let (high, low) = (x - k * LN_2[0], k * LN_2[1]);
    let r = high - low;
    let t = r * r;
    let c = r - t * (t * (t * (t * (t * P[4] + P[3]) + P[2]) + P[1]) + P[0]);
    let one = f64x4::ONE;
    let power = one - ((low - (r * c) / (one + one - c)) - high);
    let scale = (cast::<f64x4, u64x4>(shifted) << FRACTION_BITS) + u64x4::splat(ONE);
    let bounded = (power * cast::<u64x4, f64x4>(scale)) & !x.simd_lt(f64x4::splat(LEAST));
    x.simd_gt(f64x4::splat(MOST))
        .bitselect(f64x4::splat(f64::INFINITY), bounded)
}

/// Coefficients of the logarithm.
const L: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];
/// The bits of √½, from which fractions are counted, so that they lie between it and √2.
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// 2^52: the last bits of a number between it and 2^53 are those of a whole number.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Natural logarithm of a positive number.
#[inline]
#[must_use]
#[expect(
    clippy::many_single_char_names,
    reason = "the names of FDLIBM: x = 2^k·(1 + f)"
)]
pub fn ln(x: f64) -> f64 {
    let is_normal = (f64::MIN_POSITIVE..f64::INFINITY).contains(&x);
    if !is_normal {
        return ln_of_others(x);
    }
    let offset = x.to_bits().wrapping_sub(ROOT_OF_HALF);
    let exponent = (offset.wrapping_add(ONE)) >> FRACTION_BITS;
    let k = f64::from_bits(exponent | WHOLE.to_bits()) - (WHOLE + 1023.0);
    let fraction = (offset & ((1 << FRACTION_BITS) - 1)).wrapping_add(ROOT_OF_HALF);
    let f = f64::from_bits(fraction) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (L[1] + w * (L[3] + w * L[5]));
    let odd = z * (L[0] + w * (L[2] + w * (L[4] + w * L[6])));
    let half_square = 0.5 * f * f;
    let rest = half_square - (s * (half_square + (odd + even)) + k * LN_2[1]);
    k * LN_2[0] - (rest - f)
}

/// Four at once, by the same operations.
#[inline]
#[expect(clippy::many_single_char_names, reason = "as above")]
pub(super) fn ln_of_four(x: f64x4) -> f64x4 {
    let is_normal =
        x.simd_ge(f64x4::splat(f64::MIN_POSITIVE)) & x.simd_lt(f64x4::splat(f64::INFINITY));
    if !is_normal.all() {
        return x.to_array().map(ln).into();
    }
    let offset = cast::<f64x4, u64x4>(x) - u64x4::splat(ROOT_OF_HALF);
    let exponent = (offset + u64x4::splat(ONE)) >> FRACTION_BITS;
    let k = cast::<u64x4, f64x4>(exponent | u64x4::splat(WHOLE.to_bits())) - (WHOLE + 1023.0);
    let fraction = (offset & u64x4::splat((1 << FRACTION_BITS) - 1)) + u64x4::splat(ROOT_OF_HALF);
    let f = cast::<u64x4, f64x4>(fraction) - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    let w = z * z;
    let even = w * (w * (w * L[5] + L[3]) + L[1]);
    let odd = z * (w * (w * (w * L[6] + L[4]) + L[2]) + L[0]);
    let half_square = f * 0.5 * f;
    let rest = half_square - (s * (half_square + (odd + even)) + k * LN_2[1]);
    k * LN_2[0] - (rest - f)
}

/// The logarithm of a number that is not positive and normal.
#[cold]
fn ln_of_others(x: f64) -> f64 {
    const TO_NORMAL: f64 = 18_014_398_509_481_984.0;
    const LOG2_OF_IT: f64 = 54.0;
    if x > 0.0 && x < f64::INFINITY {
        return ln(x * TO_NORMAL) - LOG2_OF_IT * std::f64::consts::LN_2;
    }
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x < 0.0 {
        f64::NAN
    } else {
        x
    }
}

/// e to the power of each.
#[inline]
#[must_use]
pub fn exp_each<const COUNT: usize>(powers: &[f64; COUNT]) -> [f64; COUNT] {
    let mut each = *powers;
    let (fours, rest) = each.as_chunks_mut::<4>();
    for four in fours {
        *four = exp_of_four((*four).into()).to_array();
    }
    for power in rest {
        *power = exp(*power);
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place.
    fn units_apart(left: f64, right: f64) -> u64 {
        left.to_bits().abs_diff(right.to_bits())
    }

    #[test]
    fn both_agree_with_the_library_to_one_unit_in_the_last_place() {
        for step in -70_000..70_000 {
            let x = f64::from(step) * 0.010_101_3;
            assert!(units_apart(exp(x), x.exp()) <= 1, "exp {x}");
            let y = x.exp();
            assert!(units_apart(ln(y), y.ln()) <= 1, "ln {y}");
            let near = 1.0 + x * 1e-3;
            if near > 0.0 {
                assert!(units_apart(ln(near), near.ln()) <= 1, "ln {near}");
            }
        }
    }

    #[test]
    fn the_ends_are_those_of_the_library() {
        for x in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e4, -1e4] {
            assert!(exp(x).total_cmp(&x.exp()).is_eq(), "exp {x}");
        }
        for x in [0.0, f64::INFINITY, 1.0, f64::MIN_POSITIVE, f64::MAX] {
            assert!(ln(x).total_cmp(&x.ln()).is_eq(), "ln {x}");
        }
        assert!(exp(f64::NAN).is_nan() && ln(f64::NAN).is_nan() && ln(-1.0).is_nan());
        let tiny = f64::from_bits(12_345);
        assert!((ln(tiny) - tiny.ln()).abs() < 1e-12);
    }

    #[test]
    fn four_at_once_have_the_bits_of_each_alone() {
        let together = |powers: &[f64; 4]| exp_each(powers).map(f64::to_bits);
        let alone = |powers: &[f64; 4]| powers.map(|power| exp(power).to_bits());
        let others = [f64::INFINITY, f64::NEG_INFINITY, 0.0, 709.0];
        assert_eq!(together(&others), alone(&others));
        assert!(exp_each(&[f64::NAN; 4]).iter().all(|power| power.is_nan()));
        let logs_together = |x: [f64; 4]| ln_of_four(x.into()).to_array().map(f64::to_bits);
        let logs_alone = |x: [f64; 4]| x.map(|x| ln(x).to_bits());
        for x in [
            [f64::INFINITY, 0.0, 1.0, 5e-324],
            [-0.0, 1e-310, f64::MIN_POSITIVE, f64::MAX],
        ] {
            assert_eq!(logs_together(x), logs_alone(x), "{x:?}");
        }
        for step in -20_000..20_000 {
            let x = f64::from(step) * 0.036_7;
            let powers = [x, -x, 0.3 * x, x + 0.01];
            assert_eq!(together(&powers), alone(&powers), "{x}");
            let numbers = powers.map(exp);
            assert_eq!(logs_together(numbers), logs_alone(numbers), "{x}");
        }
    }

    /// Known bits: another compiler or machine must give the same.
    #[test]
    fn the_bits_are_those_of_every_machine() {
        let mut seen = 0_u64;
        for step in 0..10_000_u32 {
            let x = f64::from(step) * 0.017 - 85.0;
            seen = seen.rotate_left(7) ^ exp(x).to_bits() ^ ln(f64::from(step) + 0.37).to_bits();
        }
        assert_eq!(seen, 0x1434_98b8_31a4_003f, "{seen:#x}");
    }
}

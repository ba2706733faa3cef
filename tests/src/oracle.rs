//! The right results, by plain loops in `f64` and `i128` that are independent of the kernels.

/// A sum or product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// A result of integers, wrapped to 64 bits.
    Integer(i128),
    /// A result of floats.
    Real {
        /// The value, with about twice the precision of `f64` before the last rounding.
        value: f64,
        /// The sum of the magnitudes; for a product, the magnitude of the value.
        magnitude: f64,
    },
}

/// Returns the sum of floats. It is NaN if there is a NaN or both infinities, an infinity if there is one, and otherwise the
/// finite sum, by Neumaier's compensated summation (1974).
pub fn real_sum(values: impl Iterator<Item = f64>) -> Total {
    let (mut sum, mut lost, mut magnitude, mut special) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for value in values {
        magnitude += value.abs();
        if !value.is_finite() {
            special += value;
            continue;
        }
        let next = sum + value;
        lost += if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    let value = match (special == 0.0, sum.is_finite()) {
        (false, _) => special,
        (true, true) => sum + lost,
        (true, false) => sum,
    };
    Total::Real { value, magnitude }
}

/// Returns `sum / len`, rounded once, by binary long division.
pub fn exact_quotient(sum: i128, len: usize) -> f64 {
    let divisor = len as u128;
    let (mut quotient, mut rest) = {
        let magnitude = sum.unsigned_abs();
        (magnitude / divisor, magnitude % divisor)
    };
    let mut unit = 1.0;
    while quotient < 1 << 60 && rest > 0 {
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= divisor);
        rest %= divisor;
        unit /= 2.0;
    }
    let value = (quotient | u128::from(rest > 0)) as f64 * unit;
    if sum < 0 { -value } else { value }
}

/// Returns the product of floats, with the sign that every order of multiplications gives. The exponent is kept separately, so
/// that only the result overflows or underflows, and the roundings are compensated.
pub fn real_product(values: impl Iterator<Item = f64>) -> Total {
    let (mut product, mut lost, mut exponent) = (1.0_f64, 0.0_f64, 0_i64);
    for value in values {
        let (value, scale) = split(value);
        let next = product * value;
        lost = lost * value + product.mul_add(value, -next);
        let (normal, shift) = split(next);
        exponent += scale + shift;
        lost *= power_of_two(-shift);
        product = normal;
    }
    // Adding would lose the sign of -0, and the infinity.
    let rounded = product != 0.0 && product.is_finite();
    let mut value = if rounded { product + lost } else { product };
    // The scaling is done in steps, so that no power of two overflows on the way to a result that does not.
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        value *= power_of_two(step);
        exponent -= step;
        if value == 0.0 || !value.is_finite() {
            break;
        }
    }
    Total::Real {
        value,
        magnitude: value.abs(),
    }
}

/// Splits `value` into a number from 1 to 2 and a power of two. Values without an exponent (0, infinity, NaN) are returned as
/// they are.
fn split(value: f64) -> (f64, i64) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    if value.is_subnormal() {
        let (normal, exponent) = split(value * power_of_two(100));
        return (normal, exponent - 100);
    }
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i64 - 1023;
    (
        f64::from_bits((value.to_bits() & !(0x7ff << 52)) | (1023 << 52)),
        exponent,
    )
}

/// Returns 2 to the power of `exponent`, from -1022 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Returns the sum of the products of pairs, computed like [`real_sum`]: each product comes with its own rounding error.
pub fn real_dot(pairs: impl Iterator<Item = (f64, f64)>) -> Total {
    real_sum(pairs.flat_map(|(a, b)| {
        let product = a * b;
        let lost = if product.is_finite() {
            a.mul_add(b, -product)
        } else {
            0.0
        };
        [product, lost]
    }))
}

/// Returns the transpose of the `height` x `width` row-major matrix `values`.
pub fn transpose<T: Copy>(values: &[T], height: usize, width: usize) -> Vec<T> {
    assert_eq!(values.len(), height * width);
    let mut transposed = Vec::with_capacity(values.len());
    for column in 0..width {
        for row in 0..height {
            transposed.push(values[row * width + column]);
        }
    }
    transposed
}

/// Returns the count of each of the numbers `0..bins`, and the number of other values.
pub fn histogram(values: impl Iterator<Item = u64>, bins: usize) -> (Vec<u64>, u64) {
    let (mut counts, mut outside) = (vec![0; bins], 0);
    for value in values {
        match usize::try_from(value)
            .ok()
            .and_then(|bin| counts.get_mut(bin))
        {
            Some(count) => *count += 1,
            None => outside += 1,
        }
    }
    (counts, outside)
}

macro_rules! range_bins {
    ($($name:ident: $ty:ty;)*) => { $(
        /// Returns the bin of `value` if `bins` bins divide `low ..= high`, as the operation documents it: the integer part of
        /// `(value - low) * (bins / (high - low))` in the values' type, at most the last bin. Returns `None` outside of the
        /// range and for a NaN.
        pub fn $name(value: $ty, bins: usize, low: $ty, high: $ty) -> Option<usize> {
            if value.is_nan() || value < low || value > high {
                return None;
            }
            let scale = bins as $ty / (high - low);
            let position = ((value - low) * scale).floor();
            Some(if position >= bins as $ty { bins - 1 } else { position as usize })
        }
    )* };
}
range_bins! {
    bin_f32: f32;
    bin_f64: f64;
}

#[cfg(test)]
mod tests {
    use cuda_std::f16;

    use super::*;
    use crate::Number;

    fn value(total: Total) -> f64 {
        match total {
            Total::Real { value, .. } => value,
            Total::Integer(value) => panic!("{value} is no float"),
        }
    }

    #[test]
    fn integer_sums_and_products_wrap_at_64_bits() {
        assert_eq!(u64::exact_sum(&[u64::MAX, 2]), Total::Integer(1));
        assert_eq!(
            i64::exact_sum(&[i64::MAX, 1]),
            Total::Integer(i64::MIN.into())
        );
        assert_eq!(u8::exact_sum(&[255; 3]), Total::Integer(765));
        assert_eq!(u64::exact_product(&[u64::MAX, u64::MAX]), Total::Integer(1));
        assert_eq!(
            i64::exact_product(&[i64::MIN, -1]),
            Total::Integer(i64::MIN.into())
        );
        assert_eq!(
            i32::exact_product(&[-3, 5, i32::MAX]),
            Total::Integer(-15 * i128::from(i32::MAX))
        );
        assert_eq!(u32::exact_sum(&[]), Total::Integer(0));
        assert_eq!(u32::exact_product(&[]), Total::Integer(1));
    }

    #[test]
    fn a_mean_is_the_exact_quotient() {
        let most = i128::from(i64::MAX);
        assert_eq!(exact_quotient(2 * most, 2), i64::MAX as f64);
        assert_eq!(exact_quotient(-7, 2), -3.5);
        assert_eq!(exact_quotient(1, 3), 1.0 / 3.0);
        assert_eq!(exact_quotient(0, 5), 0.0);
        // More than halfway between two floats, and halfway.
        let tie = (1_i128 << 53) + 1;
        assert_eq!(exact_quotient(tie * 9 + 1, 9), 9007199254740994.0);
        assert_eq!(exact_quotient(tie * 9, 9), 9007199254740992.0);
    }

    #[test]
    fn a_float_sum_keeps_what_a_plain_loop_loses() {
        assert_eq!(value(f64::exact_sum(&[1e100, 1.0, -1e100])), 1.0);
        assert_eq!(
            value(f32::exact_sum(&[f32::MAX, f32::MAX])),
            2.0 * f64::from(f32::MAX)
        );
        assert_eq!(value(f64::exact_sum(&[f64::MAX, f64::MAX])), f64::INFINITY);
        let Total::Real { magnitude, .. } = f32::exact_sum(&[-1.5, 2.0]) else {
            panic!("a float")
        };
        assert_eq!(magnitude, 3.5);
    }

    #[test]
    fn float_sums_of_nan_and_infinities() {
        assert!(value(f32::exact_sum(&[1.0, f32::NAN])).is_nan());
        assert!(value(f32::exact_sum(&[f32::INFINITY, 1.0, f32::NEG_INFINITY])).is_nan());
        assert_eq!(
            value(f32::exact_sum(&[f32::NEG_INFINITY, 1.0])),
            f64::NEG_INFINITY
        );
        assert_eq!(value(f32::exact_sum(&[])), 0.0);
    }

    #[test]
    fn a_float_product_keeps_its_sign_and_range() {
        let [large, small] = [2.0_f64.powi(1000), 2.0_f64.powi(-1000)];
        assert_eq!(
            value(f64::exact_product(&[large, large, small, small])),
            1.0
        );
        assert_eq!(value(f64::exact_product(&[3.0, 0.5, -4.0])), -6.0);
        assert_eq!(
            value(f64::exact_product(&[f64::from_bits(1), f64::powi(2.0, 60)])),
            { f64::from_bits(1) * f64::powi(2.0, 60) }
        );
        assert_eq!(
            value(f64::exact_product(&[1e200, -1e200])),
            f64::NEG_INFINITY
        );
        let zero = value(f32::exact_product(&[-1.0, 0.0, 2.0]));
        assert!(zero == 0.0 && zero.is_sign_negative());
        let zero = value(f64::exact_product(&[1e-200, -1e-200]));
        assert!(zero == 0.0 && zero.is_sign_negative());
        assert!(value(f32::exact_product(&[0.0, f32::INFINITY])).is_nan());
        assert_eq!(
            value(f32::exact_product(&[-2.0, f32::INFINITY])),
            f64::NEG_INFINITY
        );
        assert_eq!(value(f32::exact_product(&[])), 1.0);
    }

    #[test]
    fn a_float_product_is_compensated() {
        let third = 1.0 / 3.0;
        let values: Vec<f64> = (0..2000).flat_map(|_| [third, 3.0]).collect();
        // `third * 3` is 1 - 2^-54 before rounding, so the exact product is (1 - 2^-54)^2000.
        let exact = 1.0 - 2000.0 * 2.0_f64.powi(-54);
        approx::assert_ulps_eq!(value(f64::exact_product(&values)), exact, max_ulps = 1);
    }

    #[test]
    fn the_first_nan_is_the_extreme() {
        let values = [1.0, f32::NAN, -5.0, f32::NAN];
        for least in [true, false] {
            let (at, found) = f32::extreme(&values, least).unwrap();
            assert!(at == 1 && found.is_nan());
        }
    }

    #[test]
    fn the_first_of_equal_elements_is_the_extreme() {
        assert_eq!(u8::extreme(&[3, 1, 1, 3], true), Some((1, 1)));
        assert_eq!(u8::extreme(&[3, 1, 1, 3], false), Some((0, 3)));
        assert_eq!(i64::extreme(&[], true), None);
    }

    #[test]
    fn negative_zero_lies_below_zero() {
        let values = [0.0_f32, -0.0, 0.0, -0.0].map(f16::from_f32);
        let (at, least) = f16::extreme(&values, true).unwrap();
        assert!(at == 1 && least.is_sign_negative());
        let (at, greatest) = f16::extreme(&values, false).unwrap();
        assert!(at == 0 && greatest.is_sign_positive());
    }

    #[test]
    fn a_transpose_swaps_rows_and_columns() {
        assert_eq!(transpose(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 4, 2, 5, 3, 6]);
        assert_eq!(transpose::<u8>(&[], 0, 3), [0_u8; 0]);
    }

    #[test]
    fn a_histogram_counts_and_leaves_out() {
        assert_eq!(
            histogram([0, 2, 2, 3, u64::MAX].into_iter(), 3),
            (vec![1, 0, 2], 2)
        );
    }

    #[test]
    fn a_range_holds_both_of_its_ends() {
        assert_eq!(bin_f32(0.0, 4, 0.0, 1.0), Some(0));
        assert_eq!(bin_f32(0.25, 4, 0.0, 1.0), Some(1));
        assert_eq!(bin_f32(1.0, 4, 0.0, 1.0), Some(3));
        assert_eq!(bin_f32(1.0_f32.next_up(), 4, 0.0, 1.0), None);
        assert_eq!(bin_f64(-f64::from_bits(1), 4, 0.0, 1.0), None);
        assert_eq!(bin_f64(f64::NAN, 4, 0.0, 1.0), None);
        assert_eq!(bin_f64(-0.0, 4, 0.0, 1.0), Some(0));
    }
}

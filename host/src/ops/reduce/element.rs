//! The element types: the kernels of each type, and how their partial results become results.

use cuda_std::{bf16, f16};
use warpwright_gpu::reduce::{
    ArgMax, ArgMin, Element as GpuElement, Found, Max, Mean, Min, Product, Reduction, Sum, Total,
};

use super::{
    super::{
        plan::{Place, Plan},
        scan::Operator as SegmentsOperator,
        sealed::Sealed,
        segments::{Bounds, plan as plan_segments},
    },
    Operator,
    plan::{Partial, plan, plan_to},
};
use crate::{buffer::Element, error::Result};

/// An element that can be reduced: `u8 u16 u32 i32 u64 i64 f32 f64 f16 bf16`.
pub trait Reducible: Element + GpuElement + Sealed {
    /// The type of sums and products: `u64` for unsigned and `i64` for signed integers, which wrap modulo 2^64; `f64` for
    /// `f64`, and `f32` for the other floats.
    type Sum: Element + std::fmt::Debug + std::fmt::Display;

    #[doc(hidden)]
    fn plan(operator: Operator, plan: &mut Plan<'_>, input: Place<Self>) -> Result<Place<u8>>;
    /// Plans a sum, a product or a position, of some elements, with the result as the output.
    #[doc(hidden)]
    fn plan_on_device(operator: Operator, plan: &mut Plan<'_>, input: Place<Self>) -> Result<()>;
    #[doc(hidden)]
    fn plan_segments(
        operator: SegmentsOperator,
        plan: &mut Plan<'_>,
        values: Place<Self>,
        bounds: &Bounds,
    ) -> Result<()>;
    #[doc(hidden)]
    fn sum_of(bits: Partial) -> Self::Sum;
    #[doc(hidden)]
    fn empty_sum(product: bool) -> Self::Sum;
    #[doc(hidden)]
    fn extreme_of(bits: Partial, least: bool) -> Self;
    #[doc(hidden)]
    fn index_of(bits: Partial, least: bool) -> u64;
    #[doc(hidden)]
    fn mean_of(bits: Partial, len: usize) -> f64;
}

/// Returns the place of the position of what was found.
fn index_of<K>(found: Place<Found<K>>) -> Place<u64> {
    let at = std::mem::offset_of!(Found<K>, index);
    found.cast::<u8>().part(at, size_of::<u64>()).cast()
}

/// Returns the value of type `A` at the start of `bits`.
fn partial<A: Copy>(bits: Partial) -> A {
    const { assert!(size_of::<A>() <= size_of::<Partial>() && align_of::<A>() <= 8) };
    // SAFETY: the kernels wrote an `A` there, which is plain numbers.
    unsafe { (&raw const bits).cast::<A>().read() }
}

/// Returns `sum / len`, rounded once. `len` must not be 0.
pub fn quotient(sum: i128, len: usize) -> f64 {
    let magnitude = sum.unsigned_abs();
    // The dividend is shifted up as far as possible, so that the quotient has at least 64 bits.
    let shift = magnitude.leading_zeros() % u128::BITS;
    let (dividend, divisor) = (magnitude << shift, len as u128);
    // The remainder only decides on which side of a tie the quotient lies. The quotient's lowest bit, for which an `f64`
    // has no room, says the same.
    let rest = u128::from(!dividend.is_multiple_of(divisor));
    let quotient = ((dividend / divisor) | rest) as f64;
    let mean = quotient * 2_f64.powi(-(shift as i32));
    if sum < 0 { -mean } else { mean }
}

macro_rules! reducible {
    ($($ty:ty: $sum:ty, $mean:ident, |$bits:ident, $len:ident| $mean_of:expr;)*) => { $(
        impl Reducible for $ty {
            type Sum = $sum;

            fn plan(
                operator: Operator,
                to: &mut Plan<'_>,
                input: Place<Self>,
            ) -> Result<Place<u8>> {
                Ok(match operator {
                    Operator::Sum => plan::<Sum<$ty>>(to, input)?.cast(),
                    Operator::Product => plan::<Product<$ty>>(to, input)?.cast(),
                    Operator::Min => plan::<Min<$ty>>(to, input)?.cast(),
                    Operator::Max => plan::<Max<$ty>>(to, input)?.cast(),
                    Operator::ArgMin => plan::<ArgMin<$ty>>(to, input)?.cast(),
                    Operator::ArgMax => plan::<ArgMax<$ty>>(to, input)?.cast(),
                    Operator::Mean => plan::<$mean<$ty>>(to, input)?.cast(),
                })
            }
            fn plan_on_device(
                operator: Operator,
                to: &mut Plan<'_>,
                input: Place<Self>,
            ) -> Result<()> {
                match operator {
                    Operator::Sum => plan_to::<Sum<$ty>>(to, input, Place::output(1)),
                    Operator::Product => plan_to::<Product<$ty>>(to, input, Place::output(1)),
                    Operator::ArgMin => {
                        let found = plan::<ArgMin<$ty>>(to, input)?;
                        to.copy(index_of(found));
                        Ok(())
                    }
                    _ => {
                        let found = plan::<ArgMax<$ty>>(to, input)?;
                        to.copy(index_of(found));
                        Ok(())
                    }
                }
            }
            fn plan_segments(
                operator: SegmentsOperator,
                plan: &mut Plan<'_>,
                values: Place<Self>,
                bounds: &Bounds,
            ) -> Result<()> {
                match operator {
                    SegmentsOperator::Sum => plan_segments::<Sum<$ty>>(plan, values, bounds),
                    SegmentsOperator::Product => plan_segments::<Product<$ty>>(plan, values, bounds),
                    SegmentsOperator::Min => plan_segments::<Min<$ty>>(plan, values, bounds),
                    SegmentsOperator::Max => plan_segments::<Max<$ty>>(plan, values, bounds),
                }
            }
            fn sum_of(bits: Partial) -> $sum {
                partial(bits)
            }
            fn empty_sum(product: bool) -> $sum {
                if product { Product::<$ty>::IDENTITY } else { Sum::<$ty>::IDENTITY }
            }
            fn extreme_of(bits: Partial, least: bool) -> $ty {
                let key = partial::<<$ty as GpuElement>::Key>(bits);
                if least { <$ty>::from_key::<true>(key) } else { <$ty>::from_key::<false>(key) }
            }
            fn index_of(bits: Partial, _least: bool) -> u64 {
                partial::<Found<<$ty as GpuElement>::Key>>(bits).index
            }
            fn mean_of($bits: Partial, $len: usize) -> f64 {
                $mean_of
            }
        }
    )* };
}
// 64 bits hold the sum of all bytes, or of all 16-bit elements, that a memory can hold.
reducible! {
    u8: u64, Sum, |bits, len| quotient(partial::<u64>(bits).into(), len);
    u16: u64, Sum, |bits, len| quotient(partial::<u64>(bits).into(), len);
    u32: u64, Mean, |bits, len| quotient(partial::<Total>(bits).bits() as i128, len);
    i32: i64, Mean, |bits, len| quotient(partial::<Total>(bits).bits() as i128, len);
    u64: u64, Mean, |bits, len| quotient(partial::<Total>(bits).bits() as i128, len);
    i64: i64, Mean, |bits, len| quotient(partial::<Total>(bits).bits() as i128, len);
    f32: f32, Sum, |bits, len| f64::from(partial::<f32>(bits)) / len as f64;
    f64: f64, Sum, |bits, len| partial::<f64>(bits) / len as f64;
    f16: f32, Sum, |bits, len| f64::from(partial::<f32>(bits)) / len as f64;
    bf16: f32, Sum, |bits, len| f64::from(partial::<f32>(bits)) / len as f64;
}

#[cfg(test)]
mod tests {
    use super::quotient;

    #[test]
    fn a_quotient_is_rounded_once() {
        let most = i128::from(u64::MAX);
        assert_eq!(quotient(0, 3), 0.0);
        assert_eq!(quotient(i128::from(i64::MAX) * 2, 2), i64::MAX as f64);
        assert_eq!(quotient(i128::from(i64::MIN) * 7, 7), i64::MIN as f64);
        assert_eq!(quotient(-1, 3), -1.0 / 3.0);
        // The quotient is above the tie between two floats by less than a neighboring float can show.
        let tie = (1_i128 << 53) + 1;
        assert_eq!(quotient(tie * 3, 3), (1_u64 << 53) as f64);
        assert_eq!(quotient(tie * 3 + 1, 3), ((1_u64 << 53) + 2) as f64);
        assert_eq!(quotient(-(tie * 3 + 1), 3), -(((1_u64 << 53) + 2) as f64));
        assert_eq!(
            quotient(tie * most - 1, u64::MAX as usize),
            (1_u64 << 53) as f64
        );
        assert_eq!(quotient(i128::MAX, 1), 2_f64.powi(127));
        assert_eq!(quotient(1, usize::MAX), 2_f64.powi(-64));
    }
}

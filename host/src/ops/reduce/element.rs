//! The element types: the kernels of each type, and how their partial results become results.

use cuda_std::{bf16, f16, kernel::Entry};
use warpwright_gpu::{
    reduce::{
        ArgMax, ArgMin, Dividend, Element as GpuElement, Found, Max, Mean, Min, Product, Reduction,
        Sum, Total,
    },
    segments::SegmentsMeans,
};

use super::{
    super::{
        plan::{Place, Plan},
        scan::Operator as SegmentsOperator,
        sealed::Sealed,
        segments::{Bounds, plan as plan_segments, plan_means},
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
    /// Plans a sum, a product, a mean or a position, of some elements, with the result as the output.
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

macro_rules! reducible {
    ($($ty:ty: $sum:ty, $mean:ident as $dividend:ty;)*) => { $(
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
                    Operator::Mean => {
                        let sum = plan::<$mean<$ty>>(to, input)?;
                        let kernel = Entry::of::<SegmentsMeans<$dividend>>();
                        plan_means(to, kernel, sum, (Place::none(), 1), input.len())
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
            fn mean_of(bits: Partial, len: usize) -> f64 {
                partial::<$dividend>(bits).quotient(len)
            }
        }
    )* };
}
// 64 bits hold the sum of all bytes, or of all 16-bit elements, that a memory can hold.
reducible! {
    u8: u64, Sum as u64;
    u16: u64, Sum as u64;
    u32: u64, Mean as Total;
    i32: i64, Mean as Total;
    u64: u64, Mean as Total;
    i64: i64, Mean as Total;
    f32: f32, Sum as f32;
    f64: f64, Sum as f64;
    f16: f32, Sum as f32;
    bf16: f32, Sum as f32;
}

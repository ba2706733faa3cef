//! The element types: which kernels a type has, and what its partial results come to.

use cuda_std::{bf16, f16, kernel::KernelDescriptor};
use warpwright_gpu::reduce::{
    ArgMax, ArgMin, Element as GpuElement, FAMILY, Found, Kernels, Max, Min, Product, Reduction,
    Sum,
};

use super::{super::sealed::Sealed, Operator};
use crate::buffer::Element;

/// An element that can be reduced: `u8 u16 u32 i32 u64 i64 f32 f64 f16 bf16`.
pub trait Reducible: Element + GpuElement + Sealed {
    /// The type of sums and products: `u64` for unsigned and `i64` for signed integers, which wrap modulo
    /// 2^64; `f64` for `f64`, and `f32` for the other floats.
    type Sum: Element + std::fmt::Debug + std::fmt::Display;

    #[doc(hidden)]
    fn passes(operator: Operator) -> Passes;
    #[doc(hidden)]
    fn sum_of(bits: Partial) -> Self::Sum;
    #[doc(hidden)]
    fn empty_sum(product: bool) -> Self::Sum;
    #[doc(hidden)]
    fn extreme_of(bits: Partial, least: bool) -> Self;
    #[doc(hidden)]
    fn index_of(bits: Partial, least: bool) -> u64;
    #[doc(hidden)]
    fn mean_of(sum: Self::Sum, len: usize) -> f64;
}

/// The bytes of a partial result, as the kernels leave them.
#[doc(hidden)]
pub type Partial = [u64; 2];

/// The kernels of a reduction, with its types erased.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Passes {
    pub(super) first: [&'static KernelDescriptor; FAMILY.variants.len()],
    pub(super) fold: [&'static KernelDescriptor; 2],
    pub(super) finish: &'static KernelDescriptor,
    pub(super) element_bytes: usize,
    pub(super) partial_bytes: usize,
}

impl Passes {
    fn of<R: Kernels>() -> Self {
        const { assert!(size_of::<R::Acc>() <= size_of::<Partial>()) };
        Self {
            first: R::FIRST,
            fold: R::FOLD,
            finish: R::FINISH,
            element_bytes: size_of::<R::In>(),
            partial_bytes: size_of::<R::Acc>(),
        }
    }
}

/// The value of type `A` at the start of `bits`.
fn partial<A: Copy>(bits: Partial) -> A {
    const { assert!(size_of::<A>() <= size_of::<Partial>() && align_of::<A>() <= 8) };
    // SAFETY: the kernels wrote an `A` there, which is plain numbers.
    unsafe { (&raw const bits).cast::<A>().read() }
}

macro_rules! reducible {
    ($($ty:ty: $sum:ty;)*) => { $(
        impl Reducible for $ty {
            type Sum = $sum;

            fn passes(operator: Operator) -> Passes {
                match operator {
                    Operator::Sum => Passes::of::<Sum<$ty>>(),
                    Operator::Product => Passes::of::<Product<$ty>>(),
                    Operator::Min => Passes::of::<Min<$ty>>(),
                    Operator::Max => Passes::of::<Max<$ty>>(),
                    Operator::ArgMin => Passes::of::<ArgMin<$ty>>(),
                    Operator::ArgMax => Passes::of::<ArgMax<$ty>>(),
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
            fn mean_of(sum: $sum, len: usize) -> f64 {
                sum as f64 / len as f64
            }
        }
    )* };
}
reducible! {
    u8: u64;
    u16: u64;
    u32: u64;
    i32: i64;
    u64: u64;
    i64: i64;
    f32: f32;
    f64: f64;
    f16: f32;
    bf16: f32;
}

//! What a reduction of a segment gives: an operator and an element type make a [`Segmented`].
//!
//! | operator | result | of no elements |
//! | --- | --- | --- |
//! | sum | `u64` for unsigned and `i64` for signed integers; `f64` for `f64`, `f32` for the other floats | 0 |
//! | product | as the sum | 1 |
//! | min | an element; -0 is less than +0, and a NaN beats everything | infinity, or the type's greatest value |
//! | max | the same | minus infinity, or the type's least value |

use crate::{
    reduce::{Element, Max, Min, Product, Reduction, Sum},
    select::predicates::Ordered,
};
use cuda_std::Plain;

/// A reduction whose results are written as elements of an array.
pub trait Segmented: Reduction<In: Plain> {
    /// The type of a result.
    type Out: Copy + 'static;

    /// Returns the result of a partial result that has all elements.
    fn finish(all: Self::Acc) -> Self::Out;
}

macro_rules! sums {
    ($($name:ident)*) => { $(
        impl<T: Element + Plain> Segmented for $name<T> {
            type Out = T::Acc;
            #[inline(always)]
            fn finish(all: T::Acc) -> T::Acc {
                all
            }
        }
    )* };
}
sums!(Sum Product);

macro_rules! extremes {
    ($($name:ident: $least:literal, $none:ident;)*) => { $(
        impl<T: Element + Plain + Ordered> Segmented for $name<T> {
            type Out = T;
            #[inline(always)]
            fn finish(all: T::Key) -> T {
                // No element has the identity for its key, or it is the value that stands for no elements.
                if all == Self::IDENTITY { T::$none } else { T::from_key::<$least>(all) }
            }
        }
    )* };
}
extremes! {
    Min: true, HIGHEST;
    Max: false, LOWEST;
}

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
use cuda_std::{Plain, warp::Shuffle};

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

/// A partial result, and whether a segment ended in what it is of: then it is that of the elements behind the last end.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Open<A> {
    pub acc: A,
    /// 1 or 0.
    pub ended: u32,
}

// SAFETY: the type has plain fields.
unsafe impl<A: Plain> Plain for Open<A> {}

impl<A: Shuffle> Shuffle for Open<A> {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            acc: self.acc.map_words(each),
            ended: self.ended.map_words(each),
        }
    }
}

impl<A: Copy> Open<A> {
    #[inline(always)]
    pub fn new(acc: A, ended: bool) -> Self {
        Self {
            acc,
            ended: ended.into(),
        }
    }

    /// Returns the partial result of what this one is of and what comes behind it.
    #[inline(always)]
    pub fn then<R: Reduction<Acc = A>>(self, next: Self) -> Self {
        let acc = if next.ended != 0 {
            next.acc
        } else {
            R::combine(self.acc, next.acc)
        };
        Self {
            acc,
            ended: self.ended | next.ended,
        }
    }
}

//! The reductions: an operator and an element type make a [`Reduction`].
//!
//! - `Sum`, `Product`: integers in 64 bits, wrapping modulo 2^64; `f32`, `f16`, `bf16` in `f32`; `f64` in `f64`.
//! - `Min`, `Max`: floats are compared as integers, by a total order on their bits: -0 is less than +0, and a NaN beats
//!   everything, so that one NaN makes the result NaN. The result of an integer comparison does not depend on the order.
//! - `ArgMin`, `ArgMax`: the same order, and the first of equal elements. If there is a NaN, the position of the first one is
//!   the result.
//! - `Mean`: the sum of integers of 32 and 64 bits, in 128 bits, which no array in memory overflows. The means of other types
//!   use `Sum`: an array of `u16` in memory has fewer than 2^48 elements, so that 64 bits hold their sum.

use core::{
    marker::PhantomData,
    ops::{Add, Mul},
};

use cuda_std::{Plain, bf16, convert::f16_to_f32, f16, view::Wide, warp::Shuffle};

use super::mean::{Total, Widened};
use super::narrow::{first_equal, is_narrow, most_wanted_bits, sum_of_bytes};

/// A reduction: how an element becomes a partial result, and how two partial results become one.
///
/// `combine` is associative and commutative, except for the rounding of float sums and products.
pub trait Reduction: 'static {
    /// The type of the elements.
    type In: Copy + 'static;
    /// The type of partial results.
    type Acc: Plain + Shuffle;
    /// The identity: combining it with a partial result changes nothing.
    const IDENTITY: Self::Acc;
    /// Whether partial results are positions.
    const IS_POSITION: bool = false;

    /// Returns the partial result of the one element at `index`.
    fn load(value: Self::In, index: usize) -> Self::Acc;

    /// Returns the combination of two partial results.
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// Returns the same without a branch, for lanes that take different ones of the two and would wait for both.
    #[inline(always)]
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        Self::combine(a, b)
    }

    /// Returns the combination of `value` and the elements of `wide`, whose first element is at `first`.
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: Self::Acc, wide: Wide<Self::In>, first: usize) -> Self::Acc {
        one_by_one::<Self>(value, wide, first)
    }
}

#[inline(always)]
#[track_caller]
fn one_by_one<R: Reduction + ?Sized>(value: R::Acc, wide: Wide<R::In>, first: usize) -> R::Acc {
    wide.fold(value, |value, element, lane| {
        R::combine(value, R::load(element, first + lane))
    })
}

/// The sum of elements of type `T`.
pub struct Sum<T>(PhantomData<T>);
/// The product of elements of type `T`.
pub struct Product<T>(PhantomData<T>);
/// The minimum of elements of type `T`.
pub struct Min<T>(PhantomData<T>);
/// The maximum of elements of type `T`.
pub struct Max<T>(PhantomData<T>);
/// The position of the minimum of elements of type `T`.
pub struct ArgMin<T>(PhantomData<T>);
/// The position of the maximum of elements of type `T`.
pub struct ArgMax<T>(PhantomData<T>);
/// The sum of integers of type `T`, which never wraps: 128 bits hold the sum of 2^64 of them.
pub struct Mean<T>(PhantomData<T>);

/// An accumulator of sums and products.
pub trait Accumulator: Plain + Shuffle {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Returns the sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// Returns the product; integers wrap.
    fn mul(self, other: Self) -> Self;
}

macro_rules! accumulators {
    ($($ty:ty: $one:literal, $add:path, $mul:path;)*) => { $(
        impl Accumulator for $ty {
            const ZERO: Self = 0 as $ty;
            const ONE: Self = $one;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                $mul(self, other)
            }
        }
    )* };
}
accumulators! {
    u32: 1, u32::wrapping_add, u32::wrapping_mul;
    u64: 1, u64::wrapping_add, u64::wrapping_mul;
    i64: 1, i64::wrapping_add, i64::wrapping_mul;
    f32: 1.0, Add::add, Mul::mul;
    f64: 1.0, Add::add, Mul::mul;
}

/// An ordered key of an element.
pub trait Key: Plain + Ord + Shuffle {
    /// The key that no other exceeds.
    const GREATEST: Self;
    /// The key that exceeds no other.
    const LEAST: Self;
}

macro_rules! keys {
    ($($ty:ty),*) => { $(
        impl Key for $ty {
            const GREATEST: Self = <$ty>::MAX;
            const LEAST: Self = <$ty>::MIN;
        }
    )* };
}
keys!(u32, i32, u64, i64);

/// An element that can be reduced.
pub trait Element: Copy + 'static {
    /// The accumulator of sums and products.
    type Acc: Accumulator;
    /// The key by which elements are compared.
    type Key: Key;
    /// Returns the element in the accumulator's type.
    fn widen(self) -> Self::Acc;
    /// Returns the element's key for the minimum (`LEAST`) or the maximum. The key of a NaN beats all others.
    fn key<const LEAST: bool>(self) -> Self::Key;
    /// Returns the key of `wide` that beats all others, for the same `LEAST`.
    #[inline(always)]
    #[track_caller]
    fn key_of_wide<const LEAST: bool>(wide: Wide<Self>) -> Self::Key {
        let worst = if LEAST {
            Self::Key::GREATEST
        } else {
            Self::Key::LEAST
        };
        wide.fold(worst, |best, element, _| {
            let key = element.key::<LEAST>();
            if LEAST { best.min(key) } else { best.max(key) }
        })
    }
    /// Returns the place of the first element of `wide` with this key, for the same `LEAST`. One of the elements must have it.
    #[inline(always)]
    #[track_caller]
    fn first_in_wide<const LEAST: bool>(wide: Wide<Self>, key: Self::Key) -> u32 {
        first_by_keys::<Self, LEAST>(wide, key)
    }
    /// Returns the sum of all elements of `wide`.
    #[inline(always)]
    #[track_caller]
    fn sum_of_wide(wide: Wide<Self>) -> Self::Acc {
        wide.fold(Self::Acc::ZERO, |sum, element, _| sum.add(element.widen()))
    }
    /// Returns the element that has this key, for the same `LEAST`. All NaNs come back as the same quiet NaN.
    fn from_key<const LEAST: bool>(key: Self::Key) -> Self;
}

macro_rules! integers {
    ($($ty:ty: $acc:ty, $key:ty;)*) => { $(
        impl Element for $ty {
            type Acc = $acc;
            type Key = $key;
            #[inline(always)]
            fn widen(self) -> $acc {
                self as $acc
            }
            #[inline(always)]
            fn key<const LEAST: bool>(self) -> $key {
                self as $key
            }
            #[inline(always)]
            #[track_caller]
            fn sum_of_wide(wide: Wide<Self>) -> $acc {
                if const { size_of::<$ty>() > 1 } {
                    return wide.fold(0, |sum, element, _| sum.wrapping_add(element.widen()));
                }
                sum_of_bytes(wide, |element| element as u8) as $acc
            }
            #[inline(always)]
            #[track_caller]
            fn first_in_wide<const LEAST: bool>(wide: Wide<Self>, key: $key) -> u32 {
                if const { !is_narrow::<$ty>() } {
                    return first_by_keys::<Self, LEAST>(wide, key);
                }
                first_equal(wide, |element| element as u32, key as u32)
            }
            #[inline(always)]
            fn from_key<const LEAST: bool>(key: $key) -> Self {
                key as $ty
            }
        }
    )* };
}
integers! {
    u8: u64, u32;
    u16: u64, u32;
    u32: u64, u32;
    i32: i64, i32;
    u64: u64, u64;
    i64: i64, i64;
}

/// Returns the place of the first element of `wide` with this key. One of the elements must have it.
#[inline(always)]
#[track_caller]
fn first_by_keys<T: Element, const LEAST: bool>(wide: Wide<T>, key: T::Key) -> u32 {
    let (lane, _) = wide.fold((0, false), |(lane, found), element, _| {
        let found = found || element.key::<LEAST>() == key;
        (lane + u32::from(!found), found)
    });
    lane
}

macro_rules! floats {
    ($($ty:ty: $bits:ty, $key:ty, $ordered:path;)*) => { $(
        impl Element for $ty {
            type Acc = $ty;
            type Key = $key;
            #[inline(always)]
            fn widen(self) -> $ty {
                self
            }
            #[inline(always)]
            fn key<const LEAST: bool>(self) -> $key {
                let ordered = $ordered(self.to_bits());
                match (self.is_nan(), LEAST) {
                    (true, true) => <$key>::MIN,
                    (true, false) => <$key>::MAX,
                    (false, _) => ordered,
                }
            }
            #[inline(always)]
            fn from_key<const LEAST: bool>(key: $key) -> Self {
                if key == if LEAST { <$key>::MIN } else { <$key>::MAX } {
                    return <$ty>::NAN;
                }
                <$ty>::from_bits((key ^ ((key >> (<$key>::BITS - 1)) & <$key>::MAX)) as $bits)
            }
        }
    )* };
}
floats! {
    f32: u32, i32, ordered;
    f64: u64, i64, ordered_double;
}

/// Returns a float's bits as an integer with the order of the floats. For negative numbers all bits but the sign are inverted,
/// because a larger magnitude is a smaller number.
#[inline(always)]
fn ordered(bits: u32) -> i32 {
    let bits = bits as i32;
    bits ^ ((bits >> 31) & i32::MAX)
}

/// Returns the same for `f64`, computed by halves: the compiler makes six instructions of a 64-bit shift.
#[inline(always)]
fn ordered_double(bits: u64) -> i64 {
    let turned = ((bits >> 32) as i32 >> 31) as u32;
    let high = (bits >> 32) as u32 ^ (turned >> 1);
    let low = bits as u32 ^ turned;
    (u64::from(high) << 32 | u64::from(low)) as i64
}

macro_rules! half_floats {
    ($($ty:ty: $infinity:literal, $widen:expr;)*) => { $(
        impl Element for $ty {
            type Acc = f32;
            type Key = i32;
            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }
            #[inline(always)]
            fn key<const LEAST: bool>(self) -> i32 {
                self.widen().key::<LEAST>()
            }
            #[inline(always)]
            #[track_caller]
            fn key_of_wide<const LEAST: bool>(wide: Wide<Self>) -> i32 {
                Self::from_bits(most_wanted_bits::<Self, LEAST, $infinity>(wide, Self::to_bits))
                    .key::<LEAST>()
            }
            #[inline(always)]
            #[track_caller]
            fn first_in_wide<const LEAST: bool>(wide: Wide<Self>, key: i32) -> u32 {
                let wanted = Self::from_key::<LEAST>(key).to_bits();
                let is_nan = |bits: u16| bits & 0x7fff > $infinity;
                if is_nan(wanted) {
                    // All NaNs compare as equal.
                    let bits = |element: Self| u32::from(is_nan(element.to_bits()));
                    return first_equal(wide, bits, 1);
                }
                first_equal(wide, |element| element.to_bits().into(), wanted.into())
            }
            #[inline(always)]
            fn from_key<const LEAST: bool>(key: i32) -> Self {
                <$ty>::from_f32(f32::from_key::<LEAST>(key))
            }
        }
    )* };
}
half_floats! {
    f16: 0x7c00, f16_to_f32;
    bf16: 0x7f80, |bits: u16| f32::from_bits(u32::from(bits) << 16);
}

impl<T: Element> Reduction for Sum<T> {
    type In = T;
    type Acc = T::Acc;
    const IDENTITY: T::Acc = T::Acc::ZERO;
    #[inline(always)]
    fn load(value: T, _index: usize) -> T::Acc {
        value.widen()
    }
    #[inline(always)]
    fn combine(a: T::Acc, b: T::Acc) -> T::Acc {
        a.add(b)
    }
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: T::Acc, wide: Wide<T>, first: usize) -> T::Acc {
        if const { size_of::<T>() > 1 } {
            return one_by_one::<Self>(value, wide, first);
        }
        value.add(T::sum_of_wide(wide))
    }
}

impl<T: Element<Acc: Widened>> Reduction for Mean<T> {
    type In = T;
    type Acc = Total;
    const IDENTITY: Total = Total::of(0);
    #[inline(always)]
    fn load(value: T, _index: usize) -> Total {
        value.widen().total()
    }
    #[inline(always)]
    fn combine(a: Total, b: Total) -> Total {
        Total::of(a.bits().wrapping_add(b.bits()))
    }
    // Adds the four 32-bit elements of a load in 64 bits first: those hold their sum.
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: Total, wide: Wide<T>, first: usize) -> Total {
        if const { size_of::<T>() > 4 } {
            return one_by_one::<Self>(value, wide, first);
        }
        Self::combine(value, T::sum_of_wide(wide).total())
    }
}

impl<T: Element> Reduction for Product<T> {
    type In = T;
    type Acc = T::Acc;
    const IDENTITY: T::Acc = T::Acc::ONE;
    #[inline(always)]
    fn load(value: T, _index: usize) -> T::Acc {
        value.widen()
    }
    #[inline(always)]
    fn combine(a: T::Acc, b: T::Acc) -> T::Acc {
        a.mul(b)
    }
}

impl<T: Element> Reduction for Min<T> {
    type In = T;
    type Acc = T::Key;
    const IDENTITY: T::Key = T::Key::GREATEST;
    #[inline(always)]
    fn load(value: T, _index: usize) -> T::Key {
        value.key::<true>()
    }
    #[inline(always)]
    fn combine(a: T::Key, b: T::Key) -> T::Key {
        a.min(b)
    }
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: T::Key, wide: Wide<T>, first: usize) -> T::Key {
        if const { !is_narrow::<T>() } {
            return one_by_one::<Self>(value, wide, first);
        }
        value.min(T::key_of_wide::<true>(wide))
    }
}

impl<T: Element> Reduction for Max<T> {
    type In = T;
    type Acc = T::Key;
    const IDENTITY: T::Key = T::Key::LEAST;
    #[inline(always)]
    fn load(value: T, _index: usize) -> T::Key {
        value.key::<false>()
    }
    #[inline(always)]
    fn combine(a: T::Key, b: T::Key) -> T::Key {
        a.max(b)
    }
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: T::Key, wide: Wide<T>, first: usize) -> T::Key {
        if const { !is_narrow::<T>() } {
            return one_by_one::<Self>(value, wide, first);
        }
        value.max(T::key_of_wide::<false>(wide))
    }
}

/// A key and the position where it was found.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<K> {
    /// The key.
    pub key: K,
    /// The element's position; `u64::MAX` if there is none.
    pub index: u64,
}

// SAFETY: the type has plain fields.
unsafe impl<K: Plain> Plain for Found<K> {}

impl<K: Shuffle> Shuffle for Found<K> {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            key: self.key.map_words(each),
            index: self.index.map_words(each),
        }
    }
}

macro_rules! arg_reductions {
    ($($name:ident: $worst:ident, $least:literal, $better:tt;)*) => { $(
        impl<T: Element> Reduction for $name<T> {
            type In = T;
            type Acc = Found<T::Key>;
            const IDENTITY: Self::Acc = Found { key: T::Key::$worst, index: u64::MAX };
            const IS_POSITION: bool = true;
            #[inline(always)]
            fn load(value: T, index: usize) -> Self::Acc {
                Found { key: value.key::<$least>(), index: index as u64 }
            }
            #[inline(always)]
            fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                if a.key $better b.key || (a.key == b.key && a.index < b.index) { a } else { b }
            }
            #[inline(always)]
            fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                let first = (a.key $better b.key) | ((a.key == b.key) & (a.index < b.index));
                Found {
                    key: if first { a.key } else { b.key },
                    index: if first { a.index } else { b.index },
                }
            }
            // Finds the best key first. The position is computed only if that key is the best so far, which becomes rare.
            #[inline(always)]
            #[track_caller]
            fn add_wide(value: Self::Acc, wide: Wide<T>, first: usize) -> Self::Acc {
                if const { !is_narrow::<T>() } {
                    return one_by_one::<Self>(value, wide, first);
                }
                let first = first as u64;
                let key = T::key_of_wide::<$least>(wide);
                if key $better value.key || (key == value.key && first < value.index) {
                    let lane = T::first_in_wide::<$least>(wide, key);
                    Found { key, index: first + u64::from(lane) }
                } else {
                    value
                }
            }
        }
    )* };
}
arg_reductions! {
    ArgMin: GREATEST, true, <;
    ArgMax: LEAST, false, >;
}

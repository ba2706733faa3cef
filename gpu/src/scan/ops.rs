//! The operators: an operator and an element type make a [`Scan`].
//!
//! | elements | accumulator of `Sum` and `Product` |
//! | --- | --- |
//! | `u8 u16 u32 i32` | `u32` |
//! | `u64 i64` | `u64` |
//! | `f32 f16 bf16` | `f32` |
//! | `f64` | `f64` |
//!
//! Integers wrap modulo 2 to the width of the element. A prefix of `f16` or `bf16` is rounded once, when it is written: the
//! accumulator is never rounded to the element's type. `Min` and `Max` are those of the family `reduce`: -0 is less than +0,
//! and from the first NaN on every prefix is NaN.

use core::marker::PhantomData;

use cuda_std::{
    Plain, bf16,
    convert::f32_to_f16,
    f16,
    scan::{Chunk, Scan},
    unrolled,
};

use crate::reduce::{self, Accumulator, Max, Min};

/// The sums of elements of type `T`.
pub struct Sum<T>(PhantomData<T>);
/// The products of elements of type `T`.
pub struct Product<T>(PhantomData<T>);

/// An element type of a scan.
pub trait Element: reduce::Element + Plain {
    /// The accumulator of sums and products.
    type Total: Accumulator;
    /// Returns the element as an accumulator.
    fn total(self) -> Self::Total;
    /// Returns the element of an accumulator: its lowest bits, or the nearest number.
    fn of_total(total: Self::Total) -> Self;
    /// The key by which elements are compared, in the order of [`reduce::Element::key`].
    type Order: reduce::Key;
    /// Returns the element's key for the minimum (`LEAST`) or the maximum. The key of a NaN beats all others.
    fn order<const LEAST: bool>(self) -> Self::Order;
    /// Returns the element that has this key, for the same `LEAST`.
    fn of_order<const LEAST: bool>(key: Self::Order) -> Self;
}

/// Returns the key of a float of 16 bits, whose infinity has these bits: its bits, ordered.
#[inline(always)]
fn half_order<const LEAST: bool>(bits: u16, infinity: u16) -> i32 {
    let bits = i32::from(bits as i16);
    let ordered = bits ^ (bits >> 15 & 0x7fff);
    match (bits & 0x7fff > i32::from(infinity), LEAST) {
        (true, true) => i32::MIN,
        (true, false) => i32::MAX,
        (false, _) => ordered,
    }
}

/// Returns the bits of the float of 16 bits that has this key.
#[inline(always)]
fn half_of_order<const LEAST: bool>(key: i32) -> u16 {
    if key == if LEAST { i32::MIN } else { i32::MAX } {
        return 0x7fff;
    }
    (key ^ (key >> 31 & 0x7fff)) as u16
}

macro_rules! orders {
    () => {
        type Order = <Self as reduce::Element>::Key;
        #[inline(always)]
        fn order<const LEAST: bool>(self) -> Self::Order {
            reduce::Element::key::<LEAST>(self)
        }
        #[inline(always)]
        fn of_order<const LEAST: bool>(key: Self::Order) -> Self {
            <Self as reduce::Element>::from_key::<LEAST>(key)
        }
    };
    ($infinity:literal) => {
        type Order = i32;
        #[inline(always)]
        fn order<const LEAST: bool>(self) -> i32 {
            half_order::<LEAST>(self.to_bits(), $infinity)
        }
        #[inline(always)]
        fn of_order<const LEAST: bool>(key: i32) -> Self {
            Self::from_bits(half_of_order::<LEAST>(key))
        }
    };
}

macro_rules! elements {
    ($($ty:ty: $total:ty, |$value:ident| $load:expr, |$sum:ident| $store:expr $(, $infinity:literal)?;)*) => { $(
        impl Element for $ty {
            type Total = $total;
            #[inline(always)]
            fn total(self) -> $total {
                let $value = self;
                $load
            }
            #[inline(always)]
            fn of_total($sum: $total) -> $ty {
                $store
            }
            orders!($($infinity)?);
        }
    )* };
}
elements! {
    u8: u32, |value| value.into(), |sum| sum as u8;
    u16: u32, |value| value.into(), |sum| sum as u16;
    u32: u32, |value| value, |sum| sum;
    i32: u32, |value| value as u32, |sum| sum as i32;
    u64: u64, |value| value, |sum| sum;
    i64: u64, |value| value as u64, |sum| sum as i64;
    f32: f32, |value| value, |sum| sum;
    f64: f64, |value| value, |sum| sum;
    f16: f32, |value| reduce::Element::widen(value), |sum| f16::from_bits(f32_to_f16(sum)), 0x7c00;
    bf16: f32, |value| reduce::Element::widen(value), |sum| bf16::from_f32(sum), 0x7f80;
}

impl<T: Element> Scan for Sum<T> {
    type In = T;
    type Acc = T::Total;
    const IDENTITY: T::Total = T::Total::ZERO;
    const COMMUTATIVE: bool = true;
    #[inline(always)]
    fn load(value: T) -> T::Total {
        value.total()
    }
    #[inline(always)]
    fn combine(a: T::Total, b: T::Total) -> T::Total {
        a.add(b)
    }
    #[inline(always)]
    fn store(prefix: T::Total) -> T {
        T::of_total(prefix)
    }
}

impl<T: Element> Scan for Product<T> {
    type In = T;
    type Acc = T::Total;
    const IDENTITY: T::Total = T::Total::ONE;
    const COMMUTATIVE: bool = true;
    #[inline(always)]
    fn load(value: T) -> T::Total {
        value.total()
    }
    #[inline(always)]
    fn combine(a: T::Total, b: T::Total) -> T::Total {
        a.mul(b)
    }
    #[inline(always)]
    fn store(prefix: T::Total) -> T {
        T::of_total(prefix)
    }
}

macro_rules! extremes {
    ($($name:ident: $worst:ident, $better:ident, $least:literal;)*) => { $(
        impl<T: Element> Scan for $name<T> {
            type In = T;
            type Acc = T::Order;
            const IDENTITY: T::Order = <T::Order as reduce::Key>::$worst;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn load(value: T) -> T::Order {
                value.order::<$least>()
            }
            #[inline(always)]
            fn combine(a: T::Order, b: T::Order) -> T::Order {
                a.$better(b)
            }
            #[inline(always)]
            fn store(prefix: T::Order) -> T {
                T::of_order::<$least>(prefix)
            }
        }
    )* };
}
extremes! {
    Min: GREATEST, min, true;
    Max: LEAST, max, false;
}

/// The wrapping sums of bytes, four in a word at a time.
pub struct SumOfBytes;

/// The bytes at even places of a word.
const EVEN: u32 = 0x00ff_00ff;
/// Copies the lower half of a word to the upper one, by a multiplication.
const BOTH: u32 = 0x0001_0001;

impl Scan for SumOfBytes {
    type In = u8;
    type Acc = u32;
    const IDENTITY: u32 = 0;
    const COMMUTATIVE: bool = true;
    #[inline(always)]
    fn load(value: u8) -> u32 {
        value.into()
    }
    #[inline(always)]
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn store(prefix: u32) -> u8 {
        prefix as u8
    }

    #[inline(always)]
    fn total(chunk: Chunk) -> u32 {
        let mut pairs = 0;
        unrolled!(k < 4 => {
            pairs += (chunk[k] & EVEN) + (chunk[k] >> 8 & EVEN);
        });
        (pairs & 0xffff) + (pairs >> 16)
    }

    #[inline(always)]
    #[allow(unused_assignments)] // The last ones have no reader.
    fn scan(chunk: Chunk, before: u32, exclusive: bool) -> Chunk {
        // The prefix in both halves of a word; below 2^16 after all additions.
        let mut prefix = (before & 0xff) * BOTH;
        let mut last = before;
        let mut results = [0; 4];
        unrolled!(k < 4 => {
            let odd = chunk[k] >> 8 & EVEN;
            let pairs = (chunk[k] & EVEN) + odd;
            // In each half, the sum up to the half's odd byte, and that up to its even byte.
            let upper = pairs.wrapping_mul(BOTH).wrapping_add(prefix);
            let lower = upper.wrapping_sub(odd);
            let word = (lower & EVEN) | (upper & EVEN) << 8;
            results[k] = if exclusive { word << 8 | (last & 0xff) } else { word };
            last = upper >> 16;
            prefix = (upper >> 16) | (upper & 0xffff_0000);
        });
        results
    }
}

//! Warps: the 32 lanes of a block that run together, and what they do with each other's registers.
//!
//! Lanes `32 w` to `32 w + 31` of a block, by their linear index, are warp `w`; the last warp of a block
//! may have fewer. A warp operation takes a mask that names the lanes taking part: every lane named in
//! it has to come to the same operation with the same mask, and a lane only comes with a mask that names
//! itself. Otherwise the result on the GPU is undefined; the CPU executor ends the launch and says who
//! waits where. That is the kernel author's promise, like staying within the bounds of a view, so the
//! operations are not `unsafe` (except [`sync_warp`], which is in Rust-CUDA).

mod named;

use crate::{imp, imp::Place, thread};

pub use named::*;

/// The mask that names all 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

/// The lane's index in its warp: 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    imp::warp::lane_id()
}

/// The warp's index in its block: the lane's linear index divided by 32.
#[inline(always)]
pub fn warp_id() -> u32 {
    thread::linear_thread_idx() / 32
}

/// Waits until the lanes in `mask` are here, and makes their writes to memory visible to each other.
///
/// # Safety
/// `mask` names the calling lane, and no lane that it names has returned from the kernel; each of them
/// comes here with the same mask.
#[inline(always)]
#[track_caller]
pub unsafe fn sync_warp(mask: u32) {
    imp::warp::sync(mask, Place::here());
}

/// The lanes of the warp that execute this call together.
///
/// Which lanes those are is the hardware's choice: after a branch it may be any part of the lanes that
/// took it, so this is no way to find out who takes part in a later operation. On the CPU executor it is
/// the lanes of the warp that have not returned from the kernel.
#[inline(always)]
pub fn active_mask() -> u32 {
    imp::warp::active_mask()
}

/// How a shuffle finds the lane it reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Mode {
    /// A lane of the segment.
    Index,
    /// The own index less a distance.
    Up,
    /// The own index plus a distance.
    Down,
    /// The own index with some bits flipped.
    Xor,
}

/// A value that can travel between lanes: a number of 32-bit words.
///
/// For a type of your own, shuffle every field:
/// ```
/// use cuda_std::warp::Shuffle;
///
/// #[derive(Clone, Copy)]
/// struct Best {
///     value: f64,
///     index: u32,
/// }
///
/// impl Shuffle for Best {
///     fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
///         Self { value: self.value.map_words(each), index: self.index.map_words(each) }
///     }
/// }
/// ```
pub trait Shuffle: Copy {
    /// The value with `each` applied to every word of it, in an order that is the same in every lane.
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self;
}

macro_rules! shuffle_word {
    ($($ty:ty: $to:expr, $from:expr;)*) => { $(
        impl Shuffle for $ty {
            #[inline(always)]
            fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
                #[allow(clippy::redundant_closure_call)]
                ($from)(each(($to)(self)))
            }
        }
    )* };
}

shuffle_word! {
    u32: |v| v, |w| w;
    i32: |v| v as u32, |w| w as i32;
    u16: u32::from, |w| w as u16;
    i16: |v| v as u16 as u32, |w| w as u16 as i16;
    u8: u32::from, |w| w as u8;
    i8: |v| v as u8 as u32, |w| w as u8 as i8;
    bool: u32::from, |w| w != 0;
    f32: f32::to_bits, f32::from_bits;
    half::f16: |v: half::f16| u32::from(v.to_bits()), |w| half::f16::from_bits(w as u16);
    half::bf16: |v: half::bf16| u32::from(v.to_bits()), |w| half::bf16::from_bits(w as u16);
}

macro_rules! shuffle_two_words {
    ($($ty:ty: $to:expr, $from:expr;)*) => { $(
        impl Shuffle for $ty {
            #[inline(always)]
            fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
                #[allow(clippy::redundant_closure_call)]
                let bits: u64 = ($to)(self);
                let low = each(bits as u32);
                let high = each((bits >> 32) as u32);
                #[allow(clippy::redundant_closure_call)]
                ($from)(u64::from(high) << 32 | u64::from(low))
            }
        }
    )* };
}

shuffle_two_words! {
    u64: |v| v, |w| w;
    i64: |v| v as u64, |w| w as i64;
    usize: |v| v as u64, |w| w as usize;
    isize: |v| v as u64, |w| w as isize;
    f64: f64::to_bits, f64::from_bits;
}

macro_rules! shuffle_four_words {
    ($($ty:ty),*) => { $(
        impl Shuffle for $ty {
            #[inline(always)]
            fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
                let low = (self as u64).map_words(each);
                let high = ((self as u128 >> 64) as u64).map_words(each);
                (u128::from(high) << 64 | u128::from(low)) as $ty
            }
        }
    )* };
}
shuffle_four_words!(u128, i128);

impl<T: Shuffle, const N: usize> Shuffle for [T; N] {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(mut self, each: &mut F) -> Self {
        for element in &mut self {
            *element = element.map_words(each);
        }
        self
    }
}

impl<A: Shuffle, B: Shuffle> Shuffle for (A, B) {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        (self.0.map_words(each), self.1.map_words(each))
    }
}

impl<A: Shuffle, B: Shuffle, C: Shuffle> Shuffle for (A, B, C) {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        (
            self.0.map_words(each),
            self.1.map_words(each),
            self.2.map_words(each),
        )
    }
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident, $name_width:ident: $mode:ident, $argument:ident;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name<T: Shuffle>(mask: u32, value: T, $argument: u32) -> T {
            $name_width(mask, value, $argument, 32)
        }

        #[doc = concat!("[`", stringify!($name), "`] within segments of `width` lanes.")]
        ///
        /// `width` is 1, 2, 4, 8, 16 or 32, and the same in all lanes; a segment starts at each multiple
        /// of it. Without all 32 lanes in one segment, what is said of the warp's ends holds for the
        /// segment's (see the module of the same name in the CUDA C++ programming guide).
        #[inline(always)]
        #[track_caller]
        pub fn $name_width<T: Shuffle>(mask: u32, value: T, $argument: u32, width: u32) -> T {
            let place = Place::here();
            imp::warp::check_width(width, place);
            value.map_words(&mut |word| {
                imp::warp::shuffle(Mode::$mode, mask, word, $argument, width, place)
            })
        }
    )* };
}

shuffles! {
    /// The `value` that lane `source_lane` gave (its remainder modulo 32 counts).
    ///
    /// Lanes not named in `mask` give nothing: reading from one is an undefined value (on the CPU
    /// executor an error by the check `sync`, else a pattern of bits, `0xA5A5A5A5` in each word).
    shuffle, shuffle_width: Index, source_lane;
    /// The `value` of the lane `delta` below; lanes that have none there keep their own.
    ///
    /// As in the hardware, the remainder of `delta` modulo 32 counts. Lanes as for [`shuffle`].
    shuffle_up, shuffle_up_width: Up, delta;
    /// The `value` of the lane `delta` above; lanes that have none there keep their own.
    ///
    /// As in the hardware, the remainder of `delta` modulo 32 counts. Lanes as for [`shuffle`].
    shuffle_down, shuffle_down_width: Down, delta;
    /// The `value` of the lane whose index is the own one with the bits in `lane_mask` flipped.
    ///
    /// The remainder of `lane_mask` modulo 32 counts. With a width below 32 a lane can read from its own
    /// segment and earlier ones, and keeps its own value where the other lane is in a later one. Lanes as
    /// for [`shuffle`].
    shuffle_xor, shuffle_xor_width: Xor, lane_mask;
}

/// Whether `predicate` holds in every lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn all(mask: u32, predicate: bool) -> bool {
    imp::warp::all(mask, predicate, Place::here())
}

/// Whether `predicate` holds in at least one lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn any(mask: u32, predicate: bool) -> bool {
    imp::warp::any(mask, predicate, Place::here())
}

/// Whether `predicate` is the same in every lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn uniform(mask: u32, predicate: bool) -> bool {
    imp::warp::uniform(mask, predicate, Place::here())
}

/// The lanes of `mask` in which `predicate` holds, as a mask.
#[inline(always)]
#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    imp::warp::ballot(mask, predicate, Place::here())
}

mod sealed {
    pub trait Sealed {}
}

/// The bits of a value that lanes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum MatchBits {
    /// 32 of them.
    Word(u32),
    /// 64 of them.
    Long(u64),
}

/// A value that lanes can compare with each other: 32 or 64 bits, compared as bits (so a NaN equals
/// itself, and `0.0` is not `-0.0`).
pub trait Match: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn match_bits(self) -> MatchBits;
}

macro_rules! match_types {
    ($($ty:ty: $kind:ident, $to:expr;)*) => { $(
        impl sealed::Sealed for $ty {}

        impl Match for $ty {
            #[inline(always)]
            fn match_bits(self) -> MatchBits {
                #[allow(clippy::redundant_closure_call)]
                MatchBits::$kind(($to)(self))
            }
        }
    )* };
}

match_types! {
    u32: Word, |v| v;
    i32: Word, |v| v as u32;
    f32: Word, f32::to_bits;
    u64: Long, |v| v;
    i64: Long, |v| v as u64;
    usize: Long, |v| v as u64;
    f64: Long, f64::to_bits;
}

/// The lanes of `mask` that gave the same `value` as this lane, as a mask.
#[inline(always)]
#[track_caller]
pub fn match_any<T: Match>(mask: u32, value: T) -> u32 {
    imp::warp::match_any(mask, value.match_bits(), Place::here())
}

/// Whether all lanes of `mask` gave the same `value`: `(mask, true)` if so, else `(0, false)`.
#[inline(always)]
#[track_caller]
pub fn match_all<T: Match>(mask: u32, value: T) -> (u32, bool) {
    imp::warp::match_all(mask, value.match_bits(), Place::here())
}

/// The reductions of 32-bit integers over a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum ReduxOp {
    /// Sum modulo 2^32.
    Add,
    /// Least, without sign.
    MinUnsigned,
    /// Greatest, without sign.
    MaxUnsigned,
    /// Least, with sign.
    MinSigned,
    /// Greatest, with sign.
    MaxSigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl ReduxOp {
    /// The reduction of two values.
    #[inline(always)]
    pub(crate) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::MinSigned => (a as i32).min(b as i32) as u32,
            Self::MaxSigned => (a as i32).max(b as i32) as u32,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// A type that a warp can reduce: `u32` or `i32`.
pub trait Redux: Copy + sealed::Sealed {
    #[doc(hidden)]
    const MIN: ReduxOp;
    #[doc(hidden)]
    const MAX: ReduxOp;
    #[doc(hidden)]
    fn to_word(self) -> u32;
    #[doc(hidden)]
    fn from_word(word: u32) -> Self;
}

impl Redux for u32 {
    const MIN: ReduxOp = ReduxOp::MinUnsigned;
    const MAX: ReduxOp = ReduxOp::MaxUnsigned;

    #[inline(always)]
    fn to_word(self) -> u32 {
        self
    }

    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word
    }
}

impl Redux for i32 {
    const MIN: ReduxOp = ReduxOp::MinSigned;
    const MAX: ReduxOp = ReduxOp::MaxSigned;

    #[inline(always)]
    fn to_word(self) -> u32 {
        self as u32
    }

    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word as i32
    }
}

macro_rules! redux {
    ($($(#[$doc:meta])* $name:ident: $op:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// One instruction from compute capability 8.0 on (`redux.sync`), shuffles before: 5 with
        /// [`FULL_MASK`], 32 with any other mask.
        #[inline(always)]
        #[track_caller]
        pub fn $name<T: Redux>(mask: u32, value: T) -> T {
            T::from_word(imp::warp::redux($op, mask, value.to_word(), Place::here()))
        }
    )* };
}

redux! {
    /// The sum of `value` over the lanes of `mask`, modulo 2^32; the same in all of them.
    redux_add: ReduxOp::Add;
    /// The least `value` of the lanes of `mask`; the same in all of them.
    redux_min: T::MIN;
    /// The greatest `value` of the lanes of `mask`; the same in all of them.
    redux_max: T::MAX;
    /// The bitwise and of `value` over the lanes of `mask`; the same in all of them.
    redux_and: ReduxOp::And;
    /// The bitwise or of `value` over the lanes of `mask`; the same in all of them.
    redux_or: ReduxOp::Or;
    /// The bitwise exclusive or of `value` over the lanes of `mask`; the same in all of them.
    redux_xor: ReduxOp::Xor;
}

//! Warps: groups of 32 lanes of a block that run together, and operations that exchange their registers.
//!
//! Lanes `32 w` to `32 w + 31` of a block, by their linear index, are warp `w`. The last warp of a block may have fewer
//! lanes. A warp operation takes a mask of the participating lanes: every lane in the mask must execute the same operation
//! with the same mask, and a lane may only pass a mask that contains itself. Otherwise the result on the GPU is undefined;
//! the CPU executor ends the launch and reports which lane waits where. The kernel's author guarantees this, as for the
//! bounds of a view, so the operations are not `unsafe` (except [`sync_warp`], which is `unsafe` in Rust-CUDA).
//!
//! Operations without a mask are those of a whole warp: all 32 lanes must call them. They need no shared memory, and are the
//! same on every device. A tile's `32 * ITEMS` items, of 1 to 32 per lane, are held in one of two orders, as in a
//! [block](crate::block):
//!
//! | order | item `k` of lane `l` is the tile's item |
//! | --- | --- |
//! | striped | `k * 32 + l` |
//! | blocked | `l * ITEMS + k` |
//!
//! | functions of a whole warp | what they do | shuffles per word |
//! | --- | --- | --- |
//! | [`inclusive_scan`], [`exclusive_scan`], [`reduce`] | one value per lane, by any operator | 5 or 6 |
//! | [`load_striped`], [`store_striped`], `…_part` | a tile from and to global memory | none |
//! | [`load_blocked`], [`store_blocked`], `…_part` | the same, in blocked order | 0 or `ITEMS` |
//! | [`striped_to_blocked`], [`blocked_to_striped`] | exchange | `ITEMS` |
//! | [`sort`] | one value per lane, by a comparison | 15 |
//! | [`sort_items`], [`sort_items_unstable`] | a tile in blocked order, by a comparison | `15 * ITEMS` |
//! | [`run_heads`], [`run_tails`] | items that differ from a neighbor, in blocked order | 1 |
//! | [`rank_digits`] | places of a stable sort by one digit, in striped order | `2 * ITEMS + 6`, and ballots |
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The sum of all values before each value, of a tile of 32 * 5 for each warp.
//! #[kernel]
//! pub unsafe fn scan_tiles(values: GlobalMut<u32>) {
//!     let first = thread::index_1d_wide() / 32 * 160;
//!     if first < values.len() {
//!         let items = warp::load_blocked_part::<_, 5>(values, first..values.len(), 0);
//!         let mut before = warp::exclusive_scan(items.iter().sum(), 0, |a: u32, b| a + b);
//!         let sums = items.map(|item| {
//!             let sum = before;
//!             before += item;
//!             sum
//!         });
//!         warp::store_blocked_part(values, first..values.len(), sums);
//!     }
//! }
//! ```

mod cooperate;
mod exchange;
mod load;
mod named;
mod rank;
mod runs;
mod sort;

use crate::{imp, imp::Place, thread};

pub use cooperate::{exclusive_scan, inclusive_scan, reduce};
pub use exchange::{blocked_to_striped, striped_to_blocked};
pub use load::{
    load_blocked, load_blocked_part, load_striped, load_striped_part, store_blocked,
    store_blocked_part, store_striped, store_striped_part,
};
pub use named::*;
pub use rank::rank_digits;
pub use runs::{run_heads, run_tails};
pub use sort::{sort, sort_items, sort_items_unstable};

/// The mask of all 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

/// Returns the lane's index in its warp, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    imp::warp::lane_id()
}

/// Returns the warp's index in its block: the lane's linear index divided by 32.
#[inline(always)]
pub fn warp_id() -> u32 {
    thread::linear_thread_idx() / 32
}

/// Waits until all lanes in `mask` have reached the barrier, and makes their writes to memory visible to each other.
///
/// # Safety
/// `mask` must contain the calling lane and no lane that has returned from the kernel. Each lane in it must call this with
/// the same mask.
#[inline(always)]
#[track_caller]
pub unsafe fn sync_warp(mask: u32) {
    imp::warp::sync(mask, Place::here());
}

/// Returns true in one lane of `mask`, always the same one for a mask, and false in the others.
///
/// `ptxas` knows that only one lane takes a branch on this. So it computes there with uniform registers, in which copies of
/// [tiles](crate::tensor_map) take their operands. Build a module for `sm_90` or newer: for others this function does not
/// exist. The CPU executor elects the first lane.
///
/// # Safety
/// As for [`sync_warp`].
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[inline(always)]
#[track_caller]
pub unsafe fn elect(mask: u32) -> bool {
    imp::warp::elect(mask, Place::here())
}

/// Returns the mask of the lanes of the warp that execute this call together.
///
/// The hardware chooses these lanes. After a branch they may be any subset of the lanes that took it, so the mask does not
/// tell which lanes take part in a later operation. On the CPU executor it is the mask of the lanes of the warp that have
/// not returned from the kernel.
#[inline(always)]
pub fn active_mask() -> u32 {
    imp::warp::active_mask()
}

/// The mode of a shuffle: how a lane finds the lane that it reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Mode {
    /// The lane with a given index in the segment.
    Index,
    /// The lane's own index minus a distance.
    Up,
    /// The lane's own index plus a distance.
    Down,
    /// The lane's own index with some bits flipped.
    Xor,
}

/// A value that lanes can exchange, as a number of 32-bit words.
///
/// An implementation for a user's type shuffles every field:
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
    /// How many words [`map_words`](Self::map_words) takes: those of the value's bytes, unless some of them are padding.
    const WORDS: usize = size_of::<Self>().div_ceil(4);

    /// Applies `each` to every word of the value, in an order that must be the same in every lane.
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
    const WORDS: usize = N * T::WORDS;

    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(mut self, each: &mut F) -> Self {
        for element in &mut self {
            *element = element.map_words(each);
        }
        self
    }
}

impl<A: Shuffle, B: Shuffle> Shuffle for (A, B) {
    const WORDS: usize = A::WORDS + B::WORDS;

    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        (self.0.map_words(each), self.1.map_words(each))
    }
}

impl<A: Shuffle, B: Shuffle, C: Shuffle> Shuffle for (A, B, C) {
    const WORDS: usize = A::WORDS + B::WORDS + C::WORDS;

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

        #[doc = concat!("Same as [`", stringify!($name), "`], within segments of `width` lanes.")]
        ///
        /// The warp is divided into segments of `width` lanes, which start at multiples of `width`. `width` must be 1, 2,
        /// 4, 8, 16 or 32, and the same in all lanes. The rules for the ends of the warp then hold for the ends of the
        /// segment (see warp shuffle functions in the CUDA C++ programming guide).
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
    /// Returns the `value` of lane `source_lane` modulo 32.
    ///
    /// Lanes outside `mask` provide no value. Reading from one gives an undefined value; on the CPU executor it is an error
    /// of the check `sync`, or else the bit pattern `0xA5A5A5A5` in each word.
    shuffle, shuffle_width: Index, source_lane;
    /// Returns the `value` of the lane `delta` below. A lane without such a lane keeps its own value.
    ///
    /// As in the hardware, `delta` is taken modulo 32. For lanes outside `mask` see [`shuffle`].
    shuffle_up, shuffle_up_width: Up, delta;
    /// Returns the `value` of the lane `delta` above. A lane without such a lane keeps its own value.
    ///
    /// As in the hardware, `delta` is taken modulo 32. For lanes outside `mask` see [`shuffle`].
    shuffle_down, shuffle_down_width: Down, delta;
    /// Returns the `value` of the lane whose index is the lane's own with the bits in `lane_mask` flipped.
    ///
    /// `lane_mask` is taken modulo 32. With a width below 32 a lane can read from its own segment and earlier ones, and
    /// keeps its own value if the other lane is in a later segment. For lanes outside `mask` see [`shuffle`].
    shuffle_xor, shuffle_xor_width: Xor, lane_mask;
}

/// Returns whether `predicate` is true in every lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn all(mask: u32, predicate: bool) -> bool {
    imp::warp::all(mask, predicate, Place::here())
}

/// Returns whether `predicate` is true in at least one lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn any(mask: u32, predicate: bool) -> bool {
    imp::warp::any(mask, predicate, Place::here())
}

/// Returns whether `predicate` is the same in every lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn uniform(mask: u32, predicate: bool) -> bool {
    imp::warp::uniform(mask, predicate, Place::here())
}

/// Returns the mask of the lanes of `mask` in which `predicate` is true.
#[inline(always)]
#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    imp::warp::ballot(mask, predicate, Place::here())
}

mod sealed {
    pub trait Sealed {}
}

/// The bits of a value, for a comparison between lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum MatchBits {
    /// 32 bits.
    Word(u32),
    /// 64 bits.
    Long(u64),
}

/// A value of 32 or 64 bits that lanes can compare. The comparison is that of the bits, so a NaN equals itself and `0.0`
/// differs from `-0.0`.
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

/// Returns the mask of the lanes of `mask` that have the same `value` as this lane.
#[inline(always)]
#[track_caller]
pub fn match_any<T: Match>(mask: u32, value: T) -> u32 {
    imp::warp::match_any(mask, value.match_bits(), Place::here())
}

/// Returns `(mask, true)` if all lanes of `mask` have the same `value`, else `(0, false)`.
#[inline(always)]
#[track_caller]
pub fn match_all<T: Match>(mask: u32, value: T) -> (u32, bool) {
    imp::warp::match_all(mask, value.match_bits(), Place::here())
}

/// A reduction of 32-bit integers over a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum ReduxOp {
    /// Sum modulo 2^32.
    Add,
    /// The minimum of unsigned integers.
    MinUnsigned,
    /// The maximum of unsigned integers.
    MaxUnsigned,
    /// The minimum of signed integers.
    MinSigned,
    /// The maximum of signed integers.
    MaxSigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl ReduxOp {
    /// Returns the reduction of two values.
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
        /// This is one instruction from compute capability 8.0 on (`redux.sync`). Before, it is 5 shuffles with
        /// [`FULL_MASK`] and 32 with any other mask.
        #[inline(always)]
        #[track_caller]
        pub fn $name<T: Redux>(mask: u32, value: T) -> T {
            T::from_word(imp::warp::redux($op, mask, value.to_word(), Place::here()))
        }
    )* };
}

redux! {
    /// Returns the sum of `value` over the lanes of `mask`, modulo 2^32, in all of them.
    redux_add: ReduxOp::Add;
    /// Returns the minimum of `value` over the lanes of `mask`, in all of them.
    redux_min: T::MIN;
    /// Returns the maximum of `value` over the lanes of `mask`, in all of them.
    redux_max: T::MAX;
    /// Returns the bitwise and of `value` over the lanes of `mask`, in all of them.
    redux_and: ReduxOp::And;
    /// Returns the bitwise or of `value` over the lanes of `mask`, in all of them.
    redux_or: ReduxOp::Or;
    /// Returns the bitwise exclusive or of `value` over the lanes of `mask`, in all of them.
    redux_xor: ReduxOp::Xor;
}

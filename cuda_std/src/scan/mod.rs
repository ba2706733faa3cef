//! Scans: for each element of an array, what the elements up to it combine to.
//!
//! An operator is a type that implements [`Scan`]. [`scan_kernel!`](crate::scan_kernel!) makes a kernel of it, and
//! `Device::inclusive_scan` of the library `warpwright` launches the kernel:
//!
//! ```
//! use cuda_std::scan::Scan;
//!
//! /// Sums that begin anew at every element with a mark.
//! pub struct MarkedSum;
//!
//! impl Scan for MarkedSum {
//!     /// The mark, 0 or 1, and the element.
//!     type In = [u32; 2];
//!     type Acc = [u32; 2];
//!     const IDENTITY: [u32; 2] = [0, 0];
//!
//!     fn load(element: [u32; 2]) -> [u32; 2] {
//!         element
//!     }
//!
//!     fn combine(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
//!         let sum = if b[0] == 0 { a[1].wrapping_add(b[1]) } else { b[1] };
//!         [a[0] | b[0], sum]
//!     }
//!
//!     fn store(prefix: [u32; 2]) -> [u32; 2] {
//!         prefix
//!     }
//! }
//!
//! cuda_std::scan_kernel!(marked_sum: MarkedSum);
//! ```
//!
//! [`segmented_scan_kernel!`](crate::segmented_scan_kernel!) makes one for segments, runs of equal keys, rows and columns.
//!
//! # How it works
//! [`scan_tiles`] is the body of such a kernel:
//!
//! ```text
//! block:
//!     tile = the next ticket
//!     load the tile into registers; total = the tile's total
//!     publish total
//!     if the launch has up to 8 batches of tiles:
//!         before = the totals of the tiles before this one, batch by batch     (one warp adds up to 32 * windows at once)
//!     else:
//!         before = inclusive prefix of the batches before this tile's batch + totals of the batch's tiles before this one
//!         if this is the batch's last tile: publish the batch's inclusive prefix
//!     write before + the tile's own prefixes
//! ```
//!
//! Waiting is safe because a tile is a ticket: every lower ticket belongs to a block that runs (Yan, Long, Zhang, "StreamScan",
//! 2013). Totals are added in batches of a fixed size, so the result does not depend on which blocks are ahead: the same input
//! gives the same bits in every launch, on every device and for every alignment, for floats too.
//!
//! The functions from which other scans are made are in [`pieces`].

mod launch;
mod prefix;
mod segmented;
mod start;
mod status;
mod tile;

/// The parts of a scan's kernel.
pub mod pieces {
    pub use super::{
        launch::Launch,
        prefix::{Prefix, Trip},
        segmented::Heads,
        start::words_of,
        status::{Read, Statuses, tag_of, take_ticket, take_tickets},
        tile::{
            Chunks, Rows, Tile, Whole, chunk_prefixes, first_chunk, scan_tile, tile_len,
            total_of_first,
        },
    };
}

pub use launch::MOST_BATCHES;
pub use segmented::{Open, SEGMENTED_CHUNKS, Segmented, scan_segmented_tiles};
#[cfg(not(target_arch = "nvptx64"))]
pub use segmented::{SegmentedParameters, SegmentedScanKernel};
pub use start::Start;

use self::pieces::*;
use crate::{
    Global, GlobalMut, Plain, unrolled,
    warp::{self, FULL_MASK, Shuffle},
};

/// A chunk of 16 bytes, in registers: what a thread loads and stores at once.
pub type Chunk = [u32; 4];

/// The 16-byte chunks that a thread takes of a tile.
pub const CHUNKS: usize = 8;
/// The number of 64-bit words from one tile's status to the next one's: statuses that several blocks poll lie in different
/// cache lines.
pub const STATUS_STRIDE: usize = 16;
/// The threads of a block of a kernel that [`scan_kernel!`](crate::scan_kernel!) or
/// [`segmented_scan_kernel!`](crate::segmented_scan_kernel!) makes.
pub const THREADS: usize = 256;
/// The windows of 32 tiles in a batch of such a kernel.
pub const WINDOWS: usize = 2;

/// Returns the number of elements of a chunk.
pub const fn chunk_len<T>() -> usize {
    assert!(
        matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 16),
        "an element of a scan has 1, 2, 4, 8 or 16 bytes"
    );
    16 / size_of::<T>()
}

/// An operator of a scan and its element type.
pub trait Scan: 'static {
    /// The type of the elements and of the results: 1, 2, 4, 8 or 16 bytes.
    type In: Plain;
    /// The type of prefixes: at most 16 bytes, which [`Shuffle`] takes in words of 4 bytes.
    type Acc: Plain + Shuffle;
    /// The identity: combining it with a prefix, on either side, changes nothing.
    const IDENTITY: Self::Acc;
    /// Whether `combine(a, b)` is `combine(b, a)`. Totals then take fewer instructions.
    const COMMUTATIVE: bool = false;

    /// Returns the prefix of one element.
    fn load(value: Self::In) -> Self::Acc;

    /// Returns the prefix of the elements of `a` and then those of `b`. It is associative, apart from the rounding of floats.
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// Returns the result for a prefix.
    fn store(prefix: Self::Acc) -> Self::In;

    /// Returns the prefix of all elements of a chunk.
    #[doc(hidden)]
    #[inline(always)]
    fn total(chunk: Chunk) -> Self::Acc {
        let len = const { chunk_len::<Self::In>() };
        let mut total = Self::load(element(chunk, 0));
        unrolled!(i < len of 16 => {
            if i > 0 {
                total = Self::combine(total, Self::load(element(chunk, i)));
            }
        });
        total
    }

    /// Returns the results of a chunk's elements, whose first one comes after `before`.
    #[doc(hidden)]
    #[inline(always)]
    #[allow(unused_assignments)] // The last one has no reader.
    fn scan(chunk: Chunk, before: Self::Acc, exclusive: bool) -> Chunk {
        let len = const { chunk_len::<Self::In>() };
        let mut prefix = before;
        let mut results = [0; 4];
        unrolled!(i < len of 16 => {
            let next = Self::combine(prefix, Self::load(element(chunk, i)));
            results = with_element(results, i, Self::store(if exclusive { prefix } else { next }));
            prefix = next;
        });
        results
    }

    /// Whether [`rows_total`](Self::rows_total) takes fewer instructions than a scan of the lanes for each row.
    #[doc(hidden)]
    const CHEAP_TOTALS: bool = Self::COMMUTATIVE;

    /// Whether the last word of an accumulator is 0 or 1. A status then has it in its tag.
    #[doc(hidden)]
    const FLAGGED: bool = false;

    /// Returns the total of the lanes' values, in every lane. The lanes' order is kept unless the operator is commutative.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn lanes_total(mut value: Self::Acc) -> Self::Acc {
        if !Self::COMMUTATIVE {
            return warp::reduce(value, Self::combine);
        }
        unrolled!(k < 5 => {
            value = Self::combine(value, warp::shuffle_xor(FULL_MASK, value, 1 << k));
        });
        value
    }

    /// Returns the total of `rows` rows of a value per lane, at most 8, in every lane.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn rows_total<const MOST: usize>(rows: usize, values: [Self::Acc; MOST]) -> Self::Acc {
        let mut all = Self::IDENTITY;
        unrolled!(r < rows => {
            let total = if Self::COMMUTATIVE { values[r] } else { Self::lanes_total(values[r]) };
            all = if r == 0 { total } else { Self::combine(all, total) };
        });
        if Self::COMMUTATIVE {
            all = Self::lanes_total(all);
        }
        all
    }

    /// Returns the total of the values of lanes 0 up to this one.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn lanes_scan(value: Self::Acc) -> Self::Acc {
        warp::inclusive_scan(value, Self::combine)
    }
}

/// Returns element `i` of a chunk.
#[inline(always)]
fn element<T: Plain>(chunk: Chunk, i: usize) -> T {
    let bit = i * size_of::<T>() * 8;
    let word = chunk[(bit / 32) % 4] >> (bit % 32);
    // SAFETY: the bytes are as many as a `T` has, and any bytes are a `T`, which is plain; both targets are little-endian.
    unsafe {
        match size_of::<T>() {
            1 => core::mem::transmute_copy(&(word as u8)),
            2 => core::mem::transmute_copy(&(word as u16)),
            4 => core::mem::transmute_copy(&word),
            8 => core::mem::transmute_copy(&[word, chunk[(bit / 32 + 1) % 4]]),
            _ => core::mem::transmute_copy(&chunk),
        }
    }
}

/// Returns a chunk with the bits of an element added at place `i`, where it has zeros.
#[inline(always)]
fn with_element<T: Plain>(mut chunk: Chunk, i: usize, value: T) -> Chunk {
    let bit = i * size_of::<T>() * 8;
    let at = (bit / 32) % 4;
    // SAFETY: the types have the same size, and any bytes are a number.
    unsafe {
        match size_of::<T>() {
            1 => chunk[at] |= u32::from(core::mem::transmute_copy::<T, u8>(&value)) << (bit % 32),
            2 => chunk[at] |= u32::from(core::mem::transmute_copy::<T, u16>(&value)) << (bit % 32),
            4 => chunk[at] = core::mem::transmute_copy::<T, u32>(&value),
            8 => {
                let words: [u32; 2] = core::mem::transmute_copy(&value);
                chunk[at] = words[0];
                chunk[(at + 1) % 4] = words[1];
            }
            _ => chunk = core::mem::transmute_copy::<T, Chunk>(&value),
        }
    }
    chunk
}

/// Returns the number of elements of a tile of `threads` threads.
pub const fn elements_of_tile<T>(threads: usize) -> usize {
    tile_len::<T>(threads, CHUNKS)
}

/// The words that a launch of [`scan_tiles`] keeps in global memory, all 0 before the first launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workspace {
    /// The elements of `control`.
    pub control: usize,
    /// The elements of `statuses`.
    pub statuses: usize,
    /// The elements of `batches`.
    pub batches: usize,
}

impl Workspace {
    /// Returns the words for `tiles` tiles. A single one needs none.
    pub const fn of(tiles: usize, windows: usize) -> Self {
        let tiles = if tiles > 1 { tiles } else { 0 };
        Self {
            control: if tiles > 1 { 1 } else { 0 },
            statuses: tiles * STATUS_STRIDE,
            batches: if tiles > MOST_BATCHES * 32 * windows {
                tiles / (32 * windows) * STATUS_STRIDE
            } else {
                0
            },
        }
    }
}

/// Scans the elements in a single launch, with a block per tile: `output[i]` is the initial prefix of `start` combined with
/// elements 0 to `i`, or with those before `i` for an exclusive scan.
///
/// `windows`, from 1 to 8, says how many tiles a batch has: `32 * windows`. The order of combinations depends on the operator,
/// the number of threads and `windows`.
///
/// Launch: a block of a multiple of 32 threads for each tile of [`elements_of_tile`]. Static shared memory of 33 accumulators.
/// If an array does not start at a multiple of 16 bytes, dynamic shared memory of a tile. Reads and writes every element once.
///
/// # Contract
/// `output` has as many elements as `input`, and is either the same array or does not overlap it. `control`, `statuses` and
/// `batches` are those of [`Workspace`], and launches that may run at the same time do not share them.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn scan_tiles<R: Scan>(
    threads: usize,
    windows: usize,
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    batches: GlobalMut<u64>,
    start: Start,
) {
    let launch = Launch {
        threads,
        windows,
        control,
        statuses,
        batches,
    };
    launch.scan::<R, _, CHUNKS>(input, output, |_| Whole::new(start));
}

/// An operator with a kernel of its own. [`scan_kernel!`](crate::scan_kernel!) implements it.
///
/// # Safety
/// The kernel must keep the contract of [`scan_tiles`], with [`THREADS`] and [`WINDOWS`].
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait ScanKernel: Scan {
    /// The kernel.
    const KERNEL: crate::kernel::Entry<Parameters<Self>>;
}

/// The parameters of a scan's kernel: those of [`scan_tiles`].
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<R> = (
    Global<<R as Scan>::In>,
    GlobalMut<<R as Scan>::In>,
    GlobalMut<u64>,
    GlobalMut<u64>,
    GlobalMut<u64>,
    Start,
);

/// Makes a kernel of an operator: `scan_kernel!(name: Type);`, or several separated by commas. `Type` implements
/// [`Scan`](crate::scan::Scan). `name` is the kernel's name in the PTX.
#[macro_export]
macro_rules! scan_kernel {
    ($($name:ident: $operator:ty),+ $(,)?) => { $(
        const _: () = {
            /// Scans the elements.
            ///
            /// # Safety
            /// The contract of `cuda_std::scan::scan_tiles` must hold.
            #[$crate::kernel(launch_bounds($crate::scan::THREADS as u32, 2), marker = Marker)]
            unsafe fn $name(
                input: $crate::Global<<$operator as $crate::scan::Scan>::In>,
                output: $crate::GlobalMut<<$operator as $crate::scan::Scan>::In>,
                control: $crate::GlobalMut<u64>,
                statuses: $crate::GlobalMut<u64>,
                batches: $crate::GlobalMut<u64>,
                start: $crate::scan::Start,
            ) {
                use $crate::scan::{THREADS, WINDOWS, scan_tiles};
                scan_tiles::<$operator>(
                    THREADS, WINDOWS, input, output, control, statuses, batches, start,
                );
            }

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: this is the kernel above, whose body is `scan_tiles`.
            unsafe impl $crate::scan::ScanKernel for $operator {
                const KERNEL: $crate::kernel::Entry<$crate::scan::Parameters<Self>> =
                    $crate::kernel::Entry::of::<Marker>();
            }
        };
    )+ };
}

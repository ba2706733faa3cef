//! Scans that begin anew at the first element of each segment.
//!
//! A bit for each element says whether a segment begins there. A prefix then has a flag besides: whether a segment begins in
//! the elements that it is of. What comes before such a prefix does not change it, which makes the operator of a segmented scan
//! from that of a scan (Blelloch, "Prefix Sums and Their Applications", 1990), and everything else is as for a scan.

use core::marker::PhantomData;

use super::{
    Chunk, Scan, Start, chunk_len, element,
    pieces::{Launch, Rows, Tile},
    with_element,
};
use crate::{
    Global, GlobalMut, Plain, unrolled,
    warp::{self, FULL_MASK, Shuffle},
};

/// The 16-byte chunks that a thread takes of a tile: fewer than in a scan without segments, whose prefixes have no flags.
pub const SEGMENTED_CHUNKS: usize = 6;

/// A partial result, and whether a segment ended in what it is of: then it is that of the elements behind the last end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Open<A> {
    /// The partial result.
    pub acc: A,
    /// 1 or 0.
    pub ended: u32,
}

// SAFETY: the type has plain fields.
unsafe impl<A: Plain> Plain for Open<A> {}

impl<A: Shuffle> Shuffle for Open<A> {
    const WORDS: usize = A::WORDS + 1;

    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            acc: self.acc.map_words(each),
            ended: self.ended.map_words(each),
        }
    }
}

impl<A: Copy> Open<A> {
    /// Makes a partial result.
    #[inline(always)]
    pub fn new(acc: A, ended: bool) -> Self {
        Self {
            acc,
            ended: ended.into(),
        }
    }

    /// Returns the partial result of what this one is of and what comes behind it.
    #[inline(always)]
    pub fn then(self, next: Self, combine: impl FnOnce(A, A) -> A) -> Self {
        let acc = if next.ended != 0 {
            next.acc
        } else {
            combine(self.acc, next.acc)
        };
        Self {
            acc,
            ended: self.ended | next.ended,
        }
    }
}

/// The scan `R` of segments.
pub struct Segmented<R>(PhantomData<R>);

impl<R: Scan> Scan for Segmented<R> {
    type In = R::In;
    type Acc = Open<R::Acc>;
    const IDENTITY: Open<R::Acc> = Open {
        acc: R::IDENTITY,
        ended: 0,
    };

    #[inline(always)]
    fn load(value: R::In) -> Open<R::Acc> {
        Open::new(R::load(value), false)
    }

    #[inline(always)]
    fn combine(a: Open<R::Acc>, b: Open<R::Acc>) -> Open<R::Acc> {
        a.then(b, R::combine)
    }

    #[inline(always)]
    fn store(prefix: Open<R::Acc>) -> R::In {
        R::store(prefix.acc)
    }

    const CHEAP_TOTALS: bool = R::COMMUTATIVE;
    const FLAGGED: bool = true;

    #[inline(always)]
    #[track_caller]
    fn lanes_total(value: Open<R::Acc>) -> Open<R::Acc> {
        Self::rows_total(1, [value])
    }

    // A ballot says where segments end, and so which lanes' values belong to the total: no flag is shuffled.
    #[inline(always)]
    #[track_caller]
    fn rows_total<const MOST: usize>(rows: usize, values: [Open<R::Acc>; MOST]) -> Open<R::Acc> {
        let lane = warp::lane_id();
        let mut all = Self::IDENTITY;
        unrolled!(r < rows => {
            let ends = warp::ballot(FULL_MASK, values[r].ended != 0);
            // Lanes before the last one with an end have no part.
            let own = if ends >> lane < 2 { values[r].acc } else { R::IDENTITY };
            let own = if R::COMMUTATIVE { own } else { R::lanes_total(own) };
            all.acc = if r == 0 || ends != 0 { own } else { R::combine(all.acc, own) };
            all.ended |= u32::from(ends != 0);
        });
        if R::COMMUTATIVE {
            all.acc = R::lanes_total(all.acc);
        }
        all
    }

    #[inline(always)]
    #[track_caller]
    fn lanes_scan(value: Open<R::Acc>) -> Open<R::Acc> {
        let lane = warp::lane_id();
        let ends = warp::ballot(FULL_MASK, value.ended != 0) & (u32::MAX >> (31 - lane));
        // The distance to the last lane with an end, or to lane 0.
        let lanes = if ends == 0 {
            lane
        } else {
            lane + ends.leading_zeros() - 31
        };
        let mut acc = value.acc;
        unrolled!(step < 5 => {
            let below = warp::shuffle_up(FULL_MASK, acc, 1 << step);
            if lanes >= 1 << step {
                acc = R::combine(below, acc);
            }
        });
        Open::new(acc, ends != 0)
    }
}

/// The heads of segments in the thread's chunks.
#[derive(Debug, Clone, Copy)]
pub struct Heads<A, const ROWS: usize> {
    /// Bit `i` of a chunk's number says whether its element `i` is a head.
    bits: [u32; ROWS],
    /// The prefix before the first element of each segment.
    initial: A,
    /// Whether an element's result leaves the element out.
    exclusive: bool,
}

impl<A, const ROWS: usize> Heads<A, ROWS> {
    /// Makes the heads of a scan with these parameters. Bit `i` of `bits[r]` says whether element `i` of the thread's chunk of
    /// row `r` is one; bits past those of the chunk's elements have no meaning. `any` is any accumulator.
    #[inline(always)]
    pub fn new(bits: [u32; ROWS], start: Start, any: A) -> Self
    where
        A: Plain + Shuffle,
    {
        Self {
            bits,
            initial: start.initial(any),
            exclusive: start.is_exclusive(),
        }
    }
}

impl<R: Scan, const ROWS: usize> Rows<Segmented<R>> for Heads<R::Acc, ROWS> {
    #[inline(always)]
    fn initial(&self) -> Open<R::Acc> {
        Open::new(self.initial, false)
    }

    #[inline(always)]
    fn total(&self, row: usize, chunk: Chunk) -> Open<R::Acc> {
        let (len, bits) = (const { chunk_len::<R::In>() }, self.bits[row]);
        let mut acc = R::IDENTITY;
        unrolled!(i < len of 16 => {
            let value = R::load(element(chunk, i));
            let is_head = bits >> i & 1 != 0;
            acc = if is_head {
                R::combine(self.initial, value)
            } else if i == 0 {
                value
            } else {
                R::combine(acc, value)
            };
        });
        Open::new(acc, bits & ((1 << len) - 1) != 0)
    }

    #[inline(always)]
    #[allow(unused_assignments)] // The last one has no reader.
    fn scan(&self, row: usize, chunk: Chunk, before: Open<R::Acc>) -> Chunk {
        let (len, bits) = (const { chunk_len::<R::In>() }, self.bits[row]);
        let mut prefix = before.acc;
        let mut results = [0; 4];
        unrolled!(i < len of 16 => {
            let is_head = bits >> i & 1 != 0;
            let from = if is_head { self.initial } else { prefix };
            let next = R::combine(from, R::load(element(chunk, i)));
            results = with_element(results, i, R::store(if self.exclusive { from } else { next }));
            prefix = next;
        });
        results
    }
}

/// Scans segments in a single launch, with a block per tile: as [`scan_tiles`](super::scan_tiles), but every element whose bit
/// is set in `heads` begins anew from the initial prefix of `start`. Bit `i % 32` of `heads[i / 32]` is that of element `i`;
/// the bits past the last element are 0.
///
/// Launch: as for `scan_tiles`, with a tile of [`SEGMENTED_CHUNKS`] chunks per thread; static shared memory of 33 accumulators
/// with a flag each. Reads every element and every bit once, and writes every result once.
///
/// # Contract
/// That of `scan_tiles`; `heads` has a bit for each element.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn scan_segmented_tiles<R: Scan>(
    threads: usize,
    windows: usize,
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    heads: Global<u32>,
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
    launch.scan::<Segmented<R>, _, SEGMENTED_CHUNKS>(input, output, |tile| {
        Heads::new(bits(tile, heads), start, R::IDENTITY)
    });
}

/// Returns the bits of the thread's chunks: the lowest ones are those of a chunk's elements.
#[inline(always)]
#[track_caller]
fn bits<R: Scan>(tile: Tile<R, SEGMENTED_CHUNKS>, heads: Global<u32>) -> [u32; SEGMENTED_CHUNKS] {
    let mut bits = [0; SEGMENTED_CHUNKS];
    unrolled!(r < SEGMENTED_CHUNKS => {
        // A chunk's bits lie in one word: a word has those of a whole number of chunks.
        let at = tile.mine() + r * 32 * const { chunk_len::<R::In>() };
        if at < tile.input.len() {
            bits[r] = heads.get(at / 32) >> (at % 32);
        }
    });
    bits
}

/// An operator with a kernel of its own for segments. [`segmented_scan_kernel!`](crate::segmented_scan_kernel!) implements it.
///
/// # Safety
/// The kernel must keep the contract of [`scan_segmented_tiles`], with [`THREADS`](super::THREADS) and
/// [`WINDOWS`](super::WINDOWS).
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait SegmentedScanKernel: Scan {
    /// The kernel.
    const SEGMENTED_KERNEL: crate::kernel::Entry<SegmentedParameters<Self>>;
}

/// The parameters of a kernel for segments: those of [`scan_segmented_tiles`].
#[cfg(not(target_arch = "nvptx64"))]
pub type SegmentedParameters<R> = (
    Global<<R as Scan>::In>,
    GlobalMut<<R as Scan>::In>,
    Global<u32>,
    GlobalMut<u64>,
    GlobalMut<u64>,
    GlobalMut<u64>,
    Start,
);

/// Makes a kernel of an operator for segments: `segmented_scan_kernel!(name: Type);`, or several separated by commas. `Type`
/// implements [`Scan`](crate::scan::Scan). `name` is the kernel's name in the PTX. A segment's scan is that of an array, and
/// `Device::scan_segments` of the library `warpwright` and its like launch the kernel.
#[macro_export]
macro_rules! segmented_scan_kernel {
    ($($name:ident: $operator:ty),+ $(,)?) => { $(
        const _: () = {
            /// Scans the elements of each segment.
            ///
            /// # Safety
            /// The contract of `cuda_std::scan::scan_segmented_tiles` must hold.
            #[$crate::kernel(launch_bounds($crate::scan::THREADS as u32, 2), marker = Marker)]
            #[allow(clippy::too_many_arguments)]
            unsafe fn $name(
                input: $crate::Global<<$operator as $crate::scan::Scan>::In>,
                output: $crate::GlobalMut<<$operator as $crate::scan::Scan>::In>,
                heads: $crate::Global<u32>,
                control: $crate::GlobalMut<u64>,
                statuses: $crate::GlobalMut<u64>,
                batches: $crate::GlobalMut<u64>,
                start: $crate::scan::Start,
            ) {
                use $crate::scan::{THREADS, WINDOWS, scan_segmented_tiles};
                scan_segmented_tiles::<$operator>(
                    THREADS, WINDOWS, input, output, heads, control, statuses, batches, start,
                );
            }

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: this is the kernel above, whose body is `scan_segmented_tiles`.
            unsafe impl $crate::scan::SegmentedScanKernel for $operator {
                const SEGMENTED_KERNEL: $crate::kernel::Entry<
                    $crate::scan::SegmentedParameters<Self>,
                > = $crate::kernel::Entry::of::<Marker>();
            }
        };
    )+ };
}

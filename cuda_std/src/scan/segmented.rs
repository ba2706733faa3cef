//! Scans that begin anew at the first element of each segment.
//!
//! A bit for each element says whether a segment begins there. A prefix then has a flag besides: whether a segment begins in
//! the elements that it is of. What comes before such a prefix does not change it, which makes the operator of a segmented scan
//! from that of a scan (Blelloch, "Prefix Sums and Their Applications", 1990), and everything else is as for a scan.

use core::marker::PhantomData;

use super::{
    Chunk, Launch, Scan, Start, chunk_len, element,
    pieces::{Rows, Tile},
    with_element,
};
use crate::{Global, GlobalMut, Plain, unrolled, warp::Shuffle};

/// The 16-byte chunks that a thread takes of a tile: fewer than in a scan without segments, whose prefixes have no flags.
pub const SEGMENTED_CHUNKS: usize = 4;

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
}

/// The heads of segments in the thread's chunks.
struct Heads<A> {
    /// Bit `i` of a chunk's number says whether its element `i` is a head.
    bits: [u32; SEGMENTED_CHUNKS],
    /// The prefix before the first element of each segment.
    initial: A,
    /// Whether an element's result leaves the element out.
    exclusive: bool,
}

impl<R: Scan> Rows<Segmented<R>> for Heads<R::Acc> {
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
    launch.scan::<Segmented<R>, _, SEGMENTED_CHUNKS>(input, output, |tile| Heads {
        bits: bits(tile, heads),
        initial: start.initial(R::IDENTITY),
        exclusive: start.is_exclusive(),
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

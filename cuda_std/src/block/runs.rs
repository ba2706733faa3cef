//! Runs of equal neighbors in a tile: their heads and tails, run-length encoding and decoding.

use super::{index, is_tile, scan};
use crate::{Plain, Shared, thread, tile, unrolled};

/// Returns for each of this thread's items, in blocked order, whether a run begins there: whether it is not the `same` as the
/// item before it.
///
/// `same` gets two neighbors, the one before first. `before` is the item before the tile, of which thread 0 takes note alone;
/// without one the tile's first item is a head. Shared memory: an element per thread. One barrier.
#[inline(always)]
#[track_caller]
pub fn run_heads<T: Plain, const THREADS: usize, const ITEMS: usize>(
    items: [T; ITEMS],
    before: Option<T>,
    memory: Shared<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let thread = index();
    memory.set(thread, items[ITEMS - 1]);
    thread::sync_threads();
    let neighbor = match thread {
        0 => before,
        _ => Some(memory.get(thread - 1)),
    };
    tile::run_heads(items, neighbor, same)
}

/// Returns for each of this thread's items, in blocked order, whether a run ends there: whether it is not the `same` as the
/// item after it.
///
/// `after` is the item after the tile, of which the last thread takes note alone; without one the tile's last item is a tail.
/// As [`run_heads`].
#[inline(always)]
#[track_caller]
pub fn run_tails<T: Plain, const THREADS: usize, const ITEMS: usize>(
    items: [T; ITEMS],
    after: Option<T>,
    memory: Shared<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let thread = index();
    memory.set(thread, items[0]);
    thread::sync_threads();
    let neighbor = match thread {
        last if last == THREADS - 1 => after,
        _ => Some(memory.get(thread + 1)),
    };
    tile::run_tails(items, neighbor, same)
}

/// Returns the number of words of shared memory that [`Runs`] of `ITEMS` runs per thread need in a block of `threads`, beside
/// that of the values: where each run starts, the end, and [`scan_len`](super::scan_len).
pub const fn runs_len<const ITEMS: usize>(threads: usize) -> usize {
    threads * ITEMS + 1 + scan::scan_len(threads)
}

/// Runs of values in shared memory: run-length encoded items.
///
/// All threads of the block hold the same runs, which stand in the memory that was given for them until that has another use.
///
/// ```
/// use cuda_std::{block::{self, Runs}, prelude::*};
///
/// /// Writes value `i` `lengths[i]` times, for 128 * 2 values. `output` has room for all.
/// #[kernel(launch_bounds(128))]
/// pub unsafe fn repeat(values: Global<u32>, lengths: Global<u32>, output: GlobalMut<u32>) {
///     let words = shared![u32; block::runs_len::<2>(128)];
///     let memory = shared![u32; block::exchange_len::<4>(128)];
///     let repeated = shared![u32; 256];
///     let lengths = block::load_blocked::<_, 128, 2>(lengths, 0, memory);
///     let values = block::load_blocked::<_, 128, 2>(values, 0, repeated);
///     thread::sync_threads();
///     let runs = Runs::from_lengths::<128, 2>(values, lengths, repeated, words);
///     let mut from = 0;
///     while from < runs.items() {
///         let (items, _) = runs.decode::<128, 4>(from, 0);
///         let elements = from as usize..runs.items() as usize;
///         block::store_blocked_part::<_, 128, 4>(output, elements, items, memory);
///         thread::sync_threads();
///         from += 512;
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Runs<T> {
    values: Shared<T>,
    /// Where each run starts, and behind the last one where it ends.
    starts: Shared<u32>,
    count: u32,
}

impl<T: Plain> Runs<T> {
    /// Finds the runs of the first `len` items of a tile, from all threads' items in blocked order.
    ///
    /// A run is a maximal sequence of items each of which is the `same` as the one before it; its value is its first item. A
    /// run that goes on in the next tile ends with this one. `len` must be the same in all threads, and at most the tile's
    /// length.
    ///
    /// Shared memory: `THREADS * ITEMS` elements in `values`, [`runs_len`] words in `words`. Three barriers, after the last of
    /// which every thread may read the runs.
    #[inline(always)]
    #[track_caller]
    #[allow(unused_assignments)] // The last ones have no reader.
    pub fn encode<const THREADS: usize, const ITEMS: usize>(
        items: [T; ITEMS],
        len: u32,
        values: Shared<T>,
        words: Shared<u32>,
        same: impl Fn(T, T) -> bool,
    ) -> Self {
        let mut heads = run_heads::<T, THREADS, ITEMS>(items, None, values, same);
        let first = (index() * ITEMS) as u32;
        let mut own = 0;
        unrolled!(k < ITEMS of 32 => {
            heads[k] &= first + (k as u32) < len;
            own += u32::from(heads[k]);
        });
        // Its barrier comes between the loads of `run_heads` and the stores below.
        let sums = words.skip(THREADS * ITEMS + 1);
        let (mut run, count) = scan::exclusive_scan::<u32, THREADS>(own, 0, sums, |a, b| a + b);
        unrolled!(k < ITEMS of 32 => {
            if heads[k] {
                values.set(run as usize, items[k]);
                words.set(run as usize, first + k as u32);
                run += 1;
            }
        });
        if index() == 0 {
            words.set(count as usize, len);
        }
        thread::sync_threads();
        Self {
            values,
            starts: words,
            count,
        }
    }

    /// Makes runs from all threads' values and lengths, `ITEMS` of each per thread in blocked order. A length may be 0. The sum
    /// of all lengths must be below 2^32.
    ///
    /// Shared memory as for [`encode`](Self::encode). Two barriers, after the last of which every thread may read the runs.
    #[inline(always)]
    #[track_caller]
    #[allow(unused_assignments)] // The last ones have no reader.
    pub fn from_lengths<const THREADS: usize, const ITEMS: usize>(
        values: [T; ITEMS],
        lengths: [u32; ITEMS],
        values_memory: Shared<T>,
        words: Shared<u32>,
    ) -> Self {
        const { assert!(is_tile(THREADS, ITEMS)) };
        let first = index() * ITEMS;
        let mut own = 0;
        unrolled!(k < ITEMS of 32 => { own += lengths[k]; });
        let sums = words.skip(THREADS * ITEMS + 1);
        let (mut start, end) = scan::exclusive_scan::<u32, THREADS>(own, 0, sums, |a, b| a + b);
        unrolled!(k < ITEMS of 32 => {
            values_memory.set(first + k, values[k]);
            words.set(first + k, start);
            start += lengths[k];
        });
        if index() == 0 {
            words.set(THREADS * ITEMS, end);
        }
        thread::sync_threads();
        Self {
            values: values_memory,
            starts: words,
            count: (THREADS * ITEMS) as u32,
        }
    }

    /// Returns the number of runs.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns the number of items of all runs.
    #[inline(always)]
    #[track_caller]
    pub fn items(self) -> u32 {
        self.start(self.count)
    }

    /// Returns the value of a run, which must be one of the runs.
    #[inline(always)]
    #[track_caller]
    pub fn value(self, run: u32) -> T {
        self.values.get(run as usize)
    }

    /// Returns the number of items before a run. For [`count`](Self::count) it is that of all runs.
    #[inline(always)]
    #[track_caller]
    pub fn start(self, run: u32) -> u32 {
        self.starts.get(run as usize)
    }

    /// Returns the number of items of a run, which must be one of the runs.
    #[inline(always)]
    #[track_caller]
    pub fn length(self, run: u32) -> u32 {
        self.start(run + 1) - self.start(run)
    }

    /// Returns this thread's items, in blocked order, of the tile of the runs' items that begins at item `from`; and for each
    /// of them its number in its run. Items behind the last run are `fill`, with number 0.
    ///
    /// A block takes a window of the items at a time, since lengths may be large. No barrier: `THREADS` threads take part, each
    /// by itself. A thread finds its first item's run by bisection, and goes on from there.
    #[inline(always)]
    #[track_caller]
    pub fn decode<const THREADS: usize, const ITEMS: usize>(
        self,
        from: u32,
        fill: T,
    ) -> ([T; ITEMS], [u32; ITEMS]) {
        const { assert!(is_tile(THREADS, ITEMS)) };
        let (mut items, mut numbers) = ([fill; ITEMS], [0; ITEMS]);
        let all = self.items();
        // No item has the number `u32::MAX`.
        let first = from.saturating_add((index() * ITEMS) as u32);
        if first >= all {
            return (items, numbers);
        }
        // The first run that ends behind the item; runs without items end where they start.
        let (mut run, mut last) = (0, self.count - 1);
        while run < last {
            let middle = (run + last) / 2;
            if self.start(middle + 1) > first {
                last = middle;
            } else {
                run = middle + 1;
            }
        }
        let (mut value, mut start, mut end) =
            (self.value(run), self.start(run), self.start(run + 1));
        unrolled!(k < ITEMS of 32 => {
            let item = first.saturating_add(k as u32);
            if item < all {
                while end <= item {
                    run += 1;
                    (value, start, end) = (self.value(run), end, self.start(run + 1));
                }
                (items[k], numbers[k]) = (value, item - start);
            }
        });
        (items, numbers)
    }
}

//! Scans and reductions of one value per thread.

use super::{index, is_block};
use crate::{
    Plain, Shared, thread,
    warp::{self, FULL_MASK, Shuffle},
};

/// Returns the number of elements of shared memory that scans and reductions of a block of `threads` need: one per warp.
pub const fn scan_len(threads: usize) -> usize {
    threads / 32
}

/// Returns the combination of the values of threads 0 up to this one, and that of all threads.
///
/// `combine` must be associative, and need not be commutative: its first argument is always from lower threads. Floats: the
/// order of the operations depends on `THREADS` and the thread's index alone. Shared memory: [`scan_len`] elements. One
/// barrier.
#[inline(always)]
#[track_caller]
pub fn inclusive_scan<T: Shuffle + Plain, const THREADS: usize>(
    value: T,
    memory: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> (T, T) {
    let inclusive = warp::inclusive_scan(value, &combine);
    let (below, total) = totals::<T, THREADS>(inclusive, memory, &combine);
    let value = match index() / 32 {
        0 => inclusive,
        _ => combine(below, inclusive),
    };
    (value, total)
}

/// Returns the combination of `initial` and the values of the threads below this one, and that of `initial` and the values
/// of all threads. As [`inclusive_scan`].
#[inline(always)]
#[track_caller]
pub fn exclusive_scan<T: Shuffle + Plain, const THREADS: usize>(
    value: T,
    initial: T,
    memory: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> (T, T) {
    let inclusive = warp::inclusive_scan(value, &combine);
    let (below, total) = totals::<T, THREADS>(inclusive, memory, &combine);
    let before_warp = match index() / 32 {
        0 => initial,
        _ => combine(initial, below),
    };
    let in_warp = warp::shuffle_up(FULL_MASK, inclusive, 1);
    let value = match index() % 32 {
        0 => before_warp,
        _ => combine(before_warp, in_warp),
    };
    (value, combine(initial, total))
}

/// Returns the combination of the values of all threads, in the order of the threads, to every thread. As
/// [`inclusive_scan`].
#[inline(always)]
#[track_caller]
pub fn reduce<T: Shuffle + Plain, const THREADS: usize>(
    value: T,
    memory: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> T {
    let value = warp::reduce(value, &combine);
    totals::<T, THREADS>(value, memory, &combine).1
}

/// Returns the combination of the warps below this one (meaningless in the first warp) and of all warps, from the value of
/// each warp's last lane.
#[inline(always)]
#[track_caller]
fn totals<T: Shuffle + Plain, const THREADS: usize>(
    value: T,
    memory: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> (T, T) {
    const { assert!(is_block(THREADS)) };
    let (lane, warp) = (index() % 32, index() / 32);
    if lane == 31 {
        memory.set(warp, value);
    }
    thread::sync_threads();
    if const { THREADS == 32 } {
        let total = memory.get(0);
        return (total, total);
    }
    // Lanes above the warps take the last warp's value. Nobody looks at their result.
    let inclusive = warp::inclusive_scan(memory.get(lane.min(THREADS / 32 - 1)), combine);
    let below = warp::shuffle(FULL_MASK, inclusive, (warp as u32).wrapping_sub(1));
    let total = warp::shuffle(FULL_MASK, inclusive, THREADS as u32 / 32 - 1);
    (below, total)
}

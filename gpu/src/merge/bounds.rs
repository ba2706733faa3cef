//! The places of keys in a sorted array.

use cuda_std::{prelude::*, unrolled};

use super::{
    order::search,
    policy::{BOUNDS_BLOCK, NEEDLES, RESIDENT, SPLITTERS},
};
use crate::sort::{Bits, Twist};

/// Returns whether a key of the sorted array counts for a needle. Both are twisted.
#[inline(always)]
pub(super) fn counts<U: Bits>(key: U, needle: U, upper: u32) -> bool {
    key < needle || upper != 0 && key == needle
}

/// Counts the keys of `sorted` that are less than each needle, or if `upper` is 1 not greater.
///
/// ```text
/// block:
///     1024 keys at equal distances to shared memory
///     each thread, four needles at a time: search among these, then between two of them
/// ```
///
/// Launch: a block of 256 threads for each 1024 needles. Static shared memory of 1024 keys. Reads every needle once and writes
/// every place once; a search reads one key for each doubling of the distance. Exact.
///
/// # Safety
/// `places` has as many elements as `needles` and overlaps nothing.
#[kernel(
    launch_bounds(BOUNDS_BLOCK as u32, RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn merge_best_bounds<U: Bits>(
    sorted: Global<U>,
    needles: Global<U>,
    twist: Twist<U>,
    upper: u32,
    places: GlobalMut<u64>,
) {
    let splitters = shared![U; SPLITTERS];
    let t = thread::thread_idx_x() as usize;
    let len = sorted.len();
    // Splitter `i` is the last of `distance` keys.
    let distance = len / SPLITTERS + 1;
    let count = len / distance;
    unrolled!(round < (SPLITTERS / BOUNDS_BLOCK) of 4 => {
        let i = round * BOUNDS_BLOCK + t;
        if i < count {
            splitters.set(i, sorted.get(i * distance + distance - 1).twist(twist));
        }
    });
    thread::sync_threads();
    let first = thread::block_idx_x() as usize * (BOUNDS_BLOCK * NEEDLES) + t;
    let mut held = [U::ZERO; NEEDLES];
    let (mut low, mut high) = ([0; NEEDLES], [0; NEEDLES]);
    unrolled!(k < NEEDLES of 4 => {
        let i = first + k * BOUNDS_BLOCK;
        if i < needles.len() {
            held[k] = needles.get_streaming(i).twist(twist);
            let part = search(0, count, |i| !counts(splitters.get(i), held[k], upper));
            low[k] = part * distance;
            high[k] = len.min(low[k] + distance - 1);
        }
    });
    // A step of all searches at a time: four loads are under way.
    let mut left = distance;
    while left > 1 {
        unrolled!(k < NEEDLES of 4 => {
            if low[k] < high[k] {
                let middle = low[k] + (high[k] - low[k]) / 2;
                if counts(sorted.get(middle).twist(twist), held[k], upper) {
                    low[k] = middle + 1;
                } else {
                    high[k] = middle;
                }
            }
        });
        left = left.div_ceil(2);
    }
    unrolled!(k < NEEDLES of 4 => {
        let i = first + k * BOUNDS_BLOCK;
        if i < needles.len() {
            places.set_streaming(i, low[k] as u64);
        }
    });
}

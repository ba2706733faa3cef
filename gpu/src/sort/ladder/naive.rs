//! `naive`: a network of comparisons over the positions of the keys, then one gather.
//!
//! ```text
//! for each block size 2, 4, 8, … up to the number of keys:
//!     compare each element of a block with its mirror image in the block
//!     for each distance a quarter of the block, an eighth, … 1: compare each element with the one at that distance
//! output[i] = input[positions[i]]
//! ```
//!
//! Each comparison puts the lesser of two elements first, so the elements that are missing to a power of two count as the
//! greatest and are not stored. All comparisons of a step are independent: a step is a launch, and there are
//! `log2(n) * (log2(n) + 1) / 2` of them, each of which moves everything.
//!
//! Source: Batcher, "Sorting networks and their applications", 1968, in the form without descending halves.

use cuda_std::prelude::*;

use crate::sort::{
    bits::{Bits, Range, Twist},
    policy::RUNG_BLOCK,
};

/// Does one step of the network over `positions`, which are ordered by the bits of their keys, and equals by themselves.
///
/// Comparison `t` is of the elements `i` and `i + distance`, or in the first step of a block of `2 * distance` elements of `i`
/// and its mirror image. In the very first step, `distance` 1, the positions are 0, 1, 2, … whatever is stored.
///
/// Launch: a thread per comparison, of which there are half as many as the next power of two of the keys; blocks of 256. Exact.
///
/// # Safety
/// `positions` has an element per key, which is the position of one, and nothing else uses it.
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn sort_naive_step<U: Bits>(
    keys: Global<U>,
    positions: GlobalMut<u64>,
    distance: usize,
    mirrored: u32,
    range: Range,
    twist: Twist<U>,
) {
    let t = thread::index_1d_wide();
    let n = keys.len();
    let within = t % distance;
    let block = (t - within) * 2;
    let a = block + within;
    let b = if mirrored != 0 {
        block + 2 * distance - 1 - within
    } else {
        a + distance
    };
    if a >= n {
        return;
    }
    let is_first = distance == 1 && mirrored != 0;
    let position = |i: usize| if is_first { i as u64 } else { positions.get(i) };
    if b >= n {
        if is_first {
            positions.set(a, a as u64);
        }
        return;
    }
    let rank = |position: u64| {
        let bits = keys.get(position as usize).twist(twist).to_word() >> range.first;
        (bits & (u64::MAX >> (64 - range.bits)), position)
    };
    let (low, high) = (position(a), position(b));
    let swapped = rank(low) > rank(high);
    if swapped || is_first {
        positions.set(a, if swapped { high } else { low });
        positions.set(b, if swapped { low } else { high });
    }
}

//! Runs of equal keys.

use cuda_std::{Plain, prelude::*, warp};

use crate::segments::{
    Offsets,
    policy::{BLOCK, KEY_GROUP},
};

/// Calls `$callback!` with one row per type of keys: its suffix, its predicate, and where that takes its second argument from.
/// Integers have instances by size.
macro_rules! with_keys {
    ($callback:ident) => {
        $callback! {
            b1: (Changed<u8>, Neighbors),
            b2: (Changed<u16>, Neighbors),
            b4: (Changed<u32>, Neighbors),
            b8: (Changed<u64>, Neighbors),
            f16: (Changed<f16>, Neighbors),
            bf16: (Changed<bf16>, Neighbors),
            f32: (Changed<f32>, Neighbors),
            f64: (Changed<f64>, Neighbors),
        }
    };
}
pub(crate) use with_keys;

/// Writes the first key of each run of equal keys to `output`, and its position to `positions`. A position takes `per_position`
/// elements of `positions`, 1 or 2; none is written for 0. A bit of `heads` for each key says whether a run begins there, and
/// `starts[g]` how many begin before key `g * KEY_GROUP`.
///
/// Launch: a warp for each [`KEY_GROUP`] keys, in blocks of 256 threads; static shared memory of 32 KiB. Reads every bit once,
/// and the first key of each run.
///
/// # Safety
/// `heads` and `starts` are as the kernels `scan_heads_of_keys` and `scan_best` write them. `output` and `positions` have room
/// for each run, and overlap nothing.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn segments_runs<T: Plain>(
    keys: Global<T>,
    heads: Global<u32>,
    starts: Global<u64>,
    output: GlobalMut<T>,
    positions: GlobalMut<u32>,
    per_position: u32,
) {
    let places = shared![u16; BLOCK / 32 * KEY_GROUP];
    let (lane, warp) = (
        warp::lane_id() as usize,
        thread::thread_idx_x() as usize / 32,
    );
    let group = thread::index_1d_wide() / 32;
    let first = group * KEY_GROUP;
    if first >= keys.len() {
        return;
    }
    // Each lane finds the places of its bits in the group; then all lanes copy what is there, side by side.
    const { assert!(KEY_GROUP == 32 * 64) };
    let at = first / 32 + 2 * lane;
    let word = |at: usize| u64::from(if at < heads.len() { heads.get(at) } else { 0 });
    let mut left = word(at) | word(at + 1) << 32;
    let count = left.count_ones();
    let up_to = warp::inclusive_scan(count, |a, b| a + b);
    let all = warp::shuffle(warp::FULL_MASK, up_to, 31) as usize;
    let places = places.skip(warp * KEY_GROUP);
    let mut rank = (up_to - count) as usize;
    while left != 0 {
        places.set(rank, (64 * lane) as u16 + left.trailing_zeros() as u16);
        rank += 1;
        left &= left - 1;
    }
    // SAFETY: all lanes of the warp are here.
    unsafe { warp::sync_warp(warp::FULL_MASK) };
    let start = starts.get(group) as usize;
    let mut i = lane;
    while i < all {
        let at = first + usize::from(places.get(i));
        output.set(start + i, keys.get(at));
        if per_position == 1 {
            positions.set(start + i, at as u32);
        } else if per_position == 2 {
            let words = [at as u32, (at as u64 >> 32) as u32];
            positions.set_chunk(2 * (start + i), words);
        }
        i += 32;
    }
}

/// Writes the length of each segment to `lengths`. For `count` see [`Offsets::new`]; `elements` is where the last one ends.
///
/// Launch: any number of blocks of 256 threads, as many as are resident. Reads every offset twice.
///
/// # Safety
/// The offsets do not fall, and none is above `elements`. `lengths` has an element per segment.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_lengths(
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    elements: usize,
    lengths: GlobalMut<u64>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, elements);
    let mut s = thread::index_1d_wide();
    while s < offsets.len() {
        lengths.set(s, (offsets.get(s + 1) - offsets.get(s)) as u64);
        s += thread::grid_stride();
    }
}

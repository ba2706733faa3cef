//! Defects planted in the convolutions `tiled` and `basic` (`gpu/src/convolution`), and in how `best` goes from tile to
//! tile: windows of `n` elements, all of whose weights are one.

use cuda_std::{
    prelude::*,
    shared::DynamicShared,
    warp::{self, FULL_MASK},
};

use crate::NOTHING;

const BLOCK: usize = 256;

/// Tiles that a block of `best` goes through.
const TILES: usize = 8;

/// The element at `i`, 0 outside of the row.
#[inline(always)]
#[track_caller]
fn at(input: Global<u32>, i: isize) -> u32 {
    if i >= 0 && (i as usize) < input.len() {
        input.get(i as usize)
    } else {
        0
    }
}

// What is wrong with `tiled`.
wrong! { in_convolution_tiled:
    /// The halo on the right is not loaded.
    MISSING_HALO = 1, // AT: convolution_tiled for init
    /// There is no barrier between loading and the windows.
    NO_BARRIER = 2, // AT: convolution_tiled for race, init
    /// The tile is one element too short for its halo.
    SHORT_HALO = 3, // AT: convolution_tiled for mem
}

/// `tiled`.
#[kernel(launch_bounds(256), instances = in_convolution_tiled)]
pub unsafe fn convolution_tiled<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let tid = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * BLOCK;
    let len = BLOCK - 1 + n - usize::from(WRONG == SHORT_HALO);
    // SAFETY: the only one of this kernel.
    let tile: Shared<u32> = unsafe { DynamicShared::new() }.carve(len);
    let left = first as isize - (n / 2) as isize;
    let mut i = tid;
    while i < if WRONG == MISSING_HALO { BLOCK } else { len } {
        tile.set(i, at(input, left + i as isize));
        i += BLOCK;
    }
    if WRONG != NO_BARRIER {
        thread::sync_threads();
    }
    if first + tid < output.len() {
        let mut sum = 0_u32;
        let mut j = 0;
        while j < n {
            sum = sum.wrapping_add(tile.get(tid + j)); // HERE: race, init, mem
            j += 1;
        }
        output.set(first + tid, sum);
    }
}

/// `best`, one output per lane: its tiles follow each other before all lanes are done with their windows.
#[kernel(launch_bounds(32), instances(correct: (false), defect: (true)))]
pub unsafe fn convolution_best_no_sync_behind_use<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let lane = thread::thread_idx_x() as usize;
    let mut first = thread::block_idx_x() as usize * TILES * 32;
    let kept = n - 1;
    // SAFETY: the only one of this kernel.
    let tile: Shared<u32> = unsafe { DynamicShared::new() }.carve(32 + kept);
    // As if the tile before had been there.
    let new = |first: usize| at(input, (first + kept + lane) as isize - (n / 2) as isize);
    if lane < kept {
        tile.set(
            32 + lane,
            at(input, (first + lane) as isize - (n / 2) as isize),
        );
    }
    let mut ahead = new(first);
    // SAFETY: all lanes of the block's only warp come here.
    unsafe { warp::sync_warp(FULL_MASK) };
    let mut number = 0;
    while number < TILES {
        if lane < kept {
            tile.set(lane, tile.get(32 + lane)); // HERE: race
        }
        // SAFETY: as above.
        unsafe { warp::sync_warp(FULL_MASK) };
        tile.set(kept + lane, ahead);
        // SAFETY: as above.
        unsafe { warp::sync_warp(FULL_MASK) };
        ahead = new(first + 32);
        let mut sum = 0_u32;
        let mut j = 0;
        while j < n {
            sum = sum.wrapping_add(tile.get(lane + j)); // HERE: race
            j += 1;
        }
        if !DEFECT {
            // SAFETY: as above.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        if first + lane < output.len() {
            output.set(first + lane, sum);
        }
        first += 32;
        number += 1;
    }
}

/// `basic` that does not ask whether the window leaves the row.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn convolution_basic_unguarded<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        let mut sum = 0_u32;
        let mut j = 0;
        while j < n {
            let value = if DEFECT {
                input.get((i + j).wrapping_sub(n / 2)) // HERE: mem
            } else {
                at(input, (i + j) as isize - (n / 2) as isize)
            };
            sum = sum.wrapping_add(value);
            j += 1;
        }
        output.set(i, sum);
    }
}

/// `basic` in place: a window reads what another block may have written.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn convolution_in_place<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        let mut sum = 0_u32;
        let mut j = i.saturating_sub(n / 2);
        while j < (i + n.div_ceil(2)).min(input.len()) {
            let value = if DEFECT { output.get(j) } else { input.get(j) }; // HERE: race
            sum = sum.wrapping_add(value);
            j += 1;
        }
        output.set(i, sum); // HERE: race
    }
}

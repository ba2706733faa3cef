//! Defects planted in two kernels whose elements come by asynchronous copies, to two buffers in turn.
//!
//! One is the tiled product of `gpu/src/gemm/tiled.rs` with the next tiles on their way while one is used: `output`
//! is the product of two square matrices of `n` rows, which follow each other in `input`. The other is a map in
//! place over all of `output`, each lane with elements of its own.

use cuda_std::{async_copy, prelude::*};

const TILE: usize = 16;
const BLOCK: usize = 256;

/// What is wrong with the kernels.
const NOTHING: u32 = 0;
const WAIT_BEHIND_USE: u32 = 1;
const ONE_GROUP_LESS: u32 = 2;
const NO_BARRIER_BEHIND_WAIT: u32 = 3;
const NO_BARRIER_BEHIND_USE: u32 = 4;
const ONE_BUFFER: u32 = 5;
const ONE_TILE_TOO_MANY: u32 = 6;
const RESULT_ONE_STEP_ON: u32 = 7;

/// Starts to copy the tile at `top`, `left` of the matrix that starts at element `first`; outside of the
/// matrix there are zeros.
#[inline(always)]
#[track_caller]
fn start(
    to: Shared<u32>,
    buffer: usize,
    input: Global<u32>,
    first: usize,
    origin: [usize; 2],
    n: usize,
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (row, column) = (origin[0] + y, origin[1] + x);
    let inside = usize::from(row < n && column < n);
    let at = (buffer * TILE + y) * TILE + x;
    to.copy_async_chunk_or_zeros::<1>(at, input, first + row * n + column, inside);
}

/// `tiled` with two tiles of each matrix in turn.
#[inline(always)]
fn tiled<const WRONG: u32>(input: Global<u32>, output: GlobalMut<u32>, n: usize) {
    let (a, b) = (shared![u32; 2 * TILE * TILE], shared![u32; 2 * TILE * TILE]);
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_x() as usize * TILE,
        thread::block_idx_y() as usize * TILE,
    );
    let mut sum = 0_u32;
    start(a, 0, input, 0, [top, 0], n);
    start(b, 0, input, n * n, [0, left], n);
    async_copy::commit_group();
    let (mut from, mut buffer) = (0, 0);
    while from < n {
        let next = from + TILE;
        let other = if WRONG == ONE_BUFFER {
            buffer
        } else {
            1 - buffer
        };
        if next < n || WRONG == ONE_TILE_TOO_MANY {
            start(a, other, input, 0, [top, next], n); // HERE: race, sync
            start(b, other, input, n * n, [next, left], n); // HERE: race, sync
        }
        async_copy::commit_group();
        match WRONG {
            WAIT_BEHIND_USE => {}
            ONE_GROUP_LESS => async_copy::wait_group::<2>(),
            // All but the tiles that were started last.
            _ => async_copy::wait_group::<1>(),
        }
        if WRONG != NO_BARRIER_BEHIND_WAIT {
            thread::sync_threads();
        }
        let count = (n - from).min(TILE);
        let mut k = 0;
        while k < count {
            let left = a.get((buffer * TILE + y) * TILE + k); // HERE: race, init
            let right = b.get((buffer * TILE + k) * TILE + x); // HERE: race, init
            sum = sum.wrapping_add(left.wrapping_mul(right));
            k += 1;
        }
        if WRONG == WAIT_BEHIND_USE {
            async_copy::wait_group::<1>();
        }
        if WRONG != NO_BARRIER_BEHIND_USE {
            thread::sync_threads();
        }
        (from, buffer) = (next, other);
    }
    if top + y < n && left + x < n {
        output.set((top + y) * n + left + x, sum);
    }
}

/// A map in place, whose lanes have their next element on its way.
#[inline(always)]
fn in_place<const WRONG: u32>(output: GlobalMut<u32>) {
    let buffers = shared![u32; 2 * BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let stride = thread::grid_stride();
    let mut i = thread::index_1d_wide();
    if i < output.len() {
        buffers.copy_async(tid, output, i);
    }
    async_copy::commit_group();
    let mut buffer = 0;
    while i < output.len() {
        let next = i + stride;
        if next < output.len() {
            buffers.copy_async((1 - buffer) * BLOCK + tid, output, next); // HERE: race
        }
        async_copy::commit_group();
        async_copy::wait_group::<1>();
        let value = buffers.get(buffer * BLOCK + tid).wrapping_mul(0x9e37_79b9);
        let to = if WRONG == RESULT_ONE_STEP_ON { next } else { i };
        if to < output.len() {
            output.set(to, value); // HERE: race
        }
        (i, buffer) = (next, 1 - buffer);
    }
}

/// The product that waits for its tiles behind their use.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_wait_behind_use<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for race
    match DEFECT {
        true => tiled::<WAIT_BEHIND_USE>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The product that leaves one group more under way than it may.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_one_group_less<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for race
    match DEFECT {
        true => tiled::<ONE_GROUP_LESS>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The product without the barrier between a lane's wait and the use of what other lanes copied.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_no_barrier_behind_wait<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled
    match DEFECT {
        true => tiled::<NO_BARRIER_BEHIND_WAIT>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The product without the barrier between the use of a buffer and the next copies to it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_no_barrier_behind_use<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for race
    match DEFECT {
        true => tiled::<NO_BARRIER_BEHIND_USE>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The product whose next tiles go where the last ones are still on their way.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_one_buffer<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for race
    match DEFECT {
        true => tiled::<ONE_BUFFER>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The product that starts tiles behind the last ones, for which nobody waits.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_async_one_tile_too_many<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for sync
    match DEFECT {
        true => tiled::<ONE_TILE_TOO_MANY>(input, output, n),
        false => tiled::<NOTHING>(input, output, n),
    }
}

/// The map that writes a result where the next element is being copied from.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_async_result_one_step_on<const DEFECT: bool>(
    _input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: in_place
    match DEFECT {
        true => in_place::<RESULT_ONE_STEP_ON>(output),
        false => in_place::<NOTHING>(output),
    }
}

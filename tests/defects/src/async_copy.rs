//! Defects planted in two kernels whose elements come by asynchronous copies, to two buffers in turn.
//!
//! One is the tiled product of `gpu/src/gemm/tiled.rs` with the next tiles on their way while one is used: `output`
//! is the product of two square matrices of `n` rows, which follow each other in `input`. The other is a map in
//! place over all of `output`, each lane with elements of its own.

use cuda_std::{async_copy, prelude::*};

use crate::NOTHING;

const TILE: usize = 16;
const BLOCK: usize = 256;

// What is wrong with the product.
wrong! { in_gemm_async:
    /// The tiles are waited for behind their use.
    WAIT_BEHIND_USE = 1, // AT: gemm_async for race
    /// One group more is left under way than may be.
    ONE_GROUP_LESS = 2, // AT: gemm_async for race
    /// There is no barrier between a lane's wait and the use of what other lanes copied.
    NO_BARRIER_BEHIND_WAIT = 3, // AT: gemm_async
    /// There is no barrier between the use of a buffer and the next copies to it.
    NO_BARRIER_BEHIND_USE = 4, // AT: gemm_async for race
    /// The next tiles go where the last ones are still on their way.
    ONE_BUFFER = 5, // AT: gemm_async for race
    /// Tiles are started behind the last ones, for which nobody waits.
    ONE_TILE_TOO_MANY = 6, // AT: gemm_async for sync
}

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
#[kernel(launch_bounds(256), instances = in_gemm_async)]
pub unsafe fn gemm_async<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
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

/// A map in place, whose lanes have their next element on its way, that writes a result where the next element is being
/// copied from.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_async_result_one_step_on<const DEFECT: bool>(
    _input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
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
        let to = if DEFECT { next } else { i };
        if to < output.len() {
            output.set(to, value); // HERE: race
        }
        (i, buffer) = (next, 1 - buffer);
    }
}

//! Defects planted in the tiled product of matrices (`gpu/src/gemm/ladder/tiled.rs`): `output` is the product of
//! two square matrices of `n` rows, which follow each other in `input`.

use cuda_std::prelude::*;

use crate::NOTHING;

const TILE: usize = 16;

// What is wrong with `tiled`.
wrong! { in_gemm_tiled:
    /// There is no barrier between loading the tiles and using them.
    NO_BARRIER_BEHIND_LOAD = 1, // AT: gemm_tiled for race, init
    /// There is no barrier between using the tiles and loading the next ones over them.
    NO_BARRIER_BEHIND_USE = 2, // AT: gemm_tiled for race, init
    /// Lanes outside of the result leave the loop, and its barriers, at once.
    EARLY_RETURN = 3, // AT: gemm_tiled for sync
    /// The tiles keep what they held where a matrix ends.
    EDGE_UNWRITTEN = 4, // AT: gemm_tiled for init
}

/// Loads the tile at `top`, `left` of the matrix that starts at element `first`; elements
/// outside are set to nought.
#[inline(always)]
#[track_caller]
fn load<const WRONG: u32>(
    tile: Shared<u32>,
    input: Global<u32>,
    first: usize,
    top: usize,
    left: usize,
    n: usize,
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let inside = top + y < n && left + x < n;
    let value = if inside {
        input.get(first + (top + y) * n + left + x)
    } else {
        0
    };
    if inside || WRONG != EDGE_UNWRITTEN {
        tile.set(y * TILE + x, value);
    }
}

/// `tiled`.
#[kernel(launch_bounds(256), instances = in_gemm_tiled)]
pub unsafe fn gemm_tiled<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let (a, b) = (shared![u32; TILE * TILE], shared![u32; TILE * TILE]);
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_x() as usize * TILE,
        thread::block_idx_y() as usize * TILE,
    );
    if WRONG == EARLY_RETURN && left + x >= n {
        return;
    }
    let mut sum = 0_u32;
    let mut from = 0;
    while from < n {
        load::<WRONG>(a, input, 0, top, from, n); // HERE: race
        load::<WRONG>(b, input, n * n, from, left, n); // HERE: race
        if WRONG != NO_BARRIER_BEHIND_LOAD {
            thread::sync_threads(); // HERE: sync
        }
        let count = (n - from).min(TILE);
        let mut k = 0;
        while k < count {
            let left = a.get(y * TILE + k); // HERE: race, init
            let right = b.get(k * TILE + x); // HERE: race, init
            sum = sum.wrapping_add(left.wrapping_mul(right));
            k += 1;
        }
        if WRONG != NO_BARRIER_BEHIND_USE {
            thread::sync_threads();
        }
        from += TILE;
    }
    if top + y < n && left + x < n {
        output.set((top + y) * n + left + x, sum);
    }
}

/// `naive` that takes one product too many.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_naive_one_too_many<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let row = thread::block_idx_y() as usize * TILE + thread::thread_idx_y() as usize;
    let column = thread::block_idx_x() as usize * TILE + thread::thread_idx_x() as usize;
    if row < n && column < n {
        let mut sum = 0_u32;
        let mut k = 0;
        while k < n + DEFECT as usize {
            let left = input.get(row * n + k);
            let right = input.get(n * n + k * n + column); // HERE: mem
            sum = sum.wrapping_add(left.wrapping_mul(right));
            k += 1;
        }
        output.set(row * n + column, sum);
    }
}

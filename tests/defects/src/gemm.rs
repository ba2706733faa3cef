//! Defects planted in the tiled product of matrices (`gpu/src/gemm/ladder/tiled.rs`): `output` is the product of
//! two square matrices of `n` rows, which follow each other in `input`.

use cuda_std::prelude::*;

const TILE: usize = 16;

/// Loads the tile at `top`, `left` of the matrix that starts at element `first`; `EDGE` says whether
/// elements outside are set to nought.
#[inline(always)]
#[track_caller]
fn load<const EDGE: bool>(
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
    if inside || EDGE {
        tile.set(y * TILE + x, value);
    }
}

/// What the kernels have in common, with what is done behind loading and behind using the tiles.
#[inline(always)]
fn tiled<const EDGE: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    n: usize,
    behind_load: impl Fn(),
    behind_use: impl Fn(),
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
    let mut sum = 0_u32;
    let mut from = 0;
    while from < n {
        load::<EDGE>(a, input, 0, top, from, n); // HERE: race
        load::<EDGE>(b, input, n * n, from, left, n); // HERE: race
        behind_load();
        let count = (n - from).min(TILE);
        let mut k = 0;
        while k < count {
            let left = a.get(y * TILE + k); // HERE: race, init
            let right = b.get(k * TILE + x); // HERE: race, init
            sum = sum.wrapping_add(left.wrapping_mul(right));
            k += 1;
        }
        behind_use();
        from += TILE;
    }
    if top + y < n && left + x < n {
        output.set((top + y) * n + left + x, sum);
    }
}

/// `tiled` without the barrier between loading the tiles and using them.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_tiled_no_barrier_behind_load<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled
    let behind_load = || {
        if !DEFECT {
            thread::sync_threads();
        }
    };
    tiled::<true>(input, output, n, behind_load, thread::sync_threads);
}

/// `tiled` without the barrier between using the tiles and loading the next ones over them.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_tiled_no_barrier_behind_use<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled
    let behind_use = || {
        if !DEFECT {
            thread::sync_threads();
        }
    };
    tiled::<true>(input, output, n, thread::sync_threads, behind_use);
}

/// `tiled` whose lanes outside of the result leave the loop, and its barriers, at once.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_tiled_early_return<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let column = thread::block_idx_x() as usize * TILE + thread::thread_idx_x() as usize;
    if DEFECT && column >= n {
        return;
    }
    let barrier = || thread::sync_threads(); // HERE: sync
    tiled::<true>(input, output, n, barrier, barrier);
}

/// `tiled` whose tiles keep what they held where a matrix ends.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn gemm_tiled_edge_unwritten<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // AT: tiled for init
    let barrier = thread::sync_threads;
    match DEFECT {
        true => tiled::<false>(input, output, n, barrier, barrier),
        false => tiled::<true>(input, output, n, barrier, barrier),
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

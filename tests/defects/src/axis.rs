//! Defects planted in the sums along an axis (`gpu/src/columns`, `gpu/src/rows`): matrices of `n` columns.

use cuda_std::prelude::*;

const BLOCK: usize = 256;

/// `columns` where every block adds its rows to the totals by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn columns_plain_merge<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let (column, rows) = (thread::thread_idx_x() as usize, input.len() / n);
    if column < n {
        let mut sum = 0_u32;
        let mut row = thread::block_idx_x() as usize;
        while row < rows {
            sum = sum.wrapping_add(input.get(row * n + column));
            row += thread::grid_dim_x() as usize;
        }
        if DEFECT {
            output.set(column, output.get(column).wrapping_add(sum)); // HERE: race
        } else {
            output.atomic_add(column, sum);
        }
    }
}

/// `columns` whose blocks hand their totals to the last one; only the first lane of a block fences, before
/// the others have written.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn columns_fence_too_early<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    n: usize,
) {
    let last = shared![u32; 1];
    let (tid, block) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    let blocks = thread::grid_dim_x() as usize;
    if DEFECT && tid == 0 {
        thread::device_fence();
    }
    if tid < n {
        scratch.set(1 + block * n + tid, input.get(block * n + tid));
    }
    if !DEFECT {
        thread::device_fence();
    }
    thread::sync_threads();
    if tid == 0 {
        let mine = scratch.atomic_add(0, 1) as usize;
        last.set(0, (mine + 1 == blocks) as u32);
    }
    thread::sync_threads();
    if last.get(0) == 0 {
        return;
    }
    thread::device_fence();
    if tid < n {
        let mut sum = 0_u32;
        let mut block = 0;
        while block < blocks {
            sum = sum.wrapping_add(scratch.get(1 + block * n + tid)); // HERE: race
            block += 1;
        }
        output.set(tid, sum);
    }
}

/// `rows` with a block per row whose warps' sums are read without a barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let parts = shared![u32; BLOCK];
    let (tid, row) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    let value = if tid < n { input.get(row * n + tid) } else { 0 };
    parts.set(tid, value);
    if !DEFECT {
        thread::sync_threads();
    }
    if tid == 0 {
        let mut sum = 0_u32;
        let mut i = 0;
        while i < BLOCK {
            sum = sum.wrapping_add(parts.get(i)); // HERE: race, init
            i += 1;
        }
        output.set(row, sum);
    }
}

/// `rows` where a warp's lanes beyond the row leave before the shuffles.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_lanes_gone<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let (tid, row) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    if DEFECT && tid >= n {
        return;
    }
    let mut value = if tid < n { input.get(row * n + tid) } else { 0 };
    let mut delta = 16;
    while delta > 0 {
        let other = warp::shuffle_down(warp::FULL_MASK, value, delta); // HERE: sync
        value = value.wrapping_add(other);
        delta /= 2;
    }
    if tid.is_multiple_of(32) {
        output.atomic_add(row, value);
    }
}

//! Defects planted in the reductions of rows (`gpu/src/rows`): sums of `u32` over rows of `n` elements.

use cuda_std::prelude::*;

const BLOCK: usize = 256;

/// `block_per_row` without the barrier before its tree.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_block_per_row_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let mut row = thread::block_idx_x() as usize;
    while row < output.len() {
        let mut total = 0_u32;
        let mut i = tid;
        while i < n {
            total = total.wrapping_add(input.get(row * n + i));
            i += BLOCK;
        }
        tile.set(tid, total);
        if !DEFECT {
            thread::sync_threads();
        }
        let mut stride = BLOCK / 2;
        while stride > 0 {
            if tid < stride {
                let other = tile.get(tid + stride); // HERE: race, init
                tile.set(tid, tile.get(tid).wrapping_add(other));
            }
            thread::sync_threads();
            stride /= 2;
        }
        if tid == 0 {
            output.set(row, tile.get(0));
        }
        thread::sync_threads();
        row += thread::grid_dim_x() as usize;
    }
}

/// `chunk_atomic` that combines a chunk with the row's total by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_chunk_plain<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    const CHUNK: usize = 128;
    let chunks = n.div_ceil(CHUNK);
    let chunk = thread::index_1d_wide();
    let (row, chunk) = (chunk / chunks, chunk % chunks);
    if row >= output.len() {
        return;
    }
    let first = row * n + chunk * CHUNK;
    let mut part = 0_u32;
    for i in 0..CHUNK.min(n - chunk * CHUNK) {
        part = part.wrapping_add(input.get(first + i));
    }
    if DEFECT {
        output.set(row, output.get(row).wrapping_add(part)); // HERE: race
    } else {
        output.atomic_add(row, part);
    }
}

/// `best`, eight lanes per row, whose lanes without a row leave before the shuffles.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_best_lanes_gone<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let lanes_log2 = 3;
    let thread = thread::index_1d_wide();
    let lanes = 1_usize << lanes_log2;
    let lane = thread & (lanes - 1);
    let mut first = (thread & !31) >> lanes_log2;
    let own = (thread & 31) >> lanes_log2;
    while first < output.len() {
        let row = first + own;
        let mut total = 0_u32;
        if row < output.len() {
            let mut i = lane;
            while i < n {
                total = total.wrapping_add(input.get(row * n + i));
                i += lanes;
            }
        } else if DEFECT {
            return;
        }
        let mut mask = lanes as u32 / 2;
        while mask > 0 {
            let other = warp::shuffle_xor(warp::FULL_MASK, total, mask); // HERE: sync
            total = total.wrapping_add(other);
            mask /= 2;
        }
        if lane == 0 && row < output.len() {
            output.set(row, total);
        }
        first += thread::grid_stride() >> lanes_log2;
    }
}

/// `best` of long rows, each by all blocks, whose lanes ask for the block's ticket without a barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn rows_long_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let last = shared![u32; 1];
    let tid = thread::thread_idx_x() as usize;
    let blocks = thread::grid_dim_x() as usize;
    let i = thread::index_1d_wide();
    let total = if i < input.len() { input.get(i) } else { 0 };
    if tid == 0 {
        scratch.set(1 + thread::block_idx_x() as usize, total);
        // The total has to be visible before the ticket is.
        thread::device_fence();
        let came = scratch.atomic_add(0, 1) as usize + 1;
        last.set(0, u32::from(came == blocks));
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let came_last = last.get(0); // HERE: race, init
    if came_last == 0 {
        return;
    }
    thread::device_fence();
    let mut total = 0_u32;
    let mut i = tid;
    while i < blocks {
        total = total.wrapping_add(scratch.get(1 + i)); // HERE: race
        i += BLOCK;
    }
    if tid < blocks {
        output.set(tid, total);
    }
}

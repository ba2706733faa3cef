//! Clusters: places, distributed shared memory, copies to several blocks.

use cuda_std::{
    cluster,
    mbarrier::{self, Mbarrier},
    prelude::*,
    tensor_map::TensorMap,
};

/// Writes each block's rank and the cluster's size, for clusters of `X` x `Y` x `Z` blocks.
///
/// # Safety
/// Two elements of `output` for each block of the grid.
#[kernel(
    launch_bounds(32),
    cluster(X, Y, Z),
    instances(c1: (1, 1, 1), c2: (2, 1, 1), c4: (1, 4, 1), c6: (3, 1, 2), c8: (2, 2, 2))
)]
pub unsafe fn cluster_places<const X: u32, const Y: u32, const Z: u32>(output: GlobalMut<u32>) {
    let [x, y, z] = [
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
    ];
    let block = (z * thread::grid_dim_y() + y) * thread::grid_dim_x() + x;
    if thread::thread_idx_x() == 0 {
        output.set(2 * block as usize, cluster::rank());
        output.set(2 * block as usize + 1, cluster::size());
    }
}

/// The counters of a block of [`cluster_counts`].
pub const COUNTERS: usize = 64;

/// Counts values below 4 * [`COUNTERS`]. The counters of a cluster are those of its four blocks.
///
/// # Safety
/// Values for 64 threads of each block; counters for each cluster.
#[kernel(launch_bounds(64), cluster(4))]
pub unsafe fn cluster_counts(values: Global<u32>, output: GlobalMut<u32>) {
    let counters = shared![u32; COUNTERS];
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    counters.set(tid, 0);
    cluster::sync();
    let value = values.get(64 * block + tid) as usize;
    let owner = counters.of_block((value / COUNTERS) as u32);
    owner.atomic_add(value % COUNTERS, 1);
    // Half of the barrier is over before a lane looks at its counters.
    cluster::arrive();
    let place = COUNTERS * block + tid;
    cluster::wait();
    output.set(place, counters.get(tid));
}

/// Each block reads the elements of the next block of its cluster of eight, four at a time.
///
/// # Safety
/// 128 elements for each block.
#[kernel(launch_bounds(32), cluster(8))]
pub unsafe fn cluster_ring(input: Global<u32>, output: GlobalMut<u32>) {
    let own = shared![u32; 128];
    let first = 128 * thread::block_idx_x() as usize + 4 * thread::thread_idx_x() as usize;
    let place = 4 * thread::thread_idx_x() as usize;
    own.set_chunk(place, input.get_chunk::<4>(first));
    cluster::sync();
    let next = own.of_block((cluster::rank() + 1) % cluster::size());
    output.set_chunk(first, next.get_chunk::<4>(place));
    // No block returns before its memory was read.
    cluster::sync();
}

/// The columns and rows of a tile of [`cluster_tiles`], of which each of two blocks copies half of the rows.
pub const TILE: [usize; 2] = [32, 16];

/// Writes tiles of a matrix, times 1 and times 2. The two blocks of a cluster share the copies of its tiles, `tiles` for each
/// cluster: each copies half of a tile to both, by so many copies.
///
/// # Safety
/// A tile of `output` for each tile and block.
#[kernel(launch_bounds(64), cluster(2), instances(one: (1), two: (2)))]
pub unsafe fn cluster_tiles<const COPIES: usize>(
    input: TensorMap,
    output: GlobalMut<u32>,
    tiles: u32,
) {
    let [columns, rows] = TILE;
    let len = columns * rows;
    let memory = shared![u32; 2 * 32 * 16 + 32].skip_to_multiple(128);
    let objects = shared![u64; 4];
    let tid = thread::thread_idx_x();
    let rank = cluster::rank();
    let first = thread::block_idx_x() / 2 * tiles;
    let slot = |tile: u32| (tile % 2) as usize;
    let parity = |tile: u32| tile / 2 % 2;
    let full = |tile: u32| Mbarrier::new(objects, slot(tile));
    let empty = |tile: u32| Mbarrier::new(objects, 2 + slot(tile));
    if tid == 0 {
        let mut tile = 0;
        while tile < 2 {
            full(tile).init(1);
            // A copy goes to both blocks, which must both be done with the slot.
            empty(tile).init(2);
            tile += 1;
        }
        mbarrier::fence_init();
    }
    cluster::sync();
    let mut tile = 0;
    while tile < tiles {
        let at = slot(tile) * len;
        if tid == 0 {
            empty(tile).wait(parity(tile) ^ 1);
            full(tile).arrive_expect_tx(4 * len as u32);
            let (len, rows) = (len / 2 / COPIES, rows / 2 / COPIES);
            let mut copy = 0;
            while copy < COPIES {
                let number = rank as usize * COPIES + copy;
                let row = (first + tile) as usize * TILE[1] + number * rows;
                let to = at + number * len;
                memory.load_tile_to(0b11, to, input, [0, row as i32], len, full(tile));
                copy += 1;
            }
        } else if tid >= 32 {
            full(tile).wait(parity(tile));
            let lane = tid as usize - 32;
            let to = ((2 * (first + tile) + rank) as usize) * len;
            let mut row = 0;
            while row < rows {
                let i = row * columns + lane;
                output.set(to + i, memory.get(at + i).wrapping_mul(rank + 1));
                row += 1;
            }
            // SAFETY: the whole warp takes the branch.
            unsafe { warp::sync_warp(warp::FULL_MASK) };
            if lane < 2 {
                empty(tile).arrive_at_after_reads(lane as u32);
            }
        }
        tile += 1;
    }
    cluster::sync();
}

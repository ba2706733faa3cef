//! `cluster`: products of warpgroups on compute capability 9.0, by two blocks that share tiles of B.
//!
//! ```text
//! the two blocks of a cluster, whose tiles of C lie below each other, for each tile along k:
//!     one thread of each: wait until the consumers of both blocks are done with the slot
//!         start to copy the block's own tile of A to it, and half of the tile of B to the slots of both blocks
//!     warpgroups 1 and 2 of each: wait until the slot is full; multiply; arrive at `empty` of both blocks
//! ```
//!
//! A block reads 2/3 of what a block by itself reads from the second-level cache. But the blocks wait for each other at each
//! step, and this cache is not the limit of `best`, so that nothing is gained: docs/TRIED.md has the times.

use cuda_std::{
    bf16, cluster, f16,
    mbarrier::Mbarrier,
    prelude::*,
    shared::DynamicShared,
    tensor_map::TensorMap,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

use super::write_panels::write_panels;
use crate::gemm::{
    band::Half,
    output::Output,
    policy::{CLUSTER, CLUSTER_BLOCKS, WGMMA_BLOCK, WGMMA_HEIGHT},
    problem::*,
    staging::{Staging, WARPGROUP},
    wgmma::{CONSUMERS, FEW_REGISTERS, MANY_REGISTERS, MOST_SLOTS, Slot, Tiles, load},
};

const WIDTH: usize = CLUSTER.cut.tile[1];
/// The sums of a thread.
const SUMS: usize = WIDTH / 2;
const SLOTS: usize = CLUSTER.slots;
/// The elements of a slot, and those of A.
const ROOM: usize = (WGMMA_HEIGHT + WIDTH) * DEPTH;
const OF_A: usize = WGMMA_HEIGHT * DEPTH;
/// The ranks of the blocks of a cluster.
const BOTH: u16 = 0b11;

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, by products of warpgroups of two
/// blocks that share tiles of B.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. `A_ALONG_K`, `B_ALONG_K`, `a` and `b` are as for
/// [`gemm_best_wgmma`](crate::gemm::gemm_best_wgmma), but that a tile of B has 128 columns if memory has lines along k.
///
/// Launch: clusters of two blocks of 384 threads, each of which takes tiles of 256 x 256 elements of C, as many clusters apart
/// as there are; dynamic shared memory of [`CLUSTER`]. Reads `m * n * k / 128` elements, and C unless `beta` is 0; writes
/// `m * n`. The sums are those of [`wgmma`] for each 16 of k in order: the bits of `best` in one part.
///
/// # Safety
/// `a` and `b` are maps of matrices of the problem's sizes. `c` holds every element that `problem` covers, and overlaps nothing
/// else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours. That the blocks of a cluster share tiles is from CUTLASS's kernels for this architecture.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    cluster(CLUSTER_BLOCKS),
    dynamic_shared(CLUSTER.bytes()),
    instances(
        f16_nn: (f16, true, false),
        f16_nt: (f16, true, true),
        f16_tn: (f16, false, false),
        f16_tt: (f16, false, true),
        bf16_nn: (bf16, true, false),
        bf16_nt: (bf16, true, true),
        bf16_tn: (bf16, false, false),
        bf16_tt: (bf16, false, true),
    )
)]
pub unsafe fn gemm_cluster<
    T: Half + Factor<Sum = f32>,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<T>,
    problem: Problem,
    alpha: f32,
    beta: f32,
    addend: GlobalMut<T>,
    bias: Global<T>,
    row_scales: Global<f32>,
    column_scales: Global<f32>,
) {
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = SLOTS * ROOM + 2 * CONSUMERS as usize * PANEL;
    let memory = memory.carve::<T>(len + 512).skip_to_multiple(1024);
    Slot::init(barriers, SLOTS, CONSUMERS * CLUSTER_BLOCKS);
    // Copies and arrivals of the other block come behind this.
    cluster::sync();

    let problem = &problem;
    let rank = cluster::rank() as usize;
    let mut tiles = Tiles::<CLUSTER_BLOCKS>::of(problem, problem.k, CLUSTER.cut.tile, DEPTH);
    let mut slot = Slot::first(barriers, SLOTS);
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        // SAFETY: the whole warp takes the branch.
        if thread < 32 && unsafe { warp::elect(FULL_MASK) } {
            while let Some(tile) = tiles.next() {
                let top = tile.top + rank * WGMMA_HEIGHT;
                let [of_a_stack, of_b_stack] = tile.matrices(problem);
                let mut step = 0;
                while step < tile.steps {
                    // The slots are empty at first: the phase before the first one counts as complete.
                    slot.empty().wait(slot.parity ^ 1);
                    slot.full().arrive_expect_tx((ROOM * size_of::<T>()) as u32);
                    let k = step as usize * DEPTH;
                    let to = memory.skip(slot.number as usize * ROOM);
                    let corner = [top, k, of_a_stack];
                    load::<T, A_ALONG_K>(to, a, corner, WGMMA_HEIGHT, slot.full());
                    let corner = [tile.left, k, of_b_stack];
                    load_half::<T, B_ALONG_K>(to.skip(OF_A), b, corner, rank, slot.full());
                    slot = slot.next();
                    step += 1;
                }
            }
        }
        return;
    }

    thread::increase_registers::<MANY_REGISTERS>();
    let consumer = warpgroup - 1;
    let own = (thread % WARPGROUP) as usize;
    let first = SLOTS * ROOM + 2 * consumer as usize * PANEL;
    let staging = Staging::new(memory.skip(first), consumer, own);
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    while let Some(tile) = tiles.next() {
        let mut sums = <[f32; SUMS]>::ZERO;
        let mut step = 0;
        while step < tile.steps {
            slot.full().wait(slot.parity);
            let at = slot.number as usize * ROOM;
            let upper = at + consumer as usize * PANEL;
            let mut products = wgmma::begin(&mut sums);
            products.add(
                Tile::<T, A_ALONG_K>::new(memory, upper),
                Tile::<T, B_ALONG_K>::new(memory, at + OF_A),
            );
            products.commit().wait();
            // A copy of either block to this slot replaces what was read here.
            if own < CLUSTER_BLOCKS as usize {
                slot.empty().arrive_at_after_reads(own as u32);
            }
            slot = slot.next();
            step += 1;
        }
        let out = out.of_product(problem, tile.product);
        let top = tile.top + rank * WGMMA_HEIGHT + consumer as usize * 64;
        let corner = [top, tile.left];
        write_panels(&sums, corner, &staging, &out, problem);
    }
    // The other block arrives at this one's mbarriers until it is done.
    cluster::sync();
}

/// Starts to copy this block's half of a tile of B, which begins at the column `first` and at `k`, to both blocks.
#[inline(always)]
#[track_caller]
fn load_half<T: Half + Factor, const ALONG_K: bool>(
    to: Shared<T>,
    map: TensorMap,
    [first, k, product]: [usize; 3],
    rank: usize,
    full: Mbarrier,
) {
    let own = rank * (WIDTH / 2);
    let (to, first) = (to.skip(own * DEPTH), first + own);
    if ALONG_K {
        let corner = [k as i32, first as i32, product as i32];
        to.load_tile_to(BOTH, 0, map, corner, WIDTH / 2 * DEPTH, full);
    } else {
        unrolled!(panel < { WIDTH / 128 } of 4 => {
            let corner = [(first + panel * 64) as i32, k as i32, product as i32];
            to.load_tile_to(BOTH, panel * PANEL, map, corner, PANEL, full);
        });
    }
}

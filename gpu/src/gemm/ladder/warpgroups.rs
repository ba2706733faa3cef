//! `warpgroups`: products of warpgroups on compute capability 9.0, whose tiles tensor maps bring to two slots in turn.
//!
//! ```text
//! block (tile of C), two warpgroups, each for the upper or lower half of it:
//!     sums = 0, in registers
//!     one thread: start to copy the first tiles of A and B to slot 0                              (tensor maps)
//!     for each tile along k:
//!         one thread: start to copy the next tiles to the other slot
//!         wait for the tiles of this slot; sums += tile of A * tile of B                          (wgmma)
//!         barrier: everybody is done with this slot
//!     C = alpha * sums + beta * C, then the epilogue, rounded once, through shared memory
//! ```
//!
//! In `copies` warps load fragments to registers, and threads compute the address of each chunk of 16 bytes. Here the products
//! read both operands from shared memory, each 64 x 128 x 64 multiply-adds of a warpgroup by four instructions, and one thread
//! starts copies of whole tiles. But at each barrier the tensor cores are idle until the next product has started, unless the
//! other block of the multiprocessor has one.

use cuda_std::{
    bf16, f16,
    prelude::*,
    shared::DynamicShared,
    tensor_map::TensorMap,
    warp::FULL_MASK,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

use super::write_panels::write_panels;
use crate::gemm::{
    band::Half,
    output::Output,
    policy::{WARPGROUPS, WGMMA_HEIGHT},
    problem::*,
    staging::{Staging, WARPGROUP},
    wgmma::{CONSUMERS, Slot, Tiles, load},
};

const WIDTH: usize = WARPGROUPS.cut.tile[1];
/// The sums of a thread.
const SUMS: usize = WIDTH / 2;
const SLOTS: usize = WARPGROUPS.slots;
/// The elements of a slot, and those of A.
const ROOM: usize = (WGMMA_HEIGHT + WIDTH) * DEPTH;
const OF_A: usize = WGMMA_HEIGHT * DEPTH;

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, by products of warpgroups.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. `A_ALONG_K`, `B_ALONG_K`, `a` and `b` are as for
/// [`gemm_best_wgmma`](crate::gemm::gemm_best_wgmma).
///
/// Launch: one block of 256 threads per 128 x 128 tile of C, two of which are resident; dynamic shared memory of
/// [`WARPGROUPS`]. Reads `m * n * k / 64` elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`wgmma`]
/// for each 16 of k in order: the bits of `best` in one part.
///
/// # Safety
/// `a` and `b` are maps of matrices of the problem's sizes. `c` holds every element that `problem` covers, and overlaps nothing
/// else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours.
#[kernel(
    launch_bounds(WARPGROUPS.cut.block[0], 2),
    dynamic_shared(WARPGROUPS.bytes()),
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
pub unsafe fn gemm_warpgroups<
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
    let barriers = shared![u64; 2 * SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = SLOTS * ROOM + 2 * CONSUMERS as usize * PANEL;
    let memory = memory.carve::<T>(len + 512).skip_to_multiple(1024);
    // A barrier of the block says that a slot is empty.
    Slot::init(barriers, SLOTS, 1);

    let problem = &problem;
    let mut tiles = Tiles::<1>::of(problem, problem.k, WARPGROUPS.cut.tile, DEPTH);
    // Each block has one.
    let Some(tile) = tiles.next() else { return };
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warp = warp::shuffle(FULL_MASK, thread / 32, 0);
    let consumer = warp / (WARPGROUP / 32);
    let [of_a_stack, of_b_stack] = tile.matrices(problem);
    let start = |slot: Slot, step: u32| {
        // SAFETY: the whole warp takes the branch.
        if step < tile.steps && warp == 0 && unsafe { warp::elect(FULL_MASK) } {
            slot.full().arrive_expect_tx((ROOM * size_of::<T>()) as u32);
            let k = step as usize * DEPTH;
            let to = memory.skip(slot.number as usize * ROOM);
            let corner = [tile.top, k, of_a_stack];
            load::<T, A_ALONG_K>(to, a, corner, WGMMA_HEIGHT, slot.full());
            let corner = [tile.left, k, of_b_stack];
            load::<T, B_ALONG_K>(to.skip(OF_A), b, corner, WIDTH, slot.full());
        }
    };

    let mut slot = Slot::first(barriers, SLOTS);
    start(slot, 0);
    let mut sums = <[f32; SUMS]>::ZERO;
    let mut step = 0;
    while step < tile.steps {
        start(slot.next(), step + 1);
        slot.full().wait(slot.parity);
        let at = slot.number as usize * ROOM;
        let mut products = wgmma::begin(&mut sums);
        products.add(
            Tile::<T, A_ALONG_K>::new(memory, at + consumer as usize * PANEL),
            Tile::<T, B_ALONG_K>::new(memory, at + OF_A),
        );
        products.commit().wait();
        thread::sync_threads();
        slot = slot.next();
        step += 1;
    }

    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let out = out.of_product(problem, tile.product);
    let first = SLOTS * ROOM + 2 * consumer as usize * PANEL;
    let own = (thread % WARPGROUP) as usize;
    let staging = Staging::new(memory.skip(first), consumer, own);
    let corner = [tile.top + consumer as usize * 64, tile.left];
    write_panels(&sums, corner, &staging, &out, problem);
}

//! `specialised`: products of warpgroups on compute capability 9.0, by warps that only copy and warps that only multiply.
//!
//! ```text
//! block (tile of C):
//!     one thread of warpgroup 0, for each tile along k:
//!         wait until the slot of the ring is empty
//!         start to copy tiles of A and B to it; they arrive at `full`                             (tensor maps)
//!     warpgroups 1 and 2, each for the upper or lower half of the tile of C:
//!         sums = 0, in registers
//!         for each tile along k:
//!             wait until the slot is full; sums += tile of A * tile of B                          (wgmma)
//!             arrive at `empty`
//!         C = alpha * sums + beta * C, then the epilogue, rounded once, through shared memory
//! ```
//!
//! In `warpgroups` everybody meets at each step, and copies are one step ahead. Here nobody waits for the whole block: the
//! copies run ahead by as many steps as the ring has slots, and a warpgroup goes on as soon as its tiles are there. The thread
//! that copies needs few registers, so its warpgroup leaves the others enough for a tile of 128 x 256: for each product a block
//! reads 3/4 of what one with a tile of 128 x 128 reads. What `best` has besides: a block takes one tile after another, so that
//! the copies for the next one run while this one is written.

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
    policy::{SPECIALISED, WGMMA_BLOCK, WGMMA_HEIGHT},
    problem::*,
    staging::{Staging, WARPGROUP},
    wgmma::{CONSUMERS, FEW_REGISTERS, MANY_REGISTERS, MOST_SLOTS, Slot, Tiles, load},
};

const WIDTH: usize = SPECIALISED.cut.tile[1];
/// The sums of a thread.
const SUMS: usize = WIDTH / 2;
const SLOTS: usize = SPECIALISED.slots;
/// The elements of a slot, and those of A.
const ROOM: usize = (WGMMA_HEIGHT + WIDTH) * DEPTH;
const OF_A: usize = WGMMA_HEIGHT * DEPTH;

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, by products of warpgroups, whose
/// tiles another warp copies.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. `A_ALONG_K`, `B_ALONG_K`, `a` and `b` are as for
/// [`gemm_best_wgmma`](crate::gemm::gemm_best_wgmma).
///
/// Launch: one block of 384 threads per 128 x 256 tile of C; dynamic shared memory of [`SPECIALISED`]. Reads `m * n * k * 3 /
/// 256` elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`wgmma`] for each 16 of k in order: the bits
/// of `best` in one part.
///
/// # Safety
/// `a` and `b` are maps of matrices of the problem's sizes. `c` holds every element that `problem` covers, and overlaps nothing
/// else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours. The division of work between warpgroups is that of CUTLASS's kernels for this architecture.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    dynamic_shared(SPECIALISED.bytes()),
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
pub unsafe fn gemm_specialised<
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
    const { assert!(SLOTS <= MOST_SLOTS) };
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = SLOTS * ROOM + 2 * CONSUMERS as usize * PANEL;
    let memory = memory.carve::<T>(len + 512).skip_to_multiple(1024);
    Slot::init(barriers, SLOTS, CONSUMERS);

    let problem = &problem;
    let mut tiles = Tiles::<1>::of(problem, problem.k, SPECIALISED.cut.tile, DEPTH);
    // Each block has one.
    let Some(tile) = tiles.next() else { return };
    let mut slot = Slot::first(barriers, SLOTS);
    let mut step = 0;
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        // SAFETY: the whole warp takes the branch.
        if thread < 32 && unsafe { warp::elect(FULL_MASK) } {
            let [of_a_stack, of_b_stack] = tile.matrices(problem);
            while step < tile.steps {
                // The slots are empty at first: the phase before the first one counts as complete.
                slot.empty().wait(slot.parity ^ 1);
                slot.full().arrive_expect_tx((ROOM * size_of::<T>()) as u32);
                let k = step as usize * DEPTH;
                let to = memory.skip(slot.number as usize * ROOM);
                let corner = [tile.top, k, of_a_stack];
                load::<T, A_ALONG_K>(to, a, corner, WGMMA_HEIGHT, slot.full());
                let corner = [tile.left, k, of_b_stack];
                load::<T, B_ALONG_K>(to.skip(OF_A), b, corner, WIDTH, slot.full());
                slot = slot.next();
                step += 1;
            }
        }
        return;
    }

    thread::increase_registers::<MANY_REGISTERS>();
    let consumer = warpgroup - 1;
    let own = (thread % WARPGROUP) as usize;
    let mut sums = <[f32; SUMS]>::ZERO;
    while step < tile.steps {
        slot.full().wait(slot.parity);
        let at = slot.number as usize * ROOM;
        let mut products = wgmma::begin(&mut sums);
        products.add(
            Tile::<T, A_ALONG_K>::new(memory, at + consumer as usize * PANEL),
            Tile::<T, B_ALONG_K>::new(memory, at + OF_A),
        );
        products.commit().wait();
        if own == 0 {
            slot.empty().arrive();
        }
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
    let staging = Staging::new(memory.skip(first), consumer, own);
    let corner = [tile.top + consumer as usize * 64, tile.left];
    write_panels(&sums, corner, &staging, &out, problem);
}

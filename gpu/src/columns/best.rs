//! `best`: wide loads, several rows in flight per thread, and one launch.

use cuda_std::{prelude::*, shared::DynamicShared, view::Wide};

use super::policy::{BEST_BLOCK, BEST_GROUP, BEST_UNROLL, BEST_WARPS};
use crate::{
    axis::{Along, Mean, Sum, with_axis_reductions},
    block,
    reduce::{Max, Min},
};

/// Elements of 16 bytes, at most.
const MOST_LANES: usize = 16;

/// Reduces each column of a matrix of rows of `period` elements, which starts at element `head` of `input`.
///
/// A lane owns 16 bytes of neighbouring columns, a warp 512. The 16 warps of a block take rows in turn, of
/// which a thread loads four before it uses the first; then their parts meet in shared memory. The blocks
/// of a tile of columns each take `rows_per_block` neighbouring rows: each leaves its totals and
/// takes a ticket, the last of 16 neighbours combines those of all 16 in their order, and so on until one
/// block is left. So the result does not depend on who came last.
///
/// Where `output` has elements the results go there, for `height` elements per column; else the totals of
/// the period's columns go to `folded`.
///
/// Launch: one block of 512 threads per tile of 512 bytes and per `rows_per_block` rows, tiles fastest;
/// dynamic shared memory of 512 parts per element of 16 bytes. Reads every element once.
///
/// Determinism: the same input, alignment and grid give the same bits.
///
/// # Safety
/// Element `head` of `input` and rows of `period` elements are aligned to 16 bytes, and `rows` of them are
/// in `input`; `rows_per_block` is at most 4096 and such that every block has a row; `totals` and
/// `tickets` have, per tile, what [`tree`](super::policy::tree) says (totals in tiles of 512 bytes of
/// elements), and the tickets are 0; `output` or `folded` has `period` elements and the other none; no two
/// launches that may run at once share any of them. The kernel leaves the tickets at 0.
#[kernel(launch_bounds(BEST_BLOCK as u32, 2), instances = with_axis_reductions)]
// A launch passes each of them; a struct would have to be described to the host as well.
#[allow(clippy::too_many_arguments)]
pub unsafe fn columns_best<A: Along>(
    input: Global<A::In>,
    head: usize,
    period: usize,
    rows: usize,
    rows_per_block: usize,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    folded: GlobalMut<A::Acc>,
    output: GlobalMut<A::Out>,
    height: usize,
) {
    let lanes = Wide::<A::In>::LEN;
    let columns = 32 * lanes;
    let tid = thread::thread_idx_x() as usize;
    let (warp, lane) = (tid / 32, tid % 32);
    let tiles = period.div_ceil(columns) as u32;
    let tile = (thread::block_idx_x() % tiles) as usize;
    let mut index = (thread::block_idx_x() / tiles) as usize;
    let mut count = (thread::grid_dim_x() / tiles) as usize;
    let tiles = tiles as usize;
    // SAFETY: the launch gives this many bytes, and nothing else uses them.
    let shared: Shared<A::Part> = unsafe { DynamicShared::new() }.carve(BEST_WARPS * columns);

    let parts = accumulate::<A>(
        input,
        head,
        period,
        tile * columns + lane * lanes,
        index * rows_per_block + warp,
        rows.min((index + 1) * rows_per_block),
    );
    for k in 0..MOST_LANES {
        if k < lanes {
            // Neighbouring lanes take neighbouring banks.
            shared.set(warp * columns + k * 32 + lane, parts[k]);
        }
    }
    thread::sync_threads();

    // Each thread of the first ones has a column of the tile from here on.
    let mine = tid < columns;
    let mut total = A::IDENTITY;
    if mine {
        for warp in 0..BEST_WARPS {
            total = A::combine(total, A::total(shared.get(warp * columns + tid)));
        }
    }

    let (mut totals_base, mut tickets_base) = (0, 0);
    while count > 1 {
        let at = |index: usize| ((totals_base + index) * tiles + tile) * columns + tid;
        if mine {
            totals.set(at(index), total);
        }
        let group = index / BEST_GROUP;
        let first = group * BEST_GROUP;
        let members = BEST_GROUP.min(count - first);
        let ticket = (tickets_base + group) * tiles + tile;
        if !block::is_last(tickets, ticket, members as u32) {
            return;
        }
        total = A::IDENTITY;
        if mine {
            // All loads before the first is used: each takes as long as the cache's latency.
            let (start, step) = (at(first), tiles * columns);
            let loaded: [A::Acc; BEST_GROUP] = core::array::from_fn(|member| {
                if member < members {
                    totals.get(start + member * step)
                } else {
                    A::IDENTITY
                }
            });
            for member in 0..BEST_GROUP {
                total = A::combine(total, loaded[member]);
            }
        }
        totals_base += count;
        count = count.div_ceil(BEST_GROUP);
        tickets_base += count;
        index = group;
    }

    let column = tile * columns + tid % 32 * lanes + tid / 32;
    if mine && column < period {
        if output.is_empty() {
            folded.set(column, total);
        } else {
            output.set(column, A::finish(total, height));
        }
    }
}

/// The parts of the columns from `column` on, over every 16th row from `row` to `end`.
#[inline(always)]
#[track_caller]
fn accumulate<A: Along>(
    input: Global<A::In>,
    head: usize,
    period: usize,
    column: usize,
    mut row: usize,
    end: usize,
) -> [A::Part; MOST_LANES] {
    let mut parts = [A::EMPTY; MOST_LANES];
    if column >= period {
        return parts;
    }
    let step = BEST_WARPS * period;
    let mut i = head + row * period + column;
    while row + (BEST_UNROLL - 1) * BEST_WARPS < end {
        let loaded: [Wide<A::In>; BEST_UNROLL] =
            core::array::from_fn(|round| input.get_wide_streaming(i + round * step));
        let [a, b, c, d] = loaded;
        parts = add_wide::<A>(parts, a);
        parts = add_wide::<A>(parts, b);
        parts = add_wide::<A>(parts, c);
        parts = add_wide::<A>(parts, d);
        row += BEST_UNROLL * BEST_WARPS;
        i += BEST_UNROLL * step;
    }
    while row < end {
        parts = add_wide::<A>(parts, input.get_wide_streaming(i));
        row += BEST_WARPS;
        i += step;
    }
    parts
}

#[inline(always)]
fn add_wide<A: Along>(parts: [A::Part; MOST_LANES], wide: Wide<A::In>) -> [A::Part; MOST_LANES] {
    wide.fold(parts, |mut parts, value, k| {
        parts[k] = A::add(parts[k], value);
        parts
    })
}

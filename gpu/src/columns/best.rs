//! `best`: wide loads, several rows in flight per thread, and one launch.
//!
//! ```text
//! block (tile t of columns, part p of the rows):
//!     each lane owns 16 bytes of neighboring columns; L neighboring lanes cover the tile, 512 / L rows at a time
//!     for each of the thread's rows, UNROLL rows at a time:
//!         load all, then add element k of each chunk to part[k]      (no lane shares a column with its neighbors)
//!     combine the parts of a column over the block's rows, through shared memory
//!     while more than one block is left for tile t:                  (a tree of blocks, `group` children per node)
//!         store the totals; take a ticket of the node
//!         if it is not the node's last ticket: done
//!         total = combine the node's totals, in index order          (so the order of arrival has no effect)
//!     store the results
//! ```
//!
//! Rows are read along memory, so that the loads of a warp coalesce. A thread per column would read 4 bytes at a time and leave
//! most of the device idle for a narrow matrix. The tree keeps the last block's work short: with one level, the last block
//! alone would read the totals of every block.

use cuda_std::{prelude::*, shared::DynamicShared, unrolled, view::Wide};

use super::policy::{BEST_BLOCK, Policy};
use crate::{
    axis::{Along, Mean, Sum, with_axis_reductions},
    block,
    reduce::{Max, Min},
    tuning::{Numbers, Tuned, numbers},
};

/// The maximum number of elements in 16 bytes.
const MOST_LANES: usize = 16;

/// Reduces each column of a matrix of rows of `period` elements, which starts at element `head` of `input`.
///
/// A lane owns 16 bytes of neighboring columns, and `L = 2^lanes_log2` neighboring lanes take a row of the block's tile of
/// columns. A block has `512 / L` such groups of lanes, which take rows in turn. A thread loads several rows before it uses the
/// first. The parts of a column are then combined in shared memory. Each block of a tile takes `rows_per_block` neighboring
/// rows, stores its totals and takes a ticket. The last block of a [`Policy::group`] combines the totals of the group, and so
/// on until one block is left. All threads of a block take part in every fold: `512 / columns` of them share a column, and a
/// tree in shared memory combines their totals. The order of combination does not depend on which block comes last, and neither
/// does the result.
///
/// If `output` has elements, the results go there, for `height` elements per column. Otherwise the totals of the period's
/// columns go to `folded`.
///
/// Launch: one block of 512 threads per tile of `16 * L` bytes and per `rows_per_block` rows, tiles fastest; dynamic shared
/// memory of 512 totals, followed by 512 parts for each element of a 16-byte load. Reads every element once.
///
/// Determinism: the same input, alignment, tiles and grid give the same bits.
///
/// # Safety
/// Element `head` of `input` and rows of `period` elements are aligned to 16 bytes, and `rows` of them are
/// in `input`; `lanes_log2` is at most 5; `rows_per_block` is at most [`most_rows`](super::policy::most_rows) and such that
/// every block has a row; `totals` and `tickets` have, per tile, what [`tree`](super::policy::tree) says (totals of all columns
/// of a tile), and the tickets are 0; `output` or `folded` has `period` elements and the other none; no two launches that may
/// run at once share any of them. The kernel leaves the tickets at 0.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, numbers::<Policy, A::In>(ROW).resident),
    instances = with_axis_reductions,
    tuned(sum_u8 as u8: 0..10, sum_f32 as f32: 0..10)
)]
// A launch passes each of them. The host would need a description of a struct.
#[allow(clippy::too_many_arguments)]
pub unsafe fn columns_best<A: Along, const ROW: usize>(
    input: Global<A::In>,
    head: usize,
    period: usize,
    rows: usize,
    rows_per_block: usize,
    lanes_log2: u32,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    folded: GlobalMut<A::Acc>,
    output: GlobalMut<A::Out>,
    height: usize,
) {
    by_tiles::<A, Numbers<A::In, ROW>>(Arguments {
        input,
        head,
        period,
        rows,
        rows_per_block,
        lanes_log2,
        totals,
        tickets,
        folded,
        output,
        height,
    });
}

/// The arguments of a launch: the parameters of [`columns_best`].
#[allow(missing_docs)]
pub struct Arguments<A: Along> {
    pub input: Global<A::In>,
    pub head: usize,
    pub period: usize,
    pub rows: usize,
    pub rows_per_block: usize,
    pub lanes_log2: u32,
    pub totals: GlobalMut<A::Acc>,
    pub tickets: GlobalMut<u32>,
    pub folded: GlobalMut<A::Acc>,
    pub output: GlobalMut<A::Out>,
    pub height: usize,
}

/// The body of [`columns_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn by_tiles<A: Along, N: Tuned<Policy>>(arguments: Arguments<A>) {
    const { assert!(matches!(N::POLICY.members, 8 | 16)) };
    match const { N::POLICY.members } {
        8 => by_members::<A, N, 8>(arguments),
        _ => by_members::<A, N, 16>(arguments),
    }
}

#[inline(always)]
#[track_caller]
fn by_members<A: Along, N: Tuned<Policy>, const MEMBERS: usize>(arguments: Arguments<A>) {
    let Arguments {
        input,
        head,
        period,
        rows,
        rows_per_block,
        lanes_log2,
        totals,
        tickets,
        folded,
        output,
        height,
    } = arguments;
    let lanes = Wide::<A::In>::LEN;
    let columns = lanes << lanes_log2;
    let row_lanes = 1 << lanes_log2;
    let tid = thread::thread_idx_x() as usize;
    let (row, lane) = (tid >> lanes_log2, tid & (row_lanes - 1));
    let tiles = period.div_ceil(columns) as u32;
    let tile = (thread::block_idx_x() % tiles) as usize;
    let mut index = (thread::block_idx_x() / tiles) as usize;
    let mut count = (thread::grid_dim_x() / tiles) as usize;
    let tiles = tiles as usize;
    // SAFETY: the launch provides this many bytes of dynamic shared memory, and nothing else uses them.
    let mut memory = unsafe { DynamicShared::new() };
    let meeting: Shared<A::Acc> = memory.carve(BEST_BLOCK);
    let shared: Shared<A::Part> = memory.carve(lanes * BEST_BLOCK);

    const { assert!(matches!(N::POLICY.unroll, 2 | 4 | 8)) };
    let column = tile * columns + lane * lanes;
    let apart = BEST_BLOCK >> lanes_log2;
    let from = index * rows_per_block + row;
    let end = rows.min((index + 1) * rows_per_block);
    let parts = match const { N::POLICY.unroll } {
        2 => accumulate::<A, N, 2, 1>(input, head, period, column, apart, from, end),
        4 => accumulate::<A, N, 4, 3>(input, head, period, column, apart, from, end),
        _ => accumulate::<A, N, 8, 7>(input, head, period, column, apart, from, end),
    };
    for k in 0..MOST_LANES {
        if k < lanes {
            // Neighboring lanes use neighboring banks.
            shared.set(k * BEST_BLOCK + tid, parts[k]);
        }
    }
    thread::sync_threads();

    // The parts of a column come from one element of the 16-byte loads of every `row_lanes`-th thread. This many threads, some
    // of them for the same column, take the parts of one such element, `lanes` each.
    let sharing = BEST_BLOCK / lanes;
    let (k, first) = (tid / sharing, tid % sharing);
    let mut total = A::IDENTITY;
    for round in 0..MOST_LANES {
        if round < lanes {
            let part = shared.get(k * BEST_BLOCK + round * sharing + first);
            total = A::combine(total, A::total(part));
        }
    }
    // After each fold, each of the first threads holds one column of the tile. Neighboring threads hold the columns of the same
    // element of the 16-byte loads.
    let mine = tid < columns;
    let place = (first >> lanes_log2) * columns + k * row_lanes + (first & (row_lanes - 1));
    total = meet::<A>(meeting, columns, place, total);

    let group = const { N::POLICY }.group(columns);
    let (mut totals_base, mut tickets_base) = (0, 0);
    while count > 1 {
        // The totals of a level are contiguous for each tile.
        let base = (totals_base * tiles + tile * count) * columns;
        if mine {
            totals.set(base + index * columns + tid, total);
        }
        let first = index / group * group;
        let members = group.min(count - first);
        let ticket = (tickets_base + index / group) * tiles + tile;
        if !block::is_last(tickets, ticket, members as u32) {
            return;
        }
        // All loads are issued before the first is used: each takes the cache's full latency.
        let (start, len) = (base + first * columns + tid, members * columns);
        let loaded: [A::Acc; MEMBERS] = core::array::from_fn(|round| {
            if round * BEST_BLOCK + tid < len {
                totals.get(start + round * BEST_BLOCK)
            } else {
                A::IDENTITY
            }
        });
        total = A::IDENTITY;
        for round in 0..MEMBERS {
            total = A::combine(total, loaded[round]);
        }
        total = meet::<A>(meeting, columns, tid, total);
        totals_base += count;
        index /= group;
        count = count.div_ceil(group);
        tickets_base += count;
    }

    let column = tile * columns + lane * lanes + row;
    if mine && column < period {
        if output.is_empty() {
            folded.set(column, total);
        } else {
            output.set(column, A::finish(total, height));
        }
    }
}

/// Combines the values of the block's threads for each of `columns` columns. A thread's `place` in `meeting` is its column plus
/// a multiple of `columns`. Thread `i` gets the result of column `i`.
#[inline(always)]
#[track_caller]
fn meet<A: Along>(meeting: Shared<A::Acc>, columns: usize, place: usize, total: A::Acc) -> A::Acc {
    let tid = thread::thread_idx_x() as usize;
    if columns == BEST_BLOCK {
        // The thread already has the values.
        return total;
    }
    meeting.set(place, total);
    block::tree::<A>(meeting, BEST_BLOCK / 2, columns);
    meeting.get(tid)
}

/// Returns the parts of the columns from `column` on, over every `apart`-th row from `row` to `end`: `UNROLL` rows at a time,
/// of which `REST`, one less, may be left over.
#[inline(always)]
#[track_caller]
fn accumulate<A: Along, N: Tuned<Policy>, const UNROLL: usize, const REST: usize>(
    input: Global<A::In>,
    head: usize,
    period: usize,
    column: usize,
    apart: usize,
    mut row: usize,
    end: usize,
) -> [A::Part; MOST_LANES] {
    let mut parts = [A::EMPTY; MOST_LANES];
    if column >= period {
        return parts;
    }
    let step = apart * period;
    let mut i = head + row * period + column;
    let has = |row: usize| row + (UNROLL - 1) * apart < end;
    let load = |i: usize| -> [Wide<A::In>; UNROLL] {
        core::array::from_fn(|round| input.get_wide_streaming(i + round * step))
    };
    if has(row) {
        let mut loaded = load(i);
        loop {
            row += UNROLL * apart;
            i += UNROLL * step;
            let more = has(row);
            let ahead = (const { N::POLICY.ahead } && more).then(|| load(i));
            unrolled!(round < UNROLL => {
                parts = add_wide::<A>(parts, loaded[round]);
            });
            if !more {
                break;
            }
            loaded = match ahead {
                Some(ahead) => ahead,
                None => load(i),
            };
        }
    }
    // The remaining loads are in flight together as well.
    let rest: [Option<Wide<A::In>>; REST] = core::array::from_fn(|round| {
        (row + round * apart < end).then(|| input.get_wide_streaming(i + round * step))
    });
    unrolled!(round < REST - 1 => {
        parts = add_present::<A>(parts, rest[round]);
    });
    add_present::<A>(parts, rest[REST - 1])
}

#[inline(always)]
fn add_wide<A: Along>(parts: [A::Part; MOST_LANES], wide: Wide<A::In>) -> [A::Part; MOST_LANES] {
    wide.fold(parts, |mut parts, value, k| {
        parts[k] = A::add(parts[k], value);
        parts
    })
}

#[inline(always)]
fn add_present<A: Along>(
    parts: [A::Part; MOST_LANES],
    wide: Option<Wide<A::In>>,
) -> [A::Part; MOST_LANES] {
    match wide {
        Some(wide) => add_wide::<A>(parts, wide),
        None => parts,
    }
}

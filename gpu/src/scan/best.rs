//! `best` for small inputs and for arrays that are not aligned to 16 bytes: one launch with a block for every tile.
//!
//! ```text
//! block:
//!     tile = the next ticket
//!     load the tile into registers; total = the tile's total
//!     publish total
//!     before = inclusive prefix of the batches of tiles before this tile's batch
//!              + total of the batch's tiles before this one         (one warp adds up to 32 * windows totals at once)
//!     if this is the batch's last tile: publish the batch's inclusive prefix
//!     write before + the tile's own prefixes
//! ```
//!
//! Waiting is safe because a tile is a ticket: every lower ticket belongs to a block that runs. Totals are added in batches of
//! a fixed size, so the result does not depend on which blocks are ahead. The persistent kernel uses the same tiles and batches
//! and gives the same bits.

use cuda_std::{bf16, f16, prelude::*};

use super::{
    instances::with_scans,
    ops::*,
    policy::{CHUNKS, Policy, STATUS_STRIDE},
    start::Start,
    status::{Statuses, tag_of, take_tickets},
    tile::{Tile, scan_tile},
};
use crate::{
    reduce::{Max, Min},
    tuning::{Numbers, Tuned, numbers},
};

/// Scans the elements in a single launch, with a block per tile: `output[i]` is `initial` combined with elements `0` to `i`, or
/// with those before `i` for an exclusive scan.
///
/// Launch: a block of [`Policy::threads`] threads for each tile of [`Policy::tile_bytes`]. Static shared memory of 33
/// accumulators. If an array does not start at a multiple of 16 bytes, dynamic shared memory of a tile. Reads and writes every
/// element once.
///
/// Determinism: the same input gives the same bits, on every device and for every alignment.
///
/// # Safety
/// `output` has as many elements as `input`, and is either the same array or does not overlap it. With more than one tile,
/// `control` has one element, `statuses` has [`STATUS_STRIDE`] for each tile, and `batches` has as many for each batch of
/// `32 * windows` tiles; all are 0 before the first launch. Launches that may
/// run at the same time do not share them.
///
/// Source: chained scan with dynamic tile numbers (Yan, Long, Zhang, "StreamScan", 2013); the batches are ours.
#[kernel(
    launch_bounds(
        numbers::<Policy, R::In>(ROW).threads as u32,
        numbers::<Policy, R::In>(ROW).resident[0]
    ),
    instances = with_scans,
    tuned(sum_u8: 0..9, sum_f32: 0..9, sum_f64: 0..9)
)]
pub unsafe fn scan_best<R: Scan, const ROW: usize>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    batches: GlobalMut<u64>,
    start: Start,
) {
    tile_per_block::<R, Numbers<R::In, ROW>>(input, output, control, statuses, batches, start);
}

/// The body of [`scan_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn tile_per_block<R: Scan, N: Tuned<Policy>>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    batches: GlobalMut<u64>,
    start: Start,
) {
    let windows = const { N::POLICY.windows };
    let batch = 32 * windows;
    let tiles = thread::grid_dim_x() as usize;
    let ticket = ticket(control, tiles);
    let number = ticket as u32 as usize;
    let tile = Tile::<R, CHUNKS>::of(input, output, const { N::POLICY.threads }, number);
    let mut chunks = tile.load();
    scan_tile::<R, CHUNKS>(&mut chunks, start.is_exclusive(), |own| {
        let initial = start.initial(R::IDENTITY);
        if tiles == 1 {
            return initial;
        }
        let statuses = Statuses::<R>::new(statuses, STATUS_STRIDE, tag_of(ticket));
        let batches = Statuses::<R>::new(batches, STATUS_STRIDE, tag_of(ticket));
        let first = thread::thread_idx_x() == 0;
        if first {
            statuses.publish(number, 0, own);
        }
        let (from, count) = (number / batch * batch, number % batch);
        let mut read = statuses.begin(windows, from, count);
        statuses.finish(windows, &mut read, from);
        let total = Statuses::<R>::sum(windows, &read, count, None);
        let is_last = count + 1 == batch;
        let whole = if is_last {
            Statuses::<R>::sum(windows, &read, count, Some(own))
        } else {
            R::IDENTITY
        };
        let before = if number < batch {
            initial
        } else {
            batches.get(number / batch - 1).1
        };
        if is_last && first {
            batches.publish(number / batch, 0, R::combine(before, whole));
        }
        R::combine(before, total)
    });
    tile.store(chunks);
}

/// Returns a ticket of a launch of `tiles` blocks for this block. The whole block must call it.
#[inline(always)]
#[track_caller]
pub(super) fn ticket(control: GlobalMut<u64>, tiles: usize) -> u64 {
    if tiles == 1 {
        return 0;
    }
    let ticket = shared![u64; 2];
    if thread::thread_idx_x() == 0 {
        ticket.set(1, take_tickets(control, 1, tiles));
    }
    thread::sync_threads();
    ticket.get(1)
}

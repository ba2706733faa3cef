//! `look_back`: one pass with decoupled look-back. A block publishes the total of its tile, adds the totals of the tiles before
//! it back to one whose prefix is published, and publishes its own prefix.

use cuda_std::{
    bf16, f16,
    prelude::*,
    scan::{Scan, Start, pieces::*},
};

use crate::{
    reduce::{Max, Min},
    scan::{
        instances::with_scans,
        ops::*,
        policy::{RUNG_BLOCK, RUNG_CHUNKS, RUNG_RESIDENT, STATUS_STRIDE},
    },
};

/// The kind of a status that has the prefix up to its tile's end, and not the tile's total alone.
const INCLUSIVE: u32 = 1;

/// Scans the elements in a single pass.
///
/// Launch: a block of 256 threads for each tile of 8 KiB; static shared memory of 33 accumulators, and dynamic shared memory
/// of a tile if an array does not start at a multiple of 16 bytes. Reads and writes every element once.
///
/// Determinism: integers, minima and maxima have the same bits in every run. Float sums and products do not: how many totals a
/// block adds one by one depends on how far the others are.
///
/// # Safety
/// As for [`scan_best`](crate::scan::scan_best), without batches.
///
/// Source: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016.
#[kernel(launch_bounds(RUNG_BLOCK as u32, RUNG_RESIDENT), instances = with_scans)]
pub unsafe fn scan_look_back<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    start: Start,
) {
    let tiles = thread::grid_dim_x() as usize;
    let ticket = take_ticket(control, tiles);
    let number = ticket as u32 as usize;
    let tile = Tile::<R, RUNG_CHUNKS>::of(input, output, RUNG_BLOCK, number);
    let mut chunks = tile.load();
    scan_tile::<R, RUNG_CHUNKS>(&mut chunks, &Whole::new(start), |own| {
        let initial = start.initial(R::IDENTITY);
        if tiles == 1 {
            return initial;
        }
        let statuses = Statuses::<R>::new(statuses, STATUS_STRIDE, tag_of(ticket));
        let first = thread::thread_idx_x() == 0;
        let before = if number == 0 {
            initial
        } else {
            if first {
                statuses.publish(number, 0, own);
            }
            look_back::<R>(statuses, number)
        };
        if first {
            statuses.publish(number, INCLUSIVE, R::combine(before, own));
        }
        before
    });
    tile.store(chunks);
}

/// Returns the prefix of a tile that is not the first, in every lane of the warp that calls this.
#[inline(always)]
#[track_caller]
fn look_back<R: Scan>(statuses: Statuses<R>, number: usize) -> R::Acc {
    let lane = warp::lane_id();
    let mut before = R::IDENTITY;
    let mut end = number;
    loop {
        // Lane 31 has the tile just before, so that the lanes are in the tiles' order.
        let i = end + lane as usize;
        let (kind, mut total) = if i >= 32 {
            statuses.get(i - 32)
        } else {
            (INCLUSIVE, R::IDENTITY)
        };
        let inclusive = warp::ballot(warp::FULL_MASK, kind == INCLUSIVE);
        // The lanes from the last prefix on.
        if inclusive != 0 && lane < 31 - inclusive.leading_zeros() {
            total = R::IDENTITY;
        }
        before = R::combine(R::lanes_total(total), before);
        if inclusive != 0 {
            return before;
        }
        end -= 32;
    }
}

//! `best` for small inputs and for arrays that are not aligned to 16 bytes: one launch with a block for every tile. See
//! [`cuda_std::scan`] for how it works. The persistent kernel uses the same tiles and batches and gives the same bits.

use cuda_std::{
    bf16, f16,
    prelude::*,
    scan::{Scan, Start, scan_tiles},
};

use super::{instances::with_scans, ops::*, policy::Policy};
use crate::{
    reduce::{Max, Min},
    tuning::numbers,
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
/// The contract of [`scan_tiles`] must hold.
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
    let (threads, windows) = const {
        let row = numbers::<Policy, R::In>(ROW);
        (row.threads, row.windows)
    };
    scan_tiles::<R>(
        threads, windows, input, output, control, statuses, batches, start,
    );
}

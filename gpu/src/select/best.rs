//! `best`: one pass with decoupled look-back.
//!
//! ```text
//! block: tile = ticket
//!     load the tile, 16 bytes per load, and keep it in registers
//!     count the selected elements of each warp; publish the tile's count
//!     look back: add the counts of 32 tiles at a time, until a tile has published the sum up to it; publish the own sum
//!     meanwhile: move the selected elements to shared memory, without gaps
//!     write them behind those of the tiles before
//! ```

use cuda_std::{
    bf16, f16,
    map::{First, Passed, Second},
    prelude::*,
    select::{Arguments, Arrays, Neighbors, Predicate, select_tiles},
};

use super::{instances::with_predicates, policy::Policy, predicates::*};
use crate::tuning::numbers;

/// Writes the selected elements in order, in one launch: see [`select_tiles`] for the arguments.
///
/// Launch: [`tiles`](cuda_std::select::tiles) blocks of [`Policy::block`](super::policy::Policy::block) threads;
/// dynamic shared memory of [`shared_bytes`](cuda_std::select::shared_bytes): the tile and a little more. Three barriers.
/// Reads every element once and writes every selected element once; 8 bytes of status per tile. Exact, so the result is the
/// same in every launch on every device.
///
/// # Safety
/// The contract of [`select_tiles`] must hold.
#[kernel(
    launch_bounds(
        numbers::<Policy, First<F>>(ROW).block as u32,
        numbers::<Policy, First<F>>(ROW).resident
    ),
    instances = with_predicates,
    tuned(compare_u8 as u8: 0..12, compare_f32 as f32: 0..12)
)]
pub unsafe fn select_best<F: Predicate, A: Arguments<F>, const ROW: usize>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    mode: u32,
    control: GlobalMut<u64>,
    output: GlobalMut<First<F>>,
    count: GlobalMut<u64>,
) {
    macro_rules! rows {
        ($($block:literal x $rounds:literal),*) => {
            match const {
                let row = numbers::<Policy, First<F>>(ROW);
                (row.block, row.rounds)
            } {
                $(($block, $rounds) => select_tiles::<F, A, $block, $rounds>(
                    predicate, items, second, mode, control, output, count,
                ),)*
                _ => unreachable!(),
            }
        };
    }
    rows!(
        512 x 4, 256 x 4, 256 x 8, 384 x 4, 128 x 8, 640 x 4, 256 x 2, 512 x 2, 256 x 3
    );
}

//! Keys and values by the positions that a sort found.

use cuda_std::prelude::*;

use super::items::Values;
use crate::{
    segments::offset,
    sort::{
        bits::{Bits, Column},
        policy::GATHER_BLOCK,
    },
};

/// Copies keys and values: element `i` of the output is number `positions[i]` of the input.
///
/// A position is 1 or 2 words, the low bits first. With `per_position` 0 there are no positions, and every element keeps its
/// place. Values that are positions are written from `column.first` on.
///
/// Launch: a thread per element of the output, or more; blocks of 256. Reads every position once. Exact.
///
/// # Safety
/// The positions are those of elements of the input. `output` is empty or has an element per position. The values are as for
/// [`sort_best_small`](super::sort_best_small). No output overlaps an input.
#[kernel(
    launch_bounds(GATHER_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn sort_best_gather<U: Bits>(
    input: Global<U>,
    positions: Global<u32>,
    per_position: u32,
    output: GlobalMut<U>,
    values_in: Global<u8>,
    values_out: GlobalMut<u8>,
    column: Column,
) {
    let i = thread::index_1d_wide();
    let position = match per_position as usize {
        0 if i < input.len() => i,
        words if words > 0 && i < positions.len() / words => offset(positions, words, i),
        _ => return,
    };
    if !output.is_empty() {
        output.set(i, input.get(position));
    }
    let values = Values {
        input: values_in,
        output: values_out,
        column,
    };
    values.copy(position, i);
}

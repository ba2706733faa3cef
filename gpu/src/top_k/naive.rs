//! `naive`: everything is sorted. These are the kernels that it takes beside those of the sorts.
//!
//! `best` does the same for more elements than a block can sort.

use cuda_std::prelude::*;

use crate::{
    segments::offset,
    sort::Bits,
    top_k::{Order, policy::BLOCK},
};

/// Writes the rank of each element.
///
/// Launch: a thread per element, in blocks of 512. Reads and writes every element once.
///
/// # Safety
/// `ranks` has as many elements as `input` and does not overlap it.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn top_k_ranks<U: Bits>(input: Global<U>, order: Order<U>, ranks: GlobalMut<U>) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        ranks.set(i, order.rank(input.get(i)));
    }
}

/// Writes the first `k` elements of each segment in an order, as many as it has, and their positions in the input.
///
/// `order` has positions, counted from `first` on, segment by segment; segment `s` has those from `offsets[s] - first` up to
/// `offsets[s + 1] - first`. Without offsets, there is one segment, of at least `k`. Positions and offsets are 1 or 2 words,
/// the low bits first. Results that a segment has no element for are 0, with the position `u64::MAX`.
///
/// Launch: a thread per element of `values`, in blocks of 512.
///
/// # Safety
/// `values` and `positions` have equally many elements, `k` for each segment. The positions of `order` lie in the input. The
/// outputs overlap nothing.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_gather<U: Bits>(
    input: Global<U>,
    order: Global<u32>,
    per_position: u32,
    offsets: Global<u32>,
    per_offset: u32,
    first: usize,
    k: usize,
    values: GlobalMut<U>,
    positions: GlobalMut<u64>,
) {
    let i = thread::index_1d_wide();
    if i >= values.len() {
        return;
    }
    let mut at = i;
    if !offsets.is_empty() {
        let (segment, per_offset) = (i / k, per_offset as usize);
        let [begin, end] = [segment, segment + 1].map(|s| offset(offsets, per_offset, s));
        let place = i % k;
        if place >= end - begin {
            values.set(i, U::ZERO);
            positions.set(i, u64::MAX);
            return;
        }
        at = begin - first + place;
    }
    let position = first + offset(order, per_position as usize, at);
    values.set(i, input.get(position));
    positions.set(i, position as u64);
}

//! `naive`: everything is sorted. These are the kernels that it takes beside those of the sorts.
//!
//! `best` does the same for more elements than a block can sort.

use cuda_std::prelude::*;

use crate::{
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

/// Writes the elements at the first positions of `order`, as many as `values` has room for, and these positions.
///
/// Launch: a thread per element of `values`, in blocks of 512.
///
/// # Safety
/// `values` and `positions` have equally many elements, `order` has at least as many, and these lie in the input. The outputs
/// overlap nothing.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn top_k_gather<U: Bits>(
    input: Global<U>,
    order: Global<u64>,
    values: GlobalMut<U>,
    positions: GlobalMut<u64>,
) {
    let i = thread::index_1d_wide();
    if i < values.len() {
        let position = order.get(i);
        values.set(i, input.get(position as usize));
        positions.set(i, position);
    }
}

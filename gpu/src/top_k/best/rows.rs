//! The best elements of each row of a matrix.

use cuda_std::{prelude::*, shared::DynamicShared};

use crate::{
    sort::Bits,
    top_k::{
        Order,
        find::{self, Memory},
        policy::BLOCK,
        source::Elements,
    },
};

/// Writes the values and the positions of the `k` best of each `len` elements to `k` elements of `values` and `positions`, the
/// best first. The elements of row `b` begin at element `b * stride`.
///
/// Launch: a block of 512 threads per row; dynamic shared memory of `policy::shared_bytes`. Reads every element once
/// to collect the best, and a part of them, or all of a short input, for each 11 bits of the rank that it takes to find a
/// threshold.
///
/// # Safety
/// `1 <= k <= most`, `most <= 8192`, `k <= len`, `len < 2^32`. The outputs have `k` elements per block and do not overlap the
/// input.
#[kernel(
    launch_bounds(BLOCK as u32, 2),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_rows<U: Bits>(
    input: Global<U>,
    order: Order<U>,
    len: u64,
    stride: u64,
    k: u32,
    most: u32,
    values: GlobalMut<U>,
    positions: GlobalMut<u64>,
) {
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let memory = Memory::new(&mut memory, most as usize);
    let row = thread::block_idx_x() as usize;
    let first = row * stride as usize;
    let source = Elements {
        input,
        order,
        first,
        len: len as usize,
        at: 0,
    };
    find::best(source, k, most, memory, |i, _, position| {
        let place = row * k as usize + i;
        values.set(place, input.get(first + position as usize));
        positions.set(place, position.into());
    });
}

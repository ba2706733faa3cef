//! `two_level`: a block for each part of the array finds the best of it, and one block the best of those.

use cuda_std::{prelude::*, shared::DynamicShared};

use super::{
    Order,
    best::candidates,
    find::{self, Memory},
    policy::BLOCK,
    source::{Elements, Entries},
};
use crate::sort::Bits;

/// Writes ranks and positions of the `k` best elements of each part of the input to `k` elements of `ranks` and `positions`, if
/// the state does not say that the list has good candidates.
///
/// Launch: a block of 512 threads per part; dynamic shared memory of `policy::shared_bytes`. Reads every element once
/// to collect the best, and a part of them, or all of a short input, for each 11 bits of the rank that it takes to find a
/// threshold.
///
/// # Safety
/// `1 <= k <= most`, `most <= 8192`, every part has at least `k` elements, the input fewer than 2^32. The outputs have `k`
/// elements per block and do not overlap the input.
#[kernel(
    launch_bounds(BLOCK as u32, 2),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_chunks<U: Bits>(
    input: Global<U>,
    order: Order<U>,
    k: u32,
    most: u32,
    state: Global<u64>,
    capacity: u64,
    ranks: GlobalMut<U>,
    positions: GlobalMut<u32>,
) {
    if candidates(state, k, capacity as usize).is_some() {
        return;
    }
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let memory = Memory::new(&mut memory, most as usize);
    let (chunk, chunks) = (
        thread::block_idx_x() as usize,
        thread::grid_dim_x() as usize,
    );
    let begin = |chunk: usize| input.len() * chunk / chunks;
    let first = begin(chunk);
    let source = Elements {
        input,
        order,
        first,
        len: begin(chunk + 1) - first,
        at: first as u32,
    };
    find::best(source, k, most, memory, |i, rank, position| {
        let place = chunk * k as usize + i;
        ranks.set(place, rank);
        positions.set(place, position);
    });
}

/// Writes the values and the positions of the `k` best entries of the list, the best first. The list has as many entries as the
/// state says, or, where those are no good candidates, `k` for each of `chunks` parts.
///
/// Launch: one block of 512 threads; dynamic shared memory of `policy::shared_bytes`. Reads every rank once
/// to collect the best, and a part of them, or all of a short list, to see which bits differ and for each 11 of these bits that
/// it takes to find a threshold.
///
/// # Safety
/// `1 <= k <= most`, `most <= 8192`. The positions lie in the input. `values` and `sorted` have `k` elements and do not overlap
/// the others.
#[kernel(
    launch_bounds(BLOCK as u32, 1),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_merge<U: Bits>(
    input: Global<U>,
    ranks: Global<U>,
    positions: Global<u32>,
    state: Global<u64>,
    capacity: u64,
    chunks: u32,
    k: u32,
    most: u32,
    values: GlobalMut<U>,
    sorted: GlobalMut<u64>,
) {
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let memory = Memory::new(&mut memory, most as usize);
    let len = match candidates(state, k, capacity as usize) {
        Some(count) => count,
        None => chunks as usize * k as usize,
    };
    let source = Entries {
        ranks,
        positions,
        len,
        last: input.len() as u32 - 1,
    };
    find::best(source, k, most, memory, |i, _, position| {
        values.set(i, input.get(position as usize));
        sorted.set(i, position.into());
    });
}

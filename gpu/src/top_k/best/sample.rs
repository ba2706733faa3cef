//! The threshold that a sample gives.

use cuda_std::{prelude::*, shared::DynamicShared};

use super::{COUNT, POSITION, RANK};
use crate::{
    block,
    sort::Bits,
    top_k::{
        Order,
        find::{self, Memory},
        policy::{BLOCK, sample_position},
        source::Elements,
    },
};

/// Writes rank and position of the `target`-th best of the samples to the state, and sets the number of candidates to 0. The
/// block that is done last looks for it; the others write the ranks of the samples.
///
/// Launch: a thread per element of `ranks`, in blocks of 512; dynamic shared memory of `policy::shared_bytes`. Reads every
/// sample once, each somewhere else.
///
/// # Safety
/// `1 <= target <= most`, `target` is at most the number of samples. The input has at least 16384 elements and fewer than 2^32.
/// `ranks` has an element per sample, the state has three. `done[0]` is 0; the kernel leaves it so. Nothing else uses the last
/// three while it runs.
#[kernel(
    launch_bounds(BLOCK as u32, 1),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_sample<U: Bits>(
    input: Global<U>,
    order: Order<U>,
    target: u32,
    most: u32,
    ranks: GlobalMut<U>,
    done: GlobalMut<u32>,
    state: GlobalMut<u64>,
) {
    let i = thread::index_1d_wide();
    if i < ranks.len() {
        let position = sample_position(i, input.len()) as usize;
        ranks.set(i, order.rank(input.get(position)));
    }
    if !block::is_last(done, 0, thread::grid_dim_x()) {
        return;
    }
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let memory = Memory::new(&mut memory, most as usize);
    let samples = Elements {
        // SAFETY: all ranks are written, and nothing writes them from here on.
        input: unsafe { Global::from_raw_parts(ranks.as_ptr(), ranks.len()) },
        order: Order::NONE,
        first: 0,
        len: ranks.len(),
        at: 0,
    };
    find::best(samples, target, most, memory, |i, rank, sample| {
        if i + 1 == target as usize {
            let position = sample_position(sample as usize, input.len());
            state.set(RANK, rank.to_word());
            state.set(POSITION, position.into());
            state.set(COUNT, 0);
        }
    });
}

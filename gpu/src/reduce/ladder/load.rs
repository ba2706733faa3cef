//! The first step of several rungs: loads that combine two or more elements per thread.

use cuda_std::{Global, thread};

use crate::reduce::ops::Reduction;

/// Returns the partial result of element `i`, or the identity past the end.
#[inline(always)]
#[track_caller]
pub fn load_or_identity<R: Reduction>(input: Global<R::In>, i: usize) -> R::Acc {
    if i < input.len() {
        R::load(input.get(i), i)
    } else {
        R::IDENTITY
    }
}

/// Returns the combined partial result of this thread's two elements. The block takes `2 * block_dim` neighboring elements, and
/// the thread those at its index and `block_dim` further on.
#[inline(always)]
#[track_caller]
pub fn load_pair<R: Reduction>(input: Global<R::In>) -> R::Acc {
    let block = thread::block_dim_x() as usize;
    let i = thread::block_idx_x() as usize * (2 * block) + thread::thread_idx_x() as usize;
    R::combine(
        load_or_identity::<R>(input, i),
        load_or_identity::<R>(input, i + block),
    )
}

/// Returns the combined partial result of this thread's elements in a grid-stride loop.
#[inline(always)]
#[track_caller]
pub fn load_strided<R: Reduction>(input: Global<R::In>) -> R::Acc {
    let mut value = R::IDENTITY;
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        value = R::combine(value, R::load(input.get(i), i));
        i += thread::grid_stride();
    }
    value
}

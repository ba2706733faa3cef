//! `best`: wide loads, several in flight per thread, and one launch.
//!
//! ```text
//! block b:
//!     value = identity
//!     for each group of UNROLL 16-byte chunks of elements b * per_block .. (b + 1) * per_block that are this thread's:
//!         load all UNROLL chunks, then combine them into value       (the loads overlap; one alone would wait for memory)
//!     combine the unaligned elements at both ends, one per thread
//!     total = combine the block's values: shuffles within each warp, then one warp over the warps' totals
//!     if there is one block: result = total, done
//!     partials[b] = total; ticket = atomic_add(tickets, 1)           (release: the partial result is visible first)
//!     if ticket is the last (acquire: all partial results are visible):
//!         result = combine partials[0], partials[1], ...             (in index order, so the order of arrival has no effect)
//!         tickets = 0                                                (ready for the next launch)
//! ```
//!
//! A second launch for the partial results would cost more than this last step. Reading each element once at full memory
//! bandwidth is the lower bound. There are as many blocks as are resident at once; one more would run alone at the end.

use cuda_std::{bf16, f16, prelude::*, unrolled, view::Wide};

use super::{instances::with_reductions, ops::*, policy::Policy};
use crate::{
    block,
    tuning::{Numbers, Tuned, numbers},
};

/// Reduces the elements to one result in a single launch.
///
/// A block takes `per_block` neighboring elements. It reads its aligned middle 16 bytes per load, with several loads per thread
/// before the first is used. The first threads take the unaligned ends one by one. Each block writes a partial result and takes
/// a ticket. The block with the last ticket reduces the partial results in index order, so that the result does not depend on
/// the order of arrival. A single block needs no ticket.
///
/// Launch: `ceil(n / per_block)` blocks of up to [`Policy::most_threads`] threads, a multiple of 32; static shared memory
/// of 32 partial results. Reads every element once.
///
/// Determinism: the same input, alignment and grid give the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch, `result` has one, and `ticket` has one that is 0. Launches that may run
/// at the same time do not share them. The kernel leaves `ticket` at 0.
#[kernel(
    launch_bounds(
        numbers::<Policy, R::In>(ROW).most_threads() as u32,
        numbers::<Policy, R::In>(ROW).resident
    ),
    instances = with_reductions,
    tuned(sum_u8: 0..12, sum_f32: 0..12, sum_f64: 0..12, argmax_f32: 0..12, argmax_u8: 0..12)
)]
pub unsafe fn reduce_best<R: Reduction, const ROW: usize>(
    input: Global<R::In>,
    per_block: usize,
    partials: GlobalMut<R::Acc>,
    ticket: GlobalMut<u32>,
    result: GlobalMut<R::Acc>,
) {
    in_one_launch::<R, Numbers<R::In, ROW>>(input, per_block, partials, ticket, result);
}

/// The body of [`reduce_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn in_one_launch<R: Reduction, N: Tuned<Policy>>(
    input: Global<R::In>,
    per_block: usize,
    partials: GlobalMut<R::Acc>,
    ticket: GlobalMut<u32>,
    result: GlobalMut<R::Acc>,
) {
    let tid = thread::thread_idx_x() as usize;
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    let from = block * per_block;
    let to = input.len().min(from + per_block);
    let value = block::reduce_shuffle::<R>(accumulate::<R, N>(input, from, to));
    if blocks == 1 {
        if tid == 0 {
            result.set(0, value);
        }
        return;
    }
    if tid == 0 {
        partials.set(block, value);
    }
    if !block::is_last(ticket, 0, blocks) {
        return;
    }
    let mut value = R::IDENTITY;
    let mut i = tid;
    while i < blocks as usize {
        value = R::merge(value, partials.get(i));
        i += thread::block_dim_x() as usize;
    }
    let value = block::reduce_shuffle::<R>(value);
    if tid == 0 {
        result.set(0, value);
    }
}

/// Returns the partial result of this thread's share of elements `from` to `to - 1`.
#[inline(always)]
#[track_caller]
fn accumulate<R: Reduction, N: Tuned<Policy>>(
    input: Global<R::In>,
    from: usize,
    to: usize,
) -> R::Acc {
    match const { unroll::<R, N>() } {
        2 => accumulate_by::<R, 2>(input, from, to),
        4 => accumulate_by::<R, 4>(input, from, to),
        _ => accumulate_by::<R, 8>(input, from, to),
    }
}

/// Returns the number of loads that a thread has in flight.
const fn unroll<R: Reduction, N: Tuned<Policy>>() -> usize {
    let unroll = if R::IS_POSITION {
        N::POLICY.positions
    } else {
        N::POLICY.unroll
    };
    assert!(matches!(unroll, 2 | 4 | 8));
    unroll
}

#[inline(always)]
#[track_caller]
fn accumulate_by<R: Reduction, const UNROLL: usize>(
    input: Global<R::In>,
    from: usize,
    to: usize,
) -> R::Acc {
    let lanes = Wide::<R::In>::LEN;
    let tid = thread::thread_idx_x() as usize;
    let threads = thread::block_dim_x() as usize;

    // First the elements before the first 16-byte boundary, then the wide loads, then the rest.
    let past = (input.as_ptr().addr() / size_of::<R::In>()).wrapping_add(from) % lanes;
    let head = if past == 0 { 0 } else { lanes - past }.min(to - from);
    let first = from + head;
    let wides = (to - first) / lanes;
    let tail = first + wides * lanes;

    let span = Span {
        input,
        first,
        wides,
        threads,
    };
    let mut value = R::IDENTITY;
    let mut wide = tid;
    span.add::<R, UNROLL>(&mut value, &mut wide);
    if const { UNROLL > 4 } {
        // A block may have only this many left for its threads.
        span.add::<R, 4>(&mut value, &mut wide);
    }
    span.add::<R, 1>(&mut value, &mut wide);
    if tid < head {
        value = R::combine(value, R::load(input.get(from + tid), from + tid));
    }
    if tail + tid < to {
        value = R::combine(value, R::load(input.get(tail + tid), tail + tid));
    }
    value
}

/// The wide loads of a block.
#[derive(Clone, Copy)]
struct Span<T> {
    input: Global<T>,
    /// The first element of the first load.
    first: usize,
    /// The number of loads.
    wides: usize,
    /// The number of loads that the block issues at a time.
    threads: usize,
}

impl<T: Copy + 'static> Span<T> {
    /// Adds a thread's loads from load `wide` on, `UNROLL` at a time, and moves `wide` past them.
    #[inline(always)]
    #[track_caller]
    fn add<R: Reduction<In = T>, const UNROLL: usize>(self, value: &mut R::Acc, wide: &mut usize) {
        let lanes = Wide::<T>::LEN;
        let step = self.threads * lanes;
        while *wide + (UNROLL - 1) * self.threads < self.wides {
            let at = self.first + *wide * lanes;
            let loaded: [Wide<T>; UNROLL] =
                core::array::from_fn(|round| self.input.get_wide_streaming(at + round * step));
            unrolled!(round < UNROLL => {
                *value = R::add_wide(*value, loaded[round], at + round * step);
            });
            *wide += UNROLL * self.threads;
        }
    }
}

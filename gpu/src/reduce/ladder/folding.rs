//! `folding`: adds the back half onto the front half, out of place, until one element is left.

use cuda_std::{bf16, f16, prelude::*};

use crate::reduce::{instances::with_reductions, ops::*, policy::RUNG_BLOCK};

/// The first fold: `len` elements become `remain = len - len / 2` partial results. Partial result `i` combines element `i` and
/// element `i + remain`, if that exists.
///
/// Launch: `ceil(remain / 256)` blocks of 256 threads; no shared memory.
/// Reads every element once, writes half as many partial results.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has `remain` elements.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_folding_first<R: Reduction>(input: Global<R::In>, output: GlobalMut<R::Acc>) {
    let remain = input.len() - input.len() / 2;
    let i = thread::index_1d_wide();
    if i < remain {
        let mut value = R::load(input.get(i), i);
        if i + remain < input.len() {
            value = R::combine(value, R::load(input.get(i + remain), i + remain));
        }
        output.set(i, value);
    }
}

/// A later fold, of partial results; see [`reduce_folding_first`].
///
/// # Safety
/// `output` has `remain` elements and does not overlap `input`.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_folding<R: Reduction>(input: Global<R::Acc>, output: GlobalMut<R::Acc>) {
    let remain = input.len() - input.len() / 2;
    let i = thread::index_1d_wide();
    if i < remain {
        let mut value = input.get(i);
        if i + remain < input.len() {
            value = R::combine(value, input.get(i + remain));
        }
        output.set(i, value);
    }
}

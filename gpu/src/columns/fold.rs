//! The last pass of `best`: folds the period's columns onto those of the matrix.

use cuda_std::{prelude::*, shared::DynamicShared};

use super::policy::{FOLD_COLUMNS, FOLD_ROWS};
use crate::{
    axis::{Along, Mean, Sum, with_axis_reductions},
    reduce::{Max, Min},
};

/// Combines, for each column of the matrix, the totals of the period's columns that belong to it, and the elements of the
/// matrix before element `head` and from element `tail` on.
///
/// Launch: `ceil(width / 32)` blocks of 32 x 16 threads; dynamic shared memory of 512 totals. Reads the
/// totals and the elements outside of `head..tail` once, writes one result per column.
///
/// Determinism: the same input, alignment and period give the same bits.
///
/// # Safety
/// `input` has `width * height` elements, and `head` and `tail` lie within; `folded` has a multiple of
/// `width` elements, of which the first belongs to the column of element `head`; `output` has `width`
/// elements; nothing overlaps.
#[kernel(launch_bounds((FOLD_COLUMNS * FOLD_ROWS) as u32), instances = with_axis_reductions)]
pub unsafe fn columns_fold<A: Along>(
    input: Global<A::In>,
    head: usize,
    tail: usize,
    folded: Global<A::Acc>,
    output: GlobalMut<A::Out>,
    width: usize,
    height: usize,
) {
    // SAFETY: the launch provides this many bytes of dynamic shared memory, and nothing else uses them.
    let shared: Shared<A::Acc> = unsafe { DynamicShared::new() }.carve(FOLD_COLUMNS * FOLD_ROWS);
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let column = thread::block_idx_x() as usize * FOLD_COLUMNS + x;
    let mut total = A::IDENTITY;
    if column < width {
        // Returns this thread's first index from `start` on that belongs to the column; the next one is `step` further on.
        let first = |start: usize| {
            let past = start % width;
            let ahead = if past > column {
                column + width - past
            } else {
                column - past
            };
            start + ahead + y * width
        };
        let step = FOLD_ROWS * width;
        let mut i = first(head) - head;
        while i < folded.len() {
            total = A::combine(total, folded.get(i));
            i += step;
        }
        let mut i = first(0);
        while i < head {
            total = A::combine(total, A::load(input.get(i), i));
            i += step;
        }
        let mut i = first(tail);
        while i < input.len() {
            total = A::combine(total, A::load(input.get(i), i));
            i += step;
        }
    }
    shared.set(y * FOLD_COLUMNS + x, total);
    thread::sync_threads();
    if y == 0 && column < width {
        let mut total = A::IDENTITY;
        for y in 0..FOLD_ROWS {
            total = A::combine(total, shared.get(y * FOLD_COLUMNS + x));
        }
        output.set(column, A::finish(total, height));
    }
}

//! `column_per_thread`: one thread walks down one column.

use cuda_std::prelude::*;

use crate::columns::policy::RUNG_BLOCK;
use crate::{
    axis::{Along, CHUNK, Mean, Sum, with_axis_reductions},
    reduce::{Max, Min},
};

/// Reduces each column of a `height` x `width` row-major matrix by one thread, one element at a time.
/// Neighboring threads read neighboring elements: 32 bytes per warp and load where elements are bytes.
///
/// Launch: `ceil(width / 256)` blocks of 256 threads; no shared memory. Reads every element once, writes
/// one result per column.
///
/// Determinism: the elements of a column in their order, 256 to a part: the same bits on every device.
///
/// # Safety
/// `input` has `width * height` elements, `output` has `width`; they do not overlap.
///
/// Source: the column sums of a tutorial on axis sums (one thread per column).
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_axis_reductions)]
pub unsafe fn columns_column_per_thread<A: Along>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
    height: usize,
) {
    let column = thread::index_1d_wide();
    if column >= width {
        return;
    }
    let mut total = A::IDENTITY;
    let mut i = column;
    let mut left = height;
    while left > 0 {
        let rows = left.min(CHUNK);
        let mut part = A::EMPTY;
        for _ in 0..rows {
            part = A::add(part, input.get(i));
            i += width;
        }
        total = A::combine(total, A::total(part));
        left -= rows;
    }
    output.set(column, A::finish(total, height));
}

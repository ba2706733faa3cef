//! `four_columns_per_thread`: one load holds four columns.

use cuda_std::prelude::*;

use crate::columns::policy::FOUR_BLOCK;
use crate::{
    axis::{Along, CHUNK, Mean, Sum, with_axis_reductions},
    reduce::{Max, Min},
};

/// Reduces four neighboring columns of a `height` x `width` row-major matrix per thread. Where rows are aligned to four
/// elements, one load brings the four elements of a row: 4 bytes of `u8`, split by shift and mask, 8 bytes of `u16`, 16 bytes
/// of four-byte elements; `f64` takes two loads. Otherwise, and for the columns after the last four, every element has its own
/// load.
///
/// Launch: `ceil(width / 256)` blocks of 64 threads; no shared memory. Reads every element once, writes
/// one result per column.
///
/// Determinism: the elements of a column in their order, 256 to a part: the same bits on every device.
///
/// # Safety
/// `input` has `width * height` elements, `output` has `width`; they do not overlap.
///
/// Source: the column sums of a tutorial on axis sums (one 32-bit load, four 8-bit columns).
#[kernel(launch_bounds(FOUR_BLOCK as u32), instances = with_axis_reductions)]
pub unsafe fn columns_four_columns_per_thread<A: Along>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
    height: usize,
) {
    let column = thread::index_1d_wide() * 4;
    if column >= width {
        return;
    }
    let here = (width - column).min(4);
    let load = 16.min(4 * size_of::<A::In>());
    let aligned = width.is_multiple_of(4) && input.as_ptr().addr().is_multiple_of(load);
    let [mut a, mut b, mut c, mut d] = [A::IDENTITY; 4];
    let mut i = column;
    let mut left = height;
    while left > 0 {
        let rows = left.min(CHUNK);
        let mut parts = [A::EMPTY; 4];
        if aligned {
            for _ in 0..rows {
                parts = add_four::<A>(parts, load_four(input, i));
                i += width;
            }
        } else {
            for _ in 0..rows {
                for k in 0..4 {
                    if k < here {
                        parts[k] = A::add(parts[k], input.get(i + k));
                    }
                }
                i += width;
            }
        }
        a = A::combine(a, A::total(parts[0]));
        b = A::combine(b, A::total(parts[1]));
        c = A::combine(c, A::total(parts[2]));
        d = A::combine(d, A::total(parts[3]));
        left -= rows;
    }
    let totals = [a, b, c, d];
    for k in 0..4 {
        if k < here {
            output.set(column + k, A::finish(totals[k], height));
        }
    }
}

/// Returns the four elements from `i` on, with the fewest loads possible.
#[inline(always)]
#[track_caller]
fn load_four<T: Copy>(input: Global<T>, i: usize) -> [T; 4] {
    if size_of::<T>() > 4 {
        let [a, b] = input.get_chunk::<2>(i);
        let [c, d] = input.get_chunk::<2>(i + 2);
        [a, b, c, d]
    } else {
        input.get_chunk::<4>(i)
    }
}

#[inline(always)]
fn add_four<A: Along>(parts: [A::Part; 4], values: [A::In; 4]) -> [A::Part; 4] {
    [
        A::add(parts[0], values[0]),
        A::add(parts[1], values[1]),
        A::add(parts[2], values[2]),
        A::add(parts[3], values[3]),
    ]
}

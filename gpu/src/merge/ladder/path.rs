//! `path`: merge path by threads, from global memory.

use cuda_std::{merge::Compare, prelude::*};

use crate::{
    merge::{
        order::{Ascending, search},
        policy::{PATH_ITEMS, RUNG_BLOCK},
    },
    sort::{Bits, Twist},
};

/// Merges two sorted arrays: each thread finds how many keys of each come before its part of the output, and merges.
///
/// Launch: a thread for each 8 keys of the output; blocks of 256. Reads and writes every key once, neighbors of a warp 8 keys
/// apart, and two keys for each doubling of the arrays' lengths. Exact.
///
/// # Safety
/// `output` has as many elements as `a` and `b` together and overlaps nothing.
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn merge_path<U: Bits>(
    a: Global<U>,
    b: Global<U>,
    twist: Twist<U>,
    output: GlobalMut<U>,
) {
    merge_some(Ascending::of(twist), [a, b], output, PATH_ITEMS);
}

/// Merges the keys of the output that are this thread's: `items` of them, the first thread's first.
#[inline(always)]
#[track_caller]
pub(super) fn merge_some<U: Bits>(
    order: Ascending<U>,
    [a, b]: [Global<U>; 2],
    output: GlobalMut<U>,
    items: usize,
) {
    let first = thread::index_1d_wide() * items;
    if first >= output.len() {
        return;
    }
    let lowest = first.saturating_sub(b.len());
    let mut i = search(lowest, first.min(a.len()), |i| {
        order.is_less(b.get(first - 1 - i), a.get(i))
    });
    let mut at = first;
    while at < output.len().min(first + items) {
        let j = at - i;
        if i < a.len() && (j >= b.len() || !order.is_less(b.get(j), a.get(i))) {
            output.set(at, a.get(i));
            i += 1;
        } else {
            output.set(at, b.get(j));
        }
        at += 1;
    }
}

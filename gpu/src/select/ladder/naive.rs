//! `naive`: a thread counts and writes 1024 neighboring elements.

use cuda_std::{
    bf16, f16,
    map::{First, Passed, Second},
    prelude::*,
    select::{Arguments, Arrays, Neighbors, Predicate, is_selected},
};

use super::Places;
use crate::select::{
    instances::with_predicates,
    policy::{NAIVE_RUN, RUNG_BLOCK},
    predicates::*,
};

/// Writes to `counts[t]` how many of the 1024 elements from `1024 * t` on are selected, for every thread `t`.
///
/// Launch: a thread per element of `counts`, in blocks of 256. No shared memory. Reads every element once, but a warp's reads
/// are 1024 elements apart.
///
/// # Safety
/// `second` is as long as `items` if the predicate takes two arrays. `counts` has an element for each 1024 items, rounded up.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_predicates)]
pub unsafe fn select_naive_count<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    counts: GlobalMut<u64>,
) {
    let t = thread::index_1d_wide();
    if t < counts.len() {
        let mut count = 0;
        let mut i = t * NAIVE_RUN;
        let end = items.len().min(i + NAIVE_RUN);
        while i < end {
            count += u64::from(is_selected::<F, A>(predicate, items, second, i));
            i += 1;
        }
        counts.set(t, count);
    }
}

/// Writes the selected elements of each 1024 behind the `before[t]` ones that come before them. In the mode
/// [`PARTITION`](cuda_std::select::PARTITION) the others follow behind all `total[0]` selected elements.
///
/// Launch: as [`select_naive_count`]. Reads every element once, and writes each selected one.
///
/// # Safety
/// As for [`select_naive_count`]; `before` are the exclusive sums of its counts and `total` is their sum. `output` has room for
/// the selected elements, or in the mode `PARTITION` for all, and does not overlap the inputs.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_predicates)]
pub unsafe fn select_naive_scatter<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    mode: u32,
    before: Global<u64>,
    output: GlobalMut<First<F>>,
    total: Global<u64>,
) {
    let t = thread::index_1d_wide();
    if t < before.len() {
        let mut places = Places {
            selected: before.get(t) as usize,
            total: total.get(0) as usize,
            mode,
        };
        let mut i = t * NAIVE_RUN;
        let end = items.len().min(i + NAIVE_RUN);
        while i < end {
            let selected = is_selected::<F, A>(predicate, items, second, i);
            places.write(output, i, items.get(i), selected, 0);
            places.selected += usize::from(selected);
            i += 1;
        }
    }
}

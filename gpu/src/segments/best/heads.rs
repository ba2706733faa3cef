//! Runs of equal keys.

use cuda_std::{
    bf16, f16,
    map::{First, Passed, Second},
    prelude::*,
    select::{Arguments, Neighbors, Predicate, select_positions},
};

use crate::{
    segments::{
        Offsets,
        policy::{BLOCK, ROUNDS},
    },
    select::predicates::Changed,
};

/// Calls `$callback!` with one row per type of keys: its suffix, its predicate, and where that takes its second argument from.
/// Integers have instances by size.
macro_rules! with_keys {
    ($callback:ident) => {
        $callback! {
            b1: (Changed<u8>, Neighbors),
            b2: (Changed<u16>, Neighbors),
            b4: (Changed<u32>, Neighbors),
            b8: (Changed<u64>, Neighbors),
            f16: (Changed<f16>, Neighbors),
            bf16: (Changed<bf16>, Neighbors),
            f32: (Changed<f32>, Neighbors),
            f64: (Changed<f64>, Neighbors),
        }
    };
}
pub(crate) use with_keys;

/// Writes the first key of each run of equal keys to `output`, its position to `positions`, and the number of runs to
/// `count[0]`. A position takes `per_position` elements of `positions`.
///
/// Launch: [`tiles`](cuda_std::select::tiles) blocks of 256 threads; dynamic shared memory of
/// [`positions_shared_bytes`](cuda_std::select::positions_shared_bytes). Reads every key once, and the first of each run twice.
///
/// # Safety
/// The contract of [`select_positions`] must hold.
#[kernel(launch_bounds(BLOCK as u32), instances = with_keys)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn segments_heads<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    keys: Global<First<F>>,
    control: GlobalMut<u64>,
    output: GlobalMut<First<F>>,
    positions: GlobalMut<u32>,
    per_position: u32,
    count: GlobalMut<u64>,
) {
    // SAFETY: no element is read through a view without elements.
    let second = unsafe { Global::<Second<F>>::from_raw_parts(core::ptr::null_mut(), 0) };
    select_positions::<F, A, BLOCK, ROUNDS>(
        predicate,
        keys,
        second,
        control,
        output,
        positions,
        per_position,
        count,
    );
}

/// Writes the length of each segment to `lengths`. For `count` see [`Offsets::new`]; `elements` is where the last one ends.
///
/// Launch: any number of blocks of 256 threads, as many as are resident. Reads every offset twice.
///
/// # Safety
/// The offsets do not fall, and none is above `elements`. `lengths` has an element per segment.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_lengths(
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    elements: usize,
    lengths: GlobalMut<u64>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, elements);
    let mut s = thread::index_1d_wide();
    while s < offsets.len() {
        lengths.set(s, (offsets.get(s + 1) - offsets.get(s)) as u64);
        s += thread::grid_stride();
    }
}

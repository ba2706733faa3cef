//! The results of all segments, if many in one place have no elements.

use cuda_std::{Plain, prelude::*, unrolled};

use crate::segments::{Offsets, policy::BLOCK};

/// The loads that a thread has under way at a time.
const UNROLL: usize = 4;

/// Writes `results[j]` to `output[ids[j + 1] - 1]` for every `j`, and the value whose bits are the low ones of `none` to the
/// output of every segment without elements.
///
/// Launch: any number of blocks of 256 threads, as many as are resident. Reads every offset twice, and everything else once.
///
/// # Safety
/// `output` has an element per segment and overlaps nothing. `ids` has an element more than `results`, none above the number of
/// segments.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn segments_spread<T: Plain>(
    offsets: Global<u32>,
    per_offset: u32,
    none: u64,
    ids: Global<u64>,
    results: Global<T>,
    output: GlobalMut<T>,
) {
    // SAFETY: a `T` has at most 8 bytes, any bytes are one, and both targets are little-endian.
    let none = unsafe { core::mem::transmute_copy::<u64, T>(&none) };
    let offsets = Offsets::of(offsets, per_offset);
    let (thread, stride) = (thread::index_1d_wide(), thread::grid_stride());
    let is_empty = |s: usize| offsets.get(s) == offsets.get(s + 1);
    let mut s = thread;
    while s + (UNROLL - 1) * stride < offsets.len() {
        let empty: [bool; UNROLL] = core::array::from_fn(|k| is_empty(s + k * stride));
        unrolled!(k < UNROLL => {
            if empty[k] {
                output.set(s + k * stride, none);
            }
        });
        s += UNROLL * stride;
    }
    while s < offsets.len() {
        if is_empty(s) {
            output.set(s, none);
        }
        s += stride;
    }
    let place = |j: usize| ids.get(j + 1) as usize - 1;
    let mut j = thread;
    while j + (UNROLL - 1) * stride < results.len() {
        let moved: [(usize, T); UNROLL] = core::array::from_fn(|k| {
            let j = j + k * stride;
            (place(j), results.get(j))
        });
        unrolled!(k < UNROLL => {
            let (at, result) = moved[k];
            output.set(at, result);
        });
        j += UNROLL * stride;
    }
    while j < results.len() {
        output.set(place(j), results.get(j));
        j += stride;
    }
}

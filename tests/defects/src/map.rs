//! Defects planted in the elementwise maps (`gpu/src/map`, `cuda_std::map`).

use cuda_std::{
    map::{MapFn, Passed, apply},
    prelude::*,
};

use crate::NOTHING;

/// The function: three times the element.
#[repr(C)]
#[derive(Clone, Copy)]
struct Triple;

// SAFETY: no fields.
unsafe impl MapFn for Triple {
    type In = u32;
    type Out = u32;

    #[inline(always)]
    fn call(self, _index: usize, x: u32) -> u32 {
        x.wrapping_mul(3)
    }
}

/// `apply` to the element at `i`; the function has no second array.
#[inline(always)]
#[track_caller]
fn triple(input: Global<u32>, i: usize) -> u32 {
    // SAFETY: a view of nothing.
    let none = unsafe { Global::from_raw_parts(core::ptr::null_mut(), 0) };
    apply(Passed::new(Triple), input, none, i)
}

/// `rolled` whose stride is the block instead of the grid: blocks do each other's work.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_rolled_block_stride<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let stride = if DEFECT {
        thread::block_dim_x() as usize
    } else {
        thread::grid_stride()
    };
    let mut i = thread::index_1d_wide();
    while i < output.len() {
        output.set(i, triple(input, i)); // HERE: race
        i += stride;
    }
}

/// `direct` without a look at the length.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_direct_unguarded<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    if DEFECT || i < output.len() {
        output.set(i, triple(input, i)); // HERE: mem
    }
}

// What is wrong with `best`.
wrong! { in_map_best:
    /// The chunk that is not whole is counted.
    RAGGED_TAIL = 1, // AT: map_best
    /// Nobody asks whether the arrays are aligned.
    ALIGNMENT_UNCHECKED = 2, // AT: map_best
}

/// `best`: chunks of four elements, and the rest one by one. The input starts at its element `n`.
#[kernel(launch_bounds(256), instances = in_map_best)]
pub unsafe fn map_best<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    const N: usize = 4;
    let input = input.skip(n);
    let aligned = [input.as_ptr().addr(), output.as_ptr().addr()]
        .iter()
        .all(|address| address % 16 == 0);
    let chunks = match WRONG {
        RAGGED_TAIL => output.len().div_ceil(N),
        _ if aligned || WRONG == ALIGNMENT_UNCHECKED => output.len() / N,
        _ => 0,
    };
    let thread = thread::index_1d_wide();
    let stride = thread::grid_stride();
    let mut chunk = thread;
    while chunk < chunks {
        let [a, b, c, d] = input.get_chunk_streaming::<N>(chunk * N); // HERE: mem
        let results = [a, b, c, d].map(|x| x.wrapping_mul(3));
        output.set_chunk_streaming(chunk * N, results);
        chunk += stride;
    }
    let mut i = chunks * N + thread;
    while i < output.len() {
        output.set_streaming(i, triple(input, i));
        i += stride;
    }
}

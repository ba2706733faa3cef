//! Defects planted in how the blocks of `best` hand on their partial results (`gpu/src/reduce/best.rs`): the
//! sum of `u32`, to the first element of `output`. Its last element, a zero, is the ticket.

use cuda_std::{prelude::*, view::Wide};

use crate::reduce::{BLOCK, warp_sum};

/// Loads that a thread has in flight.
const UNROLL: usize = 4;

/// What is wrong with `best`.
const NOTHING: u32 = 0;
const NO_RELEASE: u32 = 1;
const NO_ACQUIRE: u32 = 2;
const FENCE_OF_THE_BLOCK: u32 = 3;
const PLAIN_TICKET: u32 = 4;
const ONE_PARTIAL_TOO_MANY: u32 = 5;
const NO_BARRIER: u32 = 6;

/// `best`.
#[inline(always)]
fn best<const WRONG: u32>(input: Global<u32>, output: GlobalMut<u32>, partials: GlobalMut<u32>) {
    let value = block_sum(accumulate(input));

    let last = shared![u32; 1];
    let ticket = output.len() - 1;
    let tid = thread::thread_idx_x();
    if thread::grid_dim_x() == 1 {
        if tid == 0 {
            output.set(0, value);
        }
        return;
    }
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, value);
        // The partial result has to be visible before the ticket is.
        match WRONG {
            NO_RELEASE => {}
            FENCE_OF_THE_BLOCK => thread::block_fence(),
            _ => thread::device_fence(),
        }
        let mine = if WRONG == PLAIN_TICKET {
            let mine = output.get(ticket); // HERE: race
            output.set(ticket, mine + 1);
            mine
        } else {
            output.atomic_add(ticket, 1)
        };
        last.set(0, u32::from(mine + 1 == thread::grid_dim_x()));
    }
    if WRONG != NO_BARRIER {
        thread::sync_threads();
    }
    let came_last = last.get(0); // HERE: race, init
    if came_last == 0 {
        return;
    }
    if WRONG != NO_ACQUIRE {
        thread::device_fence();
    }
    let end = thread::grid_dim_x() as usize + usize::from(WRONG == ONE_PARTIAL_TOO_MANY);
    let mut value = 0_u32;
    let mut i = tid as usize;
    while i < end {
        value = value.wrapping_add(partials.get(i)); // HERE: race, init
        i += BLOCK;
    }
    let value = block_sum(value);
    if tid == 0 {
        output.set(0, value);
        output.set(ticket, 0);
    }
}

/// What this thread's share of the input comes to.
#[inline(always)]
#[track_caller]
fn accumulate(input: Global<u32>) -> u32 {
    let lanes = Wide::<u32>::LEN;
    let thread = thread::index_1d_wide();
    let stride = thread::grid_stride();

    // The elements before the first 16-byte boundary, the wide loads, and the rest.
    let past = input.as_ptr().addr() % 16 / size_of::<u32>();
    let head = if past == 0 { 0 } else { lanes - past }.min(input.len());
    let wides = (input.len() - head) / lanes;
    let tail = head + wides * lanes;

    let add =
        |value, wide: Wide<u32>| wide.fold(value, |sum: u32, element, _| sum.wrapping_add(element));
    let mut value = 0_u32;
    let mut wide = thread;
    while wide + (UNROLL - 1) * stride < wides {
        let loaded: [Wide<u32>; UNROLL] = core::array::from_fn(|round| {
            input.get_wide_streaming(head + (wide + round * stride) * lanes)
        });
        let [a, b, c, d] = loaded;
        value = add(add(add(add(value, a), b), c), d);
        wide += UNROLL * stride;
    }
    while wide < wides {
        value = add(value, input.get_wide_streaming(head + wide * lanes));
        wide += stride;
    }
    if thread < head {
        value = value.wrapping_add(input.get(thread));
    }
    if tail + thread < input.len() {
        value = value.wrapping_add(input.get(tail + thread));
    }
    value
}

/// `block::reduce_shuffle`.
#[inline(always)]
#[track_caller]
fn block_sum(value: u32) -> u32 {
    let results = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = thread::block_dim_x() as usize / 32;
    let value = warp_sum(value);
    if tid.is_multiple_of(32) {
        results.set(tid / 32, value);
    }
    thread::sync_threads();
    let mut value = 0;
    if tid < 32 {
        if tid < warps {
            value = results.get(tid);
        }
        value = warp_sum(value);
    }
    thread::sync_threads();
    value
}

/// `best` without the fence before the ticket.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_no_release<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best for race
    match DEFECT {
        true => best::<NO_RELEASE>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

/// `best` without the fence behind the ticket.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_no_acquire<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best for race
    match DEFECT {
        true => best::<NO_ACQUIRE>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

/// `best` with a fence that other blocks do not see.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_fence_of_the_block<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best for race
    match DEFECT {
        true => best::<FENCE_OF_THE_BLOCK>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

/// `best` that takes its ticket by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_plain_ticket<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best for race
    match DEFECT {
        true => best::<PLAIN_TICKET>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

/// `best` whose last block takes a partial result that no block wrote.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_partial_unwritten<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best for init
    match DEFECT {
        true => best::<ONE_PARTIAL_TOO_MANY>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

/// `best` that looks at the block's flag without a barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_flag_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: best
    match DEFECT {
        true => best::<NO_BARRIER>(input, output, scratch),
        false => best::<NOTHING>(input, output, scratch),
    }
}

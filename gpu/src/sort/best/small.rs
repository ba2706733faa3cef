//! A small input, sorted by one block.
//!
//! ```text
//! copy the keys to shared memory, each with its number
//! for each digit, the lowest first:
//!     count the digits by warp; find where each warp's keys of each digit begin
//!     hold the thread's keys in registers; put each at its place, by ballots
//! write the keys; write the values by the numbers: all are read before the first is written
//! ```
//!
//! One launch does all passes, because a launch takes longer than a pass over so few keys. Ballots keep the order of equal
//! digits without a test.

use cuda_std::{Plain, prelude::*, shared::DynamicShared, unrolled};

use super::items::places_of;
use crate::sort::{
    bits::{Bits, Column, Range, Twists},
    policy::{SMALL_ITEMS, SMALL_THREADS},
    tile::Block,
};

/// Sorts the keys and their values, all passes in shared memory. Keys with equal bits keep their order.
///
/// `output` may be `input`, and `values_out` may be `values_in`. Without an `output` only the values are written. Without
/// `values_in`, `column` says whether the values are positions.
///
/// Launch: one block of `policy::small_threads` threads; dynamic shared memory of `policy::small_shared_bytes`. Reads and
/// writes every key and value once. Exact.
///
/// # Safety
/// There are at most 8 keys per thread. `output` is empty or has as many elements as `input`. If `column.bytes` is not 0,
/// `values_out` has room for as many values of this size, aligned to it; and so has `values_in`, unless the values are
/// positions. No two of them overlap, but for those that may be the same.
#[kernel(
    launch_bounds(SMALL_THREADS as u32, 1),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn sort_best_small<U: Bits>(
    input: GlobalMut<U>,
    output: GlobalMut<U>,
    values_in: GlobalMut<u8>,
    values_out: GlobalMut<u8>,
    range: Range,
    twists: Twists<U>,
    column: Column,
) {
    let threads = thread::block_dim_x() as usize;
    let n = input.len();
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let block = Block::new(&mut memory, threads / 32);
    let keys = memory.carve::<U>(n);
    let numbers = memory.carve::<u16>(n);
    let items = n.div_ceil(threads);
    let at = |i: usize| block.warp * (32 * items) + i * 32 + block.lane;
    unrolled!(i < SMALL_ITEMS => {
        if i < items && at(i) < n {
            keys.set(at(i), input.get(at(i)).twist(twists.input));
            numbers.set(at(i), at(i) as u16);
        }
    });
    for pass in 0..range.passes() {
        let (shift, mask) = range.digit(pass);
        let mut held = [(U::ZERO, 0_u16); SMALL_ITEMS];
        block.clear();
        unrolled!(i < SMALL_ITEMS => {
            if i < items && at(i) < n {
                held[i] = (keys.get(at(i)), numbers.get(at(i)));
                block.counts.atomic_add(block.slot(held[i].0.digit(shift, mask)), 1);
            }
        });
        block.places(threads / 32, n as u32, |_| ());
        unrolled!(i < SMALL_ITEMS => {
            if i < items {
                let inside = at(i) < n;
                let place = block.place_by_ballots(held[i].0.digit(shift, mask), inside);
                if inside {
                    keys.set(place, held[i].0);
                    numbers.set(place, held[i].1);
                }
            }
        });
        thread::sync_threads();
    }
    if !output.is_empty() {
        let mut i = block.tid;
        while i < n {
            output.set(i, keys.get(i).untwist(twists.output));
            i += threads;
        }
    }
    if column.positions != 0 {
        let mut i = block.tid;
        while i < n {
            let position = column.first + u64::from(numbers.get(i));
            match column.bytes {
                4 => places_of(values_out).set(i, position as u32),
                _ => places_of(values_out).set(i, position),
            }
            i += threads;
        }
        return;
    }
    match column.bytes {
        0 => {}
        1 => permute::<u8>(values_in, values_out, numbers),
        2 => permute::<u16>(values_in, values_out, numbers),
        4 => permute::<u32>(values_in, values_out, numbers),
        8 => permute::<u64>(values_in, values_out, numbers),
        _ => permute::<u128>(values_in, values_out, numbers),
    }
}

/// Writes the value number `numbers[i]` to place `i`. All values are read before the first is written.
#[inline(always)]
#[track_caller]
fn permute<V: Plain + Default>(input: GlobalMut<u8>, output: GlobalMut<u8>, numbers: Shared<u16>) {
    let (input, output) = (places_of::<V>(input), places_of::<V>(output));
    let (tid, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let mut held = [V::default(); SMALL_ITEMS];
    unrolled!(i < SMALL_ITEMS => {
        let place = i * threads + tid;
        if place < numbers.len() {
            held[i] = input.get(numbers.get(place) as usize);
        }
    });
    thread::sync_threads();
    unrolled!(i < SMALL_ITEMS => {
        let place = i * threads + tid;
        if place < numbers.len() {
            output.set(place, held[i]);
        }
    });
}

//! Defects planted in a scan by decoupled look-back (Merrill and Garland 2016): the inclusive prefix sums of `u32`, to
//! `output`. Each block takes the next tile by a ticket, tells of the tile's sum, adds up what the tiles before it tell,
//! back to one that tells of all before it, and tells of its own prefix. So blocks wait for blocks that have started.
//!
//! `scratch` is zeros before the first launch and ready for the next one behind each: what a tile tells carries the
//! launch's number, so nothing has to be cleared.

use core::sync::atomic::Ordering;

use cuda_std::{atomic::Scope, prelude::*};

use crate::NOTHING;

/// Threads of a block, and elements of a tile.
const TILE: usize = 64;
/// Tiles, at most.
const TILES: usize = 128;

/// Where what is in the scratch memory: the next ticket, blocks that are done, launches that are;
const TICKET: usize = 0;
const DONE: usize = 1;
const LAUNCHES: usize = 2;
/// by tile, the launch's number and what the tile tells of; the sums and the prefixes that it tells of;
const STATES: usize = 64;
const SUMS: usize = STATES + TILES;
const PREFIXES: usize = SUMS + TILES;
/// all of that in words of 64 bits.
const WIDE_STATES: usize = PREFIXES + TILES;

/// What a tile tells of, in the lowest bits of its state. Every launch but the first finds some state there.
const SUM: u32 = 1;
const PREFIX: u32 = 2;

// What is wrong with the scan.
wrong! { in_scan:
    /// The states of an earlier launch are taken for those of this one.
    STATES_OF_AN_EARLIER_LAUNCH = 1, // AT: look_back for race in the orders 1 2 3 4
    /// A sum is told of before it is there.
    STATE_BEFORE_ITS_VALUE = 2, // AT: look_back for race
    /// The looks acquire nothing.
    NO_ACQUIRE = 3, // AT: look_back for race
    /// Blocks take the tiles of their own indices: they wait for blocks that have not started.
    TILE_BY_BLOCK_INDEX = 4, // AT: look_back for sync in the orders backward 1 2 3 4
    /// State and value are told of one after the other, and looked at as one word.
    TORN_STATE = 5, // AT: look_back_wide for race
    /// Nothing, in the scan with states of 64 bits that [`TORN_STATE`] is made from.
    WIDE = 6,
}

/// The scan.
#[kernel(launch_bounds(64), instances = in_scan)]
pub unsafe fn scan<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let told = shared![u32; 3];
    let sums = shared![u32; TILE];
    let tid = thread::thread_idx_x() as usize;
    if tid == 0 {
        let tile = match WRONG {
            TILE_BY_BLOCK_INDEX => thread::block_idx_x(),
            _ => scratch.atomic_add(TICKET, 1),
        };
        told.set(0, tile);
        told.set(1, scratch.get(LAUNCHES) + 1);
    }
    thread::sync_threads();
    let (tile, launch) = (told.get(0) as usize, told.get(1));
    let i = tile * TILE + tid;
    let mut sum = if i < input.len() { input.get(i) } else { 0 };
    let mut step = 1;
    while step < TILE {
        sums.set(tid, sum);
        thread::sync_threads();
        if tid >= step {
            sum = sum.wrapping_add(sums.get(tid - step));
        }
        thread::sync_threads();
        step *= 2;
    }
    if tid == TILE - 1 {
        let before = match WRONG {
            WIDE | TORN_STATE => look_back_wide::<WRONG>(scratch, tile, launch, sum),
            _ => look_back::<WRONG>(scratch, tile, launch, sum),
        };
        told.set(2, before);
    }
    thread::sync_threads();
    if i < output.len() {
        output.set(i, told.get(2).wrapping_add(sum));
    }
    if tid == 0 {
        let done = scratch.atomic_add_with(DONE, 1, Ordering::AcqRel, Scope::Device) + 1;
        if done == thread::grid_dim_x() {
            scratch.set(TICKET, 0);
            scratch.set(DONE, 0);
            scratch.set(LAUNCHES, launch);
        }
    }
}

/// The sum of all tiles before this one, whose own sum this tells the others.
#[inline(always)]
fn look_back<const WRONG: u32>(scratch: GlobalMut<u32>, tile: usize, launch: u32, sum: u32) -> u32 {
    if tile == 0 {
        tell::<WRONG>(scratch, PREFIXES, tile, sum, launch * 4 + PREFIX);
        return 0;
    }
    tell::<WRONG>(scratch, SUMS, tile, sum, launch * 4 + SUM);
    let order = match WRONG {
        NO_ACQUIRE => Ordering::Relaxed,
        _ => Ordering::Acquire,
    };
    let is_told = |state: u32| match WRONG {
        STATES_OF_AN_EARLIER_LAUNCH => state != 0,
        _ => state / 4 == launch,
    };
    let (mut before, mut other) = (0_u32, tile);
    while other > 0 {
        other -= 1;
        let state = scratch.wait_until(STATES + other, order, Scope::Device, is_told); // HERE: sync
        let is_prefix = state % 4 == PREFIX;
        let from = if is_prefix { PREFIXES } else { SUMS };
        before = before.wrapping_add(scratch.get(from + other)); // HERE: race
        if is_prefix {
            break;
        }
    }
    let prefix = before.wrapping_add(sum);
    tell::<WRONG>(scratch, PREFIXES, tile, prefix, launch * 4 + PREFIX);
    before
}

/// Tells the other blocks of a tile's sum or prefix.
#[inline(always)]
fn tell<const WRONG: u32>(
    scratch: GlobalMut<u32>,
    values: usize,
    tile: usize,
    value: u32,
    state: u32,
) {
    if WRONG != STATE_BEFORE_ITS_VALUE {
        scratch.set(values + tile, value);
    }
    scratch.atomic_store(STATES + tile, state, Ordering::Release, Scope::Device);
    if WRONG == STATE_BEFORE_ITS_VALUE {
        scratch.set(values + tile, value);
    }
}

/// `look_back` with state and value in one word, which orders nothing and needs not.
#[inline(always)]
fn look_back_wide<const WRONG: u32>(
    scratch: GlobalMut<u32>,
    tile: usize,
    launch: u32,
    sum: u32,
) -> u32 {
    let first = WIDE_STATES + scratch.as_ptr().addr() / size_of::<u32>() % 2;
    // SAFETY: words of the scratch memory that nothing else uses, from a multiple of their size on.
    let states =
        unsafe { GlobalMut::from_raw_parts(scratch.as_ptr().add(first).cast::<u64>(), TILES) };
    let tell = |kind: u32, value: u32| {
        let state = launch * 4 + kind;
        if WRONG == TORN_STATE {
            let word = first + 2 * tile;
            scratch.atomic_store(word + 1, state, Ordering::Relaxed, Scope::Device);
            scratch.atomic_store(word, value, Ordering::Relaxed, Scope::Device);
        } else {
            let word = u64::from(state) << 32 | u64::from(value);
            states.atomic_store(tile, word, Ordering::Relaxed, Scope::Device);
        }
    };
    tell(if tile == 0 { PREFIX } else { SUM }, sum);
    let (mut before, mut other) = (0_u32, tile);
    while other > 0 {
        other -= 1;
        let is_told = |word: u64| (word >> 32) as u32 / 4 == launch;
        let word = states.wait_until(other, Ordering::Relaxed, Scope::Device, is_told); // HERE: race
        before = before.wrapping_add(word as u32);
        if (word >> 32) as u32 % 4 == PREFIX {
            break;
        }
    }
    if tile > 0 {
        tell(PREFIX, before.wrapping_add(sum));
    }
    before
}
